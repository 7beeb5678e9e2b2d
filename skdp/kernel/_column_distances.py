"""How far columns of rows reach from a centre, or from zero: histograms on a logarithmic axis."""

import numpy as np

from skdp.kernel._log_bins import LogBins
from skdp.kernel._plain import rising
from skdp.kernel._statistic import MOST_CELLS, OneCell, Statistic, public, refuse

__all__ = ["ColumnDistances", "ColumnOctaves", "SidedDistances"]


class ByColumn(Statistic):
    """Histograms of d columns side by side: it has ``size``, ``bins``, ``cells(block)``.

    **Privacy** (add or remove one row): each entry is in one cell of its column at most, by itself:
    d numbers move by 1, by sqrt(d) together.
    """

    def check(self, shape):
        super().check(shape)
        self.bins.check()
        refuse(self.size * self.d > MOST_CELLS, "histograms have at most 2^24 cells")
        refuse(self.d != shape.n_features, "histograms of all columns")

    @property
    def squared_l2(self):
        return self.d

    l1 = squared_l2

    def total(self, block):
        """Return the counts, shape (d, size)."""
        d, cells = block.shape[1], self.cells(block)
        flat = (cells + np.arange(d) * self.size)[(cells >= 0) & (cells < self.size)]
        return np.bincount(flat, minlength=d * self.size).reshape(d, self.size)


@public
class ColumnDistances(ByColumn):
    """How many entries of each column lie how many units from its centre."""

    # both (d,)
    center: np.ndarray
    unit: np.ndarray
    bins: LogBins

    @property
    def d(self):
        """The number of columns."""
        return len(self.center)

    @property
    def size(self):
        return self.bins.n_bins

    def check(self, shape):
        super().check(shape)
        wrong = np.ndim(self.center) != 1 or np.shape(self.unit) != np.shape(self.center)
        refuse(wrong, "every column has a centre and a unit")

    def cells(self, block):
        with np.errstate(over="ignore", invalid="ignore"):
            distances = np.abs((block - self.center) / self.unit)
        return self.bins.index(distances.reshape(-1)).reshape(block.shape)


@public
class ColumnOctaves(ByColumn):
    """How many entries of each column are how large: negative ones, small ones, positive ones."""

    d: int  # number of columns
    bins: LogBins  # of sizes; the first is that in the middle

    @property
    def size(self):
        return 2 * self.bins.n_bins - 1

    def cells(self, block):
        x = np.asarray(block, dtype=np.float64)
        at = self.bins.index(np.abs(x).reshape(-1)).reshape(x.shape)
        return np.where(at < 0, -1, at * np.where(x < 0, -1, 1) + self.bins.n_bins - 1)


@public
class SidedDistances(OneCell):
    """How many rows of one column lie how many units below a centre, and above."""

    center: float
    unit: float
    bins: LogBins
    starts: np.ndarray  # first bins of cells that join bins

    def check(self, shape):
        super().check(shape)
        refuse(shape.n_features != 1, "distances of one column")
        rising(self.starts, "first bins")
        self.bins.check()

    @property
    def size(self):
        return 2 * len(self.starts)

    def cells(self, block):
        with np.errstate(over="ignore", invalid="ignore"):
            z = (block[:, 0] - self.center) / self.unit
        at = self.bins.index(np.abs(z))
        cell = np.searchsorted(self.starts, at, side="right") - 1
        return np.where((at < 0) | (cell < 0), -1, cell + np.where(z < 0, 0, len(self.starts)))
