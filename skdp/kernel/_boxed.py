"""A table seen through a box: every column clipped to an interval and scaled to [-1, 1]."""

import numpy as np

from skdp.chunks._rows import MappedRows
from skdp.kernel._statistic import RowMap, public, refuse
from skdp.mechanisms import finite_rows

__all__ = ["Boxed", "BoxedRows"]

CELLS = 2**15  # of a part that stays in the cache


class BoxedRows(MappedRows):
    """Rows ``clip((x - center) / radius, -1, 1)`` of another table, block by block.

    ``rows``: Rows of length d; ``center, radius``: (d,): public or released; radii are positive.

    **Privacy**: entry by entry, see :class:`skdp.chunks._rows.MappedRows`. A row that holds NaN or
    infinity becomes NaN: it stays absent.
    """

    def __init__(self, rows, center, radius):
        super().__init__(rows)
        self._center, self._radius = center, radius

    def _mapped(self, block):
        boxed, step = np.empty(block.shape), max(1, CELLS // self.n_features)
        for start in range(0, len(block), step):
            part, y = block[start : start + step], boxed[start : start + step]
            with np.errstate(all="ignore"):
                np.subtract(part, self._center, out=y, dtype=np.float64)
                y /= self._radius
                np.clip(y, -1, 1, out=y)
            finite = finite_rows(part)
            if not finite.all():
                y[~finite] = np.nan
        return boxed


@public
class Boxed(RowMap):
    """Every column clipped to ``center`` +- ``radius`` and scaled to [-1, 1]."""

    # both (d,)
    center: np.ndarray
    radius: np.ndarray

    def check(self, shape):
        super().check(shape)
        refuse(shape.kind != "numbers", "a box is one of numbers")
        for one in (self.center, self.radius):
            refuse(np.shape(one) != (shape.n_features,), "a box has an interval a column")

    def over(self, rows):
        return BoxedRows(rows, self.center, self.radius)
