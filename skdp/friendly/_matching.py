"""Matching tuples by passes over panels of pairs: distances, two smallest, mutual nearest."""

import numpy as np

__all__ = ["aligned_squares", "as_tuples", "count_aligned"]

LARGEST = 2.0**500  # entries beyond have no friends: squares cannot overflow
TINY = 2.0**-900  # squared distances to wrong partners below it make no friends
SLACK = 2.0**-20
CELLS = 2**19  # distances held at a time: 4 MB
PANEL = 2**14  # pairs of tuples decided together


def count_aligned(A, B, gamma, limits):
    """Count for each tuple of A those of B (None: of A) that match within several distances.

    Parameters
    ----------
    A, B : arrays of shape (n, k, d), (m, k, d)
    gamma : float
    limits : increasing sequence of floats
        Squared distances.

    Returns
    -------
    counts : ndarray of shape (n, len(limits)), int64
    """
    whole, limits = B is None, np.asarray(limits, dtype=np.float64)
    A = _planes(A)
    B = A if whole else _planes(B)
    if A.shape[:2] != B.shape[:2]:
        raise ValueError(f"tuples must have (k, d) alike. Got {A.shape[:2]} and {B.shape[:2]}.")
    counts = np.zeros((A.shape[2], len(limits) + 1), dtype=np.int64)
    step = max(1, int(min(PANEL, CELLS // len(A) ** 2) ** 0.5))
    for i in range(0, A.shape[2], step):
        rows = slice(i, i + step)
        for j in range(i if whole else 0, B.shape[2], step):
            columns = slice(j, j + step)
            wide = _aligned(A[:, :, rows], B[:, :, columns], gamma)
            first = np.searchsorted(limits, wide)  # the first limit that is not exceeded
            counts[rows] += _histogram(first, counts.shape[1])
            if whole and j > i:
                counts[columns] += _histogram(first.T, counts.shape[1])
    return np.cumsum(counts, axis=1)[:, :-1]


def aligned_squares(A, B, gamma):
    """Return the largest squared distance of partners, shape (n, m); infinity without a match."""
    return _aligned(_planes(A), _planes(B), gamma)


def as_tuples(X):
    """Return tuples as float64, (n, k, d); those that can have no friends hold NaN alone."""
    X = np.asarray(X)
    if X.ndim != 3 or 0 in X.shape[1:] or X.dtype.kind not in "fiub":
        raise ValueError(
            f"tuples must be real numbers of shape (n, k, d). Got {X.dtype} of shape {X.shape}."
        )
    X = X.astype(np.float64)
    X[~(np.abs(X) <= LARGEST).all(axis=(1, 2))] = np.nan
    return X


def _planes(X):
    return np.ascontiguousarray(as_tuples(X).transpose(1, 2, 0))


def _aligned(A, B, gamma):
    k, g = len(A), (gamma * (1 - SLACK)) ** 2
    with np.errstate(all="ignore"):
        D = np.empty((k, k, A.shape[2], B.shape[2]))
        squares = np.empty(D.shape[2:])
        for i in range(k):
            for j in range(k):
                total = D[i, j]
                np.subtract(A[i, 0, :, None], B[j, 0], out=total)
                total *= total
                for a, b in zip(A[i, 1:], B[j, 1:], strict=True):
                    np.subtract(a[:, None], b, out=squares)
                    np.multiply(squares, squares, out=squares)
                    total += squares
        match, lowest = np.ones(D.shape[2:], dtype=bool), []
        for line in (*D, *D.swapaxes(0, 1)):
            first, second = _two_smallest(line)
            match &= (first < g * second) & (second >= TINY)
            lowest.append(first)
        for i in range(k if match.any() else 0):
            mutual = np.zeros_like(match)
            for j in range(k):
                mutual |= (D[i, j] == lowest[i]) & (D[i, j] == lowest[k + j])
            match &= mutual
        return np.where(match, np.max(lowest[:k], axis=0), np.inf)


def _two_smallest(planes):
    first, second = planes[0].copy(), np.full(planes.shape[1:], np.inf)
    for plane in planes[1:]:
        np.minimum(second, np.maximum(first, plane), out=second)
        np.minimum(first, plane, out=first)
    return first, second


def _histogram(index, bins):
    rows = np.arange(len(index))[:, None] * bins
    return np.bincount((rows + index).ravel(), minlength=len(index) * bins).reshape(-1, bins)
