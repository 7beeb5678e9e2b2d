"""Exact integer residuals of rows of codes."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Annotated

import numpy as np

from skdp.kernel._layout import largest_tables, set_keys, set_numbers
from skdp.kernel._plain import each, made_of, public, refuse, within
from skdp.kernel._statistic import MOST_CELLS, Statistic
from skdp.readers import weighed_sum

DENSE = 50  # numbers per table from which on counting beats multiplying
STEP = 2**11  # rows multiplied at a time: their features stay in the cache
TALL = 2**10  # rows of a matrix product that are enough for speed


def integer_residuals(rows, layout):
    """Return the exact sums over all rows of the integer residuals. Not for release.

    The integer residual of a row is, in each coordinate of a set T, a product over T of entries of
    *integer* Helmert matrices; of binary attributes it is the parity of T.

    **Privacy.** Every row is taken or left by itself and adds its own integer vector. All sums are
    exact: in float32 up to 2^24 and in float64 up to 2^53 inside a block, in int64 between blocks.
    So the result does not depend on the order of the rows, nor on how they are cut into blocks, and
    adding or removing a row moves it by the vector of that row.

    Two ways lead there, by public sizes: products of features by matrix multiplication, or, with
    many levels, counting tables and adding their cells up.
    """
    tables = largest_tables(layout)
    if layout.starts[-1] <= DENSE * sum(len(sets) for _, sets in tables):
        return residuals_by_products(rows, layout)
    return residuals_by_tables(rows, layout, tables)


def are_codes(block, levels):
    """Return which rows of a block have codes in all of their entries."""
    block = np.asarray(block)
    codes = (block >= 0) & (block < np.array(levels)) & (block == np.floor(block))
    return np.ones(len(codes), dtype=bool) if codes.all() else codes.all(axis=1)


@dataclass(frozen=True)
class OfCodes:
    """A statistic of the rows of codes among others, in one pass where they have weights.

    ``sums(codes, weights)`` returns integers; ``weights`` is None for rows that count once.
    """

    levels: tuple
    sums: object

    def __call__(self, start, block):
        """Return the sums of a block."""
        return self.weighed(None, start, block)

    def weighed(self, weights, start, block):
        """Return the sums over the rows of a block, each times its weight."""
        block, valid = np.asarray(block), are_codes(block, self.levels)
        if not valid.all():
            block, weights = block[valid], None if weights is None else weights[valid]
        return self.sums(block, weights)


def residuals_by_products(rows, layout):
    """Return the integer residuals from products of features."""
    return weighed_sum(rows, OfCodes(layout.levels, Products(layout).sums))


def residuals_by_tables(rows, layout, tables):
    """Return the integer residuals from counts of all cells of the largest tables."""

    def sums(block, weights):
        codes = block.T.astype(np.int64, order="C")
        return np.concatenate([table_counts(codes, shape, sets, weights) for shape, sets in tables])

    counts = weighed_sum(rows, OfCodes(layout.levels, sums))
    sums, start = np.zeros_like(counts, shape=layout.starts[-1]), 0  # of the unit of the counts
    for shape, sets in tables:
        cells = counts[start : start + len(sets) * math.prod(shape)]
        start += cells.size
        sums[coordinates(layout, sets)] = integer_residuals_of(cells.reshape(-1, *shape))
    return sums


def table_counts(codes, shape, sets, weights):
    """Return the flat tables of sets of one shape, one after the other."""
    size, strides = math.prod(shape), np.cumprod((1, *shape[:0:-1]))[::-1]
    tables = np.empty((len(sets), size), dtype=np.int64)
    for table, columns in zip(tables, sets.tolist(), strict=True):
        cell = np.zeros(codes.shape[1], dtype=np.int64)
        for stride, column in zip(strides, columns, strict=bool(shape)):
            cell += stride * codes[column]
        table[:] = np.bincount(cell, weights, minlength=size)
    return tables.ravel()


@dataclass(frozen=True)
class Matrix:
    """Some coordinates of one order as entries of ``(x_prefix F[left]) F[right]^T``."""

    # (n_prefixes, order - 2): all but the last two features of these coordinates; one matrix below
    # the other for each
    prefixes: np.ndarray
    # their last two features, and perhaps some more
    left: slice | np.ndarray
    right: slice | np.ndarray
    places: np.ndarray  # where they stand in the flat vector
    entries: np.ndarray  # where they stand in the flattened matrix

    def sums(self, features, weights):
        """Return the coordinates from the features of some rows, which may have weights."""
        left = features[self.left] if weights is None else features[self.left] * weights
        if self.prefixes.shape[1]:
            prefix = np.multiply.reduce(features[self.prefixes], axis=1)
            left = (prefix[:, None] * left).reshape(-1, features.shape[1])
        return (left @ features[self.right].T).ravel()[self.entries]


class Products:
    """The integer residuals of a layout, prepared once for all blocks.

    A feature is one row of the integer Helmert matrix of one attribute; a coordinate of a set of
    j attributes is a product of j features. Coordinates with the same first j - 2 features are
    entries of one matrix product, so memory stays near that of the features of a block.
    """

    def __init__(self, layout):
        self._layout, self._helmert = layout, [integer_helmert(n) for n in layout.levels]
        self._first = np.concatenate([[0], np.cumsum(np.array(layout.levels) - 1)])
        tuples = [self._features_of(order) for order in range(1, len(layout.subsets))]
        starts = 1 + np.cumsum([0] + [len(features) for features in tuples])
        self._singles = tuples[0][:, 0] if tuples else np.zeros(0, dtype=np.int64)
        self._matrices = [
            matrix
            for features, start in zip(tuples[1:], starts[1:], strict=False)
            for matrix in _matrices(features, start, self._first[-1])
        ]
        tops = np.sort(np.array(layout.levels) - 1)[::-1]
        self._largest = int(np.prod(tops[: len(layout.subsets) - 1], dtype=float))

    def sums(self, codes, weights=None):
        """Return the sums over rows of codes, shape (n_rows, d), int64; each times its weight."""
        total = np.zeros(self._layout.starts[-1], dtype=np.int64)
        for start in range(0, len(codes), STEP):
            rows = slice(start, start + STEP)
            self._add(codes[rows], None if weights is None else weights[rows], total)
        return total

    def _add(self, codes, weights, total):
        # sums of n integers of this size are exact in any order: float32 to 2^24, float64 to 2^53
        most = len(codes) if weights is None else int(np.sum(weights, dtype=np.int64))
        dtype = np.float32 if most * self._largest <= 2**24 else np.float64
        features = self._values(codes, dtype)
        total[0] += most
        ones = np.ones(len(codes), dtype=dtype) if weights is None else weights.astype(dtype)
        total[1 : 1 + len(self._singles)] += (features @ ones).astype(np.int64)[self._singles]
        weights = None if weights is None else ones
        for matrix in self._matrices:
            total[matrix.places] += matrix.sums(features, weights).astype(np.int64)

    def _values(self, codes, dtype):
        """Return the features, shape (n_features, n_rows)."""
        if self._layout.binary:
            return np.subtract(1, 2 * codes.T, dtype=dtype, order="C")
        values = np.empty((self._first[-1], len(codes)), dtype=dtype)
        for i, helmert in enumerate(self._helmert):
            at = codes[:, i].astype(np.intp)
            values[self._first[i] : self._first[i + 1]] = helmert.astype(dtype)[:, at]
        return values

    def _features_of(self, order):
        """Return the features of every coordinate of an order, in the order of the layout."""
        start, end = self._layout.starts[self._layout.firsts[order : order + 2]]
        features = np.empty((end - start, order), dtype=np.int64)
        for shape, members, numbers in self._layout.groups:
            if len(shape) == order:
                rows = np.indices(tuple(n - 1 for n in shape)).reshape(order, -1).T
                at = self._layout.places(numbers) - start
                features[at] = self._first[members][:, None, :] + rows
        return features


def _matrices(features, start, n_features):
    """Yield the matrices of one order; ``start`` is its first coordinate."""
    keys = set_keys(features[:, :-2], n_features)
    order = np.argsort(keys, kind="stable")
    runs = np.split(order, np.flatnonzero(keys[order][1:] != keys[order][:-1]) + 1)
    for batch in _batches(features, [run for run in runs if len(run)]):
        members = np.concatenate(batch)
        left, i, height = _columns(features[members, -2])
        right, j, width = _columns(features[members, -1])
        prefix = np.repeat(np.arange(len(batch)), [len(run) for run in batch])
        entries = (prefix * height + i) * width + j
        prefixes = features[[run[0] for run in batch], :-2]
        yield Matrix(prefixes, left, right, start + members, entries)


def _batches(features, runs):
    """Join runs of one prefix that need nearly the same columns, for tall matrices are fast."""
    batch, alone = [], 0
    for run in runs:
        size = _size(features, [run])[1]
        tall, together = _size(features, [*batch, run])
        if batch and (tall > TALL or together > 2 * (alone + size)):
            yield batch
            batch, alone = [], 0
        batch, alone = [*batch, run], alone + size
    if batch:
        yield batch


def _size(features, batch):
    """Return the number of rows and of entries of the matrix of a batch."""
    members = np.concatenate(batch)
    height = len(batch) * _columns(features[members, -2])[2]
    return height, height * _columns(features[members, -1])[2]


def _columns(used):
    """Return which rows of the features to multiply, where the used ones are, and how many."""
    low, high = used.min(), used.max() + 1
    distinct, at = np.unique(used, return_inverse=True)
    if high - low <= 2 * len(distinct):
        return slice(low, high), used - low, high - low
    return distinct, at, len(distinct)


def integer_helmert(levels):
    """Return Helmert rows as integers: j ones, then -j, then zeros, for j = 1..levels - 1.

    Row j has the squared length j (j + 1); all rows are orthogonal to each other and to ones.
    """
    j = np.arange(1, levels)[:, None]
    column = np.arange(levels)
    return np.where(column < j, 1, np.where(column == j, -j, 0))


def squared_lengths(levels):
    """Return j (j + 1), the squared lengths of the integer Helmert rows."""
    j = np.arange(1, levels)
    return j * (j + 1)


def integer_residuals_of(tables):
    """Return the integer residuals of tables (m, L_1, ..., L_k) of counts and of all their margins.

    Index 0 along an axis is the sum over that attribute, 1..L - 1 are the rows of H: the residual
    of a set T of axes is the block of indices 1.. along T, 0 elsewhere.
    """
    for axis in range(1, tables.ndim):
        tables = np.moveaxis(tables, axis, -1)
        sums = np.cumsum(tables, axis=-1)
        rows = sums[..., :-1] - np.arange(1, tables.shape[-1]) * tables[..., 1:]
        tables = np.moveaxis(np.concatenate([sums[..., -1:], rows], axis=-1), -1, axis)
    return tables


def coordinates(layout, sets):
    """Return where the residuals of tables of one shape, and of their margins, stand."""
    sets = np.asarray(sets, dtype=np.int64)
    m, k = sets.shape
    shape = tuple(layout.levels[i] for i in sets[0]) if m else (2,) * k
    index = np.empty((m, *shape), dtype=np.int64)
    for inside in product((False, True), repeat=k):
        number = set_numbers(layout, sets[:, np.flatnonzero(inside)])
        free = tuple(levels - 1 for levels, i in zip(shape, inside, strict=True) if i)
        offset = np.arange(int(np.prod(free))).reshape(free)
        block = tuple(slice(1, None) if i else 0 for i in inside)
        start = layout.starts[number].reshape(-1, *(1,) * len(free))
        index[(slice(None), *block)] = start + offset
    return index


MOST_ROWS = 2.0**36  # that a field may tell: sums of 2^24 cells then fit into 63 bits


@public
class PairDistances(Statistic):
    """For every pair of columns, the distance of its table from that of independent columns.

    **Privacy** (add or remove one row). Let N_S be the table of the pair S, and c_S the public
    integers ``round(n p_i p_j)``. The answer has the m entries ``f_S = |N_S - c_S|_1``. A row of
    codes adds 1 to one cell of every N_S, and any other row adds nothing. By the triangle
    inequality ``|f_S(D') - f_S(D)| <= |N_S(D') - N_S(D)|_1 = 1``. So the answer moves by at most
    ``sqrt(m)`` in l2 and m in l1. A person whose weights sum to at most ``unit`` moves each f_S by
    at most ``unit``: c_S is multiplied by it.

    The sums over rows are the tables themselves. A row adds a vector of m ones to them, whose
    lengths are the same sqrt(m) and m.
    """

    n: Annotated[float, within(0, MOST_ROWS)]  # number of rows: public or released
    # the shares of the levels of every column: public or released
    shares: Annotated[tuple, "d", made_of(np.ndarray), each(within(0, 1))]

    def check(self, shape):
        super().check(shape)
        refuse(len(self.shares) < 2, "two columns at least")
        fits = (law.ndim == 1 and law.dtype.kind == "f" and len(law) > 1 for law in self.shares)
        refuse(not all(fits), "vectors of shares")
        sizes = self.levels
        cells = (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
        refuse(cells > MOST_CELLS, "at most 2^24 cells of all pairs")

    @property
    def levels(self):
        """The number of levels of every column."""
        return tuple(map(len, self.shares))

    @property
    def pairs(self):
        """The pairs of columns, in the order of the answer."""
        return list(combinations(range(len(self.shares)), 2))

    @property
    def squared_l2(self):
        return len(self.shares) * (len(self.shares) - 1) // 2

    l1 = squared_l2

    @cached_property
    def starts(self):
        """Where the table of every pair starts in their flat vector."""
        sizes = self.levels
        return np.cumsum([0, *(sizes[i] * sizes[j] for i, j in self.pairs)])[:-1]

    def expected(self):
        """Return the tables of independent columns, flat, in whole rows."""
        tables = (np.outer(self.shares[i], self.shares[j]).ravel() for i, j in self.pairs)
        return np.rint(self.n * np.concatenate(list(tables))).astype(np.int64)

    def over(self, rows):
        tables = weighed_sum(rows, OfCodes(self.levels, self._tables))
        gaps = np.abs(tables - self.expected() * getattr(rows, "unit", 1))
        return np.add.reduceat(gaps, self.starts)

    def total(self, block):
        """Return the sum, all tables one after the other."""
        block = np.asarray(block)
        return self._tables(block[are_codes(block, self.levels)], None)

    def _tables(self, codes, weights):
        columns, sizes = codes.T.astype(np.int64, order="C"), self.levels
        pairs = ((np.array([pair]), (sizes[pair[0]], sizes[pair[1]])) for pair in self.pairs)
        return np.concatenate([table_counts(columns, of, pair, weights) for pair, of in pairs])
