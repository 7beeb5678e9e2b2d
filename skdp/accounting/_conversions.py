"""Conversions between pure DP, zCDP and Gaussian DP, each answer rounded to the safe side."""

import math

from scipy.special import erfinv, ndtri_exp

from skdp.accounting._composition import _log_add, _sum
from skdp.accounting._gaussian import exp_up, log_delta_up, real, round_up, smallest


def gaussian_to_zcdp(mu):
    """Return ``rho = mu^2 / 2`` (Bun & Steinke 2016, Prop. 1.6); exact, as D_alpha = alpha rho.

    Parameters
    ----------
    mu : float in [0, 1e6]
        Sensitivity over sigma of a Gaussian release.

    Returns
    -------
    rho : float
        Rounded up.

    See Also
    --------
    pure_to_zcdp, zcdp_composition

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import gaussian_to_zcdp
    >>> round(gaussian_to_zcdp(0.5), 6)
    0.125
    """
    return round_up(real(mu, "mu") ** 2 / 2)


def pure_to_gdp(epsilon):
    """Return the smallest mu such that every pure epsilon-DP mechanism is mu-GDP.

    **Privacy**: the trade-off function of epsilon-DP joins ``(0, 1), (c, c), (1, 0)`` by straight
    lines, ``c = 1 / (1 + e^epsilon)``. That of mu-GDP is convex, with the same ends and the fixed
    point ``Phi(-mu / 2)``, which is c for ``mu = -2 Phi^-1(c)``. Chords of a convex function lie
    above it; for a smaller mu, ``(c, c)`` lies below.

    Parameters
    ----------
    epsilon : float
        Of a pure mechanism.

    Returns
    -------
    mu : float
        Rounded up.

    See Also
    --------
    pure_to_zcdp, gdp_composition

    Examples
    --------
    >>> from skdp.accounting import pure_to_gdp
    >>> round(pure_to_gdp(1.0), 3)
    1.232
    """
    epsilon = real(epsilon, "epsilon")
    if epsilon < 1:  # c = 1/2 - t/2 and Phi^-1(c) = -sqrt(2) erfinv(t)
        return round_up(math.sqrt(8) * float(erfinv(math.tanh(epsilon / 2))) * (1 + 1e-14))
    return round_up(-2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon)))) * (1 + 1e-14))


def pure_to_zcdp(epsilon):
    """Return the smallest rho such that every pure epsilon-DP mechanism is rho-zCDP.

    ``epsilon tanh(epsilon / 2)``, below the ``epsilon^2 / 2`` of Bun & Steinke 2016, Prop. 1.4.

    **Privacy**: randomised response dominates, with ``(alpha - 1) D_alpha = g(alpha - 1) - g(0)``,
    ``g(s) = log cosh(epsilon / 2 + s epsilon)``. As tanh is concave, the mean of g' is at most
    its value half-way: ``D_alpha <= epsilon tanh(alpha epsilon / 2) <= alpha rho``; tight at 1.

    Parameters
    ----------
    epsilon : float
        Of a pure mechanism.

    Returns
    -------
    rho : float
        Rounded up.

    See Also
    --------
    pure_to_gdp, zcdp_composition

    Examples
    --------
    >>> from skdp.accounting import pure_to_zcdp
    >>> round(pure_to_zcdp(1.0), 3)
    0.462
    """
    epsilon = real(epsilon, "epsilon")
    return round_up(epsilon * math.tanh(epsilon / 2))


def zcdp_composition(rhos):
    """Return the sum of the rhos (Bun & Steinke 2016, Lemma 1.7); floats as their decimal text.

    Parameters
    ----------
    rhos : iterable of float
        Of each release.

    Returns
    -------
    rho : float
        Rounded up.

    See Also
    --------
    zcdp_epsilon, gaussian_to_zcdp, pure_to_zcdp

    Notes
    -----
    **Privacy**: releases may depend on earlier ones, their rhos may not. Computes from public
    numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import zcdp_composition
    >>> zcdp_composition([0.1, 0.2, 0.3])
    0.6
    """
    return _sum(real(rho, "rho", "[0, 1e12]") for rho in rhos)


# Canonne, Kamath & Steinke 2020, Corollary 13: rho-zCDP is (epsilon, delta)-DP for every t > 0,
#     log delta = t ((1 + t) rho - epsilon) - t log(1 + 1/t) - log(1 + t),        alpha = 1 + t.
# The best t solves (1 + 2t) rho - epsilon = log(1 + 1/t); an inexact t is still private.


def zcdp_delta(rho, epsilon):
    """Return the delta of rho-zCDP at ``epsilon``, by the best Rényi order.

    Parameters
    ----------
    rho : float
    epsilon : float

    Returns
    -------
    delta : float
        Rounded up.

    See Also
    --------
    zcdp_epsilon, zcdp_rho

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import zcdp_delta
    >>> 0 < zcdp_delta(0.05, epsilon=1.0) < 1e-2
    True
    """
    rho, epsilon = real(rho, "rho"), real(epsilon, "epsilon")
    t = smallest(lambda t: (1 + 2 * t) * rho - epsilon >= math.log1p(1 / t), 1e-300, 1.0)
    gain, loss = t * (1 + t) * rho, t * (epsilon + math.log1p(1 / t)) + math.log1p(t)
    return exp_up(gain - loss + 4e-15 * (gain + loss))


def zcdp_epsilon(rho, delta):
    """Return the epsilon of rho-zCDP at ``delta``: the inverse of :func:`zcdp_delta`.

    Parameters
    ----------
    rho : float
    delta : float in (0, 1)

    Returns
    -------
    epsilon : float
        Rounded up.

    See Also
    --------
    zcdp_delta, zcdp_rho

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import zcdp_epsilon
    >>> round(zcdp_epsilon(0.05, delta=1e-6), 2)
    1.47
    """
    rho, goal = real(rho, "rho"), -math.log(real(delta, "delta"))
    t = smallest(lambda t: t * t * rho + math.log1p(t) >= goal, 1e-300, 1.0)  # the best t again
    gain, loss = (1 + t) * rho + goal / t, math.log1p(1 / t) + math.log1p(t) / t
    return max(0.0, gain - loss + 4e-15 * (gain + loss))


def zcdp_rho(epsilon, delta):
    """Return the largest rho that :func:`zcdp_delta` certifies at (epsilon > 0, delta).

    Parameters
    ----------
    epsilon : float > 0
    delta : float in (0, 1)

    Returns
    -------
    rho : float
        Rounded down.

    See Also
    --------
    zcdp_delta, zcdp_epsilon

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import zcdp_delta, zcdp_rho
    >>> zcdp_delta(zcdp_rho(1.0, 1e-6), 1.0) <= 1e-6
    True
    """
    epsilon, delta = real(epsilon, "epsilon", "(0, 1e6]"), real(delta, "delta")
    best = lambda t: (epsilon + math.log1p(1 / t)) / (1 + 2 * t)  # noqa: E731 - t is best for it
    t = smallest(lambda t: t * t * best(t) + math.log1p(t) >= -math.log(delta), 1e-300, 1.0)
    rho, step = best(t), 1e-15
    while zcdp_delta(rho, epsilon) > delta:  # the certificate
        rho, step = rho * (1 - step), min(2 * step, 0.5)
    return rho


def pure_gaussian_delta(pure_epsilon, mu, epsilon):
    """Return the delta at ``epsilon`` of pure DP releases composed with Gaussian ones.

    **Privacy**: pure DP of total ``e = pure_epsilon`` is dominated by randomised response, which
    tells the truth with probability ``p = e^e / (1 + e^e)``; its loss is e or -e, so that
    ``delta = p delta_G(epsilon - e; mu) + (1 - p) delta_G(epsilon + e; mu)``. Dominating pairs
    compose adaptively (Zhu, Dong & Wang 2022, Theorem 10). Tight; mu = 0 is no Gaussian release.

    Parameters
    ----------
    pure_epsilon : float
        Total epsilon of the pure releases.
    mu : float
        Of the Gaussian releases together.
    epsilon : float

    Returns
    -------
    delta : float
        Rounded up.

    See Also
    --------
    pure_gaussian_epsilon, mixed_budget

    Examples
    --------
    >>> from skdp.accounting import pure_gaussian_delta
    >>> 0 < pure_gaussian_delta(0.2, 0.2, epsilon=1.0) < 1e-3
    True
    """
    pure_epsilon, mu = real(pure_epsilon, "pure_epsilon"), real(mu, "mu", "[0, 1e6]")
    return exp_up(_log_pure_gaussian(pure_epsilon, mu, real(epsilon, "epsilon")))


def pure_gaussian_epsilon(pure_epsilon, mu, delta):
    """Return the smallest epsilon at ``delta``: the inverse of :func:`pure_gaussian_delta`.

    Parameters
    ----------
    pure_epsilon : float
        Total epsilon of the pure releases.
    mu : float
        Of the Gaussian releases together.
    delta : float in (0, 1)

    Returns
    -------
    epsilon : float
        Rounded up.

    See Also
    --------
    pure_gaussian_delta, skdp.gaussian_epsilon

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import pure_gaussian_epsilon
    >>> round(pure_gaussian_epsilon(0.2, 0.2, delta=1e-6), 2)
    1.01
    """
    pure_epsilon, mu = real(pure_epsilon, "pure_epsilon"), real(mu, "mu", "[0, 1e6]")
    goal, high = math.log(real(delta, "delta")), pure_epsilon + mu * (1 + mu)
    return smallest(
        lambda epsilon: _log_pure_gaussian(pure_epsilon, mu, epsilon) <= goal, 0.0, high
    )


def _log_pure_gaussian(pure_epsilon, mu, epsilon):
    log_p = -math.log1p(math.exp(-pure_epsilon))
    truth = log_p + log_delta_up(epsilon - pure_epsilon, mu)
    lie = log_p - pure_epsilon + log_delta_up(epsilon + pure_epsilon, mu)
    return _log_add(truth, lie) * (1 - 4e-15) + 4e-15
