"""Quantiles by noisy ranks, as estimators release them: the search, the release, the intervals."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting._plan import release_mechanism
from skdp.columns import find_quantiles
from skdp.columns._ranks_read import column_spread, is_told, limits, two_sided
from skdp.kernel._ranks import PARTS, Thresholds
from skdp.location._bounded_moments import AT_BOUND, doubt_clipped
from skdp.scales._column_noise import ColumnNoise

LARGEST = float(np.finfo(np.float64).max)
MOST_LEVELS, TYPICAL_LEVELS = 80, 12
LOWEST, HIGHEST = -1075, 1024  # octaves; that of zero is the lowest
NOTHING = (
    "nothing found: too few rows for this epsilon to locate the values; the result is a "
    "placeholder. Use a larger epsilon or more rows"
)


@dataclass(frozen=True)
class View:
    """What is looked at: k columns from a centre, or their distances from it, in a unit."""

    columns: np.ndarray  # shape (k,)
    center: np.ndarray  # shape (k,): public or released
    # shape (k,): public or released; given it, distances are looked at
    unit: np.ndarray | None = None

    def ranks(self, active, thresholds, parts):
        """Return the question for the ranks of thresholds of some of the columns."""
        unit = None if self.unit is None else self.unit[active]
        return Thresholds(self.columns[active], thresholds, parts, self.center[active], unit)


@dataclass
class Brackets:
    """Intervals that hold quantiles, one per target. Everything is released."""

    # low, high: shape (k,): ends of the intervals
    low: np.ndarray
    high: np.ndarray
    # rank_low, rank_high: shape (k,): estimated number of rows at or below the ends, minus the one
    # searched for
    rank_low: np.ndarray
    rank_high: np.ndarray
    noise: float  # scale of the noise in these ranks

    @property
    def middle(self):
        """The middles of the intervals."""
        return self.low / 2 + self.high / 2

    @property
    def inside(self):
        """Estimated numbers of rows in the intervals."""
        return self.rank_high - self.rank_low


def release_quantile_intervals(table, view, p, *, low, high, small, n_rows, accuracy, share, step):
    """Find intervals around quantiles.

    Thresholds divide the intervals: first zero, then powers of two, ordinary sizes before
    extraordinary ones, then middles. The noisy rank of a threshold tells on which side to go on. A
    wrong turn costs no more than a noisy rank: both sides are then near the quantile.

    Notes
    -----
    **Privacy**: the thresholds are made of what was released before. Which targets are still
    searched for is told by released ranks.
    """
    noise = ColumnNoise(table.budget)
    num = np.clip(np.rint(PARTS * np.asarray(p, dtype=np.float64)), 1, PARTS - 1).astype(np.int64)
    k, most = len(num), int(max(num.max(), PARTS - num.min()))
    unit = most / PARTS  # ranks per unit of noise
    scale = max(accuracy / unit, noise.scale(share / TYPICAL_LEVELS, k))
    ranks = -num / PARTS * n_rows, (1 - num / PARTS) * n_rows
    low, high = (np.full(k, end, dtype=np.float64) for end in (low, high))
    found = Brackets(low, high, *ranks, scale * unit)
    for _ in range(MOST_LEVELS):
        t = np.array([divide(*ends) for ends in zip(found.low, found.high, strict=True)])
        active = np.flatnonzero((found.low < t) & (t < found.high) & ~small(found))
        part = noise.share(scale, max(1, len(active)))
        if not len(active) or part > share:
            break
        share, t = share - part, t[active]
        asked = view.ranks(active, t, num[active])
        rank = table.ask(asked, step, share=part).value / PARTS
        up = rank < 0
        found.low[active[up]], found.rank_low[active[up]] = t[up], rank[up]
        found.high[active[~up]], found.rank_high[active[~up]] = t[~up], rank[~up]
    return found


def divide(low, high):
    """Return where to divide an interval of floats: between signs, then octaves, then in two."""
    if low < 0 < high:
        return 0.0
    if high <= 0:
        return -divide(-high, -low)
    a, b = _octave(low), _octave(high)
    if b - a <= 1:
        return low + (high - low) / 2
    return math.ldexp(1.0, min(max(round(_unwarp((_warp(a) + _warp(b)) / 2)), a + 1), b - 1))


def _octave(x):
    return LOWEST if x == 0 else HIGHEST if x == LARGEST else math.frexp(x)[1] - 1


def _warp(octave):
    return math.copysign(math.log2(1 + abs(octave)), octave)


def _unwarp(w):
    return math.copysign(2 ** abs(w) - 1, w)


UNTOLD = (
    "the interval of a quantile is long beside the spread: too few rows on one of its sides. Use a "
    "larger epsilon, more rows, or bounds=(low, high)"
)
NEARLY_ALL, SEEN = 0.95, 3.0  # of the rows, at a bound; noise deviations of rows at the other one
NEARER = ", or a q nearer to 0.5"


@dataclass(frozen=True)
class RankCurves:
    """What a fit has released of ranks, quantile by quantile and column by column."""

    q: np.ndarray  # shape (n_q,): rising
    # each of shape (m,): the cuts of a column between its two ends; rows are above the first and
    # not above the last
    points: list
    # excess, sd: each of shape (n_q, m): how many ranks a point is above the quantile, and the
    # standard deviation of that
    excess: list
    sd: list

    @property
    def n_rows(self):
        """What the ranks of the ends tell of the numbers of entries, NaN where nothing is found."""
        told = [e[0, -1] - e[0, 0] if e.size else 0.0 for e in self.excess]
        return np.where(np.array(told) > 0, told, np.nan)

    @property
    def ends(self):
        """What no quantile is beyond: ndarrays of shape (d,), infinite without bounds."""
        ends = [(x[0], x[-1]) if len(x) else (-np.inf, np.inf) for x in self.points]
        return np.array(ends).T

    def spread(self, law):
        """Return lower bounds of the standard deviations of the columns: ndarray of shape (d,)."""
        columns = zip(self.points, self.excess, self.sd, strict=True)
        return np.array(
            [
                max(column_spread(x, *row, law) for row in zip(excess, sd, strict=True))
                for x, excess, sd in columns
            ]
        )

    def at_bounds(self):
        """Return whether nearly all rows are at the lower, or the upper end: shape (2, d).

        Not where rows are told at both ends: there the column may have two values.
        """
        at = np.zeros((2, len(self.points)), dtype=bool)
        for j, (x, excess, sd) in enumerate(zip(self.points, self.excess, self.sd, strict=True)):
            if len(x) > 2:
                rank, near = excess[0] - excess[0, 0], AT_BOUND * (x[-1] - x[0])
                low = np.searchsorted(x, x[0] + near, side="right") - 1
                high = np.searchsorted(x, x[-1] - near)
                rows, noise = np.array([rank[low], rank[-1] - rank[high]]), sd[0, [high, low]]
                at[:, j] = (rows >= NEARLY_ALL * rank[-1]) & (rows[::-1] <= SEEN * noise)
        return at

    def told(self, value, law):
        """Return whether values (n_q, d) are told: see :func:`skdp.columns._ranks_read.is_told`."""
        told = np.empty(value.shape, dtype=bool)
        for i, j in np.ndindex(value.shape):
            released = self.points[j], self.excess[j][i], self.sd[j][i]
            told[i, j] = is_told(*released, value[i, j], law)
        return told

    def interval(self, value, confidence, law, sampling=False):
        """Return the nearest points around values (n_q, d) that are clear of the quantiles.

        With ``sampling`` of those of the population: q n of n draws are expected below its
        quantile, and their number has the variance n q (1 - q). The ranks of the ends are 0 and n.
        """
        z = two_sided(confidence, law)
        low, high = np.empty_like(value), np.empty_like(value)
        for i, j in np.ndindex(value.shape):
            excess, sd = self.excess[j][i], self.sd[j][i]
            if sampling and len(excess):
                n = max(excess[-1] - excess[0], 1.0)
                sd = np.sqrt(np.square(sd) + n * self.q[i] * (1 - self.q[i]))
            low[i, j], high[i, j] = limits(self.points[j], excess, sd, value[i, j], z)
        return low, high


def release_quantiles(table, q, bounds=None):
    """Release quantiles of all columns with all that is left of the budget.

    Shapes: bounds (d,); returns (n_q, d).

    Notes
    -----
    **Privacy**: see :func:`skdp.columns.find_quantiles`. What is doubted is told by releases.
    """
    q = np.asarray(q, dtype=np.float64)
    rising, place = np.unique(q, return_inverse=True)
    found = find_quantiles(table, rising, bounds)
    excess, sd = ([part[place] for part in parts] for parts in (found.excess, found.sd))
    curves, value = RankCurves(q, found.points, excess, sd), found.location[place]
    told = curves.told(value, release_mechanism(table.budget)) & found.found
    table.doubt(NOTHING, ~found.found)
    if bounds is not None:
        at = np.array([value == end for end in bounds]) & curves.at_bounds()[:, None]
        doubt_clipped(table, np.array(bounds)[:, None], at)
    unsure = found.found & ~told
    outer = unsure[q != 0.5].any()
    table.doubt(UNTOLD + NEARER * bool(outer), unsure)
    return value, np.where(told, found.noise_scale[place], np.inf), curves
