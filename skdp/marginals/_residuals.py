"""Exact maps between tables and their residuals.

Everything is a tensor product. Of a table with k axes, :func:`integer_residuals_of` multiplies
every axis by the square matrix (ones; H_i), H_i in integers, and :func:`table_of` by the inverse
(1 / L_i, H_i transposed). For two levels these are Walsh-Hadamard transforms up to scale.
"""

import numpy as np

from skdp.kernel._residual_sums import coordinates, integer_helmert, squared_lengths

__all__ = [
    "coordinates",
    "helmert",
    "table_of",
    "tables_of",
    "transform",
]


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


def tables_of(layout, values, sets):
    """Return the tables of sets of one shape from the flat vector of residuals.

    Shapes: values (n_coordinates,); sets (m, k); tables (m, L_1, ..., L_k).
    """
    index = coordinates(layout, sets)
    return transform(np.asarray(values)[index], [synthesis(n) for n in index.shape[1:]])


def table_of(layout, values, columns):
    """Return the table of some attributes from the flat vector of residuals.

    Shapes: values (n_coordinates,); table (L_i for i in columns).
    """
    columns = np.array(columns, dtype=np.int64)
    order = np.argsort(columns)
    table = tables_of(layout, values, columns[order][None])[0]
    return np.transpose(table, np.argsort(order))
