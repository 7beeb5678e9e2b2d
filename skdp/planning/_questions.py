"""The two questions before a fit: how much epsilon, and how many rows."""

from decimal import ROUND_CEILING, Context
from math import isfinite
from numbers import Real

import numpy as np

from skdp.planning._solve import smallest
from skdp.utils._numbers import describe_parameter

__all__ = ["epsilon_for", "n_rows_for"]

EPSILONS = 1e-3, 100.0
FEWEST, START = 10, 1000


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
