"""Rows as the cells that they lie in, and exact sums of integers over the cells of a feature."""

from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from skdp.chunks import map_merge, weighed_sum
from skdp.chunks._by_weight import each, times
from skdp.chunks._kept import array_of, blocks_by_weight
from skdp.chunks._persons import without_weights
from skdp.chunks._rows import MappedRows, Source, added
from skdp.mechanisms._weighed import weighed
from skdp.scales._binned_rows import cell_numbers, n_cells

__all__ = ["CellRows", "cell_counts", "cell_sums", "held", "held_rows"]

HELD_BYTES = 2**28  # of cells and targets of a table in memory; what is larger is read anew


@dataclass(frozen=True)
class Block:
    """Cells of shape (n_features, n) and targets of shape (n,), integers."""

    cells: np.ndarray
    target: np.ndarray

    def __len__(self):
        return len(self.target)

    def __getitem__(self, part):
        return Block(self.cells[:, part], self.target[part])


class CellRows(MappedRows):
    """A view of rows as blocks of cells; a row without a target is absent.

    Parameters
    ----------
    rows : Rows
        Features, the last column the target; NaN or infinite for an absent row.
    edges : list
        Of the cells of every feature, see :func:`skdp.scales._binned_rows.n_cells`: public or
        released.
    target : callable
        Maps targets to integers, each by itself.
    """

    def __init__(self, rows, edges, target):
        super().__init__(rows)
        self.edges, self.sizes, self._target = edges, n_cells(edges).tolist(), target

    def _mapped(self, block):
        y = np.asarray(block[:, -1], dtype=np.float64)
        cells, there = cell_numbers(block, self.edges).T, np.isfinite(y)
        if not there.all():
            y, cells = y[there], np.ascontiguousarray(cells[:, there])
        return Block(cells, self._target(y))


class HeldCells(Source):
    """Blocks of cells in memory."""

    random_access = True

    def __init__(self, blocks, sizes):
        super().__init__(len(sizes), n_rows=sum(map(len, blocks)))
        self._blocks, self.sizes = blocks, sizes

    def pieces(self):
        """Yield (number of rows, block)."""
        return ((len(block), block) for block in self._blocks)

    def head(self):
        """Return a block of no rows."""
        return self._blocks[0][:0]

    def take(self, indices):
        """Return a block of no rows: for tables of none."""
        return self.head()


class HeldByWeight:
    """Blocks of cells of rows with weights, in memory: all rows of one weight by themselves.

    Parameters
    ----------
    parts : dict of int to HeldCells
    sizes : list of int
    unit : int
        Largest sum of weights of a person.
    """

    def __init__(self, parts, sizes, unit):
        self._parts, self.sizes, self.unit = parts, sizes, unit

    def weighed_sum(self, statistic, beside=None):
        """Return the sum of a statistic, see :func:`skdp.chunks.weighed_sum`; nothing beside."""
        sums = [
            each(map_merge(cells, statistic, added), partial(times, weight))
            for weight, cells in self._parts.items()
        ]
        return each(reduce(added, sums), partial(weighed, unit=self.unit))


def held_rows(rows):
    """Return rows of numbers that have been made of a table in memory as an array, if it is small.

    So what makes numbers of text does it once.
    """
    if not rows.in_memory or 8 * rows.n_features * len(rows) > HELD_BYTES:
        return rows
    return array_of(rows)


def held(cells):
    """Return the same cells in memory if the table is, and if they take few bytes there."""
    n_bytes = (2 * len(cells.sizes) + 8) * len(cells)
    if not cells.in_memory or n_bytes > HELD_BYTES:
        return cells
    if without_weights(cells)[1] is None:
        return HeldCells(map_merge(cells, _as_list, list.__add__), cells.sizes)
    blocks = blocks_by_weight(cells)
    parts = {c: HeldCells([_joined(of_c)], cells.sizes) for c, of_c in blocks.items()}
    return HeldByWeight(parts, cells.sizes, cells.unit) if parts else cells


def cell_counts(cells):
    """Return the exact number of rows in each cell, a vector per feature. Not for release."""
    return weighed_sum(cells, partial(_counts, cells.sizes))


def cell_sums(cells, feature, values):
    """Return exact sums of integers over the cells of one feature. Not for release.

    Parameters
    ----------
    cells : CellRows or HeldCells
    feature : int
    values : callable
        ``values(block)`` returns integers of shape (n_outputs, n), each from its own row: sums of
        a block are exact while they stay below 2^53.

    Returns
    -------
    sums : ndarray of int64 of shape (n_outputs, n_cells)
    """
    return weighed_sum(cells, partial(_sums, feature, cells.sizes[feature], values))


def _as_list(start, block):
    return [block]


def _counts(sizes, start, block):
    return [
        np.bincount(cell, minlength=size) for cell, size in zip(block.cells, sizes, strict=True)
    ]


def _joined(blocks):
    cells = np.concatenate([block.cells for block in blocks], axis=1)
    return Block(cells, np.concatenate([block.target for block in blocks]))


def _sums(feature, size, values, start, block):
    cell = block.cells[feature]
    sums = [np.bincount(cell, weights=row, minlength=size) for row in values(block)]
    return np.array(sums).astype(np.int64)
