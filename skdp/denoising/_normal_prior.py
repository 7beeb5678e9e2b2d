"""A normal prior whose variance is known or chosen by SURE: the best linear shrinkage."""

import numpy as np

from skdp.denoising._rules import Rule

__all__ = ["normal_prior"]

GRID = 100


def normal_prior(y, noise, *, prior_scale=None, to_mean=False):
    """Return ``m + (w^2 / (w^2 + v_i)) (y_i - m)``.

    Notes
    -----
    With w known and a normal prior it is the posterior mean (Balle & Wang 2018, Theorem 10). With
    w^2 chosen by SURE it is, as d grows, as good as the best w^2 for this theta, whatever theta
    (Xie, Kou, Brown 2012). The rule is linear, so its risk depends on the variances of the noise
    alone and everything holds for Laplace noise.

    With ``B_i = v_i / (w^2 + v_i)`` and ``r = y - m``, ``S = sum B_i^2 r_i^2 - 2 v_i B_i (1 - h)``,
    h = 1/d or 0, is SURE up to a constant. At its minimum w^2 moves with y by ``-(D_i S') / S'' =
    -4 B_i B_i' r_i / S''``, which adds ``4 B_i (B_i' r_i)^2 / S''`` to the slope.
    """
    d, v = y.size, noise.variance
    m, h = (y.mean(), 1 / d) if to_mean else (0.0, 0.0)
    r = y - m

    def rise(w2):
        B, slope = v / (w2 + v), -v / np.square(w2 + v)
        return float(np.sum(2 * slope * (B * np.square(r) - v * (1 - h))))

    def risk(w2):
        B = v / (w2 + v)
        return float(np.sum(np.square(B * r) - 2 * v * B * (1 - h)))

    correction = 0.0
    if prior_scale is None:
        w2, inside = _least(risk, rise, v, r)
        if inside:
            B, slope = v / (w2 + v), -v / np.square(w2 + v)
            bend = -2 * slope / (w2 + v)
            S2 = np.sum(2 * np.square(r) * (slope**2 + B * bend) - 2 * v * bend * (1 - h))
            correction = 4 * B * np.square(slope * r) / S2 if S2 > 0 else 0.0
    else:
        w2 = prior_scale**2
    kept = w2 / (w2 + v)
    slope = kept + (1 - kept) * h + correction
    return Rule(m + kept * r, slope, lambda z: m + kept * r + slope * z, "normal prior")


def _least(risk, rise, v, r):
    """Return the prior variance of least risk, and whether it lies inside the grid."""
    low, high = 1e-6 * v.min(), 100 * (np.square(r).max() + v.max())
    grid = np.append(0.0, np.geomspace(low, high, GRID))
    k = int(np.argmin([risk(w2) for w2 in grid]))
    if k in (0, GRID):
        return grid[k], False
    left, right = grid[k - 1], grid[k + 1]
    for _ in range(60):
        middle = (left + right) / 2
        left, right = (left, middle) if rise(middle) > 0 else (middle, right)
    return middle, True
