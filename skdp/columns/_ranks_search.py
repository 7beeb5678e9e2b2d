"""Any number of quantiles of every column at once: cuts that close in on them, round by round."""

import math
import sys
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.columns._evidence import is_significant
from skdp.columns._magnitude_histogram import CELLS, first_ranks
from skdp.columns._ranks import Ranks, previous_float
from skdp.columns._ranks_read import CLEAR, aside, estimate, invert, is_one, plain_decimal, spread
from skdp.kernel._columns import ColumnCells, EdgeCells, WeighedCells
from skdp.mechanisms._exact import exact
from skdp.scales._column_noise import ColumnNoise, with_law
from skdp.scales._significance import QUANTILE_AGAIN
from skdp.scales._strategy import excess_strategy

__all__ = ["Quantiles", "find_quantiles", "rank_steps"]

OCTAVES, AGAIN = (0.02, 0.1), 0.25
SEARCH = 0.003, 0.05  # of a round, at least and at most
DEEP, SPIKE = 6, 2.0  # from this round on one part holds all, and shows by itself
ROUNDS, SEARCH_AT_MOST, LEFT = 16, 0.3, 0.2
BRACKETS = 0.22  # of what is left after the search
IN_OCTAVES, IN_GAP = 1 / 60, 1 / 6  # noise, as a part of all rows, of the rows in a bracket
SMALL = 6.0  # noises: few enough ranks in a bracket
BESIDE = 2.0  # noises: where the cuts beside a quantile are
QUARTILES = 0.25, 0.75  # what tells a spread, see :func:`skdp.columns._ranks_read.is_told`
REPAIRS = 3  # rounds for brackets that turn out to hold many ranks after all
NEWTON = 3  # rounds that trust the ranks between cuts
PARTS = 24, 8, 8, 6, 6, 6, 16  # of a bracket, round by round
OUTWARDS = 1, 8, 64, 4096, 2**24
SMALLEST, LIKELY = 2.0**-1000, 10.0 ** np.array([-6, -3, -1, 0, 1, 2, 3, 4, 6, 9, 12])
LARGEST = sys.float_info.max
NEAR = 5  # octaves
FEW = 2.0  # noises in a rank: so few rows within bounds tell nothing
# Of the budget, for each of a few columns: their numbers of entries are as sharp as one number of
# rows would be.
COUNT_PARTS, MOST_COUNTS = (0.01, 0.03), 3
ROW_COUNT, PURE_ROW_COUNT = (
    Step("row count", at_most=MOST_COUNTS * part, of=(EdgeCells,)) for part in COUNT_PARTS
)
WHOLE_LINE = Step("octaves", at_most=AGAIN, times=2, of=(ColumnCells,))
# Many columns, whose ranks are noisy beside all rows: cells with weights tell ranks, at half the
# noise of histograms. Chosen on tables of 300 columns; see benchmarks/summary.py for others.
MANY, NOISY = 16, 0.01
ZOOM, SPREAD_OUT, FINER, NOISE = 16, (0.2, 0.15), 32, 0.035  # cells, parts of all rows, a noise
MIDDLE, LAST = 0.3, (1 / 3, 1 / 2)  # of what is left
CELLS_OF_ALL = EdgeCells, WeighedCells
ROUND = Step("search", at_most=SEARCH[1], times=ROUNDS + REPAIRS, of=CELLS_OF_ALL)
FINAL_BRACKETS = Step("brackets", at_most=MIDDLE, of=CELLS_OF_ALL)
STATISTIC = Step("statistic", times=1 + len(LAST), of=CELLS_OF_ALL)


@dataclass
class Quantiles:
    """Released quantiles of d columns, and what is known of the ranks around them."""

    # location, noise_scale: shape (n_q, d)
    location: np.ndarray
    noise_scale: np.ndarray
    points: list  # each of shape (m,): for every column, cuts between its lower and its upper end
    # excess, sd: each of shape (n_q, m): how many ranks each of them is above each quantile, and
    # the standard deviations of these
    excess: list
    sd: list
    found: np.ndarray  # shape (d,)


def rank_steps(budget, *, bounded):
    """Return the planned steps of :func:`find_quantiles`.

    Parameters
    ----------
    budget : Budget
    bounded : bool
        Whether there are bounds.

    Returns
    -------
    steps : tuple of Step

    See Also
    --------
    find_quantiles

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.columns import rank_steps
    >>> [step.label for step in rank_steps(Budget.gaussian(1.0, 1e-6), bounded=True)]
    ['row count', 'search', 'brackets', 'statistic']
    """
    count = PURE_ROW_COUNT if budget.measure == "pure" else ROW_COUNT
    search = (ROUND, FINAL_BRACKETS, STATISTIC)
    return with_law(budget, count, *(() if bounded else (WHOLE_LINE,)), *search)


def find_quantiles(table, q, bounds=None):
    """Release quantiles of every column, with all that is left of the budget.

    Parameters
    ----------
    table : Table
    q : sequence of float
        Rising, in (0, 1).
    bounds : tuple of ndarrays of shape (d,), default=None
        Public: what lies outside counts as being at the nearer bound.

    Returns
    -------
    quantiles : Quantiles

    See Also
    --------
    rank_steps, skdp.PrivateQuantile

    Notes
    -----
    **Privacy**: noisy numbers of entries of all columns; for every column, one histogram after the
    other, of cells that are public or made of what was released before. All else, shares and the
    end of the search among it, is made of released values.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateQuantile
    >>> X = np.random.default_rng(0).normal(size=(2000, 1))
    >>> quantile = PrivateQuantile(q=[0.25, 0.75]).fit(X)  # which calls it with its Curator
    >>> bool(np.abs(quantile.location_.ravel() - [-0.67, 0.67]).max() < 0.5)
    True
    """
    return _Search(table, q, bounds).run()


class _Search:
    def __init__(self, table, q, bounds):
        self.table, self.d = table, table.n_features
        self.noise = ColumnNoise(table.budget)
        self.q, self.bounds = np.asarray(q, dtype=np.float64), bounds
        self.columns = []

    def run(self):
        self._count()
        if self.bounds is None:
            self._octaves()
        else:
            least = FEW * self._rank_sd(BRACKETS, self.d).max()
            self.columns = [
                _Column.within(j, float(low), float(high), float(self.n[j]))
                for j, (low, high) in enumerate(zip(*self.bounds, strict=True))
                if self.n[j] > least
            ]
        if self.columns:
            counts, sd = self.count
            for column in self.columns:
                column.ranks.add(np.empty(0), counts[[column.number]], sd)
            if self._is_crowded():
                self._measure()
                return self._result()
            self._close_in(range(ROUNDS), SEARCH_AT_MOST)
            share = BRACKETS * float(self.table.remaining)
            sd = self._rank_sd(share, len(self.columns))
            self._histograms([c.beside(self.q, sd) for c in self.columns], share, FINAL_BRACKETS)
            self._close_in(range(NEWTON, NEWTON + REPAIRS), REPAIRS * SEARCH[1])
            cuts = [c.estimates(self.q) for c in self.columns]
            self._histograms(cuts, self.table.remaining, STATISTIC)
        return self._result()

    def _count(self):
        """Release the number of entries of every column: of one column that of its rows."""
        asked = first_ranks(self.d, bounded=True)[0]
        step = PURE_ROW_COUNT if self.noise.pure else ROW_COUNT
        share = COUNT_PARTS[self.noise.pure] * min(self.d, MOST_COUNTS)
        release = self.table.ask(asked, step, share=share)
        self.count = release.value, self.noise.deviation(release.scale)
        self.n = np.maximum(release.value.astype(np.float64), 2 * self.count[1])

    def _octaves(self):
        """Look for the rows among all floats; make a _Column of every column that is seen."""
        share = self._share(float(np.median(self.n)) * IN_OCTAVES, self.d, OCTAVES)
        looked = self._look(share)
        seen, counts, sd = [], looked.value.astype(np.float64), self._sd(looked)
        for of_column in counts:
            seen.append(is_significant(of_column, CELLS.octave, looked.scale, law=self.noise.law))
        if not all(of_column.any() for of_column in seen):
            again = self._look(AGAIN)
            weight = sd**2 / (sd**2 + self._sd(again) ** 2)
            counts += weight * (again.value - counts)
            scale = looked.scale * math.sqrt(1 - weight)
            sd, (false, octaves) = self._sd(again) * math.sqrt(weight), QUANTILE_AGAIN
            likely = np.abs(CELLS.octave) <= octaves
            for j in range(self.d):
                if not seen[j].any():
                    options = {"law": self.noise.law, "false": false}
                    seen[j] = is_significant(counts[j], CELLS.octave, scale, **options) & likely
        self.columns = [
            _Column.among(j, counts[j], seen[j], sd, float(self.n[j]))
            for j in range(self.d)
            if seen[j].any()
        ]

    def _look(self, share):
        asked = first_ranks(self.d, bounded=False)[1]
        return self.table.ask(asked, WHOLE_LINE, share=share)

    def _close_in(self, rounds, most):
        """Cut brackets of quantiles until they hold few ranks, or a single float."""
        sd, left = (
            self._rank_sd(BRACKETS * (1 - LEFT), len(self.columns)),
            self.table.remaining,
        )
        for round_ in rounds:
            cuts = [c.closer(self.q, sd, round_) for c in self.columns]
            needs = [c.need for c, of in zip(self.columns, cuts, strict=True) if of is not None]
            if not needs or left - self.table.remaining > most - SEARCH[1]:
                return
            share = self._share(min(needs) * IN_GAP, len(needs), SEARCH)
            self._histograms(cuts, share, ROUND)

    def _histograms(self, cuts, share, step):
        """Release a histogram of every column for which there are cuts, be it none of them."""
        columns = [c for c, of in zip(self.columns, cuts, strict=True) if of is not None]
        cuts = [of for of in cuts if of is not None]
        edges = tuple(np.concatenate([[-np.inf], of, [np.inf]]) for of in cuts)
        asked = EdgeCells(np.array([c.number for c in columns]), edges, "entries")
        release = self.table.ask(asked, step, share=share)
        parts = np.split(release.value, np.cumsum([len(of) + 1 for of in cuts])[:-1])
        for column, of, part in zip(columns, cuts, parts, strict=True):
            column.add(of, part, self._sd(release))

    def _is_crowded(self):
        if self.noise.pure or len(self.columns) < MANY:
            return False
        n = float(np.median([column.rank[-1] for column in self.columns]))
        return self._rank_sd(BRACKETS, len(self.columns)).max() > NOISY * n

    def _measure(self):
        """Measure ranks by cells with weights: coarse ones, finer ones, and those of estimates."""
        every = [column.number for column in self.columns]
        self._zoom(SPREAD_OUT[0], SEARCH_AT_MOST)
        cuts = {c.number: c.even(self.q, FINER) for c in self.columns}
        self._weigh(cuts, MIDDLE * float(self.table.remaining), FINAL_BRACKETS)
        self._zoom(SPREAD_OUT[1], REPAIRS * SEARCH[1])
        for part in (*LAST, 1):
            cuts = dict(zip(every, (c.estimates(self.q) for c in self.columns), strict=True))
            self._weigh(cuts, self.table.remaining * exact(part), STATISTIC, self.q)

    def _zoom(self, gap, most):
        """Cut cells of quantiles that hold more than a part of all rows."""
        left = self.table.remaining
        for _ in range(ROUNDS // 2):
            crowded = [c for c in self.columns if c.is_crowded(self.q, gap)]
            if not crowded or left - self.table.remaining > most - SEARCH[1]:
                return
            n = float(np.median([column.rank[-1] for column in crowded]))
            share = self._share(NOISE * n, len(crowded), SEARCH)
            self._weigh({c.number: c.even(self.q, ZOOM) for c in crowded}, share, ROUND)

    def _weigh(self, cuts, share, step, q=None):
        """Release measurements of the cells between cuts of columns, sharpest for their ranks."""
        columns = [column for column in self.columns if column.number in cuts]
        edges = [np.concatenate([[-np.inf], cuts[c.number], [np.inf]]) for c in columns]
        matrices = [
            excess_strategy(c.parts(edge[1:-1], q)) for c, edge in zip(columns, edges, strict=True)
        ]
        asked = WeighedCells(np.array(list(cuts)), tuple(edges), tuple(matrices))
        release = self.table.ask(asked, step, share=share)
        parts = np.split(release.value, np.cumsum([len(C) for C in matrices])[:-1])
        for column, C, part in zip(columns, matrices, parts, strict=True):
            column.weigh(cuts[column.number], C, part, self._sd(release))

    def _share(self, sd, columns, limits):
        """Return the share, within limits, that buys noise of a standard deviation."""
        scale = sd / self.noise.deviation(1.0)
        return float(np.clip(self.noise.share(max(scale, 1e-9), columns), *limits))

    def _sd(self, release):
        return self.noise.deviation(release.scale)

    def _rank_sd(self, share, columns):
        """Return the noise in the ranks of quantiles, by two cuts for each, in one histogram."""
        cell = self.noise.deviation(self.noise.scale(share, columns))
        return cell * np.sqrt((2 * len(self.q) + 2) * self.q * (1 - self.q) + 1)

    def _result(self):
        shape = len(self.q), self.d
        ends = self.bounds or (np.full(self.d, -math.inf), np.full(self.d, math.inf))
        start = np.zeros(self.d) if self.bounds is None else ends[0] / 2 + ends[1] / 2
        result = Quantiles(
            np.tile(start, (shape[0], 1)),
            np.full(shape, math.inf),
            [np.array(pair) for pair in zip(*ends, strict=True)],
            [np.zeros((len(self.q), 2)) for _ in range(self.d)],
            [np.full((len(self.q), 2), math.inf) for _ in range(self.d)],
            np.zeros(self.d, dtype=bool),
        )
        for c in self.columns:
            j, fit = c.number, c.fit
            value = np.maximum.accumulate([estimate(fit, q) for q in self.q])
            result.location[:, j] = np.clip(value, *c.limits)
            result.noise_scale[:, j] = [spread(fit, q) for q in self.q]
            result.points[j] = np.clip(fit.x, *c.limits)
            pairs = [fit.excess(q) for q in self.q]
            result.excess[j], result.sd[j] = (np.array(part) for part in zip(*pairs, strict=True))
            result.found[j] = True
        return result


class _Column:
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
        low, high, rows = CELLS.low[at], CELLS.high[at], np.maximum(counts[at], 1e-9)
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
        i = int(np.clip(np.searchsorted(self.rank, target), 1, len(self.x) - 1))
        return float(self.x[i - 1]), float(self.x[i]), float(self.rank[i] - self.rank[i - 1])

    def _invert(self, target):
        """Return where the ranks reach a target, between the outermost finite points."""
        axis = None if self.fit is None else self.fit.axis
        return (invert if axis is None else axis.invert)(self.x, self.rank, target)

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
