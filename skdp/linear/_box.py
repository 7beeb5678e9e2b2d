"""Views of a table (x, y): some of its columns, or its features clipped to a box."""

from skdp.chunks._rows import MappedRows
from skdp.mechanisms import finite_rows

__all__ = ["BoxedFeatures", "SomeColumns", "boxed"]


class SomeColumns(MappedRows):
    """A view of some columns; a row with NaN or infinity in any other is absent in them too.

    Parameters
    ----------
    rows : Rows
    columns : ndarray of int
        Public.
    """

    def __init__(self, rows, columns):
        super().__init__(rows)
        self._columns, self.n_features = columns, len(columns)

    def _mapped(self, block):
        chosen = block[:, self._columns].astype(float)
        chosen[~finite_rows(block)] = float("nan")
        return chosen


class BoxedFeatures(MappedRows):
    """A view of all columns but the last one, each clipped to its range.

    Parameters
    ----------
    rows : Rows
    low, high : ndarray of shape (d,)
        Public or released.
    """

    def __init__(self, rows, low, high):
        super().__init__(rows)
        self._low, self._high, self.n_features = low, high, len(low)

    def _mapped(self, block):
        return boxed(block, self._low, self._high)


def boxed(block, low, high):
    """Return the features of a block of rows (x, y), clipped; NaN for rows that are not finite."""
    clipped = block[:, :-1].clip(low, high).astype(float)
    clipped[~finite_rows(block)] = float("nan")
    return clipped
