"""Soft thresholding, universal and by SURE with the sparse guard."""

import math

import numpy as np

from skdp.denoising._rules import Rule

__all__ = ["shrunk", "soft_threshold", "sure_threshold", "threshold_rule", "universal_threshold"]

CANDIDATES = 100  # thresholds tried for Laplace noise


def soft_threshold(y, threshold):
    """Return ``sign(y) max(|y| - threshold, 0)``."""
    return np.sign(y) * np.maximum(np.abs(y) - threshold, 0.0)


def threshold_rule(y, noise, level):
    """Soft threshold every coordinate at ``level`` times its noise scale."""
    t = level * noise.scale
    kept = (np.abs(y) > t).astype(float)
    return Rule(soft_threshold(y, t), kept, lambda z: soft_threshold(y + z, t), "soft threshold")


def universal_threshold(d, law="gaussian"):
    """Return the level that noise alone hardly ever exceeds: the size of the largest of d draws.

    Notes
    -----
    For Gaussian noise of unit variance (Balle & Wang 2018, Theorem 12) at ``t = sqrt(2 log d)``:
    ``E |g - theta|^2 <= (2 log d + 1) (1 + sum min(theta_i^2, 1))``. For Laplace noise
    the largest of d draws is about ``log d`` scales.
    """
    return math.sqrt(2 * math.log(d)) if law == "gaussian" else math.log(d)


def sure_threshold(y, noise):
    """Return the level with the least unbiased risk, unless y is too sparse to tell.

    Notes
    -----
    SureShrink (Donoho & Johnstone 1995). For Gaussian noise, with ``u = |y| / sigma`` sorted, the
    risk at level ``u_k`` is ``sum v + sum_{j <= k} v_j (u_j^2 - 2) + u_k^2 sum_{j > k} v_j``, and
    it increases between the u. If ``mean y^2 / v - 1`` is below ``log2(d)^1.5 / sqrt(d)`` (in
    units of what squared noise varies), the risk is too noisy a guide and the level is universal.
    """
    d, v, most = y.size, noise.variance, universal_threshold(y.size, noise.law)
    unit = 1.0 if noise.gaussian else math.sqrt(5 / 2)  # of the standard deviation of z^2 / v
    if np.mean(np.square(y) / v) - 1 <= unit * math.log2(max(d, 2)) ** 1.5 / math.sqrt(d):
        return most
    if not noise.gaussian:
        levels = np.linspace(0, most, CANDIDATES)
        return float(levels[np.argmin([_laplace_risk(y, noise, level) for level in levels])])
    u = np.abs(y) / noise.scale
    order = np.argsort(u)
    u, v = np.append(0.0, u[order]), np.append(0.0, v[order])
    below = np.cumsum(v * (np.square(u) - 2))
    risk = below + np.square(u) * (v.sum() - np.cumsum(v))
    return float(u[np.argmin(np.where(u <= most, risk, np.inf))])


def _laplace_risk(y, noise, level):
    """SURE with P(|y + z'| > t), the smoothed slope, in closed form; up to a constant."""
    b, t = noise.scale, level * noise.scale
    beyond = 1 - _laplace_cdf((t - y) / b) + _laplace_cdf((-t - y) / b)
    return float(np.sum(np.minimum(np.square(y), t * t) + 2 * noise.variance * beyond))


def _laplace_cdf(x):
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def shrunk(y, noise, level="sure"):
    """Threshold at ``"sure"``, ``"universal"`` or a number of noise scales."""
    if level == "sure":
        level = sure_threshold(y, noise)
    elif level == "universal":
        level = universal_threshold(y.size, noise.law)
    return threshold_rule(y, noise, level)
