"""Centres and sensitivities of bounded statistics, found privately: one per column."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.kernel._columns import ColumnCells
from skdp.kernel._ranks import Thresholds
from skdp.kernel._sums import Count
from skdp.location._rank_release import (
    LARGEST,
    MOST_LEVELS,
    TYPICAL_LEVELS,
    View,
    release_quantile_intervals,
)
from skdp.location._reach import (
    LONGEST,
    DistanceHistogram1d,
    best_squares,
    release_column_distances,
    release_sides,
)
from skdp.scales._column_noise import ColumnNoise, noise_level, with_law

PURE_COUNT, COUNT = 0.03, 0.01
SEARCH, RADIUS = 0.35, 0.15  # of the budget, at most
REACH = 0.1, 0.15  # of the budget, at least and at most
# The same of squares. Of 0.1 to 0.5 this misses few groups far out and doubts fewest variances; the
# noise of a variance is small where rows are many, and what clipping takes is not.
SIDES = 0.4, 0.4
# Rows in noise units of a sum, a third more than for means. Of 1,916 fits to the columns that
# it was chosen on 442 are not doubted then, and four of these lose half of the variance.
HIDDEN = 400
EXTREMES = 0.5  # for the search of minimum and maximum
ACCURACY = 1 / 32  # of the rows: scale of the noise in a rank
OUTERMOST = 1.35e-3  # probability that noise alone passes for the rank of the outermost rows
NEAREST, FARTHEST = 2.0**-16, 2.0**128  # radii, in units of the interval of a quantile
ROW_COUNT = Step("row count", at_most=PURE_COUNT, of=(Count,))
SEARCHED = Step("search", at_most=EXTREMES, times=MOST_LEVELS, of=(Thresholds,))
RADII = Step("radius", at_most=RADIUS, times=MOST_LEVELS, of=(Thresholds,))
REACHED = Step("reach", at_most=SIDES[1], of=(ColumnCells,))
TOO_WIDE = (
    "too wide to be told; the result is a placeholder. Divide by a public unit, such as X / 1e6"
)
WIDE = 30  # times the distance of inner quantiles: an interval of an outer one that tells nothing
ALIKE = 2.0**-20  # parts of a number that tell no numbers apart here
SMALLEST_SENSITIVITY, LARGEST_SENSITIVITY = 2.0**-400, 2.0**800


@dataclass
class StatisticScale:
    """Where the statistics of the columns are, and what a row is worth. Public or released."""

    # center, sensitivity: shape (k,): one number per statistic and column
    center: np.ndarray
    sensitivity: np.ndarray
    # shape (k,): where something besides a single value was seen, or all is public; everywhere by
    # default
    found: np.ndarray = None
    nothing: np.ndarray = None  # shape (k,): where not even a single value was; nowhere by default
    # shape (k,): what statistics lose to the sensitivity, as a rule at most; 0 by default, where it
    # is public
    excess: np.ndarray = None
    # shape (k,): how many rows may hide far beyond an interval that holds all that was seen; else 0
    unseen: np.ndarray = None
    far: np.ndarray = None  # shape (d,): how many rows may hide anywhere
    # shape (k,): where a good part of the rows may lie farther away than rows were seen; nowhere by
    # default
    thin: np.ndarray = None
    # whether so few rows were released that a tail which carries a variance may stay unseen
    hidden: bool = False
    # tuple of d SquareClip: where columns are clipped whose squares are to be released
    box: tuple = None
    # n_rows, count_sd: released number of rows, and the standard deviation of its noise
    n_rows: float = math.inf
    count_sd: float = math.inf

    def __post_init__(self):
        zero = np.zeros(len(self.center))
        self.found = zero == 0 if self.found is None else self.found
        self.nothing = zero > 0 if self.nothing is None else self.nothing
        self.excess = zero if self.excess is None else self.excess
        self.unseen = zero if self.unseen is None else self.unseen
        self.thin = zero > 0 if self.thin is None else self.thin

    @property
    def lost(self):
        """Which sensitivities are too large for the grids of statistics, and were cut."""
        return self.sensitivity >= LARGEST_SENSITIVITY


def place_steps(budget, *, reach=False):
    """Return the planned steps of a :class:`ColumnSearch`."""
    return with_law(budget, ROW_COUNT, SEARCHED, RADII, *((REACHED,) if reach else ()))


class ColumnSearch:
    """Looks for the columns of a table, with a part of the budget that falls with their rows.

    Notes
    -----
    **Privacy**: see :func:`release_quantile_intervals` and :func:`release_column_distances`. The
    rest is made of what they and the row count release.
    """

    def __init__(self, table, center=None, reach=LARGEST, *, d=None):
        self._table, self.d = table, d or table.n_features
        self._noise = noise = ColumnNoise(table.budget)
        self._start = np.zeros(self.d) if center is None else np.asarray(center, dtype=np.float64)
        self._reach = np.broadcast_to(reach, (self.d,))
        share = PURE_COUNT if noise.pure else COUNT
        release = table.ask(Count(), ROW_COUNT, share=share)
        self.n = max(float(release.value[0]), 1.0)
        self.count_sd = noise.deviation(release.scale)
        rank = noise.deviation(noise.scale(SEARCH / TYPICAL_LEVELS, self.d)) / 2
        self.few = self.n < max(6 * rank, 2 * self.count_sd)

    def quantiles(self, p, share=SEARCH):
        """Return :class:`Brackets` of k quantiles of every column, quantile by quantile."""
        targets = np.arange(self.d * len(p))
        columns, center = targets % self._table.n_features, self._start[targets % self.d]
        p = np.repeat(np.asarray(p, dtype=np.float64), self.d)
        beyond = self.n * np.maximum(np.minimum(p, 1 - p), 1 / 1000)
        found = release_quantile_intervals(
            self._table,
            View(columns, center),
            p,
            low=-self._reach[targets % self.d],
            high=self._reach[targets % self.d],
            # an interval that is open to infinity holds all rows beyond, and is not small
            small=lambda found: found.inside <= np.clip(4 * found.noise, beyond / 2, beyond * 0.8),
            n_rows=self.n,
            accuracy=float(min(beyond.min() * 4, self.n)) * ACCURACY,
            share=share,
            step=SEARCHED,
        )
        found.low, found.high = (np.nan_to_num(end + center) for end in (found.low, found.high))
        return found

    def spacing(self, found, part):
        """Return the mean distance of neighbours near the middles of intervals, one per column.

        A radius is searched within which the given part of the rows lies.
        """
        unit = _ordinary(found.high / 2 - found.low / 2)
        near = release_quantile_intervals(
            self._table,
            View(np.arange(self.d), found.middle, unit),
            np.full(self.d, part),
            low=NEAREST,
            high=FARTHEST,
            small=lambda near: near.high <= 2 * near.low,
            n_rows=self.n,
            accuracy=self.n * ACCURACY * min(1, 4 * part),
            share=RADIUS,
            step=RADII,
        )
        rows = np.clip(near.rank_high + part * self.n, part * self.n / 2, self.n)
        # a search that ends at its outer end has found nothing
        return np.where(near.high < FARTHEST, 2 * near.high * unit / rows, math.inf)

    def quantile(self, p, slack):
        """Return the place of a quantile.

        A row more or less moves the rank by at most max(p, 1 - p), and the quantile by as many
        distances of neighbours.
        """
        found = self.quantiles([p])
        spacing = self.spacing(found, min(p, 1 - p, 1 / 4))
        return StatisticScale(found.middle, bounded(slack * max(p, 1 - p) * spacing))

    def reach(self, found, center, release=release_column_distances, shares=REACH):
        """Return the :class:`DistanceHistogram1d` of every column from points in intervals."""
        return release(
            self._table,
            center=center,
            unit=_power_of_two(_ordinary(found.high / 2 - found.low / 2)),
            n_rows=self.n,
            share=float(np.clip(self._noise.share(self.n / 300, self.d), *shares)),
            step=REACHED,
        )

    def _final(self, k):
        """Return the scale of the noise in k numbers of sensitivity 1, with all that is left."""
        return self._noise.scale(float(self._table.remaining), k)

    def _final_sd(self, k):
        """Return the standard deviation of the noise in k means, per unit of their clip radius."""
        return self._noise.deviation(self._final(k)) / self.n

    def means(self):
        """Return the places of means: a row at the best clip radius moves one by radius / n."""
        return self._clipped(DistanceHistogram1d.best)

    def squares(self, times):
        """Return the places of variances, or of ``times`` statistics that squares tell of."""
        found = self.quantiles([0.5])
        center = _plain(found)
        sides = self.reach(found, center, release_sides, SIDES)
        noise = self._final_sd(times * self.d)
        box = tuple(best_squares(*of, noise) for of in zip(sides, map(float, center), strict=True))
        radius = np.array([one.radius for one in box])
        radius[radius >= LONGEST] = math.inf  # cut to it, so nothing is told
        whole = self._noise.deviation(self._noise.scale(1, self.d))
        unseen = [a.unseen * (a.inside and b.inside) for a, b in sides]
        return StatisticScale(
            np.tile([one.center for one in box], times),
            np.tile(bounded(np.square(radius) / self.n), times),
            found=np.tile([a.reading.scale > 0 or b.reading.scale > 0 for a, b in sides], times),
            nothing=np.tile([a.reading.nothing and b.reading.nothing for a, b in sides], times),
            excess=np.tile([one.excess for one in box], times),
            unseen=np.tile(unseen, times),
            far=np.array([max(a.unseen, b.unseen) for a, b in sides]),
            thin=np.tile([one.thin for one in box], times),
            hidden=self.n < HIDDEN * whole,
            box=box,
            n_rows=self.n,
            count_sd=self.count_sd,
        )

    def trimmed_mean(self, alpha, slack):
        """Return the place of a trimmed mean: a row is worth the radius of those that are kept."""

        def clip(one, noise):
            best = one.best(noise)
            kept = slack * one.beyond(alpha) / (1 - 2 * alpha)
            return best._replace(radius=min(best.radius, kept or math.inf))

        return self._clipped(clip)

    def _clipped(self, clip):
        """Return the places of means of distances that are clipped."""
        found = self.quantiles([0.5])
        center = _plain(found)
        reach = self.reach(found, center)
        clips = [clip(one, self._final_sd(self.d)) for one in reach]
        return StatisticScale(
            center,
            bounded(np.array([c.radius for c in clips]) / self.n),
            found=np.array([one.reading.scale > 0 for one in reach]),
            nothing=np.array([one.reading.nothing for one in reach]),
            excess=np.array([c.excess for c in clips]),
            unseen=np.array([one.unseen * one.inside for one in reach]),
            thin=np.array([one.thin(c.radius) for one, c in zip(reach, clips, strict=True)]),
        )

    def extremes(self):
        """Return the places of the minimum and the maximum, as one of 2 d statistics.

        Beyond the outermost rank that stands clear of the noise tails are taken to go on as
        exponentials do; a row is worth their scale, or a part of it where more noise would follow,
        but at least what keeps half of the rows from counting as such a tail. None if hardly any
        rank stands clear.
        """
        rank = self._noise.scale(EXTREMES / TYPICAL_LEVELS, 2 * self.d)
        clear = noise_level(OUTERMOST, 1, scale=rank, law=self._noise.law)
        if self._noise.deviation(rank) > self.n / 4:
            return None
        part = float(np.clip(clear / self.n, 1 / 1000, 1 / 4))
        found = self.quantiles([part, 1 - part], share=EXTREMES)
        inner = np.append(found.rank_high[: self.d], -found.rank_low[self.d :])
        outer = np.append(found.rank_low[: self.d], -found.rank_high[self.d :])
        inner, outer = (np.maximum(part * self.n + x, found.noise) for x in (inner, outer))
        low, high = found.low.reshape(2, -1), found.high.reshape(2, -1)
        width = np.minimum(found.high / 2 - found.low / 2, LARGEST / 2) * 2
        apart = np.minimum(low[1] / 2 - high[0] / 2, LARGEST / 2) * 2
        # neighbouring intervals are as far apart as they are wide, unless rows are alike between
        touch = (apart == 0) & (width.reshape(2, -1).min(axis=0) > np.abs(low[1]) * ALIKE)
        apart = np.where(touch & (low[1] != 0), width.reshape(2, -1).max(axis=0), apart)
        seen = (apart > 0) & (width.reshape(2, -1) <= WIDE * apart).all(axis=0)
        scale = width / np.log(np.maximum(inner / outer, 2.0))
        worth = scale * min(1.0, 1 / self._final(2 * self.d))
        center = found.middle
        # the ends that lie inwards, and a row worth what it is among rows that spread over 1
        inwards = np.append(*np.sort(np.clip([high[0], low[1]], low[0], high[1]), axis=0))
        whole = np.abs(center[self.d :] / self.n - center[: self.d] / self.n)
        worth = np.maximum(worth, 2 * np.tile(whole, 2))
        found = np.tile(seen, 2)
        return StatisticScale(
            np.where(found, center, inwards),
            bounded(np.where(found, worth, 1 / self.n)),
            found=found,
        )


def _plain(found):
    return np.array([short_decimal(*ends) for ends in zip(found.low, found.high, strict=True)])


def short_decimal(low, high):
    """Return a short decimal between two floats: where rows are alike, theirs as a rule."""
    if low <= 0 <= high:
        return 0.0
    middle = low / 2 + high / 2
    shorter = (float(f"{middle:.{digits}e}") for digits in range(17))
    return next((x for x in shorter if low <= x <= high), middle)


def _power_of_two(length):
    return np.ldexp(1.0, np.frexp(length)[1])


def _ordinary(length):
    """Return lengths to count in; next to nothing, the interval of an atom, tells none."""
    return np.where(length < 2.0**-500, 1.0, np.minimum(length, 2.0**500))


def bounded(sensitivity):
    """Return sensitivities that are positive ordinary numbers."""
    sensitivity = np.nan_to_num(sensitivity, nan=math.inf)
    return np.clip(sensitivity, SMALLEST_SENSITIVITY, LARGEST_SENSITIVITY)
