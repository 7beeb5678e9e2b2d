"""The two questions before a fit: how much epsilon, and how many rows."""

from decimal import ROUND_CEILING, Context
from math import exp, inf, isfinite, log
from numbers import Real

import numpy as np
from sklearn.isotonic import IsotonicRegression

from skdp.utils._numbers import describe_parameter

EPSILONS = 1e-3, 100.0
FEWEST, START = 10, 1000

# of the search for the least budget, or the smallest table
CLOSE = 0.05  # in the logarithm of the error
NARROW = 0.05  # in the logarithm of what is sought
CLIFF = 1.0  # a drop of the logarithm of the error that nothing is read off
MOST = 12


def epsilon_for(simulation, target, n_rows, quantile, start):
    """Return least epsilon for which a fit of so many rows has an error of at most the target."""
    _check(target, quantile)
    error = _errors(lambda epsilon: simulation.expected(epsilon, n_rows), quantile, start)
    low, high = EPSILONS
    found, tried = smallest(error, target, start=start, low=low, high=high)
    if not isfinite(found):
        raise ValueError(
            f"no epsilon up to {high:g} is enough for {target:g} with {n_rows} rows: at {high:g} "
            f"the error ({simulation.measure}) is about {tried[max(tried)]:.3g}. Take more rows, "
            "fewer columns or another target."
        )
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(found)))


def n_rows_for(simulation, target, epsilon, quantile, most):
    """Return the least number of rows for which a fit has an error of at most the target."""
    _check(target, quantile)
    error = _errors(lambda n: simulation.expected(epsilon, round(n)), quantile, START)
    found, tried = smallest(error, target, start=min(START, most), low=FEWEST, high=most)
    if not isfinite(found):
        raise ValueError(
            f"{most} rows are too few for {target:g}: with so many the error "
            f"({simulation.measure}) is about {tried[max(tried)]:.3g}. Take more epsilon, fewer "
            "columns or another target, or raise max_rows."
        )
    return int(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(found)))


def _errors(expected, quantile, start):
    """Return the error as a function of what is sought; infinite where no fit can be planned."""

    def error(x):
        try:
            return expected(x).quantile(quantile)
        except ValueError:
            if np.isclose(x, start):  # wrong whatever is sought
                raise
            return np.inf

    return error


def _check(target, quantile):
    if not isinstance(target, Real) or not 0 < target < np.inf:
        raise ValueError(
            f"target must be an error, a number > 0. Got {describe_parameter(target)}."
        )
    if not isinstance(quantile, Real) or not 0 < quantile < 1:
        raise ValueError(f"quantile must be in (0, 1). Got {describe_parameter(quantile)}.")


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
