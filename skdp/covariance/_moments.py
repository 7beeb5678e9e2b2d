"""Released sums and Gram matrices of rows in the coordinates of a frame."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.kernel._grid_bits import grid_bits
from skdp.mechanisms import ball_rows

__all__ = ["Moments", "release_moments"]

BITS = 15  # 2^32 rows of squared length 4^15 sum to at most 2^62


@dataclass(frozen=True)
class Moments:
    """Released moments of clipped rows, in units of the frame.

    Attributes
    ----------
    gram : ndarray of shape (k, k)
        Noise: sd on the diagonal, sd / sqrt(2) off it.
    gram_sd : float
    total : ndarray of shape (k,), zeros if it was not released
    total_sd : float
    """

    gram: np.ndarray
    gram_sd: float
    total: np.ndarray
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


def release_moments(rows, curator, frame, *, radius, share, sum_share, labels):
    """Release the Gram matrix and the sum of rows in a frame, clipped to a ball.

    Parameters
    ----------
    rows : DrawnRows
    curator : Curator
    frame : Frame
        Released.
    radius : float
        Released.
    share, sum_share : float or Fraction
        Of the Gram matrix and of the sum; no sum is released for a share of 0.
    labels : tuple of two str

    Returns
    -------
    moments : Moments

    Notes
    -----
    **Privacy** (add or remove one row): a row becomes an integer vector q of length at most 2^bits,
    checked in integers, a function of that row and of releases. The sum moves by q. The Gram
    matrix moves by q q^T, of Frobenius norm |q|^2 <= 4^bits exactly; **all** of its entries are
    released with independent noise, so that is the l2 sensitivity. The mean of the matrix and its
    transpose is post-processing; its noise is that of the upper triangle with off-diagonal
    entries weighted by sqrt(2), which are no integers. Blocks are so short that BLAS adds the
    integers exactly.
    """
    least = min(float(s) for s in (share, sum_share) if s)
    bits = moment_bits(curator.budget.mu * math.sqrt(least), rows.rows.unit, rows.n)

    def statistic(block):
        k = frame.dims
        total = np.zeros((k + 1, k), dtype=np.int64)
        for y in frame.parts(block):  # at most 2^16 rows: sums stay below 2^53
            q = ball_rows(y, center=0.0, radius=radius, bits=bits)
            total[0] += (np.ones(len(q)) @ q).astype(np.int64)
            total[1:] += (q.T @ q).astype(np.int64)
        return total

    exact = rows.total(statistic)
    gram = curator.gaussian(exact[1:], sensitivity=4**bits, share=share, label=labels[0])
    unit = radius / 2**bits
    whole = gram.value * (unit * unit)
    total, total_sd = np.zeros(frame.dims), 0.0
    if sum_share:
        release = curator.gaussian(exact[0], sensitivity=2**bits, share=sum_share, label=labels[1])
        total, total_sd = release.value * unit, release.scale * unit
    return Moments((whole + whole.T) / 2, gram.scale * unit * unit, total, total_sd)


def moment_bits(strength, unit, n):
    """Return a resolution for sums of products, see :func:`skdp.kernel._grid_bits.grid_bits`."""
    return grid_bits(strength, noise_bits=45, most=BITS, power=2, unit=unit, n=n)
