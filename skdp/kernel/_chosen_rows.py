"""Views of some of the rows, and of rows clipped to a box."""

import numpy as np

from skdp.chunks._rows import MappedRows
from skdp.kernel._lattice import Lattice
from skdp.kernel._log_bins import LogBins
from skdp.kernel._places import Places
from skdp.kernel._statistic import RowMap, public, refuse
from skdp.mechanisms import row_norms

__all__ = ["Beyond", "ChosenRows", "ClippedRows", "InBox"]

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
