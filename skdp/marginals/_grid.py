"""The integer grid on which residuals get their noise."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.marginals._parities import squared_lengths

__all__ = ["Grid", "residual_grid"]

FINEST = 30  # bits of the largest entry of a row's integer vector
WIDEST = 44  # bits of the largest noise, in grid units


@dataclass(frozen=True)
class Grid:
    """Public integers that turn integer residuals into a vector for noise of one size.

    Parameters
    ----------
    gains : ndarray of shape (n_coordinates,), int64
        What each integer residual is multiplied by.
    units : ndarray of shape (n_coordinates,)
        Gain times length of the integer Helmert rows: a value over its unit is a residual in rows.
    squared_sensitivity : int
        Bound on the squared length of a row's integer vector; attained if all attributes have two
        levels.
    """

    gains: np.ndarray
    units: np.ndarray
    squared_sensitivity: int


def residual_grid(layout, shares, mu):
    """Return the grid for given parts of the budget.

    Parameters
    ----------
    layout : Layout
    shares : ndarray of shape (n_sets,)
        Part of mu^2 for each set, positive, sum 1.
    mu : float
        About the GDP parameter of the release; it decides how fine the grid is, nothing else.

    Returns
    -------
    grid : Grid

    Notes
    -----
    A row's integer residual in the coordinate (T, c) is ``q = product of h_i`` with entries h_i of
    integer Helmert rows of squared length ``P = product of j_i (j_i + 1)``; the residual is
    ``q / sqrt(P)``. With gains ``g_Tc = round(G_T / sqrt(P))``, ``G_T^2 ~ share_T / c_T``, the
    vector of all ``g q`` has the squared length

        sum over T of u_T(x),  u_T(x) = sum over c of g_Tc^2 q_Tc(x)^2 <= max over cells of T

    and the last sum, of exact integers, is ``squared_sensitivity``. (Were gains not rounded,
    ``u_T`` would be ``G_T^2 c_T`` for every x.) Binary: ``q = +-1``, so ``u_T = g_T^2``, exactly.

    Entries are at most 2^30 + 2^23, so sums over 2^32 rows and their noise fit into 63 bits. The
    noise has the standard deviation ``|u| / mu``: as no table has more than 2^24 cells, at least
    2^30 2^-12 / 2^11 = 2^7 grid units for every mu up to 2^11 (epsilon up to 10^6), so that its
    rounding to the grid does not matter. Where it would be above 2^44 units the grid is coarser.
    """
    scale = np.sqrt(shares / layout.row_lengths)
    widest = math.log2(1 / (scale.max() * mu))  # of the noise, for entries of at most 1
    bits = max(0, min(FINEST, math.floor(WIDEST - widest)))
    roots = np.sqrt(helmert_squares(layout))
    gains = np.rint(layout.spread(scale / scale.max()) * 2.0**bits / roots)
    gains = np.maximum(gains, 1).astype(np.int64)
    return Grid(gains, gains * roots, _squared_sensitivity(layout, gains))


def helmert_squares(layout):
    """Return P = product of j (j + 1) for every coordinate."""
    squares = np.empty(layout.starts[-1])
    for shape, _, numbers in layout.groups:
        block = np.ones(1)
        for levels in shape:
            block = np.outer(block, squared_lengths(levels)).ravel()
        squares[layout.places(numbers)] = block
    return squares


def _squared_sensitivity(layout, gains):
    """Return the sum over sets of the largest squared length in a cell, in exact integers."""
    total = 0
    for shape, sets, numbers in layout.groups:
        squares = gains[layout.places(numbers)] ** 2  # at most 2^60 / P, so that sums fit
        cells = squares.reshape(len(sets), *(levels - 1 for levels in shape))
        for axis in range(1, cells.ndim):
            cells = _squared_columns(cells, axis)
        total += sum(cells.reshape(len(sets), -1).max(axis=1).tolist())
    return total


def _squared_columns(arrays, axis):
    """Sum entries times squared integer Helmert rows: at level x, ``sum_{j > x} a_j + x^2 a_x``."""
    arrays = np.moveaxis(arrays, axis, -1)
    sums = np.zeros((*arrays.shape[:-1], arrays.shape[-1] + 1), dtype=np.int64)
    sums[..., :-1] = np.cumsum(arrays[..., ::-1], axis=-1)[..., ::-1]
    sums[..., 1:] += np.arange(1, sums.shape[-1]) ** 2 * arrays
    return np.moveaxis(sums, -1, axis)
