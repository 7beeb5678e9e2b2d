"""Ranks of the friends of rows, and the mean of those with many: bounded by what the log tells."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.chunks._persons import Heads
from skdp.kernel._sampled import Conditional, Members, OfSample
from skdp.kernel._statistic import public, refuse
from skdp.kernel._sums import Count
from skdp.kernel.pairs._certificate import h_index
from skdp.kernel.pairs._distance import DistancePredicate
from skdp.kernel.pairs._soft_core import (
    GRID_BITS,
    MOST_ROWS,
    soft_core_average,
    soft_core_sensitivity,
)

__all__ = ["FIRST_COUNT", "H_INDEX", "SECOND_COUNT", "HIndex", "SoftCore"]

FIRST_COUNT, SECOND_COUNT, H_INDEX = "first count", "second count", "h-index"  # planned events
LEAST = 0.03  # of n_up rows: how far a core reaches beyond one half


@public
class HIndex(OfSample):
    """The largest h such that h rows of a sample have h friends or more within ``radius``.

    **Privacy** (add or remove one row): it moves by 0 or 1, see :func:`skdp.friendly.h_index`.
    """

    radius: float
    squared_l2 = 1

    def check(self, shape):
        super().check(shape)
        DistancePredicate(self.radius)  # refuses a radius that is none

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

    radius: float  # rows within it are friends
    # ticket of a Gaussian count of no fewer rows than the sample has: :class:`Members` of this very
    # sample, or :class:`Count` of the very rows that it was drawn from; of persons that of their
    # number
    count: int
    h: int  # ticket of a Gaussian answer to :class:`HIndex` of this very sample and radius

    def check(self, shape):
        super().check(shape)
        HIndex(self.radius).check(shape)
        whole = (isinstance(i, int) and not isinstance(i, bool) for i in (self.count, self.h))
        refuse(not all(whole), "a ticket is an integer")

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
        public = {"n_up": self.n_up, "h_low": self.h_low, "radius": self.radius}
        return soft_core_sensitivity(**public, grid=self.step, d=self.d)

    @property
    def squared_l2(self):
        return Fraction(self.l2) ** 2

    def total(self, block):
        """Return the mean on the grid, shape (d,)."""
        public = {"n_up": self.n_up, "h_low": self.h_low, "radius": self.radius}
        return soft_core_average(block.Z, block.friends(self.radius), **public).value


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
    if isinstance(statistic, Heads):
        return view is None and rows.heads == statistic
    alone = rows.heads is None and getattr(rows, "unit", 1) == 1
    return alone and type(statistic) is Count and table._drawn_from(view)


def _least_h(table, radius, ticket):
    view, statistic, told = table._answered(ticket)
    wrong = type(statistic) is not HIndex or not table._same(view)
    refuse(wrong or statistic.radius != radius, "no h-index of this sample and radius")
    margin = math.ceil(table._log.margin(H_INDEX, ticket) * told.scale)
    return math.floor(told.value[0]) - 1 - margin
