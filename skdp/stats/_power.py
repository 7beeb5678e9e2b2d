"""Power before data: rows, epsilon and power of tests of two groups, by the law of their noise."""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from skdp.accounting import Budget
from skdp.kernel.applied._scores import COUNT, GAIN
from skdp.metrics._curves import prefix_strategy
from skdp.stats._logrank import BINS, FIRST
from skdp.stats._logrank_laws import Residuals
from skdp.stats._search import LEAST_SHARE, RANKS_NEED, ROWS, SEARCH, WINDOW_NEEDS, Z, reach_of
from skdp.stats._survival_input import Counts
from skdp.utils._numbers import describe_parameter

MOST_ROWS, MOST_EPSILON = 1e12, 1e4
WIDER = 1.25  # windows that are found beside those of the formula, measured at 500 rows


def expected_power(test, effect, n_rows, *, epsilon=1.0, delta=1e-6, level=0.05, p=0.5):
    """Return the power of a private test of two equal groups, before any data.

    Parameters
    ----------
    test : {"mannwhitneyu", "ttest_ind", "proportions_test", "logrank"}
    effect : float
        Difference of the groups: in standard deviations of normal rows, or of two rates. Of
        "logrank" the ratio of two constant hazards.
    n_rows : int
        Rows of both groups together.
    epsilon : float, default=1.0
    delta : float, default=1e-6
    level : float, default=0.05
        Of the test, two-sided.
    p : float, default=0.5
        For "proportions_test": the mean of both rates. For "logrank": the part of the rows that has
        the event until the horizon, which the others are observed until.

    Returns
    -------
    power : float

    Raises
    ------
    ValueError
        For another test, and numbers out of range.

    See Also
    --------
    n_rows_for, epsilon_for

    Notes
    -----
    **Privacy**: computed from public numbers alone, so it costs nothing. The search for scores is
    taken to succeed; the horizon and the groups of "logrank" are taken to be public.

    Examples
    --------
    >>> from skdp.stats import expected_power
    >>> bool(0.7 < expected_power("mannwhitneyu", 0.5, 260, epsilon=1.0) < 0.95)
    True
    """
    _check(test, effect, level, p)
    for name, x in (("n_rows", n_rows), ("epsilon", epsilon)):
        if not (np.isreal(x) and 0 < x < math.inf):
            raise ValueError(f"{name} must be positive. Got {describe_parameter(x)}.")
    mu = float(Budget.gaussian(epsilon, delta).mu)
    return _power(test, effect, float(n_rows), mu, level, p)


def n_rows_for(test, effect, *, power=0.8, epsilon=1.0, delta=1e-6, level=0.05, p=0.5):
    """Return how many rows both groups need together for a power, before any data.

    Parameters
    ----------
    test : {"mannwhitneyu", "ttest_ind", "proportions_test", "logrank"}
    effect : float
        As of :func:`expected_power`.
    power : float, default=0.8
    epsilon : float, default=1.0
    delta : float, default=1e-6
    level : float, default=0.05
    p : float, default=0.5
        As of :func:`expected_power`.

    Returns
    -------
    n_rows : int

    Raises
    ------
    ValueError
        For another test, and numbers out of range.

    See Also
    --------
    expected_power, epsilon_for

    Notes
    -----
    **Privacy**: computed from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.stats import n_rows_for
    >>> bool(200 < n_rows_for("mannwhitneyu", 0.5, epsilon=1.0) < 340)
    True
    """
    _check(test, effect, level, p, power)
    mu = float(Budget.gaussian(epsilon, delta).mu)

    def gap(log_n):
        return _power(test, effect, math.exp(log_n), mu, level, p) - power

    if gap(math.log(MOST_ROWS)) < 0:
        raise ValueError("no number of rows below 10^12 is enough. Pass a larger effect.")
    return math.ceil(math.exp(brentq(gap, math.log(2.0), math.log(MOST_ROWS))))


def epsilon_for(test, effect, n_rows, *, power=0.8, delta=1e-6, level=0.05, p=0.5):
    """Return the epsilon that a power needs, before any data.

    Parameters
    ----------
    test : {"mannwhitneyu", "ttest_ind", "proportions_test", "logrank"}
    effect : float
        As of :func:`expected_power`.
    n_rows : int
        Rows of both groups together.
    power : float, default=0.8
    delta : float, default=1e-6
    level : float, default=0.05
    p : float, default=0.5
        As of :func:`expected_power`.

    Returns
    -------
    epsilon : float
        Infinite where no epsilon is enough.

    Raises
    ------
    ValueError
        For another test, and numbers out of range.

    See Also
    --------
    expected_power, n_rows_for

    Notes
    -----
    **Privacy**: computed from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.stats import epsilon_for
    >>> bool(0.7 < epsilon_for("mannwhitneyu", 0.5, 280) < 1.3)
    True
    """
    _check(test, effect, level, p, power)

    def gap(log_epsilon):
        mu = float(Budget.gaussian(math.exp(log_epsilon), delta).mu)
        return _power(test, effect, float(n_rows), mu, level, p) - power

    ends = math.log(1e-4), math.log(MOST_EPSILON)
    if gap(ends[1]) < 0:
        return math.inf
    return float(math.exp(brentq(gap, *ends, xtol=1e-3)))


def _check(test, effect, level, p, power=0.5):
    if test not in ("mannwhitneyu", "ttest_ind", "proportions_test", "logrank"):
        raise ValueError(
            'test must be "mannwhitneyu", "ttest_ind", "proportions_test" or "logrank". Got '
            f"{describe_parameter(test)}."
        )
    parts = {"level": level, "p": p, "power": power}
    for name, x in parts.items():
        if not 0 < x < 1:
            raise ValueError(f"{name} must lie between 0 and 1. Got {describe_parameter(x)}.")
    if not (np.isfinite(effect) and effect != 0):
        raise ValueError(f"effect must be a number, not 0. Got {describe_parameter(effect)}.")
    if test == "logrank" and (effect < 0 or effect == 1):
        raise ValueError(
            f"effect of a log-rank test is a ratio of hazards, not 1. Got "
            f"{describe_parameter(effect)}."
        )


def _left(need, mu, n):
    """Return the part of the budget that sums have, less what their count takes."""
    search = np.clip(need / (mu**2 * n), LEAST_SHARE[False], float(SEARCH.at_most))
    return (1 - search - float(ROWS.at_most)) / (1 + COUNT**2)


def _power(test, effect, n, mu, level, p):
    """Return the power: the effect beside the deviation of sampling and noise together."""
    if test == "logrank":
        return _of_log_rank(effect, n, mu, level, p)
    if test == "proportions_test":
        var = 4 * p * (1 - p) / n + 8 * (1 - 2 * p + 2 * p * p) / (mu * n) ** 2
        signal = effect
    elif test == "mannwhitneyu":
        # P(x > y) - 1/2 of normal rows; scores have the variance 1/3
        signal = 2 * (ndtr(abs(effect) / math.sqrt(2)) - 0.5)
        left = _left(RANKS_NEED[False], mu, n)
        var = 4 / 3 / n * (1 - signal**2) + 8 / (mu * n) ** 2 / left
    else:
        signal = effect
        half = WIDER * Z * reach_of(mu, n, 2)
        left = _left(WINDOW_NEEDS, mu, n)
        var = 4 / n + 8 * half**2 / (mu * n) ** 2 / left
    return _beyond(abs(signal) / math.sqrt(var), level)


def _beyond(shift, level):
    """Return the chance that a normal statistic of this mean is rejected on either side."""
    z = ndtri(1 - level / 2)
    return float(ndtr(shift - z) + ndtr(-shift - z))


def _of_log_rank(ratio, n, mu, level, p):
    """Return the power of a log-rank test, by its own law at the events that are expected."""

    def events_of(hazard):
        return (math.exp(-hazard) + math.exp(-hazard * ratio)) / 2

    hazard = brentq(lambda x: events_of(x) - (1 - p), 0.0, -2 * math.log1p(-p) / min(ratio, 1))
    left = 1 - float(ROWS.at_most)
    edges = np.linspace(0, 1, BINS + 1)
    S = np.exp(-hazard * np.outer([ratio, 1.0], edges))
    events, others = -n / 2 * np.diff(S, axis=1), np.zeros((2, BINS + 1))
    others[:, -1] = n / 2 * S[:, -1]
    sd = GAIN / mu / math.sqrt(FIRST * left)
    noise = (sd * prefix_strategy(bins)[1] for bins in (BINS, BINS + 1))
    residuals = Residuals(Counts(edges, events, others, *noise))
    asked = residuals.question(1)
    sd = asked.step * float(asked.l2) / mu / math.sqrt((1 - FIRST) * left)
    no_sums = np.zeros((2, asked.left.shape[1]))
    law = residuals.test(*residuals.scaled(no_sums, sd))
    counted = residuals.events / np.maximum(events.sum(axis=0), 1e-300)
    d = float(counted @ (events[0] - residuals.shares[0] * events.sum(axis=0)))
    return _beyond(abs(d) / math.sqrt(law.variance(math.log(ratio))), level)
