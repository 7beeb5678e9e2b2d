"""Linear measurements of disjoint cells from which public combinations of them are least off."""

from functools import lru_cache

import numpy as np
from scipy.linalg import eigh

ROUNDS, GAP = 30, 0.02  # of the search; relative, of the mean squared error
LEAST = 1e-9  # weight of a cell, beside their mean
GAIN = 2**10  # length of the longest column of integers


def least_error_strategy(gram, gain):
    """Return the integer matrix C, to which a row of cell b adds column b, at most ``gain`` long.

    Notes
    -----
    For ``X = C^T C`` the squared error of combinations of cells, whose Gram matrix is G, is
    ``tr G X^-1``, for columns of squared length ``X_bb`` at most 1. For any weights v of cells,
    with ``B = diag(v)^(1/2)`` and ``S = (B G B)^(1/2)``,

        tr G X^-1 + sum of v_b X_bb >= 2 tr S,  with equality for X = B^-1 S B^-1,

    so ``(tr S)^2 / sum v <= least error <= tr S max X_bb``: weights of long columns grow until both
    ends meet, as in :func:`skdp.marginals._residuals.range_strategy`, which measures the number of
    rows by itself. Public numbers only.
    """
    v, best = np.ones(len(gram)), None
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
        v = np.maximum(v / v.mean(), LEAST)
    return np.rint(gain * best[1]).astype(np.int64)


@lru_cache(maxsize=512)
def excess_strategy(parts):
    """Return the matrix that measures best by how much ranks exceed parts of all rows.

    The ranks are those of the ends of all cells but the last; parts are in (0, 1).
    """
    if not parts:
        return np.full((1, 1), GAIN)
    part, cell = np.array(parts)[:, None], np.arange(len(parts) + 1)
    excess = (cell <= cell[:-1, None]) - part
    C = least_error_strategy(excess.T @ excess, GAIN)
    return C[C.any(axis=1)]
