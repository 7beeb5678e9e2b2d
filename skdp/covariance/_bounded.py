"""A covariance matrix of entries between public bounds: one exact release of all moments."""

import math

import numpy as np

from skdp.accounting import Plan, Step
from skdp.chunks import weighed_sum
from skdp.covariance._denoise import denoised, floored
from skdp.covariance._moments import moment_bits
from skdp.covariance._release import CLEAR, CovarianceRelease
from skdp.location._public import bounds_vectors
from skdp.mechanisms import box_rows, finite_rows
from skdp.mechanisms._exact import sqrt_up

__all__ = ["bounded_covariance", "bounded_moments", "bounded_plan", "checked_bounds"]

ROWS = 2**16  # whose products sum to less than 2^53
FEW = "few rows: their number does not stand clear of the noise"
DROWNED = "no direction stands clear of the noise: too few rows for bounds so wide"


def bounded_plan(budget):
    """Return the plan of :func:`bounded_covariance`."""
    return Plan(budget, (Step("moments"),))


def checked_bounds(bounds, n_features):
    """Raise ValueError for public bounds that make no box."""
    ends = bounds_vectors(bounds, n_features)
    if ends is not None:
        box_rows(np.zeros((1, n_features)), low=ends[0], high=ends[1], bits=1)


def bounded_moments(rows, low, high, bits):
    """Return the sum of w w^T over all rows w = (1, y) on a grid, exact, shape (d + 1, d + 1).

    Parameters
    ----------
    rows : ArrayRows
    low, high : ndarrays of shape (d,)
        Public: y is -1 at the lower one and 1 at the upper one.
    bits : int
        1 is 2^bits on the grid.
    """

    def statistic(start, block):
        total = np.zeros((len(low) + 1, len(low) + 1), dtype=np.int64)
        for first in range(0, len(block), ROWS):
            part = np.asarray(block[first : first + ROWS], dtype=np.float64)
            w = np.empty((len(part), len(low) + 1))
            w[:, 0] = finite_rows(part) * 2.0**bits
            w[:, 1:] = box_rows(part, low=low, high=high, bits=bits)
            total += (w.T @ w).astype(np.int64)
        return total

    return weighed_sum(rows, statistic)


def bounded_covariance(rows, curator, *, low, high, assume_centered=False, denoise=True):
    """Release the covariance matrix of rows clipped to a public box, with the whole budget.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the plan of :func:`bounded_plan`.
    low, high : ndarrays of shape (d,)
        Public.
    assume_centered : bool, default=False
        Whether the rows vary around zero.
    denoise : bool, default=True

    Returns
    -------
    release : CovarianceRelease
        Its basis has d + 1 vectors: the first is what an error of the count does.

    Notes
    -----
    **Privacy** (add or remove one row). A row becomes w = (g, q) with g = 2^bits and integers q in
    [-g, g]; one with NaN or infinity becomes zeros. Both are functions of that row. Released is
    the upper triangle of the sum of w w^T, its K = (d + 1)(d + 2) / 2 entries; each moves by at
    most g^2, so all of them by at most g^2 sqrt(K) in l2: attained by a row in a corner. (The
    whole matrix would cost g^2 (d + 1), for the same noise off the diagonal and 1.4 times that on
    it.) Products are summed exactly, in integers. The rest is post-processing.

    With the mean m = sum y / n, the covariance is T W T^T / n for W = sum of (1, y)(1, y)^T and
    T = (-m, I); for another m it is too large by the square of the gap. So its noise is
    T N T^T / n, N that of W, and T, in units of the table, is the basis of the release.
    """
    d = len(low)
    K = (d + 1) * (d + 2) // 2
    heads = 2.0**32 if rows.heads is None else rows.heads.n
    bits = moment_bits(curator.budget.mu / math.sqrt(K), rows.unit, heads)
    upper = np.triu_indices(d + 1)
    exact = bounded_moments(rows, low, high, bits)[upper]
    sensitivity = sqrt_up(16**bits * K)
    release = curator.gaussian(
        exact, sensitivity=sensitivity, share=curator.remaining, label="moments"
    )
    W = np.zeros((d + 1, d + 1))
    W[upper] = release.value / 4.0**bits
    W = np.triu(W) + np.triu(W, 1).T
    sd = release.scale / 4.0**bits
    told = float(W[0, 0])
    n = max(told, 4 * sd, 2.0)
    if told < 4 * sd:
        curator.doubt(FEW)
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    mean = np.zeros(d) if assume_centered else np.clip(W[0, 1:] / n, -1, 1)
    first = middle / half if assume_centered else -mean
    T = np.column_stack([first, np.eye(d)])
    W[0, 0] = n
    C = T @ W @ T.T / n
    noise = math.sqrt(2) * sd / n
    gram = T @ T.T
    most = math.sqrt(2 * d) * noise * float(np.linalg.norm(gram, 2))
    values = np.linalg.eigvalsh(C)
    rank = int(np.count_nonzero(values > CLEAR * most))
    if not rank:
        curator.doubt(DROWNED)
    root = np.zeros((d + 1, d + 1))
    root[1:, 1:] = floored(denoised(C, noise) if denoise else C)
    return CovarianceRelease(
        location=np.zeros(d) if assume_centered else middle + half * mean,
        basis=half[:, None] * T,
        root=root,
        noise=noise,
        mean_noise=0.0 if assume_centered else sd / n,
        clipping=0.0,
        rank=rank,
        n_rows=n,
        count_noise=sd,
    )
