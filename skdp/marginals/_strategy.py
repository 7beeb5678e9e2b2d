"""What to measure of one ordered column so that its ranges, or prefixes, are least off."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from skdp.marginals._residuals import helmert

__all__ = ["RANGES", "Strategy", "range_strategy", "ranges_of"]

RANGES = ("ranges", "prefixes")
GAP, ROUNDS = 0.03, 20  # relative, of the mean squared error; rounds of the search


@dataclass(frozen=True, eq=False)
class Strategy:
    """Linear measurements of the residual of a column."""

    # shape (L - 1, L - 1): C: what is measured is C r, r the orthonormal residual
    matrix: np.ndarray
    # mean squared error of the queries, but for that of the number of rows, with noise of standard
    # deviation 1 in C r
    error: float
    least: float  # no other C has a smaller one


def ranges_of(levels, kind):
    """Return the Gram matrix of all ranges or prefixes of levels, and how many there are.

    Entry (a, b) is the number of queries that count both levels.
    """
    a = np.arange(levels, dtype=float)
    low, high = np.minimum.outer(a, a), np.maximum.outer(a, a)
    if kind == "prefixes":
        return levels - high, levels
    return (low + 1) * (levels - high), levels * (levels + 1) // 2


@lru_cache(maxsize=8)
def range_strategy(levels, kind):
    """Return the best Strategy for a kind of queries, to within 3 %.

    Notes
    -----
    With H the Helmert rows, ``G = H (Gram matrix) H^T`` and ``X = C^T C`` the squared error of all
    queries is ``tr G X^-1``, and a row of level x has the squared length ``(H^T X H)_xx``. So the
    best X minimises the first, which is convex, for a largest entry 1 of the second. For any
    weights v of the levels, with ``K = H diag(v) H^T = B B^T``,

        tr G X^-1 + tr K X >= 2 tr S,  S = (B^T G B)^(1/2),  with equality for X = B^-T S B^-1,

    and ``tr K X = sum of v_x (H^T X H)_xx <= sum v``; so, as X may be scaled,

        (tr S)^2 / sum v <= least error <= tr S * max_x (H^T X H)_xx.

    Weights of levels whose rows are long grow until both ends meet: ``v_x <- v_x (H^T X H)_xx^2``.
    This is the optimum of the matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi, VLDB Journal
    2015; the iteration is that of Denisov, McMahan, Rush, Smith, Thakurta, NeurIPS 2022, squared)
    among those that measure the number of rows by itself. Public numbers only.
    """
    H, (gram, n_queries) = helmert(levels), ranges_of(levels, kind)
    G, v, best = H @ gram @ H.T, np.ones(levels), None
    for _ in range(ROUNDS):
        low = cholesky((H * v) @ H.T, lower=True)
        squares, vectors = eigh(low.T @ G @ low)
        root = np.sqrt(np.maximum(squares, 0.0))
        C = np.sqrt(root)[:, None] * solve_triangular(low, vectors, lower=True, trans="T").T
        lengths = np.sum(np.square(C @ H), axis=0)
        error, least = root.sum() * lengths.max(), root.sum() ** 2 / v.sum()
        if best is None or error < best.error * n_queries:
            best = Strategy(C / np.sqrt(lengths.max()), error / n_queries, least / n_queries)
        if error <= (1 + GAP) * least:
            break
        v = v * np.square(lengths)
        v /= v.mean()
    return best
