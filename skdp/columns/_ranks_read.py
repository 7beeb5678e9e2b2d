"""What released ranks tell of quantiles: an estimate, its uncertainty, an interval."""

import math
import sys

import numpy as np
from scipy.special import ndtri

from skdp.columns._ranks import before

__all__ = ["estimate", "invert", "is_one", "limits", "plain_decimal", "spread", "two_sided"]

CLEAR, SHARP = 2.0, 2.5
LARGEST = sys.float_info.max
SNAP = (2.0, 10.0), (1.0, 10.0), (0.4, 0.0)  # standard deviations, and how rare a decimal is


def two_sided(confidence, law):
    """Return how many standard deviations hold noise with this probability, at least.

    A sum of Laplace noises lies between one of them and a Gaussian one.

    Parameters
    ----------
    confidence : float
    law : {"gaussian", "laplace"}
    """
    normal = float(ndtri((1 + confidence) / 2))
    return normal if law == "gaussian" else max(normal, -math.log1p(-confidence) / math.sqrt(2))


def estimate(fit, q):
    """Return an estimate of a quantile.

    Between the cuts whose side is clear, and the sharpest of those between, ranks are interpolated.
    Decimals of few digits are what many rows share: the shortest one near is taken, the nearer the
    more digits it has.

    Parameters
    ----------
    fit : Fit
    q : float
    """
    x, excess, sd = _useful(fit, q)
    i = int(np.clip(np.searchsorted(excess, 0.0), 1, len(x) - 1))
    low, high = x[i - 1], x[i]
    if not math.isfinite(low) or not math.isfinite(high):
        return high if math.isfinite(high) else low if math.isfinite(low) else 0.0
    if is_one(low, high):
        return high
    middle = invert(x, excess, 0.0)
    for width, rare in SNAP:
        low, high = invert(x, excess, -width * sd), invert(x, excess, width * sd)
        if low < high:
            decimal, unit = plain_decimal(low, high)
            if unit >= rare * (high - low):
                return decimal
    return middle


def spread(fit, q):
    """Return an estimate of the standard deviation of an estimate; infinite where unknown."""
    x, excess, sd = _useful(fit, q)
    if excess[1 if np.isinf(x[0]) else 0] > -sd or excess[-2 if np.isinf(x[-1]) else -1] < sd:
        return math.inf
    half = invert(x, excess, sd) / 2 - invert(x, excess, -sd) / 2
    value = estimate(fit, q)
    return max(math.hypot(half, value - invert(x, excess, 0.0)), float(np.spacing(abs(value))))


def is_one(low, high):
    """Whether an interval, open below, holds a single float."""
    return before(high) <= low


def limits(x, excess, sd, value, z):
    """Return the nearest cuts around a value that are z standard deviations clear of a quantile.

    Parameters
    ----------
    x, excess, sd : ndarrays of shape (m,)
        Points, their ranks above the quantile, and standard deviations of these.
    value : float
        Estimate.
    z : float

    Returns
    -------
    low, high : float
        The ends of ``x`` if no cut is clear.
    """
    below = np.flatnonzero((excess + z * sd < 0) & (x < value))
    above = np.flatnonzero((excess - z * sd > 0) & (x >= value))
    return x[below[-1] if below.size else 0], x[above[0] if above.size else -1]


def plain_decimal(low, high):
    """Return the shortest decimal in (low, high], the nearest to zero, and its last digit's unit.

    40 for (39.2, 40.7]; the number is the float nearest to that decimal.
    """
    low, high = max(low, -LARGEST), min(high, LARGEST)
    if low < 0 <= high:
        return 0.0, math.inf
    sign = -1 if high < 0 else 1
    near, far = min(abs(low), abs(high)), max(abs(low), abs(high))
    for power in range(math.floor(math.log10(far - near)) + 2, -324, -1):
        unit = float(f"1e{power}")
        digits = math.floor(near / unit)
        if digits > 2**53:
            break
        for count in (digits, digits + 1):
            decimal = sign * float(f"{count}e{power}")
            if low < decimal <= high:
                return decimal, unit
    return high, 0.0


def _useful(fit, q):
    """Return points to interpolate between, their excesses, and the smallest standard deviation.

    Points whose side is clear, and the sharpest of the others, of either side.
    """
    excess, sd = fit.excess(q)
    near = np.abs(excess) <= CLEAR * sd
    near[[0, -1]] = False
    least = sd.min(initial=math.inf, where=near)
    kept = ~near | (sd <= SHARP * least)
    for side in (near & (excess < 0), near & (excess >= 0)):
        kept[np.argmin(np.where(side, sd, math.inf))] = True
    return fit.x[kept], excess[kept], least if near.any() else sd[1:-1].min(initial=math.inf)


def invert(x, rank, target):
    """Return where ranks, which never fall, reach a target; an open end counts as its cut."""
    inner = np.isfinite(x)
    x, rank = x[inner], rank[inner]
    if len(x) < 2:
        return float(x[0]) if len(x) else 0.0
    i = int(np.clip(np.searchsorted(rank, target), 1, len(x) - 1))
    rise = rank[i] - rank[i - 1]
    part = min(max((target - rank[i - 1]) / rise, 0.0), 1.0) if rise > 0 else 0.5
    return float(x[i - 1] * (1 - part) + x[i] * part)
