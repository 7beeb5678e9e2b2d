"""The grid of scores, and linear measurements of its cells from which prefix sums are least off."""

from functools import lru_cache

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit

__all__ = ["GAIN", "LOGIT_END", "finer_edges", "logit_edges", "prefix_strategy"]

GAIN = 2**16  # length of the longest column of integers
LOGIT_END = 10.0  # scores beyond these logits share a bin on either side
SMALLEST = 1e-300  # scores below stay in one bin
ROUNDS, GAP = 30, 0.02  # of the search; relative, of the mean squared error


def logit_edges(n_bins):
    """Return edges of bins of probabilities: equal steps of the logit, 0.5 an edge if n is even.

    A bin on either side is for scores that are no probabilities.
    """
    inner = expit(np.linspace(-LOGIT_END, LOGIT_END, n_bins - 1))
    return np.concatenate([[-1.0, 0.0], inner, [np.nextafter(1.0, 2.0), 2.0]])


def finer_edges(edges, masses):
    """Return edges of twice as many bins: those with many rows are cut into equal parts.

    Returns
    -------
    edges : ndarray of shape (2 bins + 1,)
    of : ndarray of shape (2 bins,)
        The old bin that each is a part of.
    """
    bins = len(masses)
    masses = np.maximum(masses, 0.0) / max(np.maximum(masses, 0.0).sum(), 1e-300)
    parts = 1 + np.floor(bins * masses).astype(int)
    parts[np.argmax(masses)] += 2 * bins - parts.sum()
    of = np.repeat(np.arange(bins), parts)
    first = np.cumsum(parts) - parts
    at = (np.arange(2 * bins) - first[of]) / parts[of]
    low, high = edges[of], edges[of + 1]
    cuts = low * (1 - at) + high * at
    by_log = (at > 0) & (low == 0.0)  # of the bins at the ends equal steps of the logarithm
    cuts[by_log] = high[by_log] * (SMALLEST / high[by_log]) ** (1 - at[by_log])
    by_log = (at > 0) & (low < 1) & (high > 1)
    rest = 1 - low[by_log]
    nearest = np.maximum(parts[of][by_log] / 8, 1) * 2.0**-53  # edges differ as floats
    cuts[by_log] = 1 - rest * (nearest / rest) ** at[by_log]
    return np.append(cuts, edges[-1]), of


@lru_cache(maxsize=8)
def prefix_strategy(n):
    """Return the integer matrix C, to which a row of bin b adds column b, and its inverse.

    Notes
    -----
    For ``X = C^T C`` the squared error of all prefix sums, whose Gram matrix is G, is
    ``tr G X^-1``, for columns of squared length ``X_bb`` at most 1. For any weights v of bins, with
    ``B = diag(v)^(1/2)`` and ``S = (B G B)^(1/2)``,

        tr G X^-1 + sum of v_b X_bb >= 2 tr S,  with equality for X = B^-1 S B^-1,

    so ``(tr S)^2 / sum v <= least error <= tr S max X_bb``: weights of long columns grow until both
    ends meet, as in :func:`skdp.marginals._strategy.range_strategy`, which measures the number of
    rows by itself. Public numbers only.
    """
    a = np.arange(n)
    gram = n - np.maximum.outer(a, a).astype(float)
    v, best = np.ones(n), None
    for _ in range(ROUNDS):
        root = np.sqrt(v)
        squares, vectors = eigh(root[:, None] * gram * root)
        s = np.sqrt(np.maximum(squares, 0.0))
        C = np.sqrt(s)[:, None] * vectors.T / root
        lengths = np.square(C).sum(axis=0)
        error, least = s.sum() * lengths.max(), s.sum() ** 2 / v.sum()
        if best is None or error < best[0]:
            best = error, C / np.sqrt(lengths.max())
        if error <= (1 + GAP) * least:
            break
        v = v * np.square(lengths)
        v /= v.mean()
    C = np.rint(GAIN * best[1]).astype(np.int64)
    return C, np.linalg.inv(C.astype(float))
