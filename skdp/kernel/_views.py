"""Views of rows: in a box, beyond a ball, of their targets alone."""

import numpy as np

from skdp.chunks._rows import MappedRows, take
from skdp.kernel._bins import LogBins
from skdp.kernel._lattice import Lattice
from skdp.kernel._places import Places
from skdp.kernel._statistic import RowMap, public, refuse
from skdp.mechanisms import finite_rows, row_norms

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


ALONE = "rows of a view of fewer rows have no numbers, and no keys."


class ChosenRows(MappedRows):
    """The rows of a table that ``keep`` keeps, each by itself: neighbours stay neighbours."""

    leaves_out = True

    def __init__(self, rows, keep):
        super().__init__(rows)
        self._keep = keep

    def _mapped(self, block):
        return block[self._keep(block)]

    def map_merge(self, statistic, merge, beside=None):
        if beside is not None:
            raise TypeError(ALONE)
        return super().map_merge(statistic, merge)

    def weighed_sum(self, statistic, beside=None):
        if beside is not None:
            raise TypeError(ALONE)
        return super().weighed_sum(statistic)


@public
class Beyond(RowMap):
    """The rows whose distance from a point is in a range of bins, and that no place keeps.

    **Privacy**: each row decides by itself whether it is in the view.
    """

    center: np.ndarray  # (d,)
    bins: LogBins
    # first and last bin
    low: int
    high: int
    places: Places

    def check(self, shape):
        super().check(shape)
        refuse(np.shape(self.center) != (shape.n_features,), "a centre has an entry a column")
        self.bins.check()
        self.places.check(shape.n_features)

    def over(self, rows):
        return ChosenRows(rows, self.keeps)

    @np.errstate(all="ignore")
    def keeps(self, block):
        """Return which rows of a block are in the view."""
        index = self.bins.index(row_norms(block, center=self.center))
        inside = (index >= self.low) & (index <= self.high)
        return inside & (Lattice(self.places).places(block) < 0)


class ClippedRows(MappedRows):
    """What :class:`InBox` shows of rows."""

    def __init__(self, rows, low, high):
        super().__init__(rows)
        self._low, self._high = low, high

    def _mapped(self, block):
        clipped = np.clip(block, self._low, self._high)
        clipped[~np.isfinite(block)] = np.nan
        return clipped


@public
class InBox(RowMap):
    """Rows whose entries are clipped to bounds ``low`` and ``high``, arrays of shape (d,).

    **Privacy**: entry by entry. NaN and infinity become NaN, no bound: a row that holds them stays
    absent.
    """

    low: np.ndarray
    high: np.ndarray

    def check(self, shape):
        super().check(shape)
        for bound in (self.low, self.high):
            refuse(np.shape(bound) != (shape.n_features,), "a bound for every column")

    def over(self, rows):
        return ClippedRows(rows, self.low, self.high)


@public
class Targets(RowMap):
    """The target of every row, one column: NaN for a row that is absent."""

    ones: bool = False  # show a one in the place of every target: labels are no numbers

    def over(self, rows):
        return TargetColumn(rows, self.ones)


class TargetColumn(MappedRows):
    """What :class:`Targets` shows of TargetRows."""

    def __init__(self, rows, ones):
        super().__init__(rows.joined)
        self.n_features, self._there, self._ones = 1, rows.present, ones

    def _mapped(self, block):
        target = np.where(self._there(block), 1.0 if self._ones else block.target, np.nan)
        return target.astype(np.float64)[:, None]

    def take(self, indices):
        """Return the targets at ``indices`` as a float64 array."""
        return super().take(indices) if self.random_access else take(self, indices)
