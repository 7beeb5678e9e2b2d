"""Questions to a sample as a whole: rings, ranks of friends, and the mean of those with many."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._plain import ColumnTuple, once, public, refuse, within
from skdp.kernel._sampled import Conditional, Members, OfSample
from skdp.kernel._statistic import MOST_CELLS
from skdp.kernel._sums import Count
from skdp.kernel._totals import RING_SQUARED, ring_blocks
from skdp.kernel.pairs._distance import (
    GRID_BITS,
    MOST_ROWS,
    DistancePredicate,
    h_index,
    soft_core_average,
    soft_core_sensitivity,
)
from skdp.mechanisms import row_norms
from skdp.readers._loop import threaded
from skdp.readers._persons import NoisyUnitCount

FIRST_COUNT, SECOND_COUNT, H_INDEX = "first count", "second count", "h-index"  # planned events
LEAST = 0.03  # of n_up rows: how far a core reaches beyond one half


class OfRing(OfSample):
    """Counts of the differences of rows to the ones before, in the cyclic order of their keys.

    A subclass has ``most``.

    **Privacy** (add or remove one row; common rows share their keys). By its entries alone a
    difference w adds a vector h(w) of numbers that are not negative, with ``|h(w)|^2 <= most``. A
    new row comes between two rows of the old ring: one difference, w, goes and two, u and v, come,
    all others stay. So the counts move by

        |h(u) + h(v) - h(w)|^2 <= |h(u)|^2 + |h(v)|^2 + |h(w)|^2 + 2 h(u).h(v) <= 5 most,

    attained by u and v in the same cells, w in others. Beside one old row no difference goes and
    two come: at most ``4 most``; beside none, nothing moves. Rows of equal keys stay in the order
    of the table, which common rows share as well.
    """

    @property
    def squared_l2(self):
        return RING_SQUARED * self.most

    @abstractmethod
    def counted(self, differences):
        """Return the sum of h over the differences of a block."""

    def total(self, block):
        """Return the counts."""
        parts = threaded(ring_blocks(block.Z, block.ring, self.counted))
        return sum(parts, self.counted(block.Z[:0]))


@public
class Ring(OfRing):
    """How many differences of a ring have which length.

    **Privacy**: h is the unit vector of a bin, or 0 for NaN.
    """

    bins: LogBins
    most = 1

    def counted(self, differences):
        return self.bins.counts(row_norms(differences))


@public
class RingColumns(OfRing):
    """Histograms of the sizes of the differences of a ring in every column, shape (d, n_bins).

    **Privacy**: h has a one in each of d histograms at most.
    """

    bins: LogBins
    d: int  # number of columns

    def check(self, shape):
        super().check(shape)
        refuse(self.d != shape.n_features, "d is the number of columns")
        refuse(self.d * self.bins.n_bins > MOST_CELLS, "histograms have at most 2^24 cells")

    @property
    def most(self):
        return self.d

    def counted(self, differences):
        return self.bins.column_counts(np.abs(differences))


class OfSparse(OfRing):
    """A question about the differences of a ring in some columns."""

    def _some(self, differences):
        """Return the sizes of entries of differences, and how many are other than zero."""
        some = np.abs(differences[:, list(self.columns)])
        return some, np.count_nonzero(some, axis=1)


@public
class RingEntries(OfSparse):
    """How many differences of a ring have how many entries other than zero.

    **Privacy**: h is a unit vector.
    """

    columns: Annotated[ColumnTuple, once]  # that are looked at
    most = 1

    def counted(self, differences):
        return np.bincount(self._some(differences)[1], minlength=len(self.columns) + 1)


@public
class SparseRing(OfSparse):
    """Histograms of the entries of columns, zeros left out, of differences that have few others.

    **Privacy**: h has a 1 for each entry of a difference other than zero, at most ``most``, or is
    0.
    """

    columns: Annotated[ColumnTuple, once]  # that are looked at
    # differences with more entries than that are left out
    most: Annotated[int, within(1, math.inf)]
    bins: LogBins  # the lowest, that of zeros, stays empty

    def check(self, shape):
        super().check(shape)
        refuse(len(self.columns) * self.bins.n_bins > MOST_CELLS, "at most 2^24 cells")

    def counted(self, differences):
        some, entries = self._some(differences)
        counts = self.bins.column_counts(some[entries <= self.most])
        counts[:, 0] = 0
        return counts


def _of_friends(x, name, sizes):
    """Refuse a radius within which nobody can tell friends."""
    DistancePredicate(x)


OfFriends = Annotated[float, _of_friends]  # a radius: rows within it are friends


@public
class HIndex(OfSample):
    """The largest h such that h rows of a sample have h friends or more within ``radius``.

    **Privacy** (add or remove one row): it moves by 0 or 1, see :func:`skdp.friendly.h_index`.
    """

    radius: OfFriends
    squared_l2 = 1

    def total(self, block):
        """Return the index, shape (1,)."""
        return np.array([h_index(block.friends(self.radius))])


@public
class SoftCore(Conditional):
    """The mean of the rows of a sample, weighed by their numbers of friends.

    **Privacy** (add or remove one row). Let D be the larger of two neighbouring samples, of n rows,
    and D' the smaller, h and h' their h-indices: ``h' <= h <= h' + 1``. The log holds, whichever of
    them is in hand, ``told = exact + noise``, and q is the quantile of a planned failure event:
    noise passes q standard deviations to a given side with at most the probability of the event.
    Noise is rounded to integers, hence ``noise >= -q sd`` gives ``rounded >= -ceil(q sd)``.

    - ``n_up = ceil(told) + ceil(q sd) + 1 >= exact + 1``. What was counted, rows or persons that
      the sample was drawn from or its members, holds all n rows if D is in hand, and at least n - 1
      if D' is: ``n_up >= n``, but for the event.
    - ``h_low = floor(told) - 1 - ceil(q sd) <= exact - 1``, and exact is h or h', at most h' + 1:
      ``h_low <= h'``, but for its event.

    Under these two inequalities :func:`skdp.friendly.soft_core_average` moves by
    :func:`skdp.friendly.soft_core_sensitivity` of n_up and h_low at most, and the noise is that of
    this number, which both sides compute of the same log. Answers for which one of them is wrong
    are as likely as the events, which the plan has paid for: ``Log.margin`` lets an event serve one
    answer alone, so that no event pays for the bounds of two. Rows of a view that were not finite
    before it, and of other samples, are counted by other tickets, which are refused.
    """

    radius: OfFriends
    # ticket of a Gaussian count of no fewer rows than the sample has: :class:`Members` of this very
    # sample, or :class:`Count` of the very rows that it was drawn from; of persons that of their
    # number
    count: int
    h: int  # ticket of a Gaussian answer to :class:`HIndex` of this very sample and radius

    def bounds(self, table):
        """Return (n_up, h_low), None where they certify no core. Computed from answers alone."""
        up, low = _most_rows(table, self.count), _least_h(table, self.radius, self.h)
        certain = 1 <= up < 2 * low <= 2 * MOST_ROWS and low - up / 2 >= LEAST * up
        return (up, low) if certain else None

    def given(self, table):
        """Return the mean with the bounds that the log tells."""
        bounds = self.bounds(table)
        refuse(bounds is None, "no core is certain")
        return _Mean(self.radius, *bounds, table.n_features)


@dataclass(frozen=True)
class _Mean(OfSample):
    """A soft core with bounds: made of tickets in :class:`SoftCore`, and no question by itself."""

    radius: float
    n_up: int
    h_low: int
    d: int

    @property
    def step(self):
        return DistancePredicate(self.radius).unit * 2.0**-GRID_BITS

    @property
    def l2(self):
        """The bound of the length."""
        return soft_core_sensitivity(**self._public, grid=self.step, d=self.d)

    @property
    def squared_l2(self):
        return Fraction(self.l2) ** 2

    def total(self, block):
        """Return the mean on the grid, shape (d,)."""
        counts = block.friends(self.radius)
        return soft_core_average(block.Z, counts, **self._public).value

    @property
    def _public(self):
        return {"n_up": self.n_up, "h_low": self.h_low, "radius": self.radius}


def _most_rows(table, ticket):
    view, statistic, told = table._answered(ticket)
    if type(statistic) is Members:
        refuse(not table._same(view), "a count of other rows")
        margin = math.ceil(table._log.margin(SECOND_COUNT, ticket) * told.scale)
        return math.ceil(told.value[0]) + margin + 1
    refuse(not _counts_source(table, view, statistic), "no count of all these rows")
    n = max(float(told.value[0]), 4 * told.scale, 2.0)
    return math.ceil(n) + math.ceil(table._log.margin(FIRST_COUNT, ticket) * told.scale) + 1


def _counts_source(table, view, statistic):
    rows = table._source
    if isinstance(statistic, NoisyUnitCount):
        return view is None and rows.heads == statistic
    alone = rows.heads is None and getattr(rows, "unit", 1) == 1
    return alone and type(statistic) is Count and table._drawn_from(view)


def _least_h(table, radius, ticket):
    view, statistic, told = table._answered(ticket)
    wrong = type(statistic) is not HIndex or not table._same(view)
    refuse(wrong or statistic.radius != radius, "no h-index of this sample and radius")
    margin = math.ceil(table._log.margin(H_INDEX, ticket) * told.scale)
    return math.floor(told.value[0]) - 1 - margin
