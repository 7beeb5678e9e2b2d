"""Composition, groups and conversions, each answer rounded to the safe side.

Totals hold adaptively: the parameters of a release may depend on earlier releases. Pure DP
implies zCDP and GDP; (epsilon, delta)-DP with delta > 0 implies neither.
"""

import math
from fractions import Fraction
from numbers import Integral, Rational

from scipy.special import log_ndtr, ndtri_exp

from skdp.accounting._gaussian import exp_up, log_delta_up, real, round_up, smallest


def basic_composition(costs):
    """Return the sums (epsilon, delta) of the pairs in ``costs`` (Dwork & Roth 2014, Thm 3.16).

    Floats count as their decimal text, so that ten times 0.1 is 1.

    Parameters
    ----------
    costs : iterable of (float, float)
        Epsilon and delta of each release.

    Returns
    -------
    epsilon, delta : float
        Rounded up.

    See Also
    --------
    advanced_composition, gdp_composition

    Notes
    -----
    **Privacy**: releases may depend on earlier ones, their costs may not. Computes from public
    numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import basic_composition
    >>> basic_composition([(0.1, 0.0)] * 10)
    (1.0, 0.0)
    """
    pairs = [(real(epsilon, "epsilon"), real(delta, "delta", "[0, 1]")) for epsilon, delta in costs]
    return _sum(epsilon for epsilon, _ in pairs), min(1.0, _sum(delta for _, delta in pairs))


def advanced_composition(epsilon, delta, k, slack):
    """Return (epsilon', delta') of ``k`` adaptive (epsilon, delta)-DP releases.

    ``epsilon' = epsilon sqrt(2 k log(1 / slack)) + k epsilon (e^epsilon - 1) / (e^epsilon + 1)``,
    or ``k epsilon`` if smaller; ``delta' = k delta + slack`` (Dwork, Rothblum & Vadhan 2010).

    **Privacy**: outside events of probability delta each release is post-processed randomised
    response (Kairouz, Oh & Viswanath 2015), with loss +-epsilon of mean ``epsilon tanh(epsilon /
    2)``; by Azuma-Hoeffding the sum of k exceeds epsilon' with probability at most ``slack``.

    Parameters
    ----------
    epsilon : float
    delta : float in [0, 1]
        Of each release.
    k : int >= 1
        Number of releases.
    slack : float in (0, 1)
        What is added to delta.

    Returns
    -------
    epsilon, delta : float
        Rounded up.

    See Also
    --------
    basic_composition, zcdp_composition

    Examples
    --------
    >>> from skdp.accounting import advanced_composition
    >>> epsilon, delta = advanced_composition(0.01, 0.0, k=1000, slack=1e-6)
    >>> round(epsilon, 2), delta
    (1.71, 1e-06)
    """
    epsilon, delta, k = real(epsilon, "epsilon"), real(delta, "delta", "[0, 1]"), _count(k, "k")
    slack = real(slack, "slack")
    mean = k * epsilon * math.tanh(epsilon / 2)
    total = round_up(epsilon * math.sqrt(-2 * k * math.log(slack)) + mean)
    return min(_sum([epsilon], k), total), min(1.0, _sum([_sum([delta], k), slack]))


def group_privacy(epsilon, delta, size):
    """Return (epsilon, delta) of an (epsilon, delta)-DP release for groups of ``size`` rows.

    ``size * epsilon`` and ``delta (1 + e^epsilon + ... + e^((size - 1) epsilon))``, by the chain
    ``P_0(S) <= e^epsilon P_1(S) + delta <= ...`` (Vadhan 2017, Lemma 2.2). Replacing one row is a
    group of two.

    Parameters
    ----------
    epsilon : float
    delta : float in [0, 1]
        What holds for one row.
    size : int >= 1
        Number of rows added or removed together.

    Returns
    -------
    epsilon, delta : float
        Rounded up.

    See Also
    --------
    group_delta, gdp_group

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import group_privacy
    >>> group_privacy(0.5, 0.0, size=4)
    (2.0, 0.0)
    """
    epsilon, delta = real(epsilon, "epsilon"), real(delta, "delta", "[0, 1]")
    total = _sum([epsilon], _count(size, "size"))
    if delta == 0 or size == 1:
        return total, delta
    ratio = math.expm1(-total) / math.expm1(-epsilon) if epsilon > 0 else size
    log_sum = math.log(delta) + (size - 1) * epsilon + math.log(ratio)
    return total, exp_up(log_sum + 1e-15 * (1 + total - math.log(delta)))


def gdp_composition(mus):
    """Return ``sqrt(sum mu_i^2)``, exact for Gaussian ``mus`` (Dong, Roth & Su 2022, Cor. 2).

    Parameters
    ----------
    mus : iterable of float in [0, 1e6]
        Sensitivity over sigma of each Gaussian release.

    Returns
    -------
    mu : float
        Rounded up.

    See Also
    --------
    gdp_group, gaussian_mu, zcdp_composition

    Notes
    -----
    **Privacy**: releases may depend on earlier ones, their mus may not. Computes from public
    numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import gdp_composition
    >>> round(gdp_composition([0.3, 0.4]), 6)
    0.5
    """
    mus = [real(mu, "mu", "[0, 1e6]") for mu in mus]
    return round_up(math.hypot(*mus)) if any(mus) else 0.0


def gdp_group(mu, size):
    """Return ``size * mu``: mu-GDP for groups of rows (Dong, Roth & Su 2022, Theorem 3).

    Parameters
    ----------
    mu : float in [0, 1e6]
        For one row.
    size : int >= 1
        Number of rows added or removed together.

    Returns
    -------
    mu : float
        For the group, rounded up.

    See Also
    --------
    group_delta, group_privacy

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import gdp_group
    >>> round(gdp_group(0.5, 2), 6)
    1.0
    """
    return round_up(real(mu, "mu") * _count(size, "size"))


def group_delta(mu, failure, size, epsilon):
    """Return a delta at ``epsilon`` for groups of rows of a Gaussian fit that may fail.

    Parameters
    ----------
    mu : float > 0
        Of the releases for one row, outside failure events.
    failure : float or Fraction in [0, 1)
        Probability of the failure events, for each neighbouring pair and on either side.
        A Fraction may be smaller than the smallest float, as it must be for large epsilon.
    size : int >= 1
        Number of rows added or removed together; 2 covers replacing one row.
    epsilon : float in [0, 1e6]

    See Also
    --------
    group_epsilon, gdp_group, group_privacy

    Notes
    -----
    **Privacy**: neighbours are within total variation f of a pair with ``P(S) <= h(Q(S))``,
    ``h(x) = Phi(Phi^-1(x) + mu)``, so ``P(S) <= T(Q(S))`` with ``T(x) = f + h(x + f)``, which is
    increasing and concave. A chain of ``size`` neighbours gives ``delta <= sup_q F(q) - e^epsilon
    q``, F = T iterated. As ``h(y) <= e^s y + delta_G(s; mu)`` for every real s, each chain of
    slopes ``s_i`` with sum at most epsilon yields a line above F, whose intercept bounds delta.
    The slopes of F at the maximising q make that bound equal to the supremum.

    Examples
    --------
    >>> from skdp.accounting import group_delta
    >>> group_delta(0.2, 1e-9, size=2, epsilon=1.0) < group_delta(0.2, 1e-9, size=3, epsilon=1.0)
    True
    """
    mu, log_f = real(mu, "mu"), _log_up(failure)
    size, epsilon = _count(size, "size"), real(epsilon, "epsilon")
    log_q = smallest(lambda x: _line(mu, log_f, size, x)[0] <= epsilon, log_f - 50, 0.0)
    return exp_up(_line(mu, log_f, size, log_q)[1])


def group_epsilon(mu, failure, size, delta):
    """Return the smallest epsilon of :func:`group_delta` at ``delta``; inf if none will do.

    Parameters
    ----------
    mu : float > 0
    failure : float or Fraction in [0, 1)
    size : int >= 1
        All as for :func:`group_delta`.
    delta : float in (0, 1)

    Returns
    -------
    epsilon : float

    See Also
    --------
    group_delta, group_privacy

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import group_epsilon
    >>> group_epsilon(0.2, 1e-9, size=1, delta=1e-6) < group_epsilon(0.2, 1e-9, size=2, delta=1e-6)
    True
    """
    mu, log_f = real(mu, "mu"), _log_up(failure)
    size, goal = _count(size, "size"), math.log(real(delta, "delta"))
    if _line(mu, log_f, size, log_f - 50)[1] > goal:  # q = 0: F(0), the limit of large epsilon
        return math.inf
    x = smallest(lambda x: _line(mu, log_f, size, -x)[1] <= goal, 0.0, 50 - log_f)
    return max(0.0, _line(mu, log_f, size, -x)[0])


def _line(mu, log_f, size, log_q):
    """Log slope and log intercept of a line above F that touches it at e^log_q."""
    log_x, slopes, intercept = log_q, [], -math.inf
    for _ in range(size):
        z = min(float(ndtri_exp(min(_log_add(log_x, log_f), 0.0))), 38.0)
        slopes.append(-mu * (z + mu / 2))  # log h'(Phi(z))
        step = _log_add(log_delta_up(slopes[-1], mu), log_f + _log_add(0.0, slopes[-1]))
        intercept = _log_add(slopes[-1] + intercept, step)
        intercept += 1e-15 * (1 + abs(intercept))
        log_x = _log_add(log_f, float(log_ndtr(z + mu)))
    return math.nextafter(math.fsum(slopes), math.inf), intercept


def _log_add(x, y):
    low, high = min(x, y), max(x, y)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def _log_up(failure):
    """Return an upper bound of log(failure), which may be too small for a float, or zero."""
    rounded = real(failure, "failure")
    n, d = Fraction(failure if isinstance(failure, Rational) else rounded).as_integer_ratio()
    return math.log(n) * (1 + 4e-16) - math.log(d) * (1 - 4e-16) + 1e-15 if n else -1e5


def _sum(values, times=1):
    """Return the float whose decimal text is the sum of the decimal texts, or just above it."""
    total = times * sum((Fraction(repr(value)) for value in values), Fraction(0))
    answer = float(total)
    return answer if Fraction(repr(answer)) >= total else math.nextafter(answer, math.inf)


def _count(value, name):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer >= 1. Got {value!r} instead.")
    return int(value)
