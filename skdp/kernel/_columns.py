"""Histograms of columns side by side: an entry lies in at most one cell of its column."""

from typing import Annotated

import numpy as np

from skdp.kernel._bins import CODES, MANTISSA, LogBins, OctaveCells, UniformCells
from skdp.kernel._plain import (
    Columns,
    PerColumn,
    Vector,
    distinct,
    each,
    made_of,
    public,
    refuse,
    rising,
    whole,
    within,
)
from skdp.kernel._ranks import MODES, ranks_of
from skdp.kernel._statistic import MOST_CELLS, OnePerColumn, Statistic
from skdp.mechanisms import _compiled
from skdp.readers._loop import STRIP, strips

LARGEST = float(np.finfo(np.float64).max)
FINITE = "finite", "entries"
APART = 24  # between the counts of columns: the compiled loop has the same
FEW = 16  # edges: so many comparisons take less time than a sort
MOST_ENTRY, MOST_CUTS = 2**22, 2**14  # of a matrix


@public
class ColumnCells(OnePerColumn):
    """How many entries of columns lie in which cell, shape (k, n_cells of the largest).

    **Privacy** (add or remove one row): an entry is in one cell of its column at most, as a
    function of itself and of public numbers, so k of all numbers move, by 1 each; of a row with
    NaN or infinity none.
    """

    columns: Columns
    cells: Annotated[tuple, "k", made_of(OctaveCells, UniformCells)]
    center: Vector | None = None  # what is subtracted first
    unit: Vector | None = None  # what is divided by then
    # whether both sides are counted together, from the middle on, as distances; all cells are alike
    folded: bool = False
    rows: str = "finite"  # or "entries": a gap is a gap of its own column

    def check(self, shape):
        super().check(shape)
        refuse(self.rows not in ("finite", "entries"), "rows that are counted")
        alike = len(set(self.cells)) == 1 and isinstance(self.cells[0], OctaveCells)
        refuse(self.folded and not alike, "cells of distances are alike")

    def _shifted(self, x, i):
        """Return what is counted of the entries of a column: differences may be beyond floats."""
        center = 0.0 if self.center is None else self.center[i]
        with np.errstate(over="ignore"):
            if self.unit is None:
                return np.clip(x - center, -LARGEST, LARGEST) if center != 0 else x
            return np.clip((x - center) / self.unit[i], -LARGEST, LARGEST)

    def total(self, block):
        """Return the counts."""
        shape = len(self.cells), max(one.n_cells for one in self.cells)
        counts = np.zeros(shape, dtype=np.int64)
        alike = {one.halvings if isinstance(one, OctaveCells) else None for one in self.cells}
        if _compiled.loops is not None and len(alike) == 1 and None not in alike:
            self._count_codes(block, *alike, counts)
            return self._folded(counts)
        if _compiled.loops is not None and alike == {None} and self.center is self.unit is None:
            fields = [(of.start, of.width, of.n_cells, of.closed) for of in self.cells]
            fields = np.array(fields, dtype=np.float64).T.copy()
            columns, mode = _compiled.plain(self.columns, np.int64), MODES.index(self.rows)
            counts = np.zeros((shape[0], shape[1] + 1), dtype=np.int64)  # with those in no cell
            for _, x in _compiled.plain_parts(block):
                _compiled.loops.even_cells(x, columns, *fields, counts, x.shape[1], mode)
            return counts[:, :-1]
        for strip in strips(block, self.columns, entries=self.rows == "entries"):
            for i, (cells, x) in enumerate(zip(self.cells, strip, strict=True)):
                x = x[np.isfinite(x)] if self.rows == "entries" else x
                counts[i, : cells.n_cells] += cells.counts(self._shifted(x, i))
        return self._folded(counts)

    def _count_codes(self, block, halvings, counts):
        """Add the counts of cells by the compiled loops."""
        k, shift, fields = len(self.cells), MANTISSA - halvings, (self.center, self.unit)
        codes = np.zeros((k, (CODES << halvings) + APART), dtype=np.int64)
        center, unit = (np.zeros(k) if x is None else _compiled.plain(x) for x in fields)
        columns, mode = _compiled.plain(self.columns, np.int64), MODES.index(self.rows)
        for _, x in _compiled.plain_parts(block):
            _compiled.loops.codes(x, columns, center, unit, codes, x.shape[1], mode, shift)
        for cells, of_column, of_codes in zip(self.cells, counts, codes, strict=True):
            of_column[: cells.n_cells] = cells.of_codes(of_codes[: CODES << halvings])

    def _folded(self, counts):
        if self.folded:
            middle = self.cells[0].n_side
            counts[:, middle + 1 :] += counts[:, :middle][:, ::-1]
            counts = counts[:, middle:]
        return counts


@public
class EdgeCells(OnePerColumn):
    """How many entries of columns lie between rising edges, one column after the other.

    **Privacy** (add or remove one row): cells of a column are disjoint, as their edges rise, and an
    entry is compared with them as a float, by itself: it is in one of them at most, NaN in none.
    By "entries" infinity is in none either.
    """

    columns: Columns
    # k arrays: cells are ``(edges[i], edges[i + 1]]``
    edges: Annotated[tuple, "k", made_of(np.ndarray), each(distinct)]
    # "all", those with a finite "target", the last entry, those that are "finite", or "entries", of
    # each column those that are finite
    rows: str = "all"

    def check(self, shape):
        super().check(shape)
        refuse(min(map(len, self.edges)) < 2, "a column has a cell")
        refuse(self.rows not in ("all", "target", *FINITE), "rows that are counted")

    def total(self, block):
        """Return the counts."""
        counts = np.zeros(sum(len(one) - 1 for one in self.edges), dtype=np.int64)
        if _compiled.loops is not None:
            starts = np.cumsum([0, *map(len, self.edges)])
            upto, _ = ranks_of(block, self.columns, starts, np.concatenate(self.edges), self.rows)
            return np.concatenate([np.diff(one) for one in np.split(upto, starts[1:-1])])
        for strip in self._strips(block):
            ranks = [_upto(x, one) for x, one in zip(strip, self.edges, strict=True)]
            counts += np.concatenate([np.diff(upto) for upto in ranks])
        return counts

    def _strips(self, block):
        if self.rows in FINITE:
            yield from strips(block, self.columns, entries=self.rows == "entries")
            return
        for first in range(0, len(block), STRIP):
            part = block[first : first + STRIP]
            part = part[np.isfinite(part[:, -1])] if self.rows == "target" else part
            yield np.array(part[:, self.columns].T, dtype=np.float64, order="C")


def _upto(x, edges):
    """Return how many entries are at most each of some edges: a few are compared, many searched."""
    if len(edges) <= FEW:
        return np.array([np.count_nonzero(x <= edge) for edge in edges], dtype=np.int64)
    return np.searchsorted(np.sort(x), edges, side="right")  # NaN last


@public
class WeighedCells(Statistic):
    """Public measurements of the cells of columns: of each a matrix times the counts of its cells.

    Cells are those of :class:`EdgeCells` by "entries".

    **Privacy** (add or remove one row): an entry is in one cell of its column at most, NaN and
    infinity in none, so a row adds one column of each matrix or nothing. Its squared length is at
    most the sum over the matrices of their longest column, squared, in exact integers. Sums wrap
    modulo 2^64 beyond 2^41 rows: a post-processing.
    """

    columns: Columns
    # k arrays: cells are ``(edges[i], edges[i + 1]]``
    edges: Annotated[tuple, "k", made_of(np.ndarray), each(distinct)]
    # k arrays of integers, with a column for each cell
    matrices: Annotated[
        tuple, "k", made_of(np.ndarray), each(whole, within(-MOST_ENTRY, MOST_ENTRY))
    ]

    def check(self, shape):
        super().check(shape)
        for edges, matrix in zip(self.edges, self.matrices, strict=True):
            refuse(matrix.dtype != np.int64 or matrix.ndim != 2 or not len(matrix), "matrices")
            refuse(matrix.shape[1] != len(edges) - 1 or len(edges) < 2, "a column for every cell")
            refuse(max(matrix.shape) > MOST_CUTS, "at most 2^14 cells and measurements")

    @property
    def squared_l2(self):
        return sum(int(np.square(matrix).sum(axis=0).max()) for matrix in self.matrices)

    def total(self, block):
        """Return the measurements, one column after the other."""
        counts = EdgeCells(self.columns, self.edges, "entries").total(block)
        parts = np.split(counts, np.cumsum([len(one) - 1 for one in self.edges])[:-1])
        return np.concatenate([C @ n for C, n in zip(self.matrices, parts, strict=True)])


MOST_BINS = 2**20  # counted before they are joined: 16 MB


@public
class ColumnBins(OnePerColumn):
    """How many entries of every column lie how many units from its centre, in which bin.

    **Privacy** (add or remove one row): an entry is in one cell of its column at most, by itself;
    NaN in none.
    """

    center: PerColumn
    unit: PerColumn
    bins: LogBins
    # both sides "together", shape (d, n_bins); those below, then those above, "apart", of shape
    # (d, 2, n_bins); or "in line" from the farthest below on, the first bin in the middle
    sides: str = "together"
    starts: Annotated[np.ndarray, "k", rising] | None = None  # first bins of cells that join bins
    each = "center"

    def check(self, shape):
        super().check(shape)
        refuse(self.sides not in ("together", "apart", "in line"), "sides of a centre")
        n = self.bins.n_bins if self.starts is None else len(self.starts)
        cells = {"together": n, "apart": 2 * n, "in line": 2 * n - 1}[self.sides]
        refuse(len(self.center) * cells > MOST_CELLS, "histograms have at most 2^24 cells")

    def total(self, block):
        """Return the counts."""
        counts = self._sided(block)
        if self.sides == "apart":
            return counts
        below, above = counts[:, 0], counts[:, 1]
        if self.sides == "together":
            return below + above
        middle = below[:, :1] + above[:, :1]
        return np.concatenate([below[:, :0:-1], middle, above[:, 1:]], axis=1)

    def _sided(self, block):
        """Return the counts below the centre, and of the others, shape (d, 2, cells)."""
        d, n_bins, starts = len(self.center), self.bins.n_bins, self.starts
        if _compiled.loops is not None and d * n_bins <= MOST_BINS:
            counts = np.zeros((d, 2, n_bins), dtype=np.int64)
            fields = [_compiled.plain(x) for x in (self.center, self.unit, self.bins.steps)]
            for _, x in _compiled.plain_parts(block):
                _compiled.loops.column_bins(x, *fields, counts, self.bins.low, n_bins - 1)
            if starts is None:
                return counts
            ends = np.append(np.searchsorted(np.arange(n_bins), starts), n_bins)
            upto = np.cumsum(counts, axis=2, out=counts)
            return np.diff(np.where(ends > 0, upto[..., ends - 1], 0), axis=2)
        with np.errstate(over="ignore", invalid="ignore"):
            z = (block - self.center) / self.unit
        at = self.bins.index(np.abs(z).reshape(-1)).reshape(z.shape)
        if starts is not None:
            n_bins = len(starts)
            at = np.where(at < 0, -1, np.searchsorted(starts, at, side="right") - 1)
        flat = (at + (2 * np.arange(d) + (z >= 0)) * n_bins)[at >= 0]
        return np.bincount(flat, minlength=2 * d * n_bins).reshape(d, 2, n_bins)
