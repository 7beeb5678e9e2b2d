"""Views of rows: in a box, beyond a ball, of their targets alone."""

import numpy as np

from skdp.kernel._ball_cover import BallCover
from skdp.kernel._bins import LogBins
from skdp.kernel._coordinates import SomeColumns, boxed
from skdp.kernel._lattice import Lattice
from skdp.kernel._plain import PerColumn, public
from skdp.kernel._statistic import RowMap
from skdp.mechanisms import row_norms
from skdp.readers._rows import MappedRows, take


@public
class Boxed(RowMap):
    """Every column clipped to ``center`` +- ``radius`` and scaled to [-1, 1].

    **Privacy**: entry by entry. A row that holds NaN or infinity becomes NaN: it stays absent.
    """

    center: PerColumn
    radius: PerColumn
    kind = "numbers"

    def __call__(self, block):
        """Return the rows of a block in the box."""
        ends = np.ones(block.shape[1])
        return boxed(block, -ends, ends, self.center, self.radius)


@public
class TheseColumns(SomeColumns):
    """Some columns of every row: a gap in another is none here.

    **Privacy**: entry by entry.
    """

    def __call__(self, block):
        """Return the columns, shape (n, dims)."""
        return np.asarray(block[:, self.columns], dtype=np.float64)


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

    center: PerColumn
    bins: LogBins
    # first and last bin
    low: int
    high: int
    places: BallCover

    def over(self, rows):
        return ChosenRows(rows, self.keeps)

    @np.errstate(all="ignore")
    def keeps(self, block):
        """Return which rows of a block are in the view."""
        index = self.bins.index(row_norms(block, center=self.center))
        inside = (index >= self.low) & (index <= self.high)
        return inside & (Lattice(self.places).places(block) < 0)


@public
class InBox(RowMap):
    """Rows whose entries are clipped to bounds ``low`` and ``high``.

    **Privacy**: entry by entry. NaN and infinity become NaN, no bound: a row that holds them stays
    absent.
    """

    low: PerColumn
    high: PerColumn

    def __call__(self, block):
        """Return the rows of a block in the box."""
        return boxed(block, self.low, self.high, entries=True)


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
