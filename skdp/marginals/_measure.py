"""The one release: all residuals of a workload, on an integer grid, with Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.kernel._grid_bits import ROOM, unit_bits
from skdp.marginals._allocation import optimal_shares
from skdp.marginals._counts import integer_residuals
from skdp.marginals._layout import Measurement
from skdp.marginals._norms import weighed_by_residuals
from skdp.marginals._residuals import squared_lengths
from skdp.mechanisms._exact import sqrt_up

__all__ = ["Grid", "measure", "residual_grid"]

FINEST = 30  # bits of the largest entry of a row's integer vector
COARSEST = 12  # at least, where rows have weights
WIDEST = 44  # bits of the largest noise, in grid units


def measure(rows, layout, weights, curator, share, label="residuals", *, shares=None):
    """Release the residuals of rows of codes.

    Parameters
    ----------
    rows : ArrayRows
        One column per attribute, with codes 0..L - 1. Rows that hold anything else, as NaN, do not
        count.
    layout : Layout
    weights : ndarray of shape (n_sets,)
        v_T, see ``workload_layout``.
    curator : Curator
    share : int, float or Fraction
        Part of the budget.
    label : str, default="residuals"
        Label of a planned Gaussian step.
    shares : ndarray of shape (n_sets,), default=None
        Parts of this release for each set, positive, sum 1. By default the optimal ones, with at
        least a twentieth for the number of rows, which is the residual of the empty set.

    Returns
    -------
    measurement : Measurement
        Unbiased; ``sd`` is rounded up, by less than a part in 2^48. With more than two levels the
        gains are rounded for each coordinate, and ``sd`` is that of the noisiest of the set.

    Notes
    -----
    **Privacy**, for adding or removing one row. A row adds one vector of integers to the sums,
    or nothing: multiplied by the gains of the grid its squared length is at most the integer
    ``squared_sensitivity`` (proof: :func:`residual_grid`). The vector gets independent noise of
    one standard deviation ``sigma >= sqrt(squared_sensitivity / mu^2)`` in a single release that
    costs ``mu^2 = share * budget``. The number of rows is a coordinate as all others.

    What is stated is what is paid: a row of codes x has in T the squared length
    ``u_T(x) = sum of g^2 q^2``. As ``sd_T >= sigma / (g sqrt(P))`` in each of its coordinates,

        c_T = sum of q^2 / P <= sum of g^2 q^2 sd_T^2 / sigma^2 = u_T(x) sd_T^2 / sigma^2

    so that ``sum over T of c_T / sd_T^2 <= sum of u_T(x) / sigma^2 <= mu^2``, in exact numbers.

    Beyond 2^32 rows integers may wrap around. Addition modulo 2^64 is then a post-processing of the
    same release: accuracy is lost, privacy is not.
    """
    parts = optimal_shares(layout, weights) if shares is None else shares
    cost = Fraction(share) * curator.budget.amount * (1 if curator.budget.unit == "gdp" else 2)
    grid = residual_grid(layout, parts, math.sqrt(cost), unit_bits(rows.unit))
    rows = weighed_by_residuals(
        rows, layout, grid.gains, helmert_squares(layout), grid.squared_sensitivity
    )
    release = curator.gaussian(
        grid.gains * integer_residuals(rows, layout),
        sensitivity=sqrt_up(grid.squared_sensitivity),
        share=share,
        label=label,
    )
    sd = release.scale / grid.units * (1 + 2.0**-50)  # outweighs the roundings
    return Measurement(
        layout=layout,
        values=release.value / grid.units,
        sd=np.maximum.reduceat(sd, layout.starts[:-1]),
        weights=weights,
    )


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


def residual_grid(layout, shares, mu, weight=0):
    """Return the grid for given parts of the budget.

    Parameters
    ----------
    layout : Layout
    shares : ndarray of shape (n_sets,)
        Part of mu^2 for each set, positive, sum 1.
    mu : float
        About the GDP parameter of the release; it decides how fine the grid is, nothing else.
    weight : int, default=0
        Bits by which weights make sums and noise larger: the grid is coarser by as many.

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
    finest = max(FINEST - weight, COARSEST) if weight else FINEST
    bits = max(0, min(finest, math.floor(min(WIDEST, ROOM - weight) - widest)))
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
