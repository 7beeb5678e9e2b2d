"""The relaxed body L: parities of k attributes as entries of a positive semidefinite matrix.

Cut a set S of k attributes into a left part a of ceil(k/2) of them and the rest b. For a row x in
{-1, 1}^d the parity is a product of two signs, chi_S(x) = chi_a(x) chi_b(x). The paper (section 4)
lets these signs be any, whatever row they belong to, and then unit vectors::

    K  = hull of +-(chi_S(x))_S,         x a row: the answers of a table of one row
    L0 = hull of (mean of y_a z_b)_S,    y_a, z_b in {-1, 1}
    L  = {(mean of <u_a, v_b>)_S},       u_a, v_b unit vectors

where the mean runs over the ways to cut S. So ``K subset L0 subset L``: signs +-chi are products of
signs, signs are unit vectors of R^1, and L is convex, as Gram matrices with unit diagonal are. The
points of L are read off the off-diagonal block of a positive semidefinite matrix of unit diagonal.

The paper indexes that matrix by tuples, order d^ceil(k/2) + d^floor(k/2). With the weight of S
spread evenly over its k! orders, tuples of the same attributes have the same row of coefficients;
the best unit vector for one of them is best for all, the support functions agree, and so do the
bodies. Here the matrix is indexed by sets, order C(d, ceil(k/2)) + C(d, floor(k/2)).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

__all__ = ["RelaxedBody", "relaxed_body"]


@dataclass(frozen=True, eq=False)
class RelaxedBody:
    """Which entries of the matrix ``U @ V.T`` are which parities.

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.
    """

    # left, right: shape (n_splits, m): row and column of the entry of each way to cut each of m
    # sets
    left: np.ndarray
    right: np.ndarray
    # (int, int): numbers p of left parts and q of right parts; the positive semidefinite matrix has
    # order p + q
    shape: tuple

    def values(self, U, V):
        """Return the m parities of unit vectors U (p, r) and V (q, r): a point of L."""
        return (U @ V.T)[self.left, self.right].mean(axis=0)

    def values_of_gram(self, gram):
        """Return the m parities of a whole matrix of order p + q."""
        return gram[self.left, self.right + self.shape[0]].mean(axis=0)

    def matrix(self, c):
        """Return A of shape (p, q) such that ``<c, values(U, V)> = <A, U V^T>``."""
        place = (self.left * self.shape[1] + self.right).ravel()
        weight = np.tile(np.asarray(c) / len(self.left), len(self.left))
        return np.bincount(place, weight, self.shape[0] * self.shape[1]).reshape(self.shape)


def relaxed_body(sets, d):
    """Return the relaxed body of parities of k attributes.

    Parameters
    ----------
    sets : sequence of tuple of int
        Distinct attributes, k in every set, k >= 1.
    d : int
        Number of attributes.

    Returns
    -------
    body : RelaxedBody

    See Also
    --------
    relaxed_projection

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals.published import relaxed_body
    >>> body = relaxed_body(np.array([[0, 1], [0, 2], [1, 2]]), 3)
    >>> body.left.shape
    (2, 3)
    """
    sets = np.asarray(sets, dtype=np.int64)
    if sets.ndim != 2 or sets.size == 0:
        raise ValueError(
            f"sets must be tuples of the same number k >= 1 of attributes. Got an array of shape "
            f"{sets.shape}; take the orders of a mixed workload one by one."
        )
    sets = np.sort(sets, axis=1)
    k = sets.shape[1]
    if sets[:, 0].min() < 0 or sets[:, -1].max() >= d or (np.diff(sets, axis=1) == 0).any():
        raise ValueError(f"every set must have {k} distinct attributes among 0, ..., {d - 1}.")
    splits = [
        (part, tuple(i for i in range(k) if i not in part))
        for part in combinations(range(k), (k + 1) // 2)
    ]
    left, p = _numbered([sets[:, a] for a, _ in splits], d)
    right, q = _numbered([sets[:, b] for _, b in splits], d)
    return RelaxedBody(left, right, (p, q))


def _numbered(parts, d):
    """Return the number of every part among the distinct ones, and how many there are."""
    powers = d ** np.arange(parts[0].shape[1])
    distinct, number = np.unique(np.stack([part @ powers for part in parts]), return_inverse=True)
    return number.reshape(len(parts), -1), len(distinct)
