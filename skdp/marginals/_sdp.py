"""The same semidefinite programs by cvxpy: exact and slow; for small sizes and cross-checks."""

import numpy as np

__all__ = ["bilinear_maximum_by_cvxpy", "elliptope_maximum", "projection_by_cvxpy"]


def elliptope_maximum(C):
    """Return unit vectors whose Gram matrix maximises <C, X>, shape (N, N).

    Parameters
    ----------
    C : ndarray of shape (N, N)
        Symmetric.
    """
    import cvxpy

    X, elliptope = _elliptope(len(C))
    _solve(cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.multiply(C, X))), elliptope))
    return _vectors(X.value)


def bilinear_maximum_by_cvxpy(A):
    """Return matrices U, V with unit rows that maximise <A, U V^T>.

    Parameters
    ----------
    A : ndarray of shape (p, q)
    """
    p, q = A.shape
    largest = np.abs(A).max()
    scaled = A / largest if largest else A
    C = np.block([[np.zeros((p, p)), scaled], [scaled.T, np.zeros((q, q))]]) / 2
    vectors = elliptope_maximum(C)
    return vectors[:p], vectors[p:]


def projection_by_cvxpy(y, body, *, n, weights):
    """Return the point of n L that is closest to y, to the solver's accuracy.

    Parameters
    ----------
    y : ndarray of shape (m,)
        Noisy parities.
    body : RelaxedBody
    n : float
        Number of rows, > 0.
    weights : ndarray of shape (m,)
        The squared distance weighs coordinates by these numbers.

    Returns
    -------
    values : ndarray of shape (m,)
    """
    import cvxpy

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


def _elliptope(N):
    import cvxpy

    X = cvxpy.Variable((N, N), PSD=True)
    return X, [cvxpy.diag(X) == 1]


def _solve(problem):
    problem.solve(solver="CLARABEL")


def _vectors(X):
    values, basis = np.linalg.eigh((X + X.T) / 2)
    V = basis * np.sqrt(np.maximum(values, 0))
    return V / np.linalg.norm(V, axis=1, keepdims=True)
