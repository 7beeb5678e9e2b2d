"""How near rows are to released tables, beside what the noise of the release explains."""

from dataclasses import dataclass
from itertools import product
from math import log, prod, sqrt

import numpy as np

from skdp.marginals._layout import set_numbers
from skdp.marginals._noise_scale import correlated_noise
from skdp.marginals._residuals import table_of

__all__ = ["TableAgreement", "table_agreements"]

CHANCE = 0.05  # with which exact rows may seem further from a table than noise explains


@dataclass(frozen=True)
class TableAgreement:
    """Rows beside one released table."""

    columns: tuple  # tuple of int: places of its columns in the domain
    # half the sum of the absolute differences of the shares of all cells: the total variation
    # distance, but for the noise of the release
    distance: float
    # what the noise of the release adds to it on average, if the rows have the exact shares
    noise: float
    bound: float  # what it adds at most, with probability 0.95


def table_agreements(measurement, sets, codes):
    """Return a TableAgreement for every set of columns.

    Shapes: codes (n_rows, n_columns).

    Notes
    -----
    Let the rows have the exact shares p of a table S of n rows. The release is ``n p + z`` of
    ``n + z_0`` rows, so that its shares are off by ``(z - z_0 p) / (n + z_0)``. As
    ``z = z_0 / cells + sum over T of (H_i^T for i in T, 1 / L_i for others) z_T``, T not empty,
    with orthogonal summands, that is a normal vector of known law, but for the common divisor:

    * its entries have variances ``v^2 + sd_0^2 (1 / cells - p)^2``, v^2 the variance of a cell
      but for its part of z_0; the mean of an absolute value is ``sqrt(2 / pi)`` times the root;
    * it is a linear image of standard normals of norm s at most, ``s^2 = max over T of sd_T^2
      times the product of 1 / L_i for i not in T, + sd_0^2 |1 / cells - p|^2``. So half the sum of
      absolute values is a function of them with the Lipschitz constant ``sqrt(cells) s / 2``, and
      is above its mean by ``sqrt(2 log(1 / c))`` times this with probability c at most (Gaussian
      concentration).

    So rows that have the exact shares of a table are beyond ``bound`` with probability 0.05 at
    most. Distances far above it are of what the rows have missed; those far below the noise say
    that the rows are nearer to the release than the truth is.
    """
    n = max(float(measurement.values[0]), 1.0)
    return tuple(_agreement(measurement, n, columns, codes) for columns in sets)


def _agreement(measurement, n, columns, codes):
    shares = table_of(measurement.layout, measurement.values, columns) / n
    keys = np.ravel_multi_index(tuple(codes[:, c] for c in columns), shares.shape)
    made = np.bincount(keys, minlength=shares.size).reshape(shares.shape) / len(codes)
    count = measurement.sd[0] * (1 / made.size - made)
    cell, most = _noise_of_residuals(measurement, columns)
    mean = np.sqrt(cell + np.square(count)).sum() / sqrt(2 * np.pi)
    slope = sqrt(made.size * (most + np.sum(np.square(count)))) / 2
    distance = float(np.abs(made - shares).sum() / 2)
    bound = mean + slope * sqrt(-2 * log(CHANCE))
    return TableAgreement(tuple(columns), distance, float(mean) / n, float(bound) / n)


def _noise_of_residuals(measurement, columns):
    """Return the variance of a cell, and of the noisiest direction, but for the number of rows."""
    noise = correlated_noise(measurement, columns)
    if noise is not None:
        return np.sum(np.square(noise), axis=1), np.linalg.norm(noise, 2) ** 2
    levels = [measurement.layout.levels[place] for place in columns]
    cell = most = 0.0
    for inside in product((False, True), repeat=len(levels)):
        subset = sorted(place for place, i in zip(columns, inside, strict=True) if i)
        if not subset:
            continue
        variance = measurement.sd[set_numbers(measurement.layout, [subset])[0]] ** 2
        pairs = list(zip(levels, inside, strict=True))
        cell += variance * prod(1 - 1 / n if i else 1 / n**2 for n, i in pairs)
        most = max(most, variance * prod(1.0 if i else 1 / n for n, i in pairs))
    return cell, most
