"""Scores and distances of rows that were computed elsewhere: one number for each row."""

import numpy as np

from skdp.chunks import ArrayRows
from skdp.kernel._log_bins import LogBins
from skdp.kernel._statistic import OneCell, Statistic, public
from skdp.kernel._table import opened

__all__ = ["LogCells", "ScoreSum", "table_of_numbers"]

HALF = 2**12  # grid units of half the range of a score


@public
class ScoreSum(Statistic):
    """The sum of scores in [0, 1], seen from 1/2, and the number of rows, both in units of a half.

    NaN counts as 0.

    **Privacy** (add or remove one row): with ``q`` in {-h, ..., h} the score of a row on a grid,
    the row adds (q, h): at most ``sqrt(2) h`` in l2 and ``2 h`` in l1.
    """

    squared_l2, l1 = 2 * HALF**2, 2 * HALF
    step = 0.5 / HALF

    def total(self, block):
        """Return both, shape (2,)."""
        scores = np.clip(np.nan_to_num(block[:, 0], nan=0.0), 0, 1)
        q = np.rint(2 * HALF * scores).astype(np.int64) - HALF
        return np.array([q.sum(), HALF * len(q)])


@public
class LogCells(OneCell):
    """How many rows have a number in which bin.

    **Privacy** (add or remove one row): a number is in one bin, or in none.
    """

    bins: LogBins

    def check(self, shape):
        super().check(shape)
        self.bins.check()

    @property
    def size(self):
        return self.bins.n_bins

    def cells(self, block):
        return self.bins.index(block[:, 0])


def table_of_numbers(numbers, curator):
    """Return the Table of one number for each row.

    **Privacy**: for who proves that each number is a function of its row alone.
    """
    return opened(ArrayRows(np.asarray(numbers, dtype=np.float64)[:, None]), curator)
