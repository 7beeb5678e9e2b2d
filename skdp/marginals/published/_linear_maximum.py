"""Linear maximisation over products of unit vectors, with certificates.

Maximise <A, U V^T> over matrices U, V with unit rows: a step of Frank-Wolfe. Given V, the best u_i
points to ``sum_j A_ij v_j`` (the mixing method), so that a sweep is two matrix products.

**Certificate**: with positive vectors a, b and s the largest singular value of
``M = Diag(a)^-1/2 A Diag(b)^-1/2``, by Cauchy and Schwarz,

    <A, U V^T> = <M, (a^1/2 U)(b^1/2 V)^T> <= s |a^1/2 U| |b^1/2 V| = s sqrt(sum a sum b).

Eigenvalues come from dense solvers, which are backward stable, with a margin for rounding; Lanczos
methods return lower bounds of the largest eigenvalue and certify nothing.

The same programs by cvxpy are exact and slow: for small sizes and cross-checks.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from skdp.utils._public import public_words

__all__ = [
    "LinearMaximum",
    "bilinear_maximum",
    "bilinear_maximum_by_cvxpy",
    "projection_by_cvxpy",
    "unit_rows",
]

MOST_SWEEPS = 2000
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class LinearMaximum:
    """A feasible point, its value, and a bound that no point exceeds."""

    value: float
    vectors: tuple  # pair of ndarray: unit vectors, one per row: U and V
    bound: float  # at least the maximum


def bilinear_maximum(A, *, start=None, level=0.0, tol=1e-7):
    """Maximise <A, U V^T> over matrices U, V with unit rows.

    Shapes: A (p, q); start (q, r).
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


def _rank(N):
    """Return a number of coordinates for which local optima are global, generically."""
    return ceil(sqrt(2 * N)) + 1


def unit_rows(n, r):
    """Return n public unit vectors of R^r in general position, which know no data."""
    words = public_words(n * r, "unit rows", n, r).astype(np.float64)
    V = words.reshape(n, r) * 2.0**-63 - 1
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def bilinear_maximum_by_cvxpy(A):
    """Return matrices U, V with unit rows that maximise <A, U V^T>.

    Shapes: A (p, q).
    """
    cvxpy = _cvxpy()
    p, q = A.shape
    largest = np.abs(A).max()
    scaled = A / largest if largest else A
    C = np.block([[np.zeros((p, p)), scaled], [scaled.T, np.zeros((q, q))]]) / 2
    X, elliptope = _elliptope(p + q)
    _solve(cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.multiply(C, X))), elliptope))
    vectors = _vectors(X.value)
    return vectors[:p], vectors[p:]


def projection_by_cvxpy(y, body, *, n, weights):
    """Return the point of n L that is closest to y, to the solver's accuracy."""
    cvxpy = _cvxpy()
    p, q = body.shape
    X, elliptope = _elliptope(p + q)
    block = cvxpy.vec(X[:p, p:], order="C")
    m, splits = len(y), len(body.left)
    pick = np.zeros((m, p * q))
    np.add.at(pick, (np.arange(m), body.left * q + body.right), 1 / splits)
    distance = cvxpy.multiply(np.sqrt(weights), pick @ block - np.asarray(y) / n)
    _solve(cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(distance)), elliptope))
    vectors = _vectors(X.value)  # exactly feasible
    return n * body.values(vectors[:p], vectors[p:])


def _cvxpy():
    try:
        import cvxpy
    except ImportError:
        raise ImportError(
            "the exact solver needs cvxpy, which is not installed. Run pip install "
            "'skdp[published]', or take solver='mixing'."
        ) from None
    return cvxpy


def _elliptope(N):
    cvxpy = _cvxpy()
    X = cvxpy.Variable((N, N), PSD=True)
    return X, [cvxpy.diag(X) == 1]


def _solve(problem):
    problem.solve(solver="CLARABEL")


def _vectors(X):
    values, basis = np.linalg.eigh((X + X.T) / 2)
    V = basis * np.sqrt(np.maximum(values, 0))
    return V / np.linalg.norm(V, axis=1, keepdims=True)
