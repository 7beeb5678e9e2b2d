"""Baselines for a private mean: CoinPress, one clipped sum, and what a known centre would give.

CoinPress: Biswas, Dong, Kamath, Ullman. "CoinPress: Practical private mean and covariance
estimation". NeurIPS 2020. Written from the paper, with the budget split and the constants of the
authors' experiments. These are baselines: floating-point noise, and for CoinPress neighbours that
replace one row, a public number of rows, a known variance and a known ball that holds the mean.
"""

import math

import numpy as np

__all__ = ["coinpress_mean", "floor_error", "floor_mean", "naive_clipped_mean", "tail_radius"]

# How far one coordinate of a row strays along the unknown direction to the mean, in sigmas:
# sqrt(2 log(1 / .01)) = 3.03, which the authors round to 3.
ALONG = 3.0


def tail_radius(d, beta=0.01):
    """Return a radius that N(0, I_d) exceeds with probability at most beta (Laurent-Massart)."""
    log = math.log(1 / beta)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def coinpress_mean(X, *, center, radius, rho, steps, sigma=1.0, beta=0.01, rng):
    """Estimate the mean of N(mu, sigma^2 I) by clipped means in shrinking balls.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    center : float or ndarray of shape (d,)
    radius : float
        ``|mu - center| <= radius`` is known.
    rho : float
        zCDP budget: 3/4 for the last step, the rest in equal parts for the others.
    steps : int
    sigma : float, default=1.0
    beta : float, default=0.01
        Tail probability of the radii.
    rng : numpy.random.Generator

    Returns
    -------
    mean : ndarray of shape (d,)
    """
    early = [rho / 4 / (steps - 1)] * (steps - 1)
    last = rho * (0.75 if early else 1.0)
    for share in [*early, last]:
        center, radius = _step(X, center, radius, share, sigma, beta, rng)
    return center


def naive_clipped_mean(X, *, center, radius, rho, sigma=1.0, beta=0.01, rng):
    """Clip once, to the ball that is known in advance, with the whole budget."""
    return _step(X, center, radius, rho, sigma, beta, rng)[0]


def _step(X, center, radius, rho, sigma, beta, rng):
    """Return the noisy clipped mean and a radius around it that holds the true mean."""
    n, d = X.shape
    tail = sigma * tail_radius(d, beta)
    clip = min(math.sqrt(radius**2 + 2 * radius * ALONG * sigma + tail**2), radius + tail)
    noise = 2 * clip / n / math.sqrt(2 * rho)  # replacing one row moves the mean by 2 clip / n
    center = center + _clipped_sum(X, center, clip) / n + rng.normal(0.0, noise, d)
    return center, math.sqrt(sigma**2 / n + noise**2) * tail_radius(d, beta)


def _clipped_sum(X, center, clip):
    offset = X - center
    norms = np.sqrt(np.einsum("ij,ij->i", offset, offset))
    return np.minimum(1.0, clip / np.maximum(norms, clip)) @ offset


def floor_mean(X, truth, *, mu, relation="add-remove", rng):
    """Return what one clipped sum gives if the centre and the radius are known for free.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of N(truth, I).
    truth : ndarray of shape (d,)
    mu : float
        The whole budget, in Gaussian differential privacy.
    relation : {"add-remove", "replace-one"}
        Neighbours; replacing one row moves the sum twice as far as adding one.
    rng : numpy.random.Generator

    Returns
    -------
    mean : ndarray of shape (d,)

    Notes
    -----
    The radius holds 99 % of the rows, like that of CoinPress. Less would use the knowledge of the
    centre: a radius of 0 has no error at all.
    """
    n, d = X.shape
    clip = tail_radius(d)
    sensitivity = {"add-remove": clip, "replace-one": 2 * clip}[relation]
    return truth + (_clipped_sum(X, truth, clip) + rng.normal(0.0, sensitivity / mu, d)) / n


def floor_error(d, n, mu, relation="add-remove", *, reps=100, seed=0):
    """Simulate the l2 error of :func:`floor_mean`; return its 10-90 % trimmed mean."""
    rng, zero = np.random.default_rng(seed), np.zeros(d)
    errors = np.sort(
        [
            np.linalg.norm(
                floor_mean(rng.standard_normal((n, d)), zero, mu=mu, relation=relation, rng=rng)
            )
            for _ in range(reps)
        ]
    )
    return float(errors[reps // 10 : reps - reps // 10].mean())
