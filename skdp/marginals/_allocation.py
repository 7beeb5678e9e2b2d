"""How to divide the budget between the residuals, and what that is worth if a row is replaced."""

import math

import numpy as np
from scipy.sparse import csr_array

from skdp.marginals._layout import margins, set_numbers
from skdp.marginals._residuals import transform

__all__ = [
    "expected_loss",
    "minimax_shares",
    "noise_sd",
    "optimal_shares",
    "replace_one_factor",
    "shares_for",
    "with_empty",
]

EMPTY_SHARE = 0.05  # of the budget, at least, for the number of rows
EXHAUSTIVE = 16  # attributes up to which all subsets are tried


def shares_for(tables, error):
    """Return the part of the budget for every residual, for the "mean" or the "worst" error."""
    if error == "mean" or (len(tables.sets) == 1 and _one_noise(tables)):
        return optimal_shares(tables.layout, tables.loss)
    return minimax_shares(tables.layout, [tuple(row) for rows in tables.sets for row in rows])


def _one_noise(tables):
    """Whether all tables of one size are there, and alike: then all cells have one noise."""
    levels, sets = tables.layout.levels, tables.sets[0]
    every = math.comb(len(levels), sets.shape[1])
    return len(set(levels)) == 1 and len(sets) == len(tables.layout.subsets[-1]) == every


def optimal_shares(layout, loss_weights, empty=EMPTY_SHARE):
    """Return the part of the budget for each set that makes the expected loss smallest.

    Notes
    -----
    Noise of variance s_T in every coordinate of r_T costs c_T / s_T of mu^2. By Cauchy and Schwarz
    the loss ``sum of v_T length_T s_T`` is at least
    ``(sum of sqrt(c_T v_T length_T))^2 / mu^2``, with equality for shares in proportion to the
    summands. (This is the ResidualPlanner of Xiao, He, Zhang, Kifer, NeurIPS 2023.)
    """
    ideal = np.sqrt(layout.row_lengths * loss_weights * layout.lengths)
    return with_empty(ideal / ideal.sum(), empty)


def minimax_shares(layout, sets, *, tolerance=1e-3, max_iter=1000):
    """Return the shares that make the largest noise of a cell smallest, over all listed tables.

    Notes
    -----
    All cells of a table have the variance ``V_S = sum over T in S of a_ST sd_T^2`` and a residual
    costs ``c_T / sd_T^2``. For weights p of the tables, of sum 1, the least ``sum of p_S V_S`` is
    a lower bound of the least maximum, and for the best p it is equal to it (V is convex in the
    shares, so minimum and maximum may be exchanged). It is taken at shares in proportion to
    ``sqrt(c_T sum of p_S a_ST)``. The weights of noisy tables grow, ``p_S <- p_S V_S / mean``,
    until the maximum meets the bound. For all tables of k columns with the same number of levels
    it does at once: what is best for the mean is best for the worst. Public numbers only.
    """
    cost = _cell_costs(layout, sets)
    p = np.full(len(sets), 1 / len(sets))
    for _ in range(max_iter):
        shares = np.sqrt(cost.T @ p)
        shares /= shares.sum()
        variance = cost @ (1 / shares)
        mean = p @ variance
        if variance.max() <= (1 + tolerance) * mean:
            break
        p = p * variance / mean
        p /= p.sum()
    return with_empty(shares)


def _cell_costs(layout, sets):
    """Return the matrix ``a_ST c_T``: variance of a cell of S, times the share of T, at cost 1."""
    inverse, lengths = 1 / np.array(layout.levels), layout.row_lengths
    entries, tables, numbers = [], [], []
    for which, inside, outside in margins(sets):
        numbers.append(set_numbers(layout, inside))
        tables.append(which)
        entries.append(lengths[numbers[-1]] ** 2 * np.prod(inverse[outside] ** 2, axis=1))
    place = np.concatenate(tables), np.concatenate(numbers)
    return csr_array((np.concatenate(entries), place), shape=(len(sets), len(lengths)))


def with_empty(shares, empty=EMPTY_SHARE):
    """Return the shares with at least ``empty`` for the first set."""
    if shares[0] >= empty:
        return shares
    raised = shares * ((1 - empty) / (1 - shares[0]))
    raised[0] = empty
    return raised


def noise_sd(layout, shares, mu=1.0):
    """Return the standard deviation of the noise in a coordinate of every residual.

    Of a ``layout`` whose sets have ``shares`` of a release that costs ``mu^2``.
    """
    return np.sqrt(layout.row_lengths / shares) / mu


def expected_loss(layout, loss_weights, sd):
    """Return the loss of noisy residuals as released, ``sum of v_T length_T sd_T^2``.

    The ``loss_weights`` v_T are those of the ``layout``, as :func:`workload_layout` returns both;
    ``sd`` is that of :func:`noise_sd`.
    """
    return float(np.sum(loss_weights * layout.lengths * np.square(sd)))


def replace_one_factor(layout, sd):
    """Return what replacing one row costs, over what adding or removing one costs (both mu^2).

    Notes
    -----
    Let two rows differ in the attributes A. The inner product of their residuals in T is the
    product over T of ``delta - 1 / L_i``, delta telling whether they agree, against ``c_T`` for the
    square of either. With f_T = c_T / sd_T^2 over its sum the ratio of costs is

        2 * sum over T of f_T (1 - product over i in T and A of -1 / (L_i - 1))

    For two levels: 4 times the sum of f_T over the T that have an odd number of attributes in A.
    """
    whole = layout.row_lengths / np.square(sd)
    whole = whole / whole.sum()
    parts = np.split(whole, layout.firsts[1:-1])
    opposite = -1 / (np.array(layout.levels) - 1.0)
    if len(layout.levels) <= EXHAUSTIVE:
        factor = 2 - 2 * _set_sums(layout, parts, opposite).min()
    elif _symmetric(layout, parts):
        factor = 2 - 2 * _alike_by_size(len(layout.levels), parts, opposite[0]).min()
    else:
        nearest = [np.max(-opposite[sets], axis=1, initial=-1) for sets in layout.subsets]
        factor = 2 * np.sum(whole * (1 + np.concatenate(nearest)))
    return min(4.0, float(factor) * (1 + (0 if layout.binary else 1e-3)))


def _set_sums(layout, parts, opposite):
    """Return the sum of f_T times the product over T and A, for all A."""
    d = len(layout.levels)
    whole = np.zeros((1, *(2,) * d))
    for sets, part in zip(layout.subsets, parts, strict=True):
        member = np.zeros((d + 1, len(sets)), dtype=np.int64)
        for column in sets.T:
            member[column + 1, np.arange(len(sets))] = 1
        whole[tuple(member)] = part
    return transform(whole, [np.array([[1, 1], [1, entry]]) for entry in opposite])


def _alike_by_size(d, parts, opposite):
    """Return the same for sets A of 0..d attributes, when all sets of one order are alike."""
    total = np.zeros(d + 1)
    for order, part in enumerate(parts):
        for size in range(d + 1):
            total[size] += part[0] * sum(
                math.comb(size, odd) * math.comb(d - size, order - odd) * opposite**odd
                for odd in range(order + 1)
            )
    return total


def _symmetric(layout, parts):
    d = len(layout.levels)
    return len(set(layout.levels)) == 1 and all(
        len(part) == math.comb(d, order) and np.ptp(part) == 0 for order, part in enumerate(parts)
    )
