"""The radius of the last clipped sum, where noise and clipping balance, and what it clips.

One column with a heavy tail among light ones hardly shows in the lengths of rows. What clipping
takes off its rows is nearly all taken off that column, though, and not off all of them alike.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skdp.accounting import Step
from skdp.columns._tail import SEVERAL, mean_square, read_tail
from skdp.kernel import _sums
from skdp.kernel._sums import FarthestEntry
from skdp.location._release import LARGEST, bounded
from skdp.scales import LogBins
from skdp.scales._column_noise import (
    FAR_WINDOWS,
    HIDDEN_CELL,
    farthest_window,
    noise_level,
    noise_sum_quantile,
)

OCTAVES_BELOW, OCTAVES_FINE, OCTAVES_ABOVE = 5, 1, 12
DISTANCES = Step("distances", at_most=0.1, times=2, of=(_sums.Distances,))
MANY = 1 / 25  # part of the rows that is not to hide in one cell

FAR_COLUMNS = Step("far columns", at_most=0.1, of=(FarthestEntry,))
PART = 0.1  # of what is left
MOST_COLUMNS = 1000
ENOUGH = 2000  # rows of a column, times mu, from which on lengths tell: doc/private_mean.rst
TINY = float(np.finfo(np.float64).tiny)
OCTAVES = 12
EDGES = np.exp2(np.append(-0.5, np.arange(OCTAVES)))  # of clip radii
BINS = LogBins(2, -1, OCTAVES)
STARTS = np.append(2, np.arange(3, BINS.n_bins - 1, 2))  # where bins begin at the edges
MIDDLE = EDGES[1:] * 1.5  # of the cells beyond the radius
# Laws of the rows of one column beyond the first edge: N (t / t0)^-a, and rows of one cell alone.
POWERS = np.array([1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0, 12.0, 20.0, 40.0])
HEAVY = POWERS <= 5
LEAST, MOST = 0.3, 1 / 8  # rows of a law, and part of all of them
PRIOR = 0.1, 0.05  # probabilities of a heavy column, and of one with rows apart
FEW_HEAVY = 16  # columns, of which no more are heavy in larger tables
TOLD, BOUND = 0.25, 0.95  # probability of either that is told, and quantile of what is clipped off
SPREAD = 1.5  # standard deviations of what rows of one law have beyond the radius
NEAR = 0.7  # of a radius: what rows apart, in the first cell beyond it, have at most as a rule


@dataclass(frozen=True)
class Distances:
    """Released histogram of distances: ``counts`` in cells with upper ``edges``.

    The first ``fine`` cells are narrow. ``sd`` is the scale of the noise of a ``law``: the standard
    deviation, or b of Laplace noise. ``beyond`` is the released count of what lies farther than the
    last edge.
    """

    counts: np.ndarray
    edges: np.ndarray
    sd: float
    fine: int
    law: str = "gaussian"
    beyond: float = 0.0

    def up_to(self, longest):
        """Return the histogram of rows that are known to be no farther away."""
        cells = int(np.searchsorted(self.edges, longest)) + 1
        if cells > len(self.edges):
            return self
        near = {"counts": self.counts[:cells], "edges": self.edges[:cells]}
        return replace(self, **near, fine=min(self.fine, cells), beyond=0.0)


def release_distances(table, *, center, scale, around, share):
    """Release how many rows lie at which distance from a released centre.

    Cells are fine up to twice ``around`` and an octave wide above, so that a few distant rows stand
    out of the noise of few cells. What lies beyond 12 octaves is in one cell.
    """
    d = table.n_features
    per_octave = 16 if d >= 100 else 8 if d >= 20 else 4
    bins = LogBins.around(
        around, per_octave=per_octave, below=OCTAVES_BELOW, above=OCTAVES_FINE + OCTAVES_ABOVE
    )
    fine = 1 + per_octave * (OCTAVES_BELOW + OCTAVES_FINE)
    starts, edges = joined(bins, fine, per_octave)
    asked = _sums.Distances(center, bins, scale, starts)
    release = table.ask(asked, DISTANCES, share=share)
    *within, beyond = release.value.astype(float)
    return Distances(np.array(within), edges, release.scale, fine, beyond=beyond)


def joined(bins, fine, width):
    """Return where cells start, bins beyond the ``fine`` first joined, and the upper edges.

    The last cell holds what lies beyond all bins, and has no edge.
    """
    last = bins.n_bins - 1  # the range is shorter at the ends of float64
    starts = np.concatenate([np.arange(min(fine, last)), np.arange(fine, last, width), [last]])
    return starts, np.array([bins.upper_edge(i) for i in starts[1:] - 1])


class Clip(NamedTuple):
    """A clip radius, an estimated bound on what clipping to it moves the mean by, and a spread.

    ``spread`` squared is an upper bound of the mean of squared distances from the centre, so of the
    sum of the variances of all columns: none has more. ``hidden`` says whether a tail of many rows
    may have escaped the bound.
    """

    radius: float
    excess: float
    spread: float = math.inf
    hidden: bool = False


def _root_mean_square(distances, cells, n):
    """Return an upper bound of the root of the mean square of distances, of so many cells."""
    sd = distances.sd * (1 if distances.law == "gaussian" else math.sqrt(2))
    unit = float(distances.edges[cells - 1])
    square, _ = mean_square(distances.counts[:cells], distances.edges[:cells] / unit, sd, n)
    return math.sqrt(square) * unit


class Tail:
    """What a released histogram of distances tells about the rows beyond a radius.

    Rows are taken to be spread evenly over a cell. Those beyond the last cell that stands out of
    the noise are extrapolated by a power law that goes on as the rows before. If rows stand out
    beyond the histogram, nobody knows how far they are: every excess is infinite.
    """

    def __init__(self, distances, n_rows, *, near=False, false=FAR_WINDOWS):
        size = distances.fine if near else len(distances.counts)
        counts, noise = distances.counts[:size], {"scale": distances.sd, "law": distances.law}
        levels = {}
        for width in [one for one in (1, 2, 4, 8) if one <= size]:
            narrow = np.arange(width - 1, size) < distances.fine
            levels[width] = np.where(
                narrow, *(noise_sum_quantile(p, width, **noise) for p in false)
            )
        top = farthest_window(counts, levels)
        one_cell = noise_sum_quantile(FAR_WINDOWS[1], 1, **noise)
        self.hidden = bool(one_cell > MANY * n_rows) and not near
        self.empty = top < 0
        if self.empty:
            return
        self._n = n_rows
        self._endless = distances.beyond > one_cell and not near
        self._counts = np.maximum(counts[: top + 1], 0.0)
        self._edges = distances.edges[: top + 1]
        self._lower = np.append(0.0, self._edges[:-1])
        self.unseen = float(noise_level(HIDDEN_CELL, 1, **noise))
        self.spread = _root_mean_square(distances, top + 1, n_rows)
        self._power = self._tail_power()

    def _tail_power(self):
        """Return a with P(|x - c| > t) ~ t^-a from where ten times the unseen rows lie beyond."""
        start_rows = min(max(10 * self.unseen, math.e * self.unseen), self._n / 2)
        above = np.cumsum(self._counts[::-1])[::-1]
        start = self._lower[np.flatnonzero(above >= min(start_rows, above[0]))[-1]]
        octaves = math.log2(self._edges[-1]) - math.log2(max(start, self._edges[-1] * 2.0**-20))
        rise = math.log2(max(start_rows / self.unseen, 2.0))
        return float(np.clip(rise / max(octaves, 0.01), 1.5, 100))

    def candidates(self):
        """Return radii worth looking at."""
        width = self._edges - self._lower
        inner = [self._lower + part * width for part in (0.25, 0.5, 0.75, 1.0)]
        return np.concatenate([*inner, self._edges[-1] * np.exp2(np.arange(1, 65) / 16)])

    def excess(self, radii):
        """Return the mean of ``(|x - c| - C)_+`` for every C in ``radii``."""
        if self._endless:
            return np.full(np.size(radii), math.inf)
        C, last = np.atleast_1d(radii)[:, None], self._edges[-1]
        reach = np.clip(C, self._lower, self._edges)
        width = np.where(self._edges > self._lower, self._edges - self._lower, 1)
        seen = (self._edges - reach) / width * ((self._edges + reach) / 2 - C) @ self._counts
        beyond = np.maximum(C[:, 0] / last, 1.0) ** (1 - self._power) * last / (self._power - 1)
        unseen = np.maximum(last - C[:, 0], 0.0) + beyond
        return (seen + self.unseen * unseen) / self._n

    def best(self, noise, alignment):
        """Return the Clip that minimises noise^2 C^2 + (alignment * excess(C))^2.

        Clipping moves the mean by at most the excess, if all that is clipped off points in one
        direction (triangle inequality), and by ``alignment`` times the excess as a rule. ``noise``
        is the length of the noise of the mean per unit of the clip radius. If every excess is
        infinite, the radius is that of the farthest cell that is known.
        """
        if self._endless:
            return Clip(float(self._edges[-1]), math.inf, math.inf, True)
        radii = self.candidates()
        excess = self.excess(radii)
        loss = np.square(noise * radii) + np.square(alignment * excess)
        best = int(np.argmin(np.nan_to_num(loss, nan=math.inf)))
        return Clip(float(radii[best]), float(excess[best]), self.spread, self.hidden)


class LawfulTail(Tail):
    """What the same histogram tells if the tail may also be that of a column, and rows be faint.

    A tail that is as steep as the rows before forgets the few that lie far away, and the law of
    columns takes noise for some: the excess that is expected is half-way (in logarithms).
    """

    def __init__(self, distances, n_rows, around):
        super().__init__(distances, n_rows)
        edges = np.append(0.0, distances.edges)
        known = {"n": n_rows, "shown": SEVERAL}
        self._law = read_tail(edges, distances.counts, distances.sd, around, **known)
        if not self.empty:
            cells = int(np.searchsorted(edges, self._law.top))
            self.spread = max(self.spread, _root_mean_square(distances, cells, n_rows))

    def excess(self, radii):
        """Return what is expected of the mean of ``(|x - c| - C)_+`` for every C in ``radii``."""
        steep = super().excess(radii)
        law = self._law.at("expected", radii) / self._n
        return steep if self._endless else np.sqrt(steep * law)

    def best(self, noise, alignment):
        """Return the Clip as there; its bound allows for the law, and for faint rows."""
        clip = super().best(noise, alignment)
        law, faint = (float(self._law.at(what, clip.radius)) for what in ("expected", "faint"))
        return clip._replace(excess=max(clip.excess, (alignment * law + faint) / self._n))


# --- which columns the rows beyond a joint clip radius are far in, and what clipping takes of them


def with_far_columns(counted, where, clip):
    """Return a Clip with the excess of every column, by a release of where far rows are far.

    Notes
    -----
    **Privacy** (add or remove one row): of :class:`skdp.kernel._sums.FarthestEntry`, around a
    released centre, in released scales: a row is in one cell of all columns together, as a function
    of itself. So the sensitivity is 1, whatever the number of columns.
    """
    many = counted.n * counted.table.budget.mu > ENOUGH * counted.d
    if counted.d > MOST_COLUMNS or clip.hidden or many:
        return clip
    scale = np.clip(where.scale * bounded(clip.radius), TINY, LARGEST)
    asked = FarthestEntry(where.origin, BINS, scale, STARTS)
    release = counted.table.ask(asked, FAR_COLUMNS, share=PART * counted.left)
    counts = np.reshape(release.value, (counted.d, EDGES.size)).astype(float)
    own = column_excess(counts, release.scale, counted.n) * clip.radius / counted.n
    return clip._replace(excess=np.maximum(clip.excess, own))


def column_excess(counts, sd, n):
    """Return what clipping takes of the sums of columns, at most as a rule, in radii; 0 if light.

    Notes
    -----
    A posterior of laws. Light columns have rows that fall off by a power of 8 or more. Heavy ones
    have a power of 5 or less, with the price of heavier ones as in the law of columns, and others
    have rows apart in one octave, a third as likely an octave farther. Numbers of rows are even in
    their logarithms. A row that is ``t > C`` far in one column, near in others, loses ``t - C``.
    """
    rows, excess = _power_laws(n)
    fit = (counts @ rows.T - np.square(rows).sum(axis=1) / 2) / sd**2
    heavy = np.tile(HEAVY, len(rows) // len(POWERS))
    light = logsumexp(fit[:, ~heavy], axis=1) - math.log(np.count_nonzero(~heavy))
    amounts, over = _apart(n, sd)
    apart = (amounts * counts[:, None, 1:] - np.square(amounts) / 2) / sd**2
    apart = apart.reshape(len(counts), -1) + light[:, None]
    dear = np.tile(np.square(np.minimum(POWERS[HEAVY] / 3, 1.0)), len(rows) // len(POWERS))
    rare = np.tile(3.0 ** -np.arange(len(MIDDLE)), len(amounts))
    parts = np.multiply(PRIOR, min(1.0, FEW_HEAVY / len(counts)))
    prior = [part * w / w.sum() for part, w in zip(parts, (dear, rare), strict=True)]
    log = np.concatenate([fit[:, heavy], apart], axis=1) + np.log(np.concatenate(prior))
    excess = np.concatenate([excess[heavy], over.ravel()])
    order = np.argsort(excess)
    total = logsumexp(log, axis=1)
    mass = np.cumsum(np.exp(log[:, order] - total[:, None]), axis=1)
    most = excess[order][np.minimum((mass < BOUND).sum(axis=1), len(order) - 1)]
    odds = total - light - math.log(1 - parts.sum())
    return np.where(odds > math.log(TOLD / (1 - TOLD)), most, 0.0)


def _apart(n, sd):
    """Return numbers of rows in one cell, and what lies beyond the radius of each in every cell."""
    amounts = np.geomspace(sd / 4, max(MOST * n, sd), 20)[:, None]
    return amounts, amounts * np.append(NEAR, MIDDLE[1:] - 1)


def _power_laws(n):
    """Return the rows of every law in every cell, and an upper bound of what lies beyond C = 1."""
    amount = np.geomspace(LEAST, max(MOST * n, 1.0), 40)[:, None]
    share = (EDGES / EDGES[0]) ** -POWERS[:, None]
    share = share - np.append(share[:, 1:], np.zeros((len(POWERS), 1)), axis=1)
    rows = amount[..., None] * share
    beyond = amount * EDGES[0] ** POWERS
    last = np.maximum(2 * beyond, 1.0) ** (1 / POWERS)
    length = _integral(last, POWERS)
    square = 2 * np.maximum(_integral(last, POWERS - 1) - length, 0.0)
    excess = beyond * length + SPREAD * np.sqrt(beyond * square)
    return rows.reshape(-1, EDGES.size), excess.ravel()


def _integral(last, power):
    """Return the integral of t^-power from 1 to the end."""
    slope = np.where(power == 1, 1e-9, power - 1)
    return (1 - last**-slope) / slope
