"""Bounds of the literature, for comparison."""

import math

import numpy as np

from skdp.accounting._selection import log_profile


def renyi_selection_epsilon(trials, mu, delta):
    """Return epsilon at ``delta`` by Rényi orders (Papernot & Steinke 2022, Theorems 2 and 6).

    What the literature knows, for comparison: never below :func:`selection_epsilon` where tried.
    """
    x = np.concatenate([np.arange(1.01, 64, 0.01), np.geomspace(64, 1e6, 4000)])
    rdp = x * mu * mu / 2
    if trials.eta == math.inf:  # Theorem 6, with the delta of a Gaussian
        small = np.log1p(1 / (x - 1))
        rdp = rdp + trials.mean * np.exp(log_profile(small, mu))
    else:  # Theorem 2
        constant = (1 - 1 / x) * rdp - math.log1p(-trials.decay) / x
        rdp = rdp + (1 + trials.eta) * constant.min()
    rdp = rdp + math.log(trials.mean) / (x - 1)
    # Canonne, Kamath & Steinke 2020, Proposition 12
    return float((rdp + np.log1p(-1 / x) - np.log(delta * x) / (x - 1)).min())


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
