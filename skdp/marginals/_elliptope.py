"""The correlation matrix nearest to a noisy one: a smooth dual, and a certificate."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Nearest", "nearest_correlation"]


@dataclass(frozen=True)
class Nearest:
    """A matrix of the elliptope and the proof that hardly any other is nearer.

    Parameters
    ----------
    matrix : ndarray of shape (N, N)
        Positive semidefinite, with ones on the diagonal.
    objective : float
        Its squared distance, half of ``sum_ij w_i w_j (X_ij - Y_ij)^2`` over i != j.
    gap : float
        No matrix of the elliptope has a squared distance below ``objective - gap``.
    dual : ndarray of shape (N,)
        Where a search for a matrix nearby may start.
    """

    matrix: np.ndarray
    objective: float
    gap: float
    dual: np.ndarray


def nearest_correlation(Y, weight, start=None, *, tol=1e-10, max_evaluations=300):
    """Return the matrix X with ``X >= 0, X_ii = 1`` of least weighted squared distance to Y.

    Parameters
    ----------
    Y : ndarray of shape (N, N)
        Symmetric. Its diagonal is not looked at.
    weight : ndarray of shape (N,)
        Positive numbers w. The entry (i, j) has the weight ``w_i w_j``.
    start : ndarray of shape (N,), default=None
        Dual point of an earlier answer.
    tol : float, default=1e-10
        Ends the search when the relative duality gap, or the step, is below it.
    max_evaluations : int, default=300

    Returns
    -------
    nearest : Nearest

    Notes
    -----
    With ``b = w / max w`` and ``S = Diag(b)^(1/2)`` put ``A = S Y S`` off the diagonal and b on it:
    the problem is to find ``Z = S X S >= 0`` with diagonal b nearest to A in the Frobenius norm.
    For any t, ``|Z - A|^2 / 2 >= |A|^2 / 2 - theta(t)``, where::

        theta(t) = |(A + Diag t)_+|^2 / 2 - b.t,    D theta(t) = diag (A + Diag t)_+ - b

    because ``|Z - A|^2 / 2 = |Z - (A + Diag t)|^2 / 2 + |A|^2 / 2 - |A + Diag t|^2 / 2 + t.(b)``
    for Z with diagonal b, and the first term is least at ``(A + Diag t)_+``. theta is convex with
    a Lipschitz gradient, so L-BFGS minimises it; at the minimum ``(A + Diag t)_+`` has diagonal b.
    The diagonal is made exactly b by a congruence, which keeps the matrix semidefinite, and the
    gap is the difference of the two sides for that matrix.
    """
    from scipy.optimize import minimize

    b = weight / weight.max()
    scale = np.sqrt(b)
    A = Y * np.outer(scale, scale)
    np.fill_diagonal(A, b)
    half = np.sum(A * A) / 2
    best = [np.inf, None, None, None]

    def dual(t):
        positive = _positive_part(A, t)
        theta = np.sum(positive * positive) / 2 - b @ t
        gradient = np.diag(positive) - b
        if theta < best[0]:
            best[:] = theta, positive, t.copy(), gradient
        return theta, gradient

    def certified():
        theta, positive, t, _ = best
        Z = positive * np.outer(*[np.sqrt(b / np.maximum(np.diag(positive), 1e-300))] * 2)
        objective = np.sum((Z - A) ** 2) / 2
        return Z, objective, max(objective - (half - theta), 0.0), t

    def stop(_):
        _, objective, gap, _ = certified()
        if gap <= tol * max(objective, 1e-3 * half):
            raise StopIteration

    t = np.zeros(len(b)) if start is None else start
    options = {"maxcor": 30, "maxfun": max_evaluations, "ftol": 0.0, "gtol": 0.0}
    minimize(dual, t, jac=True, method="L-BFGS-B", callback=stop, options=options)
    Z, objective, gap, t = certified()
    X = Z / np.outer(scale, scale)
    np.fill_diagonal(X, 1.0)
    factor = weight.max() ** 2
    return Nearest(X, objective * factor, gap * factor, t)


def _positive_part(A, t):
    """Return the positive part of ``A + Diag t``."""
    M = A.copy()
    M[np.diag_indices(len(t))] += t
    values, vectors = np.linalg.eigh(M)
    k = int(np.searchsorted(values, 0.0))
    if k <= len(t) // 2:  # fewer vectors below zero
        return M - (vectors[:, :k] * values[:k]) @ vectors[:, :k].T
    return (vectors[:, k:] * values[k:]) @ vectors[:, k:].T
