"""Rows of an array or a memory map."""

import numpy as np

from skdp.readers._rows import Source

__all__ = ["ArrayRows", "source"]


class ArrayRows(Source):
    """The rows of a two-dimensional array or memory map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), of real numbers
        Never written to, never kept beyond the fit; what is neither float64 nor float32 is
        converted block by block.
    block_rows : int, default=None
        Rows per block; by default about 16 MB, a public function of the number of columns.

    See Also
    --------
    map_merge, count_rows

    Notes
    -----
    **Privacy**: exact and private: what is computed here is released through a Curator.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, map_merge
    >>> rows = ArrayRows(np.arange(10.0).reshape(5, 2), block_rows=2)
    >>> map_merge(rows, lambda start, block: len(block), lambda a, b: a + b)
    5
    """

    random_access = in_memory = True

    def __init__(self, X, *, block_rows=None):
        super().__init__(X.shape[1], n_rows=len(X), block_rows=block_rows)
        self._X, self.finite = X, X.dtype.kind in "iub"

    def pieces(self):
        """Yield (number of rows, slice of the array)."""
        for start in range(0, len(self), step := self.shared_rows()):
            raw = self._X[start : start + step]
            yield len(raw), raw

    def head(self):
        """Return no rows of the array."""
        return self._X[:0]

    @staticmethod
    def decode(raw):
        """Return a slice of the array as floats."""
        return raw if raw.dtype in (np.float64, np.float32) else raw.astype(np.float64)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return np.asarray(self._X[indices], dtype=np.float64)


def source(X):
    """Return the rows of an array of numbers that have to be converted, block by block, else None.

    None too for what scikit-learn looks at: arrays without rows or columns, and other types.
    """
    if type(X) not in (np.ndarray, np.memmap) or X.ndim != 2 or not X.size:
        return None
    is_narrow = X.dtype.kind in "fiub" and X.dtype.itemsize <= 8
    return ArrayRows(X) if is_narrow and X.dtype not in (np.float64, np.float32) else None
