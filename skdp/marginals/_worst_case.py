"""The division of the budget that makes the largest noise of a cell small."""

from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from skdp.marginals._allocation import EMPTY_SHARE
from skdp.marginals._parities import set_numbers

__all__ = ["minimax_shares"]


def minimax_shares(layout, sets, *, tolerance=1e-3, max_iter=1000):
    """Return the shares that make the largest noise of a cell smallest, over all listed tables.

    Parameters
    ----------
    layout : Layout
        Has all subsets of the sets.
    sets : list of tuple of int
        The tables, each increasing.
    tolerance : float, default=1e-3
        Largest relative distance of the variance from the optimum.
    max_iter : int, default=1000

    Returns
    -------
    shares : ndarray of shape (n_sets,)
        Part of the budget for every residual; at least a twentieth for the number of rows.

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
    if shares[0] < EMPTY_SHARE:
        shares *= (1 - EMPTY_SHARE) / (1 - shares[0])
        shares[0] = EMPTY_SHARE
    return shares


def _cell_costs(layout, sets):
    """Return the matrix ``a_ST c_T``: variance of a cell of S, times the share of T, at cost 1."""
    inverse, sizes = 1 / np.array(layout.levels), np.array([len(s) for s in sets])
    lengths, entries, tables, numbers = layout.row_lengths, [], [], []
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        members = np.array([sets[i] for i in which], dtype=np.int64)
        for j in range(size + 1):
            for inside in map(list, combinations(range(size), j)):
                outside = [i for i in range(size) if i not in inside]
                at = set_numbers(layout, members[:, inside])
                entries.append(
                    lengths[at] ** 2 * np.prod(inverse[members[:, outside]] ** 2, axis=1)
                )
                tables.append(which)
                numbers.append(at)
    place = np.concatenate(tables), np.concatenate(numbers)
    return csr_array((np.concatenate(entries), place), shape=(len(sets), len(lengths)))
