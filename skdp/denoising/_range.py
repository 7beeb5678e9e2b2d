"""A private range of every column: a rough centre, then how far rows lie below and above it."""

from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._ranks import KeyRanks
from skdp.kernel._sums import Count
from skdp.scales import LogBins, read_scale
from skdp.scales._bisection import LEVELS, float_of_order

__all__ = ["RANGE_SHARE", "RANGE_STEPS", "private_ranges"]

ROW_COUNT = Step("row count", at_most=Fraction(1, 100), of=(Count,))
CENTRE = Step("centre", at_most=Fraction(12, 100) / LEVELS, times=LEVELS, of=(KeyRanks,))
REACH = Step("reach", at_most=Fraction(7, 100), of=(ColumnBins,))
RANGE_STEPS = ROW_COUNT, CENTRE, REACH
RANGE_SHARE = sum(step.at_most * step.times for step in RANGE_STEPS)
TAIL = 0.002  # part of the rows that may lie beyond each end


def private_ranges(table, columns, law):
    """Release a range for some columns that holds nearly all rows, at a fifth of the budget.

    Notes
    -----
    **Privacy** (add or remove one row). The row count moves by 1. The others are answers to
    :class:`skdp.kernel._ranks.KeyRanks`, given released thresholds, and
    :class:`skdp.kernel._columns.ColumnBins`, given the released centres.
    """
    columns = tuple(int(c) for c in columns)
    n = float(table.ask(Count(), ROW_COUNT).value[0])
    centre = _centres(table, columns)
    bins = LogBins(2)
    seen = table.map(SomeColumns(np.array(columns)))
    noisy = seen.ask(ColumnBins(centre, np.ones(len(columns)), bins, "apart"), REACH)

    def top(side):
        return read_scale(side, noisy.scale, max(n, 1.0), bins, tail=TAIL, law=law).scale

    reach = np.array([[top(side) for side in pair] for pair in noisy.value])
    if not reach.any(axis=1).all():
        table.doubt("too few rows, or rows all alike: a range is one unit wide")
    return centre - reach[:, 0], centre + reach[:, 1]


def _centres(table, columns):
    """Release a value near the median of every column, by bisection on the order of all floats."""
    low, high = (np.full(len(columns), end, np.uint64) for end in (0, 2**64 - 1))
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        value = table.ask(KeyRanks(columns, middle), CENTRE).value
        high, low = np.where(value > 0, middle, high), np.where(value > 0, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))
