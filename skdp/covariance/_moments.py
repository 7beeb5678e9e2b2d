"""Released sums and Gram matrices of rows in the coordinates of a frame."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.kernel._sums import BallProducts, BallTotal

__all__ = ["Moments", "release_moments"]


@dataclass(frozen=True)
class Moments:
    """Released moments of clipped rows, in units of the frame."""

    gram: np.ndarray  # shape (k, k): noise: sd on the diagonal, sd / sqrt(2) off it
    gram_sd: float
    total: np.ndarray  # shape (k,)
    total_sd: float

    def covariance(self, n):
        """Return the covariance matrix for n rows, and their mean."""
        mean = self.total / n
        C = self.gram / n
        if mean @ mean > np.trace(C) / 2:  # drowned in noise: no mean is better
            return C, np.zeros_like(mean)
        return C - np.outer(mean, mean), mean

    def noise(self, n):
        """Return the standard deviation of the noise on the diagonal of the covariance."""
        return self.gram_sd / n

    def largest_noise(self, n):
        """Return what the eigenvalues of the noise rarely exceed."""
        return self.noise(n) * math.sqrt(2 * len(self.gram))


def release_moments(rows, frame, *, radius, share, sum_share, steps):
    """Release the Gram matrix and the sum of rows in a frame, clipped to a ball.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._sums.BallProducts` and ``BallTotal``.
    """
    grid = {"radius": radius, "n": rows.n, "least": min(float(s) for s in (share, sum_share) if s)}
    asked = [(BallProducts(**grid), share, steps[0].label)]
    if sum_share:
        asked.append((BallTotal(**grid), sum_share, steps[1].label))
    gram, *totals = rows.table.map(frame).ask_all(*asked)
    unit = radius / 2**gram.bits
    total, total_sd = (totals[0].real, totals[0].sd) if totals else (np.zeros(frame.dims), 0.0)
    return Moments((gram.real + gram.real.T) / 2, gram.scale * unit * unit, total, total_sd)
