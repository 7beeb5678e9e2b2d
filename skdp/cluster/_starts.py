"""Centres to start from that do not depend on the rows."""

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from skdp.cluster._synopsis import public_kmeans
from skdp.utils._public import public_words

__all__ = ["ball_points", "spread_points"]

SAMPLE = 128  # points per centre


def ball_points(n, d, *key):
    """Return n public uniform points of the unit ball, shape (n, d), a function of ``key``."""
    words = public_words(n * (d + 1), *key)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    length, direction = uniform[:n] ** (1 / d), ndtri(uniform[n:]).reshape(n, d)
    return direction * (length / np.sqrt(np.square(direction).sum(axis=1)))[:, None]


@lru_cache(maxsize=16)
def spread_points(k, d, seed=0):
    """Return k points spread evenly over the unit ball: centres of k-means of a uniform sample.

    Shapes: points (k, d).
    """
    sample = ball_points(k * SAMPLE, d, "ball", seed)
    return public_kmeans(sample, k, seed=seed)[0]
