"""Attacks that a released float has to withstand."""

import numpy as np
from scipy.stats import beta


def epsilon_lower_bound(hits, runs, other_hits, other_runs, alpha=1e-3):
    """Lower bound on epsilon, wrong with probability <= alpha (two Clopper-Pearson bounds)."""
    if hits == 0:
        return 0.0
    low = beta.ppf(alpha / 2, hits, runs - hits + 1)
    high = beta.ppf(1 - alpha / 2, other_hits + 1, other_runs - other_hits)
    return max(0.0, float(np.log(low / high)))


def precision_attack(sampler):
    """Attack the low bits of ``sampler(value) -> array of independent releases of value``.

    Returns the 99.9 % lower bound on the epsilon between the values 0 and 1 that follows from the
    event "|y| < 1/4 and y is no multiple of 2**-53": floats near 0 are finer than that, but
    1 + noise, whose noise lies near -1, never is.
    """

    def count(value):
        y = np.asarray(sampler(value), dtype=float)
        return np.sum((np.abs(y) < 0.25) & (np.rint(y * 2.0**53) != y * 2.0**53)), len(y)

    zero, one = count(0.0), count(1.0)
    return max(
        epsilon_lower_bound(*zero, *one, alpha=5e-4), epsilon_lower_bound(*one, *zero, alpha=5e-4)
    )
