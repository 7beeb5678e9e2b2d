"""Columns by themselves: tables of one column, and columns with gaps, released apart."""

import math
from dataclasses import replace
from functools import wraps

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import whole_line
from skdp.kernel._sums import Count, RowsWithGaps
from skdp.kernel._table import Table
from skdp.kernel._views import TheseColumns
from skdp.mechanisms._exact import exact
from skdp.scales._column_noise import ColumnNoise, with_law
from skdp.scales._significance import WITH_GAPS


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
