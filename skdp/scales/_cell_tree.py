"""Counts of cells that are divided again and again, estimated from all their noisy releases."""

import numpy as np

__all__ = ["CellTree"]


class CellTree:
    """The released counts of nested cells of one column.

    Every level holds a count of every cell of a partition, the next one of a partition of these
    cells, with independent noise.
    """

    def __init__(self):
        self._levels, self._first = [], []

    def add(self, counts, variance, first=None):
        """Add a level."""
        if self._levels:
            self._first.append(first)
        self._levels.append((np.asarray(counts, dtype=np.float64), variance))

    def leaves(self):
        """Return estimates for the cells of the last level, and their variances, at most these.

        Notes
        -----
        Weighted least squares in two passes, as for a tree (Hay, Rastogi, Miklau & Suciu 2010):
        upwards, a cell is the mean of its count and of the sum of its parts, by inverse variance;
        downwards, what the parts lack of their cell is given to them by their variances.
        """
        upwards = self._upwards()
        best = upwards[-1][0]
        for (parts, v, *_), (_, _, total, spread), first in zip(
            upwards[-2::-1], upwards[:0:-1], self._first, strict=True
        ):
            sizes = np.diff(np.append(first, len(parts)))
            best = parts + v * np.repeat((best - total) / spread, sizes)
        return best, upwards[0][1]

    def roots(self):
        """Return estimates for the cells of the first level, and their variances.

        They are known better than sums of their leaves would be whose variances are added up.
        """
        return self._upwards()[-1][:2]

    def _upwards(self):
        """Return (counts, variances, sums of parts, variances of these), the last level first."""
        counts, variance = self._levels[-1]
        upwards = [(counts, variance, None, None)]
        for (own, v), first in zip(self._levels[-2::-1], self._first[::-1], strict=True):
            total, spread = np.add.reduceat(counts, first), np.add.reduceat(variance, first)
            counts, variance = (own * spread + total * v) / (v + spread), v * spread / (v + spread)
            upwards.append((counts, variance, total, spread))
        return upwards
