"""Linear maximisation over positive semidefinite matrices with unit diagonal, with certificates.

Maximise <C, X> over X = V V^T with unit rows: given the other rows, the best v_i points to
``g_i = sum_j C_ij v_j`` (the mixing method). If C has a block A off the diagonal and nothing else,
the rows of either side are independent given the other, and a sweep is two matrix products.

**Certificates**. For every vector l, ``C <= Diag l + t I`` with ``t = lambda_max(C - Diag l)``, so
``<C, X> <= sum l_i + N t`` for all X of unit diagonal; any l will do, ``l_i = |g_i|`` is best at an
optimum. For a block: with positive vectors a, b and s the largest singular value of
``M = Diag(a)^-1/2 A Diag(b)^-1/2``, by Cauchy and Schwarz,

    <A, U V^T> = <M, (a^1/2 U)(b^1/2 V)^T> <= s |a^1/2 U| |b^1/2 V| = s sqrt(sum a sum b).

Eigenvalues come from dense solvers, which are backward stable, with a margin for rounding; Lanczos
methods return lower bounds of the largest eigenvalue and certify nothing.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from skdp._public import public_words

__all__ = ["LinearMaximum", "bilinear_maximum", "dual_bound", "linear_maximum", "unit_rows"]

MOST_SWEEPS = 2000
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class LinearMaximum:
    """A feasible point, its value, and a bound that no point exceeds.

    Parameters
    ----------
    value : float
    vectors : ndarray of shape (N, r), or pair of them
        Unit vectors, one per row; for a block those of its rows and those of its columns.
    bound : float
        At least the maximum.
    """

    value: float
    vectors: object
    bound: float


def linear_maximum(C, method="mixing", *, tol=1e-9):
    """Maximise <C, X> over positive semidefinite X of unit diagonal.

    Parameters
    ----------
    C : ndarray of shape (N, N)
        Symmetric.
    method : {"mixing", "cvxpy"}, default="mixing"
        Coordinate ascent on vectors of length ceil(sqrt(2 N)) + 1, or cvxpy's interior points.
    tol : float, default=1e-9
        Sweeps end when one gains less than this part of the value.

    Returns
    -------
    maximum : LinearMaximum
    """
    C = np.asarray(C, dtype=np.float64)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not np.array_equal(C, C.T):
        raise ValueError(f"C must be a symmetric matrix. Got an array of shape {C.shape}.")
    if method == "cvxpy":
        from skdp.marginals._sdp import elliptope_maximum

        V = elliptope_maximum(C)
    elif method == "mixing":
        V = _mixing(C, tol)
    else:
        raise ValueError(f"method must be 'mixing' or 'cvxpy'. Got {method!r} instead.")
    G = C @ V
    multipliers = np.einsum("ij,ij->i", G, V)  # |g_i| at a fixed point, plus C_ii
    return LinearMaximum(float(multipliers.sum()), V, dual_bound(C, multipliers))


def dual_bound(C, multipliers):
    """Return ``sum l + N t``, which no <C, X> exceeds, for any multipliers l."""
    S = C - np.diag(multipliers)
    N = len(C)
    largest = float(np.linalg.eigvalsh(S)[-1])
    # t may be negative: X has trace N exactly
    return float(multipliers.sum()) + N * (largest + 4 * N * np.finfo(float).eps * np.abs(S).max())


def bilinear_maximum(A, *, start=None, level=0.0, tol=1e-7):
    """Maximise <A, U V^T> over matrices U, V with unit rows.

    Parameters
    ----------
    A : ndarray of shape (p, q)
    start : ndarray of shape (q, r), default=None
        Unit rows to start V from, those of a similar problem; None takes public ones.
    level : float, default=0.0
        Value of a point that is known.
    tol : float, default=1e-7
        Sweeps end when one gains less than this part of what the value exceeds ``level`` by.

    Returns
    -------
    maximum : LinearMaximum
        Its ``vectors`` are the pair (U, V).
    """
    p, q = A.shape
    V = unit_rows(q, _rank(p + q)) if start is None else start
    U = unit_rows(p, V.shape[1])
    value, a, b = 0.0, np.zeros(p), np.zeros(q)
    for _ in range(MOST_SWEEPS):
        U, a = _towards(A @ V, U)
        V, b = _towards(A.T @ U, V)
        before, value = value, float(b.sum())
        if value - before <= tol * abs(value - level):
            break
    return LinearMaximum(value, (U, V), max(value, _block_bound(A, a, b)))


def _block_bound(A, a, b):
    """Return ``s sqrt(sum a sum b)``; entries that are almost zero are raised, any a, b will do."""
    if not A.any():
        return 0.0
    a, b = np.maximum(a, FLOOR * a.max()), np.maximum(b, FLOOR * b.max())
    M = A / np.sqrt(a)[:, None] / np.sqrt(b)
    if len(M) < len(M.T):
        M = M.T
    squared = float(np.linalg.eigvalsh(M.T @ M)[-1])
    margin = 1 + 8 * sum(M.shape) * np.finfo(float).eps
    return margin * sqrt(squared * float(a.sum()) * float(b.sum()))


def _towards(G, old):
    """Return the rows of G made unit vectors and their lengths; rows of zeros keep the old ones."""
    length = np.sqrt(np.einsum("ij,ij->i", G, G))
    moved = length > 0
    return np.where(moved[:, None], G / np.where(moved, length, 1.0)[:, None], old), length


def _mixing(C, tol):
    C = C - np.diag(np.diag(C))
    V = unit_rows(len(C), _rank(len(C)))
    value = -np.inf
    for _ in range(MOST_SWEEPS):
        for i, c in enumerate(C):
            g = c @ V
            length = sqrt(float(g @ g))
            if length > 0:
                V[i] = g / length
        before, value = value, float(np.einsum("ij,ij->", C @ V, V))
        if value - before <= tol * abs(value):
            break
    return V


def _rank(N):
    """Return a number of coordinates for which local optima are global, generically."""
    return ceil(sqrt(2 * N)) + 1


def unit_rows(n, r):
    """Return n public unit vectors of R^r in general position, which know no data."""
    words = public_words(n * r, "unit rows", n, r).astype(np.float64)
    V = words.reshape(n, r) * 2.0**-63 - 1
    return V / np.linalg.norm(V, axis=1, keepdims=True)
