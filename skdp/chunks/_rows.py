"""Rows in memory or in a memory map, read block by block."""

from functools import reduce

import numpy as np

__all__ = ["ArrayRows", "MappedRows", "map_merge"]

BLOCK_BYTES = 2**24


class ArrayRows:
    """The rows of a two-dimensional array or memory map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64 or float32
        Never written to, never kept beyond the fit.
    block_rows : int, default=None
        Rows per block; by default about 16 MB, a public function of the number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, map_merge
    >>> rows = ArrayRows(np.arange(10.0).reshape(5, 2), block_rows=2)
    >>> map_merge(rows, lambda start, block: len(block), lambda a, b: a + b)
    5
    """

    def __init__(self, X, *, block_rows=None):
        self._X = X
        self.n_features = X.shape[1]
        self.block_rows = block_rows or max(1, BLOCK_BYTES // (8 * max(1, self.n_features)))

    def __len__(self):
        return self._X.shape[0]

    def blocks(self):
        """Yield (index of the first row, block of rows)."""
        for start in range(0, len(self), self.block_rows):
            yield start, self._X[start : start + self.block_rows]

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return np.asarray(self._X[indices], dtype=np.float64)


class MappedRows:
    """A view of other rows through a map of each row by itself.

    A subclass writes ``_mapped(block)``: a new float64 array, whose rows are functions of those of
    the block, one by one.

    Parameters
    ----------
    rows : ArrayRows

    Notes
    -----
    **Privacy**: a row of the view is a function of the same row behind it, so neighbours stay
    neighbours.
    """

    def __init__(self, rows):
        self._rows = rows
        self.n_features, self.block_rows = rows.n_features, rows.block_rows

    def __len__(self):
        return len(self._rows)

    def blocks(self):
        """Yield (index of the first row, block of rows), float64."""
        for start, block in self._rows.blocks():
            yield start, self._mapped(block)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return self._mapped(self._rows.take(indices))


def map_merge(rows, statistic, merge):
    """Apply ``statistic(start, block)`` to every block and merge the results.

    ``statistic`` is a pure function with exact (integer) results and ``merge`` is associative, so
    the answer does not depend on how the rows are cut into blocks. A table without rows is one
    block of no rows.

    Parameters
    ----------
    rows : ArrayRows
    statistic : callable
    merge : callable
        Of two results.

    Returns
    -------
    result : object
        What ``merge`` makes of the results of all blocks.
    """
    results = (statistic(start, block) for start, block in rows.blocks())
    first = next(results, None)
    if first is None:
        return statistic(0, rows.take(np.arange(0)))
    return reduce(merge, results, first)
