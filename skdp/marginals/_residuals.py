"""Exact maps between tables and their residuals.

Everything is a tensor product. Of a table with k axes, :func:`integer_residuals_of` multiplies
every axis by the square matrix (ones; H_i), H_i in integers, and :func:`table_of` by the inverse
(1 / L_i, H_i transposed). For two levels these are Walsh-Hadamard transforms up to scale.
"""

from itertools import product

import numpy as np

from skdp.marginals._layout import set_numbers

__all__ = [
    "coordinates",
    "helmert",
    "table_of",
    "tables_of",
    "transform",
]


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


def helmert(levels):
    """Return the matrix H, shape (levels - 1, levels), of orthonormal Helmert rows."""
    return integer_helmert(levels) / np.sqrt(squared_lengths(levels))[:, None]


def transform(arrays, matrices):
    """Apply one matrix to each axis but the first: the tensor product, table by table."""
    for axis, matrix in enumerate(matrices, start=1):
        arrays = np.moveaxis(np.tensordot(arrays, matrix, axes=(axis, 1)), -1, axis)
    return arrays


def synthesis(levels):
    """Return the inverse of (ones; H): a column 1 / L and H transposed."""
    return np.column_stack([np.full(levels, 1 / levels), helmert(levels).T])


def integer_residuals_of(tables):
    """Return the residuals of tables of counts and of all their margins, by integer Helmert rows.

    Parameters
    ----------
    tables : ndarray of int of shape (m, L_1, ..., L_k)

    Returns
    -------
    residuals : ndarray of int of shape (m, L_1, ..., L_k)
        Index 0 along an axis stands for the sum over that attribute, 1..L - 1 for the rows of H:
        the residual of a set T of axes is the block of indices 1.. along T, 0 elsewhere.
    """
    for axis in range(1, tables.ndim):
        tables = np.moveaxis(tables, axis, -1)
        sums = np.cumsum(tables, axis=-1)
        rows = sums[..., :-1] - np.arange(1, tables.shape[-1]) * tables[..., 1:]
        tables = np.moveaxis(np.concatenate([sums[..., -1:], rows], axis=-1), -1, axis)
    return tables


def coordinates(layout, sets):
    """Return where the residuals of tables of one shape, and of their margins, stand.

    Parameters
    ----------
    layout : Layout
    sets : ndarray of shape (m, k)
        Sets whose attributes have the same levels (L_1, ..., L_k), increasing.

    Returns
    -------
    index : ndarray of shape (m, L_1, ..., L_k)
        ``values[index]`` are arrays like those of :func:`integer_residuals_of`.
    """
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


def tables_of(layout, values, sets):
    """Return the tables of sets of one shape from the flat vector of residuals.

    Parameters
    ----------
    layout : Layout
    values : ndarray of shape (n_coordinates,)
    sets : ndarray of shape (m, k)
        Sets whose attributes have the same levels (L_1, ..., L_k), increasing.

    Returns
    -------
    tables : ndarray of shape (m, L_1, ..., L_k)
        ``sum over T in S of (H_i^T for i in T, 1 / L_i for others, tensor product) r_T``.
    """
    index = coordinates(layout, sets)
    return transform(np.asarray(values)[index], [synthesis(n) for n in index.shape[1:]])


def table_of(layout, values, columns):
    """Return the table of some attributes from the flat vector of residuals.

    Parameters
    ----------
    layout : Layout
        Has the set of these attributes.
    values : ndarray of shape (n_coordinates,)
    columns : sequence of int
        Distinct attributes, in the order of the axes of the table.

    Returns
    -------
    table : ndarray of shape (L_i for i in columns)
    """
    columns = np.array(columns, dtype=np.int64)
    order = np.argsort(columns)
    table = tables_of(layout, values, columns[order][None])[0]
    return np.transpose(table, np.argsort(order))
