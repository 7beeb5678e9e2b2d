"""The least budget, or the smallest table, for which an error is small enough."""

from math import exp, inf, isfinite, log

import numpy as np
from sklearn.isotonic import IsotonicRegression

__all__ = ["smallest"]

CLOSE = 0.05  # in the logarithm of the error
NARROW = 0.05  # in the logarithm of what is sought
CLIFF = 1.0  # a drop of the logarithm of the error that nothing is read off
MOST = 12


def smallest(error, target, *, start, low, high):
    """Return the least x in [low, high] with ``error(x) <= target``, and errors that were tried.

    Notes
    -----
    In logarithms: steps towards the target until it is between two tried points, then secants that
    keep a tenth away from their ends. The answer is read off the least-squares monotone curve
    through all points that were tried, so that no single one decides; at a cliff it is its foot.
    """
    floor, tried = log(target) - 5, {}

    def height(t):
        if t not in tried:
            value = error(exp(t))
            tried[t] = max(log(value), floor) if 0 < value < inf else (inf if value > 0 else floor)
        return tried[t] - log(target)

    a, b = _bracket(height, log(start), log(low), log(high))
    while a is not None and b is not None and len(tried) < MOST and b - a > NARROW:
        above, below = height(a), height(b)
        part = above / (above - below) if isfinite(above) else 0.5
        t = a + (b - a) * min(max(part, 0.1), 0.9)
        if height(t) > 0:
            a = t
        else:
            b = t
        if abs(height(t)) < CLOSE:
            break
    found = {exp(t): exp(h) for t, h in sorted(tried.items())}
    if b is None:
        return inf, found
    return (low if a is None else exp(_crossing(tried, log(target), a, b))), found


def _bracket(height, t, low, high):
    """Return the ends of an interval that the curve falls below 0 in; None for one beyond."""
    t, a, b = min(max(t, low), high), None, None
    while a is None or b is None:
        h = height(t)
        if h > 0:
            a = t
            if t >= high:
                return a, None
        else:
            b = t
            if t <= low:
                return None, b
        if a is None or b is None:
            step = min(max(abs(h) * 1.2, 0.2), 2.0)
            t = min(t + step, high) if h > 0 else max(t - step, low)
    return a, b


def _crossing(tried, target, a, b):
    """Return where the monotone curve through all points meets the target, within a and b."""
    ts = np.array(sorted(tried))
    heights = np.array([tried[t] for t in ts])
    finite = heights[np.isfinite(heights)]
    heights = np.where(np.isfinite(heights), heights, finite.max(initial=target) + 5)
    fitted = IsotonicRegression(increasing=False).fit_transform(ts, heights)
    above = np.flatnonzero(fitted > target)
    if not above.size or above[-1] == len(ts) - 1:
        return b
    i = above[-1]
    drop = fitted[i] - fitted[i + 1]
    if drop > CLIFF:
        return float(ts[i + 1])
    return float(ts[i] + (fitted[i] - target) / drop * (ts[i + 1] - ts[i]))
