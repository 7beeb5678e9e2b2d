"""What the guarantee for adding or removing one row is worth if one row is replaced."""

import math

import numpy as np

__all__ = ["replace_one_factor"]

EXHAUSTIVE = 16  # attributes up to which all subsets are tried


def replace_one_factor(layout, sd):
    """Return what replacing one row costs, over what adding or removing one costs (both mu^2).

    Parameters
    ----------
    layout : Layout
    sd : ndarray of shape (n_sets,)
        Standard deviations of the noise, by set.

    Returns
    -------
    factor : float
        At most 4, by the triangle inequality. Exact for up to 16 attributes, and if all sets of one
        order have the same noise, all are there, and attributes have the same number of levels;
        else an upper bound. If the measured grid has coordinates of one set with unequal noise (as
        many levels make it), a thousandth is added.

    Notes
    -----
    Let two rows differ in the attributes A. The inner product of their residuals in T is the
    product over T of ``delta - 1 / L_i``, delta telling whether they agree, against ``c_T`` for the
    square of either. With f_T = c_T / sd_T^2 over its sum the ratio of costs is

        2 * sum over T of f_T (1 - product over i in T and A of -1 / (L_i - 1))

    For two levels: 4 times the sum of f_T over the T that have an odd number of attributes in A.
    """
    parts = layout.row_lengths / np.square(sd)
    parts = parts / parts.sum()
    opposite = -1 / (np.array(layout.levels) - 1.0)
    if len(layout.levels) <= EXHAUSTIVE:
        factor = 2 - 2 * _alike(layout, parts, opposite).min()
    elif _symmetric(layout, parts):
        factor = 2 - 2 * _alike_by_size(layout, parts, opposite[0]).min()
    else:
        nearest = [np.max(-opposite[sets], axis=1, initial=-1) for sets in layout.subsets]
        factor = 2 * np.sum(parts * (1 + np.concatenate(nearest)))
    return min(4.0, float(factor) * (1 + (0 if layout.binary else 1e-3)))


def _alike(layout, parts, opposite):
    """Return the sum of f_T times the product over T and A, for all A."""
    d = len(layout.levels)
    whole = np.zeros((1, *(2,) * d))
    for sets, first in zip(layout.subsets, _starts(layout), strict=True):
        member = np.zeros((d + 1, len(sets)), dtype=np.int64)
        for column in sets.T:
            member[column + 1, np.arange(len(sets))] = 1
        whole[tuple(member)] = parts[first : first + len(sets)]
    for axis, entry in enumerate(opposite, start=1):
        inside = np.array([[1, 1], [1, entry]])
        whole = np.moveaxis(np.tensordot(whole, inside, axes=(axis, 1)), -1, axis)
    return whole


def _alike_by_size(layout, parts, opposite):
    """Return the same for sets A of 0..d attributes, when all sets of one order are alike."""
    d = len(layout.levels)
    total = np.zeros(d + 1)
    for order, first in enumerate(_starts(layout)):
        for size in range(d + 1):
            total[size] += parts[first] * sum(
                math.comb(size, odd) * math.comb(d - size, order - odd) * opposite**odd
                for odd in range(order + 1)
            )
    return total


def _symmetric(layout, parts):
    d = len(layout.levels)
    return len(set(layout.levels)) == 1 and all(
        len(sets) == math.comb(d, order) and np.ptp(parts[first : first + len(sets)]) == 0
        for order, (sets, first) in enumerate(zip(layout.subsets, _starts(layout), strict=True))
    )


def _starts(layout):
    return np.cumsum([0] + [len(sets) for sets in layout.subsets[:-1]])
