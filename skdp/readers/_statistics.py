"""Statistics of rows that know more than what they make of a block."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Counts", "ViewStatistic"]


@dataclass(frozen=True)
class ViewStatistic:
    """A statistic of what a view makes of a block."""

    mapped: object
    statistic: object

    def __call__(self, start, block, *beside):
        """Return the statistic of a block behind the view."""
        return self.statistic(start, self.mapped(block), *beside)


@dataclass(frozen=True)
class Counts:
    """A statistic for :func:`weighed_sum`: how many rows lie in each of ``size`` cells.

    Notes
    -----
    Rows with weights are counted in one pass: sums of integers below 2^53 are exact in float64.
    """

    # maps a block to the cells of its rows, -1 for a row in none: an integer for each row, which
    # depends on that row alone
    cells: object
    size: int

    def __call__(self, start, block, *beside):
        """Return the counts of the rows of a block."""
        return self.weighed(None, start, block)

    def weighed(self, weights, start, block, *beside):
        """Return the sums of the weights of the rows in each cell."""
        at = self.cells(block)
        counts = np.bincount(at + 1, weights, minlength=self.size + 1)[1:]
        return counts.astype(np.int64, copy=False)
