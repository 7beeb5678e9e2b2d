"""A released mean, and the number of rows that it was divided by."""

from dataclasses import dataclass

import numpy as np

__all__ = ["MeanRelease", "bounded", "told_number"]


@dataclass
class MeanRelease:
    """A released mean.

    Attributes
    ----------
    location : ndarray of shape (d,)
    noise_scale : ndarray of shape (d,)
        Standard deviation of the noise.
    clipping_bound : ndarray of shape (2, d)
        Estimated bounds on how far clipping has moved the mean: how far the mean of the rows may
        lie below ``location``, and above.
    n_rows : float
        Released number of rows.
    """

    location: np.ndarray
    noise_scale: np.ndarray
    clipping_bound: np.ndarray
    n_rows: float


def told_number(told, sd):
    """Return a number of rows to divide by, and whether it is not told from noise."""
    least = 4 * sd
    return max(told, least, 2.0), told < least


def bounded(length):
    """Keep a length where squares and quotients of lengths are ordinary numbers."""
    return min(max(length, 2.0**-900), 2.0**900)
