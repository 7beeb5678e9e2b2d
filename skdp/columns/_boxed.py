"""A table seen through a box: every column clipped to an interval and scaled to [-1, 1]."""

import numpy as np

from skdp.mechanisms import finite_rows

__all__ = ["BoxedRows"]


class BoxedRows:
    """Rows ``clip((x - center) / radius, -1, 1)`` of another table, block by block.

    Parameters
    ----------
    rows : ArrayRows of length d
    center, radius : ndarrays of shape (d,)
        Public or released; radii are positive.

    Notes
    -----
    **Privacy**: entry by entry, so a row of this table is a function of the same row of the other,
    and neighbours stay neighbours. A row that holds NaN or infinity becomes NaN: it stays absent.
    """

    def __init__(self, rows, center, radius):
        self._rows, self._center, self._radius = rows, center, radius
        self.n_features, self.block_rows = rows.n_features, rows.block_rows

    def __len__(self):
        return len(self._rows)

    def blocks(self):
        """Yield (index of the first row, block of rows)."""
        for start, block in self._rows.blocks():
            yield start, self._boxed(block)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return self._boxed(self._rows.take(indices))

    def _boxed(self, block):
        with np.errstate(all="ignore"):
            y = np.subtract(block, self._center, dtype=np.float64)
            y /= self._radius
            np.clip(y, -1, 1, out=y)
        y[~finite_rows(block)] = np.nan
        return y
