"""A peer: Lloyd steps with relative updates in a shrinking radius, from a given ball.

Written after Diaa, Humphries, Kerschbaum, "FastLloyd: Federated, accurate, secure, and tunable
k-means clustering with differential privacy", USENIX Security 2025, with one curator in the place
of their protocol. It knows the ball that holds the rows, and their number.
"""

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from skdp.accounting import gaussian_mu
from skdp.cluster._refine import spread_points

__all__ = ["fast_lloyd"]

ALPHA = 0.8  # radius of an update in units of k^(-1/d), the size of one of k equal cells
STEPS = 2, 7  # fewest and most


def fast_lloyd(X, k, *, center, radius, epsilon, delta, rng):
    """Return k private centres, shape (k, d), of rows within ``radius`` of ``center``.

    Every step adds noise to (count, sum of differences to the centre) of each cluster. A row is in
    one cluster and moves its count by 1 and its sum by at most the radius of the step, so that a
    step of T costs 1/T of mu^2.
    """
    Y, mu = (X - center) / radius, gaussian_mu(epsilon, delta)
    n, d = Y.shape
    reach = ALPHA * k ** (-1 / d)
    n_steps = steps(n, d, k, reach, mu)
    centers = spread_points(k, d, int(rng.integers(2**31)))
    for step in range(n_steps):
        limit = reach if step else 1.0
        sums, counts = relative_sums(Y, centers, limit)
        count_sd, sum_sd = np.sqrt(n_steps) / mu * scales(d)
        counts = np.maximum(counts + count_sd * rng.normal(size=k), 1.0)
        sums = sums + limit * sum_sd * rng.normal(size=(k, d))
        centers = into_ball(centers + into_ball(sums / counts[:, None], limit), 1.0)
    return centers * radius + center


def scales(d):
    """Return how the noise is divided: (of counts, of sums), inverse squares adding up to 1."""
    part = 2 * np.sqrt(d)
    return np.sqrt(1 + part) * np.array([1.0, part**-0.5])


def steps(n, d, k, reach, mu):
    """Return the number of steps that the paper takes for n rows."""
    wanted = 0.016 * (n * mu) ** 2 / (k**3 * reach**2 * (1 + 2 * np.sqrt(d)) ** 2)
    return int(np.clip(wanted, *STEPS))


def relative_sums(Y, centers, limit):
    """Return the sums of differences to the nearest centre and the counts, of rows in reach."""
    labels, distances = pairwise_distances_argmin_min(Y, centers)
    near = distances <= limit
    labels, moved = labels[near], Y[near] - centers[labels[near]]
    sums = np.stack([np.bincount(labels, column, len(centers)) for column in moved.T], axis=1)
    return sums, np.bincount(labels, minlength=len(centers))


def into_ball(rows, radius):
    """Return the rows with lengths cut to ``radius``."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))
