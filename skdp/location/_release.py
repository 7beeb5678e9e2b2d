"""A released mean, and the number of rows that it was divided by."""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["NOTHING", "MeanRelease", "bounded"]

NOTHING = (
    "nothing found: too few rows for this epsilon to locate them; location_ is a placeholder. Use "
    "a larger epsilon, more rows, or bounds=(low, high)"
)


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
    n_rows : float or None
        Released number of rows, None where it was divided by another count.
    deviation : ndarray of shape (d,) or None
        Upper bounds of the standard deviations of the columns, None where nothing tells.
    typical : ndarray of shape (d,) or None
        What an interval is short beside: lower bounds of the deviations, or of columns that are
        found together what they are as a rule; None takes ``deviation``.
    heavy : ndarray of bool of shape (d,) or None
        Columns that may well have a tail without a variance.
    hidden : bool
        Whether a tail of many rows may have stayed unseen, and out of ``clipping_bound``.
    """

    location: np.ndarray
    noise_scale: np.ndarray
    clipping_bound: np.ndarray
    n_rows: float = None
    deviation: np.ndarray = None
    typical: np.ndarray = None
    heavy: np.ndarray = None
    hidden: bool = False

    @property
    def sampling_noise_scale(self):
        """Standard deviations of noise and sampling together, at most (d,); infinite if unknown."""
        if self.deviation is None or not self.n_rows:
            return np.full(len(self.location), math.inf)
        return np.hypot(self.noise_scale, self.deviation / math.sqrt(self.n_rows))

    @classmethod
    def unknown(cls, location, n_rows=None):
        """Return a mean that is no more than a start: finite, and said to be worth nothing."""
        d = len(location)
        return cls(location, np.full(d, math.inf), np.full((2, d), math.inf), n_rows)


def bounded(length):
    """Keep a length where squares and quotients of lengths are ordinary numbers."""
    return min(max(length, 2.0**-900), 2.0**900)
