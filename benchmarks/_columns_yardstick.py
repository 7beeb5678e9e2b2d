"""What a release of a real column is held against: pure functions of the column."""

import math

import numpy as np
from scipy.optimize import minimize_scalar

__all__ = [
    "absurd",
    "bounded_floor",
    "contains_quantile",
    "frontier",
    "oracle",
    "rank_error",
    "ratio",
    "rms",
    "share_of_unequal_pairs",
]

FACTORS, LEAST = 6, 0.02  # of a frontier; lucky errors count no less
BALLS, RADII = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1), 1 - np.geomspace(1e-4, 0.5, 40)
RADII = np.append(RADII, 1.0)
UNEQUAL = 1.5
ABSURD = 30.0


def oracle(x, mu):
    """Return the error of the best clipped mean, whose centre and radius are known for free.

    The centre c is 0 or the median. A radius C costs the noise C / (n mu) of a sum of whose budget
    nothing is spent otherwise, and the bias of clipping: the larger of the mean excesses above
    c + C and below c - C, so that no lucky cancellation of two sides counts.

    Parameters
    ----------
    x : ndarray of shape (n,)
    mu : float
        The whole budget as Gaussian differential privacy.

    Returns
    -------
    error : float
        The smallest hypot(noise, bias); 0.0 for a constant column.
    """
    return min(_best_radius(x - center, 1 / (len(x) * mu)) for center in (0.0, np.median(x)))


def _best_radius(y, noise):
    """Minimize hypot(noise C, bias(C)), which is unimodal: both squares are convex in C."""
    y, n, reach = np.sort(y), len(y), float(np.abs(y).max())
    if reach == 0:
        return 0.0
    sums = np.concatenate([[0.0], np.cumsum(y)])

    def error(C):
        below, upto = np.searchsorted(y, -C), np.searchsorted(y, C, side="right")
        above = sums[n] - sums[upto] - C * (n - upto)
        under = -sums[below] - C * below
        return math.hypot(noise * C, max(above, under) / n)

    inner = minimize_scalar(lambda t: error(reach * t), bounds=(0.0, 1.0), options={"xatol": 1e-10})
    return min(float(inner.fun), error(0.0), error(reach))


def frontier(X, mu):
    """Return what errors of one sum of all columns cannot be much below, in oracles of each.

    Every column is clipped to the best interval for a noise of f times its own, around 0, its
    median, its mean or the middle of its range; in units of these radii rows are clipped to a ball.
    All is known for free, and f and the radius of the ball are the best of a grid.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        No column is constant.
    mu : float
        The whole budget as Gaussian differential privacy.

    Returns
    -------
    errors : ndarray of shape (d,)
        Those of the least geometric mean.
    """
    units = np.array([oracle(x, mu) for x in X.T])
    best = np.full(X.shape[1], np.inf)
    for f in np.geomspace(0.7, math.sqrt(X.shape[1]), FACTORS):
        center, radius = np.array([_best_interval(x, f / (len(x) * mu)) for x in X.T]).T
        clipped = np.clip(X - center, -radius, radius)
        bias = clipped.mean(axis=0) - (X - center).mean(axis=0)
        lengths = np.linalg.norm(clipped / radius, axis=1)
        for ball in np.quantile(lengths[lengths > 0], BALLS):
            kept = np.minimum(1.0, ball / np.maximum(lengths, ball))[:, None]
            moved = bias + ((kept - 1) * clipped).mean(axis=0)
            errors = np.hypot(ball * radius / (len(X) * mu), moved) / units
            best = min(best, errors, key=lambda one: float(np.log(np.maximum(one, LEAST)).sum()))
    return best


def _best_interval(x, noise):
    """Return the centre and the radius of the least error at a noise per unit of the radius."""
    centers = 0.0, np.median(x), x.mean(), (x.min() + x.max()) / 2

    def error(pair):
        c, C = pair
        above, under = np.maximum(x - c - C, 0).mean(), np.maximum(c - C - x, 0).mean()
        return math.hypot(noise * C, max(above, under))

    pairs = [(c, C) for c in centers for C in np.quantile(np.abs(x - c), RADII) if C > 0]
    return min(pairs, key=error)


def bounded_floor(x, low, high, mu):
    """Return the standard error of a mean from sums of both distances to public bounds."""
    p = (x.mean() - low) / (high - low) if high > low else 0.0
    return (high - low) * math.hypot(p, 1 - p) / (len(x) * mu)


def rms(errors):
    """Return the root mean square; no square overflows."""
    return math.hypot(*errors) / math.sqrt(len(errors))


def ratio(errors, unit):
    """Return the root mean square error over its yardstick; None where that is 0."""
    return None if unit == 0 else rms(errors) / unit


def share_of_unequal_pairs(widths):
    """Return the share of pairs of runs whose half widths differ by more than a factor 1.5."""
    widths = np.sort(widths)
    small, large = (widths[i] for i in np.triu_indices(len(widths), 1))
    return float(np.mean(large / UNEQUAL > small)) if len(small) else 0.0


def rank_error(x, value, q, slack=0.0):
    """Return how far q is from the ranks of a value, over n; all ranks of an atom are its own.

    Parameters
    ----------
    x : ndarray of shape (n,)
        In order.
    value : float
    q : float
        In [0, 1].
    slack : float, default=0.0
        Ranks of values as near as this are its ranks as well.
    """
    if not np.isfinite(value):
        return 1.0
    below = np.searchsorted(x, value - slack, side="left") / len(x)
    upto = np.searchsorted(x, value + slack, side="right") / len(x)
    return float(max(below - q, q - upto, 0.0))


def contains_quantile(x, low, high, q):
    """Return whether [low, high] holds a q-quantile of x, which is in order."""
    below, upto = np.searchsorted(x, low, side="left"), np.searchsorted(x, high, side="right")
    return bool(below <= q * len(x) <= upto)


def absurd(scale, truth, spread):
    """Return whether a scale would ruin a column: more than 30 x too large or too small.

    A scale of exactly 1.0 says that none was found. Where the true one is 0 (quartiles alike), one
    that fits the standard deviation, ``spread``, is no harm either.
    """
    fit = truth or spread
    return scale != 1.0 and not fit / ABSURD <= scale <= ABSURD * fit
