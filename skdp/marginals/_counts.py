"""Exact integer residuals of rows of codes."""

import math
from itertools import combinations

import numpy as np

from skdp.chunks import map_merge
from skdp.marginals._parities import coordinates, integer_residuals_of, set_numbers
from skdp.marginals._products import Products

__all__ = ["integer_residuals"]

DENSE = 50  # numbers per table from which on counting beats multiplying


def integer_residuals(rows, layout):
    """Return the exact sums over all rows of the integer residuals. Not for release.

    The integer residual of a row is, in each coordinate of a set T, a product over T of entries of
    *integer* Helmert matrices; of binary attributes it is the parity of T.

    Parameters
    ----------
    rows : ArrayRows
        One column per attribute, with codes 0..L - 1. Rows that hold anything else, as NaN, do not
        count.
    layout : Layout

    Returns
    -------
    sums : ndarray of shape (n_coordinates,), int64

    Notes
    -----
    **Privacy.** Every row is taken or left by itself and adds its own integer vector. All sums are
    exact: in float32 up to 2^24 and in float64 up to 2^53 inside a block, in int64 between blocks.
    So the result does not depend on the order of the rows, nor on how they are cut into blocks, and
    adding or removing a row moves it by the vector of that row.

    Two ways lead there, by public sizes: products of features by matrix multiplication, or, with
    many levels, counting tables and adding their cells up.
    """
    n_features, n_attributes = rows.n_features, len(layout.levels)
    if n_features != n_attributes:
        raise ValueError(
            f"a layout of {n_attributes} attributes needs rows with as many columns. Got "
            f"{n_features} columns: pass one column of codes per attribute."
        )
    tables = largest_tables(layout)
    if layout.starts[-1] <= DENSE * sum(len(sets) for _, sets in tables):
        return residuals_by_products(rows, layout)
    return residuals_by_tables(rows, layout, tables)


def valid_rows(block, levels):
    """Return the rows of a block all of whose entries are codes, float."""
    block = np.asarray(block)
    valid = ((block >= 0) & (block < np.array(levels)) & (block == np.floor(block))).all(axis=1)
    return block if valid.all() else block[valid]


def residuals_by_products(rows, layout):
    """Return the integer residuals from products of features."""
    products = Products(layout)

    def statistic(start, block):
        return products.sums(valid_rows(block, layout.levels))

    return map_merge(rows, statistic, np.add)


def residuals_by_tables(rows, layout, tables):
    """Return the integer residuals from counts of all cells of the largest tables."""

    def statistic(start, block):
        codes = valid_rows(block, layout.levels).T.astype(np.int64, order="C")
        return np.concatenate([_counts(codes, shape, sets) for shape, sets in tables])

    counts = map_merge(rows, statistic, np.add)
    sums, start = np.empty(layout.starts[-1], dtype=np.int64), 0
    for shape, sets in tables:
        cells = counts[start : start + len(sets) * math.prod(shape)]
        start += cells.size
        sums[coordinates(layout, sets)] = integer_residuals_of(cells.reshape(-1, *shape))
    return sums


def largest_tables(layout):
    """Return the sets that are in no other set, as a list of (levels, sets of shape (m, j))."""
    largest = np.ones(len(layout.lengths), dtype=bool)
    for order in range(1, len(layout.subsets)):
        for inside in combinations(range(order), order - 1):
            largest[set_numbers(layout, layout.subsets[order][:, list(inside)])] = False
    tables = ((shape, sets[largest[numbers]]) for shape, sets, numbers in layout.groups)
    return [(shape, sets) for shape, sets in tables if len(sets)]


def _counts(codes, shape, sets):
    """Return the flat tables of sets of one shape, one after the other."""
    size, strides = math.prod(shape), np.cumprod((1, *shape[:0:-1]))[::-1]
    tables = np.empty((len(sets), size), dtype=np.int64)
    for table, columns in zip(tables, sets.tolist(), strict=True):
        cell = np.zeros(codes.shape[1], dtype=np.int64)
        for stride, column in zip(strides, columns, strict=bool(shape)):
            cell += stride * codes[column]
        table[:] = np.bincount(cell, minlength=size)
    return tables.ravel()
