"""Entries in the order of all floats: how many lie where, and how far from a centre."""

import numpy as np

from skdp.chunks._strips import strips
from skdp.kernel._log_bins import LogBins
from skdp.kernel._ranks import order_of_floats
from skdp.kernel._statistic import OnePerColumn, check_columns, public, refuse

__all__ = ["KeyCells", "KeyRanks", "SideDistances", "cells_of_keys"]

MOST_BITS, LEAST_SHIFT = 16, 2


def cells_of_keys(keys, shift):
    """Return the cell of ``2^shift`` keys that each of them is in."""
    return (keys >> np.uint64(shift)).astype(np.int64)


class OfColumns(OnePerColumn):
    """One integer of size 1 for each of some columns: a row without NaN and infinity adds them."""

    def check(self, shape):
        super().check(shape)
        check_columns(self.columns, shape)
        refuse(not self.columns, "no columns")


@public
class KeyCells(OfColumns):
    """How many entries of every column are in each of ``2^bits`` cells, below them and above.

    **Privacy** (add or remove one row): a row is counted once in every column.
    """

    columns: tuple  # tuple of c int
    first: np.ndarray  # (c,): the first cell of a column
    width: int  # there are 2^width cells
    shift: int  # A cell has 2^shift numbers of those that floats are in their order

    def check(self, shape):
        super().check(shape)
        fits = 1 <= self.width <= MOST_BITS and LEAST_SHIFT <= self.shift <= 64 - self.width
        refuse(not fits, "at most 2^16 cells")
        refuse(np.shape(self.first) != (len(self.columns),), "a first cell for every column")
        refuse(self.first.dtype != np.int64, "cells have numbers")
        last = self.first + 2**self.width
        refuse(((self.first < 0) | (last > 2 ** (64 - self.shift))).any(), "no such cell")

    def total(self, block):
        """Return the counts, shape (c, 2^width + 2)."""
        size = 2**self.width + 2
        counts = np.zeros((len(self.columns), size), dtype=np.int64)
        for strip in strips(block, list(self.columns)):
            cells = cells_of_keys(order_of_floats(strip + 0.0), self.shift)  # no -0.0
            at = np.clip(cells - (self.first - 1)[:, None], 0, size - 1)
            for of_column, i in zip(counts, at, strict=True):
                of_column += np.bincount(i, minlength=size)
        return counts


@public
class KeyRanks(KeyCells):
    """Twice the number of entries of every column up to a threshold, less the number of rows.

    ``columns, first, width, shift``: of the :class:`KeyCells` that are counted once for several
    thresholds.

    **Privacy** (add or remove one row): given the thresholds it moves every column by exactly 1.
    """

    # (c,): how many of these cells lie up to the threshold of a column, which is the last number of
    # a cell, or of those below the first
    upto: np.ndarray

    @property
    def finer(self):
        return KeyCells(self.columns, self.first, self.width, self.shift)

    def check(self, shape):
        super().check(shape)
        refuse(np.shape(self.upto) != self.first.shape, "a threshold for every column")
        fits = self.upto.dtype == np.int64 and (self.upto >= 0).all()
        refuse(not fits or (self.upto > 2**self.width).any(), "no such cell")

    def pooled(self, counts):
        """Return the ranks from the counts of :attr:`finer`."""
        total = counts.cumsum(axis=1)
        below = np.take_along_axis(total, self.upto[:, None], axis=1)[:, 0]
        return 2 * below - int(total[0, -1])

    def total(self, block):
        """Return the ranks, shape (c,)."""
        return self.pooled(self.finer.total(block))


@public
class SideDistances(OfColumns):
    """How many entries of every column lie at which distance below and above a centre.

    **Privacy** (add or remove one row): a row is counted once in every column.
    """

    columns: tuple  # tuple of c int
    centre: np.ndarray  # (c,)
    bins: LogBins

    def check(self, shape):
        super().check(shape)
        self.bins.check()
        refuse(np.shape(self.centre) != (len(self.columns),), "a centre for every column")

    def total(self, block):
        """Return the histograms, shape (c, 2, n_bins)."""
        counts = np.zeros((len(self.columns), 2, self.bins.n_bins), dtype=np.int64)
        with np.errstate(over="ignore"):
            for strip in strips(block, list(self.columns)):
                for of_column, x, c in zip(counts, strip, self.centre, strict=True):
                    x = x - c
                    at = self.bins.index(np.abs(x)) + self.bins.n_bins * (x >= 0)
                    of_column += np.bincount(at, minlength=of_column.size).reshape(of_column.shape)
        return counts
