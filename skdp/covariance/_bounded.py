"""A covariance matrix of entries between public bounds: one exact release of all moments."""

import math

import numpy as np

from skdp.accounting import Plan, Step
from skdp.covariance._denoise import denoised, floored
from skdp.covariance._release import CLEAR, CovarianceRelease
from skdp.kernel._sums import BoxProducts
from skdp.location._public import bounds_vectors
from skdp.mechanisms import box_rows

__all__ = ["bounded_covariance", "bounded_plan", "checked_bounds"]

MOMENTS = Step("moments", of=(BoxProducts,))
FEW = "the number of rows does not exceed its noise. Use a larger epsilon or more rows"
DROWNED = (
    "no direction exceeds the noise: too few rows for bounds so wide. Use a larger epsilon, "
    "more rows or narrower bounds"
)


def bounded_plan(budget):
    """Return the plan of :func:`bounded_covariance`."""
    return Plan(budget, (MOMENTS,))


def checked_bounds(bounds, n_features):
    """Raise ValueError for public bounds that make no box."""
    ends = bounds_vectors(bounds, n_features)
    if ends is not None:
        box_rows(np.zeros((1, n_features)), low=ends[0], high=ends[1], bits=1)


def bounded_covariance(table, *, low, high, assume_centered=False, denoise=True):
    """Release the covariance matrix of rows clipped to a public box, with the whole budget.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._sums.BoxProducts`; the rest is post-processing.

    With the mean m = sum y / n, the covariance is T W T^T / n for W = sum of (1, y)(1, y)^T and
    T = (-m, I); for another m it is too large by the square of the gap. So its noise is
    T N T^T / n, N that of W, and T, in units of the table, is the basis of the release.
    """
    d = len(low)
    heads = 2.0**32 if table.heads is None else table.heads.n
    told = table.ask(BoxProducts(low, high, heads), MOMENTS, share=table.remaining)
    W = np.zeros((d + 1, d + 1))
    W[np.triu_indices(d + 1)] = told.real
    W = np.triu(W) + np.triu(W, 1).T
    sd, n_told = told.sd, float(W[0, 0])
    n = max(n_told, 4 * sd, 2.0)
    if n_told < 4 * sd:
        table.doubt(FEW)
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
        table.doubt(DROWNED)
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
