"""Multiplicative noise for a covariance matrix: how much a distance between matrices costs.

B(S) = S^1/2 (1 + eta G) (1 + eta G)^T S^1/2, G with independent standard normal entries. S enters
relative to itself, so no scale and no conditioning has to be known.

**Theorem.** Let the laws P, P' of B at two matrices be (epsilon, d)-indistinguishable in both
directions, and let what is released be a function of B but for a total variation t. With the cost
b = ``pure_to_gdp(epsilon)``^2 this is a step of theorem 2 of the user guide "Accounting", and one
failure event of probability d + t of theorem 1.

*Mixtures* (Kairouz, Oh and Viswanath 2015). There are laws R, R', U, U' with P = (1 - d) R + d U,
P' = (1 - d) R' + d U' and a likelihood ratio of R and R' within e^-epsilon, e^epsilon. In
densities, q = min(P, e^epsilon P') and q' = min(P', e^epsilon P) have that ratio; their masses are
1 - a and 1 - a', where a and a', the integrals of (P - e^epsilon P')_+ and (P' - e^epsilon P)_+,
are at most d. Let a >= a', else exchange the two. Move q' towards e^-epsilon q, which it is never
below and whose mass is smaller, until its mass is 1 - a as well; the ratio stays in its bounds.
Multiply both by (1 - d) / (1 - a): they are still at most P and P', and the rest is d U, d U'.

*A step and an event.* Put "U was drawn" into the transcript, a symbol that nobody sees: a bad set
that depends on the pair of tables alone and has, given any past, the probability d under both.
The ideal run stops there. Its step draws from (1 - d) R + d [stop], for the neighbour from
(1 - d) R' + d [stop]: likelihood ratios within e^-epsilon, e^epsilon, hence H_g <= G_b(g) for all
g > 0, which is all that theorem 2 asks. Real and ideal runs differ with probability at most d + t
a step, on either side, as in the proof of theorem 1.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from skdp.accounting._conversions import pure_to_gdp


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
    interval decide, in both directions: with l = e^(2t), for v1 = l, v2 = 1 the first two terms
    have the derivative a (e^(2t) - 1) / v in t, for v1 = 1, v2 = l as well, and the square root of
    the third over its constants, |e^t - 1| / sqrt(v), grows with |t| in both cases. Both matrices
    divided by l show that 1 / l against 1 is 1 against l: one end is enough.
    """
    alphas, worst, ratio = np.asarray(alphas, dtype=float), -math.inf, 1 + distance
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


@lru_cache(maxsize=64)
def smallest_noise(epsilon, log_delta, *, distance, d, largest):
    """Return the least eta, up to 1 %, for which B is (epsilon, e^log_delta)-indistinguishable."""
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


def gdp_to_pure(mu):
    """Return the largest epsilon, up to rounding, with ``pure_to_gdp(epsilon) <= mu``."""
    epsilon, step = float(log_ndtr(mu / 2) - log_ndtr(-mu / 2)), 1e-15
    while pure_to_gdp(epsilon) > mu:
        epsilon, step = epsilon * (1 - step), min(2 * step, 0.5)
    return epsilon
