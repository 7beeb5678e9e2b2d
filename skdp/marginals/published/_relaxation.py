"""Parities of binary attributes, and the relaxed body L: parities as entries of a matrix.

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
from math import ceil, sqrt

import numpy as np

from skdp.marginals._residuals import transform
from skdp.utils._numbers import public_words

MOST_SWEEPS = 2000
FLOOR = 1e-9


def uniform_shares(layout):
    """Return equal shares for a ``layout``: of binary ones the same noise in every parity.

    This makes the largest noise of a parity smallest, as the shares ``1 / s_T`` sum to a constant.

    Parameters
    ----------
    layout : Layout

    Returns
    -------
    shares : ndarray of shape (n_sets,)

    See Also
    --------
    skdp.MarginalReleaser, skdp.marginals.Layout

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import uniform_shares
    >>> layout = Layout((2, 2), (np.zeros((1, 0), int), np.array([[0], [1]]), np.array([[0, 1]])))
    >>> uniform_shares(layout).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return np.full(len(layout.lengths), 1 / len(layout.lengths))


def walsh_hadamard(arrays):
    """Return sums of entries with the signs of parities, over all axes but the first.

    Of tables of shape (m, 2, ..., 2) these are the parities of all subsets of the axes (index 1:
    in the set), for x = 1 - 2 bit; of parities, 2^k times the tables. Exact for integers, and for
    arrays of Python integers or Fractions.

    Parameters
    ----------
    arrays : ndarray of shape (m, 2, ..., 2)

    Returns
    -------
    sums : ndarray of the same shape

    See Also
    --------
    to_parities

    Notes
    -----
    **Privacy**: exact: as private as what it is given, and free of cost for what is released.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals.published import walsh_hadamard
    >>> walsh_hadamard(np.array([[[4, 3], [2, 1]]])).tolist()
    [[[10, 2], [4, 0]]]
    """
    signs = np.array([[1, 1], [1, -1]], dtype=arrays.dtype)
    return transform(arrays, [signs] * (arrays.ndim - 1))


def to_parities(layout, values):
    """Return the parities of a binary ``layout`` from residuals: ``values`` times 2^(|T| / 2).

    Parameters
    ----------
    layout : Layout
        Of binary attributes.
    values : ndarray of shape (n_sets,)
        Residuals, in rows.

    Returns
    -------
    parities : ndarray of shape (n_sets,)

    See Also
    --------
    from_parities, walsh_hadamard

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import to_parities
    >>> layout = Layout((2,), (np.zeros((1, 0), int), np.array([[0]])))
    >>> to_parities(layout, np.array([10.0, 2.0])).round(3).tolist()
    [10.0, 2.828]
    """
    return values * np.sqrt(2.0**layout.orders)


def from_parities(layout, parities):
    """Return the residuals of a binary ``layout`` from ``parities``, by :func:`to_parities`.

    Parameters
    ----------
    layout : Layout
        Of binary attributes.
    parities : ndarray of shape (n_sets,)

    Returns
    -------
    values : ndarray of shape (n_sets,)
        Residuals, in rows.

    See Also
    --------
    to_parities

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import from_parities, to_parities
    >>> layout = Layout((2,), (np.zeros((1, 0), int), np.array([[0]])))
    >>> from_parities(layout, to_parities(layout, np.array([10.0, 2.0]))).round(3).tolist()
    [10.0, 2.0]
    """
    return parities / np.sqrt(2.0**layout.orders)


# --- the relaxed body L: parities of k attributes as entries of a positive semidefinite matrix


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


@dataclass(frozen=True, eq=False)
class LinearMaximum:
    """A feasible point, its value, and a bound that no point exceeds."""

    value: float
    vectors: tuple  # pair of ndarray: unit vectors, one per row: U and V
    bound: float  # at least the maximum


def bilinear_maximum(A, *, start=None, level=0.0, tol=1e-7):
    """Maximise <A, U V^T> over matrices U, V with unit rows.

    Given V, the best u_i points to ``sum_j A_ij v_j`` (the mixing method), so that a sweep is two
    matrix products. Shapes: A (p, q); start (q, r).
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
    """Return ``s sqrt(sum a sum b)``; entries that are almost zero are raised, any a, b will do.

    **Certificate**: with positive vectors a, b and s the largest singular value of
    ``M = Diag(a)^-1/2 A Diag(b)^-1/2``, by Cauchy and Schwarz,

        <A, U V^T> = <M, (a^1/2 U)(b^1/2 V)^T> <= s |a^1/2 U| |b^1/2 V| = s sqrt(sum a sum b).

    Eigenvalues come from dense solvers, which are backward stable, with a margin for rounding;
    Lanczos methods return lower bounds of the largest eigenvalue and certify nothing.
    """
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
