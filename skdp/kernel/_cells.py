"""Rows as cells: views, read anew or held in memory with their scores."""

from dataclasses import dataclass
from functools import partial, reduce
from typing import Annotated

import numpy as np

from skdp.kernel._plain import Checked, made_of, public, refuse, rising, whole, within
from skdp.kernel._statistic import MOST_CELLS, RowMap
from skdp.kernel._totals import listed, numbering_of
from skdp.mechanisms._exact import weighed
from skdp.readers import map_merge
from skdp.readers._loop import added
from skdp.readers._norm_weights import array_of, blocks_by_weight
from skdp.readers._persons import each, times, without_weights
from skdp.readers._rows import MappedRows, Source


def n_cells(edges):
    """Return the number of cells of every feature."""
    return np.array([len(e) + 2 if np.ndim(e) else int(e) for e in edges], dtype=np.intp)


def cell_numbers(X, edges):
    """Return the cell of every entry, a function of that entry alone."""
    sizes = n_cells(edges)
    cells = np.empty((len(X), len(edges)), np.min_scalar_type(int(sizes.max(initial=1))), order="F")
    for j, (size, e) in enumerate(zip(sizes, edges, strict=True)):
        x = np.ascontiguousarray(X[:, j], dtype=np.float64)
        if np.ndim(e):
            cells[:, j] = np.where(np.isfinite(x), np.searchsorted(e, x, side="left"), size - 1)
        else:
            code = (x >= 0) & (x < size)
            cells[:, j] = np.where(code, x, size - 1)
    return cells


HELD_BYTES = 2**28  # of cells and targets of a table in memory; what is larger is read anew
MOST_STEPS = 2**40  # of a target


@public
class Codes(Checked):
    """Targets are codes of classes, 0 to ``size - 1``."""

    size: Annotated[int, within(1, MOST_CELLS)]

    def __call__(self, y):
        """Return finite targets as integers."""
        return np.clip(y, 0, self.size - 1).astype(np.int64)


@public
class Steps(Checked):
    """Targets are numbers around ``center``, in ``1 / steps`` of a unit, clipped to a reach."""

    # public or released
    center: float
    unit: float
    reach: float  # in units
    steps: int  # of a unit

    def check(self, shape):
        super().check(shape)
        refuse(not 0 < self.reach * self.steps <= MOST_STEPS, "targets are at most 2^40 steps")

    def __call__(self, y):
        """Return finite targets as integers."""
        with np.errstate(over="ignore"):
            z = np.clip((y - self.center) / self.unit, -self.reach, self.reach)
        return np.trunc(z * self.steps).astype(np.int64)


@public
class Pair(Checked):
    """Two features as one: cells of each are merged, and a row is in one cell of their product.

    **Privacy** (add or remove one row): that cell is a function of the cells of the same row.
    """

    first: int  # numbers of features
    second: int
    # the merged cell of every cell of a feature, 0, 1, ...: public or released
    left: Annotated[np.ndarray, "k", whole, within(0, MOST_CELLS)]
    right: Annotated[np.ndarray, "l", whole, within(0, MOST_CELLS)]

    def fits(self, sizes):
        """Raise ValueError for other features than there are."""
        known = 0 <= self.first < len(sizes) and 0 <= self.second < len(sizes)
        refuse(not known, "a pair of features that are there")
        wrong = (len(self.left), len(self.right)) != (sizes[self.first], sizes[self.second])
        refuse(wrong, "a merged cell for every cell")

    @property
    def size(self):
        """The number of cells."""
        return (int(self.left.max()) + 1) * (int(self.right.max()) + 1)

    def of(self, cells):
        """Return the cell of every row, from cells of shape (n_features, n)."""
        n_right = int(self.right.max()) + 1
        dtype = np.min_scalar_type(self.size)
        rows = (self.left * n_right).astype(dtype)[cells[self.first]]
        rows += self.right.astype(dtype)[cells[self.second]]
        return rows


@public
class Binned(RowMap):
    """Rows as cells of their features and an integer target, the last column; absent without one.

    Pairs of features are columns of cells too, after those of the features. Small tables in memory
    are held as cells.
    """

    # of the cells of every feature, see :func:`skdp.kernel._cells.n_cells`: public or released
    edges: tuple
    target: Annotated[Codes | Steps, made_of(Codes, Steps)]
    pairs: Annotated[tuple, made_of(Pair)] = ()
    kind = "numbers"

    def check(self, shape):
        super().check(shape)
        refuse(len(self.edges) != shape.n_features - 1, "every feature has edges")
        for edges in self.edges:
            if not isinstance(edges, int):
                rising(edges, "edges")
        sizes = n_cells(self.edges).tolist()
        refuse(min(sizes, default=1) < 1, "a feature has a cell")
        for pair in self.pairs:
            pair.fits(sizes)
        refuse(sum(self.sizes) > MOST_CELLS, "there are at most 2^24 cells")

    @property
    def sizes(self):
        """The number of cells of every column."""
        return (*n_cells(self.edges).tolist(), *(pair.size for pair in self.pairs))

    def over(self, rows):
        return held(CellRows(rows, self))


@public
class Held(RowMap):
    """The same rows of numbers: an array of them, if they are made of a small table in memory.

    So what makes numbers of text does it once.
    """

    kind = "numbers"

    def over(self, rows):
        fewer = getattr(rows, "fewer", False)  # of rows left out an array would tell the number
        if fewer or not rows.in_memory or 8 * rows.n_features * len(rows) > HELD_BYTES:
            return rows
        held = array_of(rows)
        plain = held._rows if held.heads is not None else held
        plain.numbering = numbering_of(rows)
        return held


@dataclass(frozen=True)
class Block:
    """Cells of shape (n_features, n), targets of shape (n,), integers, and pairs of features."""

    cells: np.ndarray
    target: np.ndarray
    pairs: tuple = ()

    def __len__(self):
        return len(self.target)

    def __getitem__(self, part):
        return Block(self.cells[:, part], self.target[part], self.pairs)

    def column(self, j):
        """Return the cells of a feature, or of the pairs that follow."""
        n_features = len(self.cells)
        return self.cells[j] if j < n_features else self.pairs[j - n_features].of(self.cells)

    def scores(self, model):
        return model.of(self)


class HeldBlock(Block):
    """Cells that keep the scores of the last model, slice by slice, as long as they are there.

    **Privacy**: scores are sums of integers, so those that are moved by what has changed in a model
    are those of the new model, to the last bit, whatever was asked before.
    """

    def __init__(self, cells, target, pairs, most):
        super().__init__(cells, target, pairs)
        self.__dict__ |= {"_most": most, "_slices": {}}

    def __getitem__(self, part):
        if not isinstance(part, slice):  # rows of one weight
            return super().__getitem__(part)
        key = part.start, part.stop
        if key not in self._slices:
            cells, target = self.cells[:, part], self.target[part]
            self._slices[key] = HeldBlock(cells, target, self.pairs, self._most)
        return self._slices[key]

    def scores(self, model):
        if len(model.intercept) > self._most:
            return super().scores(model)
        scores, last = self.__dict__.pop("_kept", ((), None))  # nobody finds scores half moved
        if len(scores) == len(model.intercept):
            scores = model.moved(scores, last, self)
        else:
            scores = super().scores(model)
        self.__dict__["_kept"] = scores, model
        return scores


class CellRows(MappedRows):
    """Rows (x, y) as blocks of the cells of :class:`Binned`; absent where y is no finite number."""

    def __init__(self, rows, binned):
        super().__init__(rows)
        self.binned, self.sizes = binned, list(binned.sizes)
        self.n_features = len(self.sizes)  # as of cells in memory

    def _mapped(self, block):
        y = np.asarray(block[:, -1], dtype=np.float64)
        cells, there = cell_numbers(block, self.binned.edges).T, np.isfinite(y)
        if not there.all():
            y, cells = y[there], np.ascontiguousarray(cells[:, there])
        return HeldBlock(cells, self.binned.target(y), self.binned.pairs, MOST_CELLS)


class InMemoryCells(Source):
    """Blocks of cells in memory, and the scores that they keep, if all take few bytes.

    ``blocks``: list of Block; ``sizes``: list of int; ``n_rows``: of the whole table.
    """

    random_access = True

    def __init__(self, blocks, sizes, n_rows):
        super().__init__(len(sizes), n_rows=sum(map(len, blocks)))
        most = HELD_BYTES // (8 * max(n_rows, 1))
        self._blocks = [HeldBlock(b.cells, b.target, b.pairs, most) for b in blocks]
        self.sizes = sizes

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

    ``parts``: dict of int to InMemoryCells; ``cells``: what they are made of: all that is public of
    both is the same.
    """

    def __init__(self, parts, cells):
        self._parts, self.sizes, self.n_features = parts, cells.sizes, cells.n_features
        self.unit, self.heads, self.cap = cells.unit, cells.heads, cells.cap

    def weighed_sum(self, statistic, beside=None):
        sums = [
            each(map_merge(cells, statistic, added), partial(times, weight))
            for weight, cells in self._parts.items()
        ]
        return each(reduce(added, sums), partial(weighed, unit=self.unit))


def held(cells):
    """Return the same cells in memory if the table is, and if they take few bytes there."""
    n_bytes = (2 * len(cells.binned.edges) + 8) * len(cells)
    is_weighed = without_weights(cells)[1] is not None
    drawn = cells.heads is not None and not is_weighed
    if drawn or not cells.in_memory or n_bytes > HELD_BYTES:
        return cells
    if not is_weighed:
        return InMemoryCells(map_merge(cells, listed, list.__add__), cells.sizes, len(cells))
    blocks = blocks_by_weight(cells) or {1: [cells.no_rows()]}
    parts = {
        c: InMemoryCells([_joined(of_c)], cells.sizes, len(cells)) for c, of_c in blocks.items()
    }
    return HeldByWeight(parts, cells)


def _joined(blocks):
    cells = np.concatenate([block.cells for block in blocks], axis=1)
    return Block(cells, np.concatenate([block.target for block in blocks]), blocks[0].pairs)
