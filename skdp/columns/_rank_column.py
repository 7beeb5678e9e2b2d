"""One column in a search for quantiles: its released ranks, and where to cut next."""

import math
import sys

import numpy as np

from skdp.columns._magnitude_histogram import CELLS, ENDS
from skdp.columns._ranks import Ranks, previous_float
from skdp.columns._ranks_read import CLEAR, aside, estimate, invert, is_one, plain_decimal

DEEP, SPIKE = 6, 2.0  # from this round on one part holds all, and shows by itself
SMALL = 6.0  # noises: few enough ranks in a bracket
BESIDE = 2.0  # noises: where the cuts beside a quantile are
QUARTILES = 0.25, 0.75  # what tells a spread, see :func:`skdp.columns._ranks_read.is_told`
NEWTON = 3  # rounds that trust the ranks between cuts
PARTS = 24, 8, 8, 6, 6, 6, 16  # of a bracket, round by round
OUTWARDS = 1, 8, 64, 4096, 2**24
SMALLEST, LIKELY = 2.0**-1000, 10.0 ** np.array([-6, -3, -1, 0, 1, 2, 3, 4, 6, 9, 12])
LARGEST = sys.float_info.max
NEAR = 5  # octaves


class RankColumn:
    """A column in the search: its released ranks, and where to cut next.

    Before the first histogram ``x`` and ``rank`` are a guess, afterwards the points of ``fit``.
    """

    def __init__(self, number, x, rank, ends, limits):
        self.number, self.x, self.rank, self.limits = number, x, rank, limits
        self.ranks, self.fit, self.need = Ranks(ends), None, math.inf

    @classmethod
    def within(cls, number, low, high, n):
        """Return a column with public bounds; nothing is known of what is between."""
        ends = float(previous_float(low)), high
        return cls(number, np.array(ends), np.array([0.0, n]), ends, (low, high))

    @classmethod
    def among(cls, number, counts, seen, sd, n):
        """Return a column of which a histogram of octaves has been released."""
        near = np.zeros(len(seen), dtype=bool)
        for i in np.flatnonzero(seen):
            if i != CELLS.n_side:
                near[max(i - NEAR, 0) : i + NEAR + 1] = True
        at = np.flatnonzero(seen | (near & (counts > 2 * sd)))
        low, high, rows = ENDS.low[at], ENDS.high[at], np.maximum(counts[at], 1e-9)
        low[at == CELLS.n_side], high[at == CELLS.n_side] = previous_float(0.0), 0.0
        upto = np.cumsum(rows)
        x, first = np.unique(np.stack([low, high], axis=1), return_index=True)
        rank = np.stack([upto - rows, upto], axis=1).ravel()[first] * (n / upto[-1])
        ends = -math.inf, math.inf
        return cls(number, x, rank, ends, ends)

    def add(self, cuts, counts, sd):
        self.ranks.add(cuts, counts, sd)
        self.fit = self.ranks.fit()
        self.x, self.rank = self.fit.x, self.fit.rank

    def weigh(self, cuts, matrix, answers, sd):
        self.ranks.add_weighed(cuts, matrix, answers, sd)
        self.fit = self.ranks.fit()
        self.x, self.rank = self.fit.x, self.fit.smooth

    def is_crowded(self, q, gap):
        """Return whether cells of quantiles hold more than a part of all rows, or are open."""
        return any(self._holds_many(p, gap * self.rank[-1]) for p in q)

    def _holds_many(self, p, rows):
        low, high, own = self._bracket(p * self.rank[-1])
        if math.isfinite(low) and math.isfinite(high):
            return not is_one(low, high) and own > rows
        return self.fit is not None and self._is_beyond(p)

    def even(self, q, parts):
        """Return cuts between which about equally many rows lie, and some beyond them."""
        n, windows, values = self.rank[-1], [], []
        for i in range(1, parts):
            low, high = (self._invert((i + step) / parts * n) for step in (-0.3, 0.3))
            if low < high:
                windows.append((low, high))
            else:
                values.append(high)
        if self.fit is None:
            low, high = float(self.x[0]), float(self.x[-1])
            span = min(max(high / 2 - low / 2, abs(low), abs(high)), LARGEST / 32)
            beyond = low, high, *(end for k in (1, 8) for end in (low - k * span, high + k * span))
            windows += [(end, end) for end in beyond]
        for p in q:
            low, high, _ = self._bracket(p * n)
            outside = self.fit is not None and not (math.isfinite(low) and math.isfinite(high))
            if outside and self._is_beyond(p):
                windows += self._outwards(low, high)
        for i in np.flatnonzero(np.diff(self.rank) > 2 * n / parts):
            low, high = self.x[i], self.x[i + 1]
            if math.isfinite(low) and math.isfinite(high) and not is_one(low, high):
                values.append(plain_decimal(low, high)[0])
        return self._cuts(windows, values)

    def parts(self, cuts, q=None):
        """Return of which parts of all rows the ranks of cuts are measured, those of q nearby."""
        if q is None:
            return tuple(np.arange(1, len(cuts) + 1) / (len(cuts) + 1))
        part = self.rank[np.searchsorted(self.x, cuts)] / self.rank[-1]
        near = q[np.abs(part[:, None] - q).argmin(axis=1)]
        return tuple(np.maximum.accumulate(near))

    def closer(self, q, sd, round_):
        """Return cuts inside the brackets that hold too many ranks; None if there are none."""
        windows, values, needs = [], [], []
        for p, noise in zip(q, sd, strict=True):
            target = p * self.rank[-1]
            low, high, gap = self._bracket(target)
            enough = gap <= (2 if round_ < NEWTON else SMALL) * noise
            if is_one(low, high) or (enough and self.fit is not None):
                continue
            outside = not (math.isfinite(low) and math.isfinite(high))
            if outside and not self._is_beyond(p):
                continue
            parts = 4
            if self.fit is None:
                windows += [(x, x) for x in (low, high, self.x[0], self.x[-1])]
            if outside:
                windows += self._outwards(low, high)
            elif round_ < NEWTON and (self.fit is not None or math.isinf(self.limits[0])):
                step = max(0.3 * gap, 1.3 * noise)
                windows += [self._around(target + s, (high - low) / 8) for s in (-step, step)]
            else:
                parts = PARTS[min(round_, len(PARTS) - 1)]
                windows += _inwards(low, high, parts)
                windows += aside(self.x, *self.fit.excess(p), low, high) if self.fit else []
                windows += [
                    self._around(target + s, (high - low) / 8) for s in (-2 * noise, 2 * noise)
                ]
                values.append(plain_decimal(low, high)[0])
            needs.append(gap / (math.sqrt(parts) if round_ < DEEP else SPIKE))
        self.need = min(needs, default=math.inf)
        return self._cuts(windows, values) if needs else None

    def _is_beyond(self, p):
        """Whether a quantile is clearly beyond the finite points: noise alone is not looked for."""
        excess, sd = (of[np.isfinite(self.x)] for of in self.fit.excess(p))
        return excess[0] > CLEAR * sd[0] or excess[-1] < -CLEAR * sd[-1]

    def beside(self, q, sd):
        """Return cuts on both sides of every quantile, so many ranks away, and at the quartiles."""
        low, high = (self._invert(part * self.rank[-1]) for part in QUARTILES)
        width = (high - low) / 8
        windows, values = [(x - width, x + width) for x in (low, high)], []
        for p, noise in zip(q, sd, strict=True):
            target = p * self.rank[-1]
            low, high, _ = self._bracket(target)
            if is_one(low, high):
                values.append(high)
                continue
            low, high = (self._invert(target + s * BESIDE * noise) for s in (-1, 1))
            if low < high:
                windows += [(x - (high - low) / 32, x + (high - low) / 32) for x in (low, high)]
                low, high = (self._invert(target + s * noise) for s in (-1, 1))
                values.append(plain_decimal(low, high)[0] if low < high else high)
        return self._cuts(windows, values)

    def estimates(self, q):
        """Return the estimates as cuts."""
        return self._cuts([], [estimate(self.fit, p) for p in q])

    def _bracket(self, target):
        """Return the last point below a rank, the first at or above it, and the ranks between."""
        i = min(max(int(self.rank.searchsorted(target)), 1), len(self.x) - 1)
        return float(self.x[i - 1]), float(self.x[i]), float(self.rank[i] - self.rank[i - 1])

    def _invert(self, target):
        """Return where the ranks reach a target, between the outermost finite points."""
        axis = None if self.fit is None else self.fit.axis
        return invert(self.x, self.rank, target) if axis is None else axis.invert(self.rank, target)

    def _around(self, target, width):
        x = self._invert(target)
        return x - width / 2, x + width / 2

    def _outwards(self, low, high):
        """Return windows beyond the outermost finite point, ever farther away."""
        inner = self.x[np.isfinite(self.x)]
        sign, end = (1, low) if math.isfinite(low) else (-1, high)
        size = max(abs(end), inner[-1] - inner[0], SMALLEST)
        if size == SMALLEST:
            return [(sign * point, sign * point) for point in LIKELY]
        with np.errstate(over="ignore"):
            points = np.clip(end + sign * size * np.array(OUTWARDS), -LARGEST, LARGEST)
        return [(point, point) for point in points]

    def _cuts(self, windows, values):
        """Return cuts: the shortest decimals of windows, and values, each alone in its cell."""
        chosen = [low if low >= high else plain_decimal(low, high)[0] for low, high in windows]
        cuts = np.unique(np.concatenate([chosen, previous_float(values), values]))
        low, high = self.ranks.ends
        return cuts[(cuts > low) & (cuts < high) & np.isfinite(cuts)]


def _inwards(low, high, parts):
    """Return windows in an interval, evenly, and the interval itself."""
    step = (high / 2 - low / 2) / parts * 2
    points = low + step * np.arange(1, parts)
    return [(x - step / 5, x + step / 5) for x in points]
