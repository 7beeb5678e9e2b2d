"""Parities of one and two binary attributes as a matrix of second moments, and back."""

import numpy as np

from skdp.marginals._shrink import row_count

__all__ = ["PairMatrix", "all_pairs", "pair_precision"]


def all_pairs(layout):
    """Whether all pairs of the attributes that are there are there, at least one."""
    if len(layout.subsets) < 3:
        return False
    d = len(layout.subsets[1])
    return len(layout.subsets[2]) == d * (d - 1) // 2


def pair_precision(layout, sd):
    """Return numbers p with ``p_i p_j = 1 / sd_ij^2``, of the empty set (number 0) and attributes.

    Where all pairs, and all single attributes, have the same noise, this is exact; otherwise
    log p is the least squares fit of the logarithms. Needs all pairs, order 2.
    """
    columns = layout.subsets[1][:, 0]
    N = len(columns) + 1
    logs = np.zeros((N, N))
    logs[0, 1:] = -2 * np.log(sd[1:N])
    i, j = 1 + np.searchsorted(columns, layout.subsets[2]).T
    logs[i, j] = -2 * np.log(sd[N:])
    sums = (logs + logs.T).sum(axis=1)
    return np.exp((sums - sums.sum() / (2 * (N - 1))) / (N - 2))


class PairMatrix:
    """Second moments ``E v v'`` of ``v = (1, x)``, x of entries -1 and 1, from residuals.

    Parameters
    ----------
    layout : Layout
        Of binary attributes and order 2, with all pairs of those that are there.
    sd : ndarray of shape (n_sets,)
        Noise of the residuals.

    Attributes
    ----------
    precision : ndarray of shape (N,)
        Numbers p with ``p_i p_j`` the inverse variance of the noise of the parity at (i, j).

    Notes
    -----
    A parity is ``2^(|T|/2)`` times its residual.
    """

    def __init__(self, layout, sd):
        columns = layout.subsets[1][:, 0]
        self.size = len(columns) + 1
        self.first, self.second = 1 + np.searchsorted(columns, layout.subsets[2]).T
        self.scale = 2.0 ** (layout.orders / 2)
        self.precision = pair_precision(layout, sd * self.scale)

    def moments(self, values):
        """Return the matrix of moments and the number of rows."""
        n = row_count(values)
        parities, X = values * self.scale / n, np.eye(self.size)
        X[0, 1:] = X[1:, 0] = parities[1 : self.size]
        X[self.first, self.second] = X[self.second, self.first] = parities[self.size :]
        return X, n

    def residuals(self, X, n):
        """Return the residuals of a matrix of moments of n rows."""
        parities = np.concatenate([[1.0], X[0, 1:], X[self.first, self.second]])
        return n * parities / self.scale
