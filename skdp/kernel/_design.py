"""Views of rows (x, y): some columns, features in a box, and the coordinates of a linear model."""

from dataclasses import replace

import numpy as np

from skdp.chunks._rows import MappedRows
from skdp.kernel._frame import Coordinates, Frame
from skdp.kernel._statistic import RowMap, Shape, public, refuse
from skdp.mechanisms import finite_rows
from skdp.mechanisms._norms import fold
from skdp.mechanisms._tables import CELLS, blocks

__all__ = ["BesideLine", "Design", "FeatureBox", "SomeColumns"]


@public
class SomeColumns(Coordinates):
    """Some columns; a row with NaN or infinity in any other is absent in them too."""

    columns: np.ndarray  # public

    def check(self, shape):
        super().check(shape)
        at = self.columns
        refuse(shape.kind != "numbers" or np.ndim(at) != 1, "columns of numbers, by number")
        refuse(at.dtype.kind not in "iu" or not len(at), "columns have numbers")
        refuse(at.min() < 0 or at.max() >= shape.n_features, "no such column")

    @property
    def dims(self):
        return len(self.columns)

    def __call__(self, block):
        """Return the columns of a block."""
        chosen = block[:, self.columns].astype(float)
        chosen[~finite_rows(block)] = np.nan
        return chosen


@public
class FeatureBox(Coordinates):
    """All columns but the last, each clipped to its range; NaN for rows that are not finite."""

    edges: np.ndarray  # (2, d): public or released, maybe infinite

    def check(self, shape):
        super().check(shape)
        wrong = np.shape(self.edges) != (2, shape.n_features - 1)
        refuse(shape.kind != "numbers" or wrong, "every feature has two ends")

    @property
    def dims(self):
        return self.edges.shape[1]

    def __call__(self, block):
        """Return the clipped features of a block."""
        clipped = block[:, :-1].clip(*self.edges).astype(float)
        clipped[~finite_rows(block)] = np.nan
        return clipped


@public
class Design(Coordinates):
    """The map of a row (x, y) to v = (A (x - center) / unit, 1), x clipped to its visible range.

    **Privacy**: v is a function of the row and of releases to the last bit, see
    :class:`skdp.kernel._frame.Frame`; NaN for a row that is not finite.
    """

    frame: Frame  # released
    edges: np.ndarray  # (2, d): public or released, maybe infinite
    fit_intercept: bool = True

    def check(self, shape):
        super().check(shape)
        self._box.check(shape)
        self.frame.check(Shape(shape.n_features - 1))

    @property
    def _box(self):
        return FeatureBox(self.edges)

    @property
    def low(self):
        """To which features are clipped from below."""
        return self.edges[0]

    @property
    def high(self):
        """To which features are clipped from above."""
        return self.edges[1]

    @property
    def dims(self):
        return self.frame.dims + self.fit_intercept

    def within(self, low, high):
        """Return the same with features that are clipped to other ranges."""
        return replace(self, edges=np.stack([low, high]))

    def squared_slopes(self):
        """Return Q, shape (dims - intercept,) twice, such that |slopes of the table|^2 = b Q b."""
        rows = self.frame.A / self.frame.unit
        with np.errstate(all="ignore"):
            return np.nan_to_num(rows @ rows.T, nan=0.0, posinf=1e100, neginf=-1e100)

    def pairs(self, block):
        """Yield v and the target of the rows of a block, in parts."""
        step, box = max(64, CELLS // max(self.edges.shape[1], self.dims)), self._box
        for part in blocks(block, step):
            x = self.frame(box(block[part]))
            v = np.column_stack([x, np.ones(len(x))]) if self.fit_intercept else x
            v[np.isnan(x).any(axis=1)] = np.nan
            yield v, block[part, -1].astype(float)

    def joined(self, vectors):
        """Return vectors that are made of :meth:`pairs`, of all parts."""
        return np.concatenate([np.empty((0, self.dims)), *vectors])

    def __call__(self, block):
        """Return v of the rows of a block."""
        return self.joined(v for v, _ in self.pairs(block))


@public
class BesideLine(RowMap):
    """Rows (x, y) with the residuals of a released line in the place of y; NaN if absent.

    **Privacy**: a residual is a function of its row and of releases to the last bit.
    """

    # those of the line, public; of a missing number stands the centre of its column
    columns: np.ndarray
    design: Design  # of these columns
    b: np.ndarray  # (K,): the line is at ``center + unit b.v``
    center: float
    unit: float

    def check(self, shape):
        super().check(shape)
        SomeColumns(self.columns).check(Shape(shape.n_features - 1, shape.kind))
        self.design.check(Shape(len(self.columns) + 1))
        refuse(np.shape(self.b) != (self.design.dims,), "a coefficient for every coordinate")

    def over(self, rows):
        return RowsBesideLine(rows, self)

    def __call__(self, block):
        """Return the rows of a block with residuals as targets."""
        block = np.array(block, dtype=np.float64)
        x = block[:, [*self.columns, -1]]
        numbers = x[:, :-1]
        np.copyto(numbers, self.design.frame.center, where=~np.isfinite(numbers))
        with np.errstate(all="ignore"):
            parts = [
                y - self.center - self.unit * fold(v * self.b) for v, y in self.design.pairs(x)
            ]
        block[:, -1] = np.concatenate([np.empty(0), *parts])
        return block


class RowsBesideLine(MappedRows):
    """A view of rows through :class:`BesideLine`."""

    def __init__(self, rows, beside):
        super().__init__(rows)
        self._mapped = beside
