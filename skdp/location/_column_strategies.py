"""Columns by themselves: each clipped where its noise and bias balance, and released apart."""

import math
from dataclasses import replace
from functools import wraps

import numpy as np

from skdp.accounting import Step
from skdp.columns._locate import LOCATING_STEPS, locate_columns, survey_share
from skdp.columns._magnitude_histogram import CELLS, ENDS, release_magnitude_histograms, whole_line
from skdp.kernel._lattice import Boxed, TheseColumns
from skdp.kernel._sums import BallSum, Count, RowsWithGaps
from skdp.kernel._table import Table
from skdp.location._release import MeanRelease, release_count
from skdp.mechanisms._exact import exact
from skdp.scales import clipped_sum
from skdp.scales._column_noise import WITH_GAPS, ColumnNoise, with_law

FEW_ROWS, COARSE = 150, 30  # rows in noise units of a sum
COUNT_AGAIN = Step("row count again", at_most=0.04, of=(Count,))
FINAL_SUM = Step("final sum", of=(BallSum,))
COLUMN_STEPS = COUNT_AGAIN, *LOCATING_STEPS  # beyond those of other means
MOST_HISTOGRAMS = 100  # over all floats, one for each column
FEW_FOR_BOX, MANY_FOR_BOX = 30, 450  # rows in noise units of one of d sums
LEAST_SURE, SURE = 1.5, 0.6  # noise sds of a tail, the latter times sqrt(d): one of d is a chance
LONG = 10.0  # scales times sqrt(d): twice what light tails and a box of each column take
LONG_OF_NORMAL = 4.0  # of columns that may be normal: up to 2.5 if they are, from 7 if one is not
UNITS_ARE_FOUND = 200  # so many suffice to find the units of columns that are clipped together
NOTHING = "nothing found: too few rows to tell where a column lies; its location_ is a start"
ZEROS = "nothing but zeros stands out in a column: larger entries, if any, are clipped to [-1, 1]"
# Rows in noise units of a sum, times sqrt(d), with fewer of which tails stay unseen: of 4,876 means
# of columns of 212 tables 137 were off by half a deviation, one of them with more rows and a short
# interval.
UNSEEN = 45
HIDDEN = (
    "so few rows for this epsilon that a tail of a twentieth of them may stay unseen: the interval "
    "is that of the rows that are seen; pass bounds=(low, high) if known"
)
FEW_ROWS_TOLD = (
    "so few rows for this epsilon that the mean is coarse: pass bounds=(low, high) if known"
)
BOXED = "every column was clipped to an interval of its own"

GAPS = Step("rows with gaps", at_most=0.01, of=(RowsWithGaps,))
COLUMNS = "columns with gaps"
MOST_COLUMNS = 10_000  # that are released one by one
SHOW = 3.0  # noises: rows beyond an end
REACH = 0.5  # of the range between the outermost quantiles, beyond both of them, at least
SCALES = 3.9  # such a range is so many scales of an exponential law, from 2 to 98 %
FAR = 2.0  # noises: rows beyond that show
FARTHEST = 8.0  # ranges
LARGEST = np.finfo(np.float64).max / 8
DECIDED = "rows with gaps show: every column is released by itself, of the entries that it has"


def column_mean(counted):
    """Release the mean of one column: count, locate, and one clipped sum with all that is left.

    Notes
    -----
    **Privacy**: the sum of entries clipped to ``center`` +- ``radius``, both released, has
    sensitivity ``radius``; the rest is that of :func:`skdp.columns._locate.locate_columns`.
    """
    if counted.n * counted.mu < FEW_ROWS:
        again = release_count(counted.table, COUNT_AGAIN)
        counted = replace(counted, count=counted.count.pooled(again))
    (located,) = _located(counted)
    clip, n = located.clipping, counted.n
    if located.kind == "rows" and n * counted.mu < COARSE:
        counted.table.doubt(FEW_ROWS_TOLD)
    if located.kind == "nothing":
        return MeanRelease.unknown(np.zeros(1), n)
    total, sd = clipped_sum(
        counted.table,
        center=np.array([clip.center]),
        radius=clip.radius,
        share=counted.table.remaining,
        label=FINAL_SUM.label,
    )
    offset, noise = total / n, sd / n
    noise = np.hypot(noise, (np.abs(offset) + noise) * counted.count.sd / n)
    bias = np.array([[clip.below], [clip.above]])
    release = MeanRelease(np.nan_to_num(clip.center + offset), noise, bias, n)
    return counted.checked(with_deviation(release, [located]), clip.radius)


def with_deviation(release, located):
    """Return a MeanRelease with bounds of the deviations of columns, by their ColumnLocation."""
    told = [*zip(located, release.location, release.noise_scale, strict=True)]
    most = np.array([one.squares.deviation(float(m), float(sd)) for one, m, sd in told])
    least = np.array([one.squares.least(float(m), float(sd)) for one, m, sd in told])
    heavy, unseen = np.array([(one.clipping.heavy, one.hidden) for one in located]).T
    return replace(release, deviation=most, typical=least, heavy=heavy, unseen=unseen)


def _located(counted, **known):
    """Release where the columns lie, and say of which nothing was seen."""
    table, drawn = counted.table, counted.drawn
    more = drawn.n / counted.n  # times as many
    located = locate_columns(
        drawn.table, n=drawn.n, count_sd=more * counted.count.sd, worth=counted.n, **known
    )
    kinds = np.array([one.kind for one in located])
    table.doubt(NOTHING, columns=kinds == "nothing")
    table.doubt(ZEROS, columns=kinds == "zeros")
    few = drawn.n * drawn.mu < UNSEEN * np.sqrt(len(located))
    hidden = np.array([few or one.hidden for one in located])
    table.doubt(HIDDEN, columns=(kinds == "rows") & hidden)
    return [
        replace(one, clipping=_effective_clipping(one.clipping, more), hidden=bool(h))
        for one, h in zip(located, hidden, strict=True)
    ]


def _effective_clipping(clip, more):
    """Return a Clipping for the mean of fewer rows' worth: of it each may be a larger part."""
    return replace(clip, below=max(1.0, more) * clip.below, above=max(1.0, more) * clip.above)


def look_at_columns(counted):
    """Return the Surveys of the columns; None of so many, or of so few rows, that none can tell."""
    counted = counted.drawn
    d, rows = counted.d, _rows(counted)
    if d > MOST_HISTOGRAMS or rows < FEW_FOR_BOX:
        return None
    share = survey_share(counted.table.budget, counted.n, d)
    share = share if rows > MANY_FOR_BOX else max(share, 0.05)
    return release_magnitude_histograms(counted.table, share=share)


def _rows(counted):
    """Return the number of rows in noise units of one of d sums."""
    return counted.n * counted.mu / np.sqrt(counted.d)


def prefer_column_clipping(counted, surveys, *, unlike=True):
    """Return whether the columns should be clipped one by one.

    They should if one of them is hard on others: if nothing, or nothing but zeros, is seen of it,
    if it is nearly always zero, or if many of its entries lie far above its bulk. With few rows
    different units are as hard if they are ``unlike`` what can be found.
    """
    counted = counted.drawn
    sure = max(LEAST_SURE, SURE * np.sqrt(counted.d))
    bulks = [_bulk(one, counted.n, sure) for one in surveys]
    units = [bulk for bulk in bulks if bulk]
    apart = unlike and _rows(counted) < UNITS_ARE_FOUND
    apart = apart and max(units, default=1) > 4 * min(units, default=1)
    return apart or not all(bulks)


def drowned(clip, where, seen):
    """Return whether one column is so hard on others that a box would have been better."""
    scaled = seen.laws is not None or seen.missed is not None
    spread = math.sqrt(len(where.scale)) if scaled else where.spread
    return clip.radius > (LONG_OF_NORMAL if seen.laws else LONG) * spread


def _bulk(survey, n, sure):
    """Return the size below which three quarters of a column lie, None if it is hard on others."""
    zeros = survey.counts[CELLS.n_side]
    if survey.kind != "rows" or zeros > 0.85 * n:
        return None
    bulk = survey.size(0.75)
    far = (ENDS.size / 2 > bulk) & (ENDS.size / 64 <= bulk)
    beyond = survey.counts[far].sum() - sure * survey.scale * np.sqrt(np.count_nonzero(far))
    return None if bulk == 0 or beyond > 0.03 * n else bulk


def boxed(counted, surveys):
    """Return the CountedTable with every column clipped to its interval, and the ColumnLocations.

    Notes
    -----
    **Privacy**: what is released of the rows in the box is released of functions of the rows.
    """
    located = list(_located(counted, surveys=surveys))
    counted.table.decide(BOXED)
    table = counted.table.map(Boxed(*_box([one.clipping for one in located])))
    return replace(counted, table=table), located


def unboxed(release, clips):
    """Return a MeanRelease of boxed rows in units of the table, the bias of the box included."""
    center, radius = _box(clips)
    bias = np.array([[clip.below for clip in clips], [clip.above for clip in clips]])
    return replace(
        release,
        location=np.nan_to_num(center + radius * release.location),
        noise_scale=radius * release.noise_scale,
        clipping_bound=radius * release.clipping_bound + bias,
        # the box has cut tails off, and tells of them
        hidden=bool(np.isinf(release.clipping_bound).any()),
    )


def _box(clips):
    center = np.array([clip.center for clip in clips])
    return center, np.array([clip.radius for clip in clips])


# --- columns by themselves: tables of one column, and columns with gaps, released apart


class ColumnTable:
    """The Table of one column, whose doubts are those of that column in the table of all."""

    def __init__(self, table, whole, column):
        self._table, self._whole, self._column = table, whole, column

    def __getattr__(self, name):
        found = getattr(self._table, name)
        return self._of_column(found) if callable(found) else found

    def _of_column(self, method):
        @wraps(method)
        def asked(*given, **options):
            answer = method(*given, **options)
            if isinstance(answer, Table):
                return type(self)(answer, self._whole, self._column)
            return answer

        return asked

    def doubt(self, text, columns=None):
        """Note a doubt; see :meth:`skdp.kernel._table.Table.doubt`."""
        if columns is None or np.any(columns):
            self._whole.doubt(text, np.arange(self._whole.n_features) == self._column)


class QuietTable(ColumnTable):
    """The Table of one column, a step of something that says itself how well it is known."""

    def __init__(self, table, whole=None, column=0):
        super().__init__(table, whole, column)

    def doubt(self, text, columns=None):
        """Say nothing: advice on a mean, as to pass its bounds, is of no use there."""


def asked_first(estimator, n_features):
    """Return what a fit of columns asks before anything is released; a method of estimators."""
    if estimator.bounds is not None:
        return ()
    if not estimator._searches():
        return (Count(),)
    gaps = (RowsWithGaps(),) if 1 < n_features <= MOST_COLUMNS else ()
    return (*gaps, Count(), whole_line(np.arange(n_features)))


def with_gaps(plan):
    """Return a plan with the steps that :func:`release_with_gaps` takes beside its own."""
    child = Step(COLUMNS, "child", at_most=0.5, times=MOST_COLUMNS)
    inner = [
        replace(step, label=f"{COLUMNS}/{step.label}", times=step.times * MOST_COLUMNS)
        for step in plan.steps
    ]
    return replace(plan, steps=(*plan.steps, *with_law(plan.budget, GAPS), child, *inner))


def release_with_gaps(table, release):
    """Return what a function releases of the Table of every column, None if few rows have gaps.

    Notes
    -----
    **Privacy** (add or remove one row). The number of rows with gaps moves by 1, and its release
    decides whether columns are released one by one. Each of d is a table of its own, with a d-th of
    what is left: sequential composition.
    """
    d = table.n_features
    if not 1 < d <= MOST_COLUMNS:
        return None  # of one column a gap is an absent row
    if not gaps_show(table):
        return None
    table.decide(DECIDED)
    share = exact(table.remaining) / d
    return [
        release(ColumnTable(table.child(COLUMNS, share).map(TheseColumns(np.array([j]))), table, j))
        for j in range(d)
    ]


def gaps_show(table):
    """Release the number of rows with gaps; return whether it is significant.

    Fewer rows, left out, move means by no more than the noise.
    """
    told = table.ask(RowsWithGaps(), GAPS)
    return float(told.value[0]) > WITH_GAPS * ColumnNoise(table.budget).deviation(told.scale)


@np.errstate(all="ignore")  # of places near the ends of floats
def reach(q, found, j, strength):
    """Return ends between which nearly all entries of a column lie, by its released ranks.

    A range as wide as half of that between the outermost quantiles beyond them, and so wide that
    clipping moves the mean of an exponential law by no more than a noise, of which a row moves it
    by one part in ``strength``; and on, from cut to cut, as long as rows show beyond.
    """
    wide = max(REACH, math.log(max(strength, 1.0)) / SCALES - 1)
    low, high = np.clip(found.location[[0, -1], j], -LARGEST, LARGEST)
    width = high - low
    if not width > 0:
        width = max(abs(low), 1.0)
    ends = low - FARTHEST * width, high + FARTHEST * width
    low, high = low - wide * width, high + wide * width
    (first, _), (last, _) = _outermost(q, found, j)
    low = min([low, *first[ends[0] < first]])
    high = max([high, *last[last < ends[1]]])
    low = float(np.clip(low, -LARGEST, LARGEST))
    return low, float(min(max(high, np.nextafter(low, np.inf)), LARGEST))


def are_beyond(q, found, j, ends, counts, sd):
    """Return whether rows show beyond the ends of a column, and whether rows show that may be.

    ``counts``: released numbers of rows beyond both ends, with noise of standard deviation ``sd``.
    Rows that show above a cut may be beyond an end if no other cut is between, unless there are
    clearly more of them than are beyond it.
    """
    (first, below), (last, above) = _outermost(q, found, j)
    surely = first[1] <= ends[0] or last[0] >= ends[1] or (counts > SHOW * sd).any()
    maybe = np.array([first[0] < ends[0], last[1] > ends[1]])
    return bool(surely), bool((maybe & ~(counts + FAR * sd < [below, above])).any())


def _outermost(q, found, j):
    """Return of the lowest rows that show, and of the highest, the cuts around, and their number.

    Shapes: cuts (2,), NaN if none show.
    """
    x, excess, sd = found.points[j], found.excess[j], found.sd[j]
    n = excess[0, -1] - excess[0, 0]
    below, above = q[0] * n + excess[0], (1 - q[-1]) * n - excess[-1]
    least = np.flatnonzero(below > FAR * sd[0])[:1]
    most = np.flatnonzero(above > FAR * sd[-1])[-1:]
    last = len(x) - 1
    around = (np.append(least - 1, least), below[least]), (np.append(most, most + 1), above[most])
    return [
        (x[np.clip(places, 0, last)], rows[0]) if len(rows) else (np.full(2, np.nan), 0.0)
        for places, rows in around
    ]
