"""What a release of a real column is held against: pure functions of the column."""

import math

import numpy as np
from scipy.optimize import minimize_scalar

__all__ = [
    "absurd",
    "bounded_floor",
    "contains_quantile",
    "oracle",
    "rank_error",
    "ratio",
    "rms",
    "share_of_unequal_pairs",
]

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
