"""Coordinates of rows: linear maps that see each row by itself, to the last bit."""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from skdp.kernel._plain import Columns, PerColumn, Points, public, refuse
from skdp.kernel._statistic import RowMap, Shape
from skdp.mechanisms import _compiled
from skdp.mechanisms._norms import blocks, finite_rows, polar, products

CELLS = 2**15  # of a block that stays in the cache
PAIRED = 2**18  # of one that is looked at again
LARGEST = 2.0**1000
ORDINARY = 2.0**900  # sizes of rows whose powers of two are ordinary numbers


class Coordinates(RowMap):
    """Numbers made of every row by itself: a subclass has ``dims``, and maps blocks if called.

    **Privacy**: what is made of a row depends on that row alone, to the last bit; NaN where it
    holds NaN or infinity.
    """

    kind = "numbers"


@public
class InUnits(Coordinates):
    """Rows divided by powers of two, which change no digit.

    What overflows becomes the largest entry that is read.
    """

    unit: PerColumn

    @property
    def dims(self):
        return len(self.unit)

    def __call__(self, block):
        """Return the rows of a block in these units."""
        far = np.full(len(self.unit), LARGEST)
        return boxed(block, -far, far, np.zeros(len(self.unit)), self.unit)


@public
class Frame(Coordinates):
    """The map x -> A (x - center) / unit, with P such that (x - center) / unit is near P A of it.

    **Privacy**: a coordinate must be a function of its row alone, down to the last bit, and BLAS
    adds in an order that depends on the shape of a block. So a row is split into a power of two
    and two slices of w bits, v = (h + l 2^-w) 2^(e-w), and A alike, with w such that d products of
    slices sum to less than 2^53: every partial sum is an exact integer, in whatever order BLAS
    takes them. Three products, of the slices that matter, are then combined entry by entry.
    """

    center: PerColumn
    unit: PerColumn
    A: Points
    P: Annotated[np.ndarray, "d k"]  # A P = I

    @property
    def dims(self):
        return len(self.A)

    def __call__(self, block, edges=None, one=0, line=None):
        """Return the coordinates of a block of rows, shape (m, k); with ``one`` a column of ones.

        Given ``edges``, those of rows (x, y), x clipped; with a ``line`` their gradients, by the
        compiled loops.
        """
        y, maps = np.empty((len(block), self.dims + one)), _slices(self.A, self._width)
        if _compiled.loops is not None:
            return self._compiled(block, edges, y, line, *maps)
        for part in blocks(block, max(64, CELLS // max(len(self.center), self.dims))):
            y[part] = self._plain(block[part], edges, one, *maps)
        return y

    def _plain(self, x, edges, one, *maps):
        """Return the same of a part, by numpy."""
        y = self._coordinates(x if edges is None else FeatureBox(edges)(x), *maps)
        return np.column_stack([y, np.where(np.isnan(y).any(axis=1), np.nan, 1.0)]) if one else y

    @property
    def _width(self):
        return (53 - math.ceil(math.log2(max(1, len(self.center))))) // 2

    def _compiled(self, block, edges, y, line, high_a, low_a, exponent_a):
        """Return the same in y; those of rare rows are made by numpy."""
        rare, ends = np.empty(len(block), dtype=np.int64), (2.0**-self._width, ORDINARY)
        b, told = (np.empty(0), (0.0,) * 6) if line is None else line.b_and_numbers
        a = np.concatenate([high_a, low_a]), self._scale(exponent_a)
        numbers = self.center, self.unit, *a, np.empty(0) if edges is None else edges, b
        numbers, k = [_compiled.plain(one) for one in numbers], y.shape[1]
        for part, x in _compiled.plain_parts(block):
            n = _compiled.loops.coordinates(x, *numbers, y[part], rare, x.shape[1], k, *ends, told)
            if n:
                v = self._plain(x[few := rare[:n]], edges, k - self.dims, high_a, low_a, exponent_a)
                y[part][few] = v if line is None else line._of(v, x[few, -1])
        return y

    def _scale(self, exponent_a):
        return np.ldexp(1.0, np.clip(exponent_a - 2 * self._width, -1000, 1000))

    def _coordinates(self, block, high_a, low_a, exponent_a):
        with np.errstate(all="ignore"):
            v = np.empty(block.shape[::-1])  # a column for each row: all runs along memory
            np.subtract(block.T, self.center[:, None], out=v, dtype=np.float64)
            v /= self.unit[:, None]
            size = np.abs(v).max(axis=0)
            rare = np.flatnonzero(~((size > 1 / ORDINARY) & (size < ORDINARY)))
            finite = np.ones(len(block), dtype=bool)
            exponent = np.frexp(size)[1].astype(np.int64)
            v *= np.ldexp(1.0, -np.clip(exponent, -1000, 1000))
            if rare.size:
                far, length, shift = polar(block[rare], self.center, self.unit)
                v[:, rare] = far.T / 2
                exponent[rare] = shift + 1
                finite[rare] = ~np.isnan(length)
            high, low, _ = _slices(v, self._width, exponent)
            k = self.dims
            both = np.concatenate([high_a, low_a]) @ high
            rest = high_a @ low
            rest += both[k:]
            rest *= 2.0**-self._width
            y = np.add(both[:k], rest, out=rest)
            y *= self._scale(exponent_a)[:, None]
            ordinary = np.clip(exponent, -1000, 1000)
            y *= np.ldexp(1.0, ordinary)
            if rare.size:
                y[:, rare] = np.ldexp(y[:, rare], (exponent - ordinary)[rare])
                y[:, ~finite] = np.nan
        return np.ascontiguousarray(y.T)


def _slices(M, width, exponent=None):
    """Return integers h, l and exponents e with M = (h + l 2^-width) 2^(e - width), row by row.

    Entries of M are in [-1, 1] already if exponents are given.
    """
    if exponent is None:
        exponent = np.frexp(np.abs(M).max(axis=1, initial=0.0))[1].astype(np.int64)
        M = np.ldexp(M, -exponent[:, None])
    scaled = M * 2.0**width
    high = np.rint(scaled)
    scaled -= high  # exact
    scaled *= 2.0**width
    return high, np.rint(scaled, out=scaled), exponent


@public
class SomeColumns(Coordinates):
    """Some columns; a row with NaN or infinity in any other is absent in them too."""

    columns: Columns  # public

    @property
    def dims(self):
        return len(self.columns)

    def __call__(self, block):
        """Return the columns of a block."""
        if _compiled.loops is not None:
            chosen = np.empty((len(block), self.dims))
            for part, x in _compiled.plain_parts(block):
                columns = _compiled.plain(self.columns, np.int64)
                _compiled.loops.some_columns(x, columns, chosen[part], x.shape[1])
            return chosen
        finite = finite_rows(block)
        chosen = np.take(block, self.columns, axis=1).astype(float, copy=False)  # a copy
        chosen[~finite] = np.nan
        return chosen


@public
class FeatureBox(Coordinates):
    """All columns but the last, each clipped to its range; NaN for rows that are not finite."""

    edges: Annotated[np.ndarray, "2 d"]  # public or released, maybe infinite

    def inner(self, shape):
        return replace(shape, n_features=shape.n_features - 1)

    @property
    def dims(self):
        return self.edges.shape[1]

    def __call__(self, block):
        """Return the clipped features of a block."""
        return boxed(block, *self.edges)


@np.errstate(all="ignore")
def boxed(block, low, high, center=None, unit=None, *, entries=False):
    """Return the first entries of rows clipped to bounds, as seen from a centre in its unit.

    NaN in place of a gap (NaN or infinity), and of all entries of its row if not by ``entries``.
    """
    y, center = np.empty((len(block), len(low))), np.empty(0) if center is None else center
    if _compiled.loops is not None:
        fields = low, high, center, center if unit is None else unit
        columns = [_compiled.plain(x) for x in fields]
        for part, x in _compiled.plain_parts(block):
            _compiled.loops.boxed(x, *columns, y[part], x.shape[1], entries)
        return y
    for part in blocks(block, max(64, CELLS // block.shape[1])):
        x = np.asarray(block[part, : len(low)], dtype=np.float64)
        y[part] = np.clip(x if unit is None else (x - center) / unit, low, high)
        y[part][~(np.isfinite(x) if entries else finite_rows(block[part]))] = np.nan
    return y


@public
class Design(Coordinates):
    """The map of a row (x, y) to v = (A (x - center) / unit, 1), x clipped to its visible range.

    **Privacy**: v is a function of the row and of releases to the last bit, see
    :class:`skdp.kernel._coordinates.Frame`; NaN for a row that is not finite.
    """

    frame: Frame  # released
    edges: Annotated[np.ndarray, "2 d"]  # public or released, maybe infinite
    fit_intercept: bool = True
    inner = FeatureBox.inner

    @property
    def dims(self):
        return self.frame.dims + self.fit_intercept

    def pairs(self, block):
        """Yield slices of a block, v and the target of the rows in each."""
        for part in blocks(block, max(64, PAIRED // max(self.edges.shape[1], self.dims))):
            yield part, self(block[part]), block[part, -1].astype(float)

    def __call__(self, block, line=None):
        """Return v of the rows of a block, or gradients of a line."""
        return self.frame(block, self.edges, int(self.fit_intercept), line)


@public
class BesideLine(RowMap):
    """Rows (x, y) with the residuals of a released line in the place of y; NaN if absent.

    **Privacy**: a residual is a function of its row and of releases to the last bit.
    """

    # those of the line, public; of a missing number stands the centre of its column
    columns: np.ndarray
    design: Design  # of these columns
    b: Annotated[np.ndarray, "K"]  # the line is at ``center + unit b.v``
    center: float
    unit: float

    def check(self, shape):
        super().check(shape)
        SomeColumns(self.columns).check(Shape(shape.n_features - 1, shape.kind))
        refuse(len(self.b) != self.design.dims, "a coefficient for every coordinate")

    def inner(self, shape):
        return Shape(len(self.columns) + 1)

    def __call__(self, block):
        """Return the rows of a block with residuals as targets."""
        block = np.array(block, dtype=np.float64)
        x = block[:, [*self.columns, -1]]
        np.copyto(x[:, :-1], self.design.frame.center, where=~np.isfinite(x[:, :-1]))
        with np.errstate(all="ignore"):
            pairs = self.design.pairs(x)
            parts = [y - self.center - self.unit * products(v, self.b) for _, v, y in pairs]
        block[:, -1] = np.concatenate([np.empty(0), *parts])
        return block
