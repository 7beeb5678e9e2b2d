"""Means of rows that take up a small part of their public bounds: sums inside and beyond."""

import math
from dataclasses import replace

import numpy as np

from skdp.accounting import Step
from skdp.columns._locate import LOCATING_STEPS, locate_columns
from skdp.columns._magnitude_histogram import WHOLE
from skdp.columns._tail import SURE
from skdp.kernel._bins import UniformCells
from skdp.kernel._bounded import BoundedSums
from skdp.kernel._columns import ColumnCells, EdgeCells
from skdp.kernel._lattice import InBox
from skdp.location._bounded_moments import (
    AT_BOUND,
    doubt_clipped,
    moment_plan,
    release_columns,
)
from skdp.location._column_strategies import GAPS, gaps_show, with_deviation
from skdp.location._release import MeanRelease
from skdp.scales._column_noise import COARSE, ColumnNoise, column_budget, windows_above
from skdp.utils._numbers import bounds_vectors

N_CELLS = 40  # of the first look at a column between its bounds
PAD = 2.0  # of an interval of significant cells, whose ends hide
FAINT = 0.05  # part of the rows on either side, which does not decide whether to search
CLEAR = 5.0  # noises of a whole histogram: fewer rows tell nothing
WORTH = 2 / 3  # predicted noise over that of moments, from which on the search is worth its price
INSIDE_SHARE = 0.4  # of the budget, about what is left for the sum inside
LONGER = 1.0  # times the noise of moments: that of the sum beyond, so that intervals stay as long
MOST_BEYOND, LEAST_BEYOND = 0.6, 0.1
OFFSET = 0.05  # of the budget, for the numbers of entries
MOST_COLUMNS = 100
ALIKE, LARGEST = 2.0**-40, 2.0**400  # bounds as near as parts of their size; lengths with squares
RANGE = Step("range", at_most=0.02, of=(ColumnCells,))
ENTRIES = Step("entries", at_most=OFFSET, of=(EdgeCells,))
BEYOND = Step("sum beyond", at_most=MOST_BEYOND, of=(BoundedSums,))
INSIDE = Step("sum inside", of=(BoundedSums,))
NARROW_STEPS = RANGE, GAPS
SEARCH_STEPS = RANGE, ENTRIES, *LOCATING_STEPS, BEYOND, INSIDE
SEARCHED = "rows take up a small part of their bounds: they are looked for there"
DECIDED = "rows take up a small part of their bounds: they are summed inside and beyond an interval"


def looks_inside(estimator):
    """Return whether rows are looked for between bounds: not in a part of a larger fit."""
    return estimator.delta > 0 and not estimator._is_granted()


def bounded_mean_plan(mean):
    """Return the plan of :func:`release_bounded_mean`."""
    plan = moment_plan(mean._budget(column_budget))
    return replace(plan, steps=(*SEARCH_STEPS, *plan.steps)) if looks_inside(mean) else plan


def release_bounded_mean(table, mean):
    """Release a MeanRelease of columns between the bounds of a PrivateMean, and more.

    Returns the fitted attributes as well, and the mean less what may well be noise, or None.
    """
    low, high = ends = bounds_vectors(mean.bounds, table.n_features)
    found = None
    if looks_inside(mean) and table.heads is None:
        found = release_searched_mean(table, low, high)
    if found is None:
        columns = release_columns(table, ends, 2)
        return columns.mean_release(), columns.attributes(), None
    moments = dict.fromkeys(("moments_", "moments_covariance_"))
    return found[0], {"bounds_": np.array(ends), **moments}, found[1]


def between(low, high, mean):
    """Return intervals of a fitted mean, cut to its bounds if it has some, that hold its value."""
    if mean.bounds is None or not hasattr(mean, "bounds_"):
        return low, high
    low, high = np.minimum(low, mean.location_), np.maximum(high, mean.location_)
    return np.clip(low, *mean.bounds_), np.clip(high, *mean.bounds_)


def release_searched_mean(table, low, high):
    """Release the mean of columns between bounds as a MeanRelease, and a vector; or None.

    None if moments are as good. The vector leaves out what may well be noise.

    Notes
    -----
    An entry is clip(x, a, b) for released ends a and b, and what lies beyond them. Both are summed,
    with noise in proportion to their ranges, and the mean of the rows clipped to the bounds is
    c + (sum of clip(x) - c + sum beyond) / n, for any a, b and c: no tail may escape the interval.
    A sum beyond that does not stand out of its noise is left out of the value itself, unless many
    rows may hide there.

    **Privacy** (add or remove one row): histograms of one cell a column, numbers of entries of one
    count a column, and :class:`skdp.kernel._bounded.BoundedSums`. Ends, centres and shares are told
    by releases.
    """
    d, inside_bounds = table.n_features, table.map(InBox(low, high))
    if d > MOST_COLUMNS or not _ordinary(low, high):
        return None
    ranges = _look(table, low, high)
    if not _is_worth(ranges):
        return None
    told = table.ask(EdgeCells(np.arange(d), (WHOLE,) * d, "entries"), ENTRIES)
    count_sd = told.scale
    n = np.maximum(told.value.astype(float), max(4 * count_sd, 2.0))
    located = locate_columns(inside_bounds, n=float(n.max()), count_sd=count_sd)
    ends = np.array([_ends(one, *of) for one, *of in zip(located, low, high, strict=True)]).T
    guess = np.array([one.mean for one in ranges]) * (high - low) + low
    per_sum = ColumnNoise(table.budget).scale(INSIDE_SHARE, d)
    center = np.array([_center(*of, per_sum, count_sd) for of in zip(guess, *ends, strict=True)])
    most = np.maximum(ends[0] - low, high - ends[1])  # the longest that an entry may be beyond
    beyond, beyond_sd = np.zeros((2, d))
    table.decide(DECIDED)
    if most.any():
        aim = LONGER * np.hypot(guess - low, high - guess)
        share = float(np.median(np.square(most / aim)[most > 0]))
        share = float(np.clip(share, LEAST_BEYOND, MOST_BEYOND * float(table.remaining)))
        # of a column without room beyond its interval nothing is seen there, in any bounds
        outer = np.where(most > 0, [low, high], [2 * low - high, 2 * high - low])
        sums = BoundedSums(*outer, entries=True, start=ends)
        told = inside_bounds.ask(sums, BEYOND, share=share)
        beyond, beyond_sd = most * told.real / n, most * told.sd / n
    sums = BoundedSums(*ends, entries=True, start=np.array([center, center]))
    told = table.ask(sums, INSIDE, share=table.remaining)
    inside, inside_sd = told.real * sums.most / n, told.sd * sums.most / n
    noise = np.hypot(inside_sd, beyond_sd)
    noise = np.hypot(noise, (np.abs(inside + beyond) + noise) * count_sd / n)
    mean = np.clip(center + inside + beyond, low, high)
    hidden = np.array([one.hidden or one.clipping.heavy for one in located])
    kept = hidden | (np.abs(beyond) > _level(beyond_sd, inside_sd))
    location = np.clip(center + inside + np.where(kept, beyond, 0.0), low, high)
    release = with_deviation(MeanRelease(mean, noise, np.zeros((2, d)), n), located)
    there = np.array([one.kind == "rows" for one in located])
    most = np.sqrt(np.maximum((mean - low) * (high - mean), 0.0))  # of rows at both bounds
    part = (mean - low) / (high - low)
    fine = [one.deviation(*of) for one, *of in zip(ranges, part, n, strict=True)]
    most = np.minimum(most, fine * (high - low))
    deviation = np.where(there, np.minimum(release.deviation, most), most)
    doubt_clipped(table, np.array([low, high]), _at_bounds(mean, ends, low, high))
    release = replace(release, deviation=deviation, heavy=None)
    return release, location


def are_narrow(table, low, high):
    """Return whether rows without gaps take up so small a part of their bounds that one searches.

    **Privacy** (add or remove one row): a histogram of one cell a column, and the number of rows
    with gaps.
    """
    d = table.n_features
    if table.heads is not None or d > MOST_COLUMNS or not _ordinary(low, high):
        return False
    if not _is_worth(_look(table, low, high)):
        return False
    if d > 1 and gaps_show(table):
        return False
    table.decide(SEARCHED)
    return True


def _is_worth(ranges):
    """Return whether a search is told to pay, on average over columns."""
    return np.mean(np.log([one.loss for one in ranges])) <= math.log(WORTH)


def _ordinary(low, high):
    """Return whether bounds are so far apart that cells between them have a width."""
    apart = high - low
    far = apart > ALIKE * np.maximum(np.abs(low), np.abs(high))
    return bool((far & (apart > 1 / LARGEST) & (apart < LARGEST)).all())


def _look(table, low, high):
    """Release a _Range of every column, of entries clipped to its bounds."""
    width = (high - low) / (N_CELLS - 1)  # bounds are in the middle of the first and last cell
    of = zip(low - width / 2, width, strict=True)
    cells = tuple(UniformCells(*one, N_CELLS, closed=True) for one in of)
    told = table.ask(ColumnCells(np.arange(len(low)), cells, rows="entries"), RANGE)
    return [_Range(one, told.scale) for one in told.value.astype(float)]


class _Range:
    """What the first look has told of a column; lengths are in units of its bounds."""

    def __init__(self, counts, sd):
        self._counts, self._sd = counts, sd
        levels = {w: COARSE * sd * math.sqrt(w) for w in (1, 2, 4)}
        self._seen = np.flatnonzero(windows_above(counts, levels))
        if counts.sum() < CLEAR * sd * math.sqrt(N_CELLS):
            self._seen = self._seen[:0]

    @property
    def loss(self):
        """The predicted noise of a search over that of moments."""
        if not self._seen.size:
            return 1 / WORTH
        mass = np.maximum(self._counts[self._seen], 0.0)
        upto = np.cumsum(mass)  # noise makes a cell of few rows now and then, anywhere
        bulk = self._seen[(upto >= FAINT * upto[-1]) & (upto - mass <= (1 - FAINT) * upto[-1])]
        part = min(PAD * (bulk[-1] - bulk[0] + 1) / N_CELLS, 1.0)
        return part / 2 / math.sqrt(INSIDE_SHARE) / math.hypot(self.mean, 1 - self.mean)

    @property
    def mean(self):
        """The mean of the seen cells, their middle if nothing is seen."""
        mass = np.maximum(self._counts[self._seen], 0.0)
        if not mass.sum() > 0:
            return 0.5
        return float(self._seen @ mass / mass.sum()) / (N_CELLS - 1)

    def deviation(self, mean, n):
        """Return an upper estimate of the standard deviation of n rows around a mean.

        Rows are taken to be half a cell from its middle, and two deviations of the noise are added.
        """
        if not self._seen.size:
            return math.inf
        size = PAD / 2 * (self._seen[-1] - self._seen[0] + 1)
        offset = np.arange(N_CELLS) - mean * (N_CELLS - 1)
        square = np.where(np.abs(offset) <= max(size, 1.0), np.square(offset) + 1 / 4, 0.0)
        noise = SURE * self._sd * math.sqrt(np.square(square).sum())
        return (
            math.sqrt(max(float(self._counts @ square), 0.0) + noise) / math.sqrt(n) / (N_CELLS - 1)
        )


def _center(mean, a, b, per_sum, count_sd):
    """Return what entries between two ends are seen from: noises of sum and count are least."""
    at = (a + b) / 2 + (np.clip(mean, a, b) - (a + b) / 2) * np.linspace(0, 1, 9)
    noise = np.hypot(np.maximum(b - at, at - a) * per_sum, np.abs(mean - at) * count_sd)
    return float(at[np.argmin(noise)])


def _ends(located, low, high):
    """Return the ends of a column inside its bounds; the bounds where no rows were found."""
    clip = located.clipping
    a, b = max(clip.center - clip.radius, low), min(clip.center + clip.radius, high)
    return (a, b) if located.kind == "rows" and a < b else (low, high)


def _level(beyond_sd, inside_sd):
    """Return the size from which on a sum beyond is no noise.

    Noise Z that is kept where it exceeds z adds E[Z^2; |Z| > z] = 2 (z phi(z) + Q(z)), about
    2 z phi(z), to a squared error: some z^2 / 4 of that of the noise inside, for ``z^2 = 2 log(12
    ratio)`` of the two, no less than 4.
    """
    ratio = np.square(beyond_sd / inside_sd)
    return np.sqrt(np.maximum(2 * np.log(np.maximum(12 * ratio, 1.0)), 4.0)) * beyond_sd


def _at_bounds(mean, ends, low, high):
    """Return whether nearly all rows are at the lower, or the upper bound: shape (2, d)."""
    near = AT_BOUND * (high - low)
    return np.array(
        [(ends[0] <= low) & (mean - low <= near), (ends[1] >= high) & (high - mean <= near)]
    )
