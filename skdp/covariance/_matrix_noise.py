"""Multiplicative noise for a covariance matrix: how much a distance between matrices costs.

B(S) = S^1/2 (1 + eta G) (1 + eta G)^T S^1/2, G with independent standard normal entries. S enters
relative to itself, so no scale and no conditioning has to be known.
"""

import math
from functools import lru_cache

import numpy as np

__all__ = ["average_distance", "noise_delta", "noise_renyi", "safe_distance", "smallest_noise"]


def average_distance(gamma, n):
    """Return the largest distance of two averages of n matrices that differ in one of them.

    Parameters
    ----------
    gamma : float
        Any two of the matrices share a friend, see :class:`skdp.friendly.CovarianceDistance`.
    n : int, >= 1
        Number of matrices in the larger of the two sets.

    Notes
    -----
    Let g = (1 + gamma)^2: any two satisfy M <= g M'. Let S be the average of the n - 1 in common,
    A and A' the two others; A <= g A' and, averaged, A <= g S. For s = (g - 1) / n

        A - (1 + s) A' <= (1 - (1 + s) / g) A <= (g - 1 - s) S = s (n - 1) S,

    which says that the average with A is at most 1 + s times the one with A'; and the other way
    round. If one set has no A', its average is S, which stands for A' as well.
    """
    return ((1 + gamma) ** 2 - 1) / n * (1 + 1e-12)


def noise_renyi(alphas, *, distance, eta, d):
    """Return the Renyi divergence of B at two matrices within a distance, the larger direction.

    Notes
    -----
    **Proof.** B depends on W W^T only, W = S^1/2 (1 + eta G). Multiply from the left by S2^-1/2,
    a bijection, and rotate (G's law is invariant): B(S1) against B(S2) is a post-processing of
    A (1 + eta G) against 1 + eta G with A diagonal, its squares l_i in [1 / (1 + s), 1 + s]. All
    entries are independent: row i has d of them, normal with variances eta^2 l_i and eta^2, and
    means that differ in the diagonal one, by sqrt(l_i) - 1. For variances v1, v2 and a gap m of the
    means the divergence of order a is ln(v2 / v1) / 2 + ln(v2 / v) / (2 (a - 1)) + a m^2 / (2 v),
    v = a v2 + (1 - a) v1, infinite if v <= 0. It grows with |ln l|, so that the ends of the
    interval decide, in both directions.
    """
    alphas, worst = np.asarray(alphas, dtype=float), -math.inf
    for ratio in (1 + distance, 1 / (1 + distance)):
        for v1, v2 in ((ratio, 1.0), (1.0, ratio)):
            v = alphas * v2 + (1 - alphas) * v1
            safe = np.where(v > 0, v, 1.0)
            entry = math.log(v2 / v1) / 2 + np.log(v2 / safe) / (2 * (alphas - 1))
            shift = alphas * (math.sqrt(ratio) - 1) ** 2 / (2 * eta * eta * safe)
            worst = np.maximum(worst, np.where(v > 0, d * (d * entry + shift), math.inf))
    return worst


def noise_delta(epsilon, *, distance, eta, d):
    """Return a delta for which B is (epsilon, delta)-indistinguishable at this distance."""
    return math.exp(min(0.0, _log_delta(epsilon, distance, eta, d)))


def _log_delta(epsilon, distance, eta, d):
    top = 1 / distance * (1 - 1e-9)  # finite below alpha = 1 + 1 / s
    alphas = 1 + top * np.geomspace(1e-7, 1, 400)
    divergence = noise_renyi(alphas, distance=distance, eta=eta, d=d)
    # every alpha gives a bound (Canonne, Kamath, Steinke 2020, proposition 12)
    logs = (alphas - 1) * (divergence - epsilon) + (alphas - 1) * np.log1p(-1 / alphas)
    return float(np.min(logs - np.log(alphas)))


def safe_distance(epsilon, delta, *, eta, d):
    """Return the closed bound of Ashtiani and Liaw (lemma 9.1): smaller, and independent of ours.

    A distance at which B is (epsilon, delta)-indistinguishable.
    """
    log = math.log(2 / delta)
    return min(
        math.sqrt(epsilon / (2 * d * (d + 1 / eta**2))),
        epsilon / (8 * d * math.sqrt(log)),
        epsilon / (8 * log),
        epsilon * eta / (12 * math.sqrt(d) * math.sqrt(log)),
    )


@lru_cache(maxsize=64)
def smallest_noise(epsilon, log_delta, *, distance, d, largest):
    """Return the least eta, up to 1 %, for which B is (epsilon, e^log_delta)-indistinguishable.

    Parameters
    ----------
    epsilon, log_delta : float
    distance : float
        Of the matrices.
    d : int
    largest : float
        None is returned if this eta does not suffice.

    Returns
    -------
    eta : float or None
    """
    if distance >= 1 or _log_delta(epsilon, distance, largest, d) > log_delta:
        return None
    low, high = largest * 2.0**-20, largest
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        if _log_delta(epsilon, distance, middle, d) <= log_delta:
            high = middle
        else:
            low = middle
    return high
