"""A table seen through a box: every column clipped to an interval and scaled to [-1, 1]."""

import numpy as np

from skdp.chunks._rows import MappedRows
from skdp.mechanisms import finite_rows

__all__ = ["BoxedRows"]


class BoxedRows(MappedRows):
    """Rows ``clip((x - center) / radius, -1, 1)`` of another table, block by block.

    Parameters
    ----------
    rows : ArrayRows of length d
    center, radius : ndarrays of shape (d,)
        Public or released; radii are positive.

    Notes
    -----
    **Privacy**: entry by entry, see :class:`skdp.chunks._rows.MappedRows`. A row that holds NaN or
    infinity becomes NaN: it stays absent.
    """

    def __init__(self, rows, center, radius):
        super().__init__(rows)
        self._center, self._radius = center, radius

    def _mapped(self, block):
        with np.errstate(all="ignore"):
            y = np.subtract(block, self._center, dtype=np.float64)
            y /= self._radius
            np.clip(y, -1, 1, out=y)
        y[~finite_rows(block)] = np.nan
        return y
