"""Histograms of columns side by side: an entry lies in at most one cell of its column."""

import numpy as np

from skdp.chunks._strips import STRIP, strips
from skdp.kernel._bins import LogBins, OctaveCells, UniformCells
from skdp.kernel._plain import rising
from skdp.kernel._statistic import MOST_CELLS, OneCell, OnePerColumn, Statistic, public, refuse

LARGEST = float(np.finfo(np.float64).max)


class OfColumns(OnePerColumn):
    """Cells of an array of columns."""

    def check(self, shape):
        super().check(shape)
        columns = np.asarray(self.columns)
        refuse(columns.ndim != 1 or columns.dtype.kind not in "iu", "columns have numbers")
        refuse(not ((columns >= 0) & (columns < shape.n_features)).all(), "no such column")


@public
class ColumnCells(OfColumns):
    """How many entries of columns lie in which cell, shape (k, n_cells of the largest).

    **Privacy** (add or remove one row): an entry is in one cell of its column at most, as a
    function of itself and of public numbers, so k of all numbers move, by 1 each; of a row with
    NaN or infinity none.
    """

    columns: np.ndarray  # (k,)
    cells: tuple  # tuple of k OctaveCells or UniformCells
    center: np.ndarray | None = None  # (k,): what is subtracted first
    unit: np.ndarray | None = None  # (k,): what is divided by then
    # whether both sides are counted together, from the middle on: distances. Of cells that are all
    # alike
    folded: bool = False

    def check(self, shape):
        super().check(shape)
        k = len(self.columns)
        refuse(len(self.cells) != k or not k, "every column has cells")
        for one in (self.center, self.unit):
            refuse(one is not None and np.shape(one) != (k,), "a number a column")
        for one in set(self.cells):
            refuse(not isinstance(one, OctaveCells | UniformCells), "these are no cells")
            one.check()
        refuse(self.folded and not self._is_alike(), "cells of distances are alike")

    def _is_alike(self):
        return len(set(self.cells)) == 1 and isinstance(self.cells[0], OctaveCells)

    def _seen(self, x, i):
        """Return what is counted of the entries of a column: differences may be beyond floats."""
        center = 0.0 if self.center is None else self.center[i]
        if self.unit is None:
            return np.clip(x - center, -LARGEST, LARGEST) if center != 0 else x
        with np.errstate(over="ignore"):
            return np.clip((x - center) / self.unit[i], -LARGEST, LARGEST)

    def total(self, block):
        """Return the counts."""
        shape = len(self.cells), max(one.n_cells for one in self.cells)
        counts = np.zeros(shape, dtype=np.int64)
        for strip in strips(block, self.columns):
            for i, (cells, x) in enumerate(zip(self.cells, strip, strict=True)):
                counts[i, : cells.n_cells] += cells.counts(self._seen(x, i))
        if self.folded:
            middle = self.cells[0].n_side
            counts[:, middle + 1 :] += counts[:, :middle][:, ::-1]
            counts = counts[:, middle:]
        return counts


@public
class EdgeCells(OfColumns):
    """How many entries of columns lie between rising edges, one column after the other.

    **Privacy** (add or remove one row): cells of a column are disjoint, as their edges rise, and an
    entry is compared with them as a float, by itself: it is in one of them at most, NaN in none.
    """

    columns: np.ndarray  # (k,)
    edges: tuple  # tuple of k ndarrays: cells are ``(edges[i], edges[i + 1]]``
    target: bool = False  # whether rows without a finite last entry are absent

    def check(self, shape):
        super().check(shape)
        refuse(len(self.edges) != len(self.columns) or not self.edges, "every column has edges")
        for one in self.edges:
            refuse(np.ndim(one) != 1 or len(one) < 2, "a column has a cell")
            refuse(not (one[1:] > one[:-1]).all(), "edges rise")

    def total(self, block):
        """Return the counts."""
        counts = np.zeros(sum(len(one) - 1 for one in self.edges), dtype=np.int64)
        for first in range(0, len(block), STRIP):
            part = block[first : first + STRIP]
            part = part[np.isfinite(part[:, -1])] if self.target else part
            strip = np.array(part[:, self.columns].T, dtype=np.float64, order="C")
            strip.sort(axis=1)  # NaN last
            pairs = zip(strip, self.edges, strict=True)
            ranks = [np.searchsorted(x, one, side="right") for x, one in pairs]
            counts += np.concatenate([np.diff(upto) for upto in ranks])
        return counts


@public
class CutCells(OfColumns):
    """How many finite rows lie between cuts of columns, one column after the other.

    **Privacy** (add or remove one row): an entry is in one cell of its column, as comparisons of
    floats tell from it alone. How many cuts there are does not matter. A row that holds NaN or
    infinity is in no cell.
    """

    columns: np.ndarray  # (k,)
    # tuple of k ndarrays: m rising ones divide the line into m + 1 cells, which are closed above
    cuts: tuple

    def check(self, shape):
        super().check(shape)
        refuse(len(self.cuts) != len(self.columns) or not self.cuts, "every column has cuts")
        for one in self.cuts:
            refuse(np.ndim(one) != 1 or not (one[1:] > one[:-1]).all(), "cuts rise")

    def total(self, block):
        """Return the counts."""
        below = [np.zeros(len(one) + 1, dtype=np.int64) for one in self.cuts]
        for strip in strips(block, self.columns):
            for ranks, x, one in zip(below, strip, self.cuts, strict=True):
                ranks[:-1] += np.array([np.count_nonzero(x <= c) for c in one], np.int64)
                ranks[-1] += len(x)
        return np.concatenate([np.diff(ranks, prepend=0) for ranks in below])


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
