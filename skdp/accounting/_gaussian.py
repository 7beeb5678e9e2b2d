"""The privacy curve of the Gaussian mechanism, and its calibration, certified in floating point.

With ``mu = sensitivity / sigma``, ``a = epsilon / mu - mu / 2`` and ``b = a + mu``::

    delta(epsilon; mu) = Phi(-a) - e^epsilon Phi(-b)            (Balle & Wang 2018, Theorem 8)
                       = phi(a) (R(a) - R(b)),                  R(x) = Phi(-x) / phi(x)

because ``e^epsilon = phi(a) / phi(b)``. It is the smallest delta for which the mechanism is
(epsilon, delta)-DP, it increases in mu (``d delta / d mu = phi(a)``) and decreases in epsilon.
"""

import math
from functools import lru_cache
from numbers import Real

from scipy.special import erfcx, erfinv, ndtri

ALLOWED = {
    "epsilon": ("[0, 1e6]", "Pass for instance epsilon=1.0."),
    "delta": ("(0, 1)", "Pass a delta well below 1 / (number of rows), for instance 1e-6."),
    "sensitivity": ("(0, 1e300]", "Pass the largest l2 distance between neighbouring outputs."),
    "sigma": ("(0, 1e300]", "Pass the standard deviation of the noise."),
    "mu": ("(0, 1e6]", "mu is sensitivity / sigma."),
    "rho": ("(0, 1e12]", "A Gaussian release costs rho = (sensitivity / sigma)^2 / 2."),
    "pure_epsilon": ("[0, 1e6]", "Pass the sum of the epsilons of the pure releases."),
    "slack": ("(0, 1)", "Pass the part of delta that pays for composition, for instance 1e-7."),
    "failure": ("[0, 1)", "Pass the summed probability of the failure events."),
}
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def gaussian_sigma(epsilon, delta, sensitivity=1.0, *, method="analytic"):
    """Return the smallest Gaussian noise that is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : float in [0, 1e6]
    delta : float in (0, 1)
    sensitivity : float > 0, default=1.0
        Largest l2 distance between the outputs of neighbouring data sets.
    method : {"analytic", "classical"}, default="analytic"
        ``"classical"`` is ``sensitivity * sqrt(2 log(1.25 / delta)) / epsilon``, proved for
        ``0 < epsilon < 1`` only (Dwork & Roth 2014, Theorem A.1) and never the smaller one.

    Returns
    -------
    sigma : float
        Standard deviation per coordinate, rounded up.

    See Also
    --------
    gaussian_epsilon, gaussian_delta, skdp.accounting.gaussian_mu

    Notes
    -----
    **Privacy**: the curve is exact at distance ``sensitivity`` and increases in the distance, so
    no smaller sigma will do. The answer never falls below the exact value and exceeds it by less
    than 1e-9 in relative delta.

    Examples
    --------
    >>> from skdp import gaussian_sigma
    >>> round(gaussian_sigma(1.0, 1e-6), 3)
    4.225
    """
    epsilon, delta = real(epsilon, "epsilon"), real(delta, "delta")
    sensitivity = real(sensitivity, "sensitivity")
    if method == "analytic":
        sigma = round_up(sensitivity / _largest_mu(epsilon, delta))
    elif method != "classical":
        raise ValueError(f"method must be 'analytic' or 'classical'. Got {method!r} instead.")
    elif 0 < epsilon < 1:
        sigma = round_up(sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    else:
        raise ValueError(
            f"method='classical' holds for 0 < epsilon < 1 only. Got epsilon={epsilon!r} instead. "
            "Use method='analytic', which is exact for every epsilon >= 0."
        )
    if math.isinf(sigma):
        raise ValueError("sigma is beyond the range of floats. Use a larger epsilon or delta.")
    return sigma


def gaussian_epsilon(sigma, delta, sensitivity=1.0):
    """Return the smallest epsilon of a Gaussian mechanism at ``delta``, rounded up.

    Parameters
    ----------
    sigma : float > 0
        Standard deviation of the noise per coordinate.
    delta : float in (0, 1)
    sensitivity : float > 0, default=1.0
        Largest l2 distance between the outputs of neighbouring data sets.

    Returns
    -------
    epsilon : float

    See Also
    --------
    gaussian_sigma, gaussian_delta

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import gaussian_epsilon
    >>> round(gaussian_epsilon(4.0, 1e-6), 3)
    1.061
    """
    mu, goal = _mu(sigma, sensitivity), math.log(real(delta, "delta"))
    return smallest(lambda epsilon: log_delta_up(epsilon, mu) <= goal, 0.0, mu * (1 + mu))


def gaussian_delta(sigma, epsilon, sensitivity=1.0):
    """Return the smallest delta of a Gaussian mechanism at ``epsilon``, rounded up.

    Parameters
    ----------
    sigma : float > 0
        Standard deviation of the noise per coordinate.
    epsilon : float in [0, 1e6]
    sensitivity : float > 0, default=1.0
        Largest l2 distance between the outputs of neighbouring data sets.

    Returns
    -------
    delta : float
        Never below the exact value, even where that is too small for a float; within 1e-9 of it.

    See Also
    --------
    gaussian_sigma, gaussian_epsilon

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import gaussian_delta
    >>> 0 < gaussian_delta(4.0, 1.0) < 1e-3
    True
    """
    return exp_up(log_delta_up(real(epsilon, "epsilon"), _mu(sigma, sensitivity)))


def gaussian_mu(epsilon, delta):
    """Return the largest ``mu = sensitivity / sigma`` that is (epsilon, delta)-DP, rounded down.

    This calibrates *Gaussian* releases: any number of them, adaptively chosen, with
    ``sum (sensitivity_i / sigma_i)^2 <= mu^2``. It converts nothing: a mechanism known only to be
    (epsilon, delta)-DP is not mu-GDP for this mu nor any other (with probability delta it may
    publish the data).

    Parameters
    ----------
    epsilon : float in [0, 1e6]
    delta : float in (0, 1)

    Returns
    -------
    mu : float

    See Also
    --------
    skdp.gaussian_sigma, gdp_composition

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import gaussian_mu
    >>> round(gaussian_mu(1.0, 1e-6), 4)
    0.2367
    """
    return _largest_mu(real(epsilon, "epsilon"), real(delta, "delta"))


def log_delta(epsilon, mu):
    """Return ``log delta(epsilon; mu)`` for every real epsilon and ``mu >= 0``, to about 3e-13.

    For ``epsilon < 0``, ``delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon)``: split
    ``p - e^epsilon q`` into its parts and swap the Gaussians. Inputs are not validated.
    """
    if epsilon < 0:
        return math.log(-math.expm1(epsilon) + math.exp(epsilon + log_delta(-epsilon, mu)))
    if mu == 0:
        return -math.inf
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    log_density = -a * a / 2 - LOG_SQRT_2PI
    if a < -1:  # 1 - delta = phi(a) (R(-a) + R(b)) < 1/3
        return math.log1p(-math.exp(log_density) * (_mills(-a) + _mills(b)))
    cancels = mu < 0.01 * (1 + abs(a))
    slope = _mills_slope(a, mu) if cancels else (_mills(a) - _mills(b)) / mu
    return log_density + math.log(mu) + math.log(slope) if slope > 0 else -math.inf


def log_delta_up(epsilon, mu):
    """Return an upper bound of ``log delta``: twenty times the rounding error above the value."""
    value, margin = log_delta(epsilon, mu), 2e-13 + 1e-15 * mu  # a is a difference of terms ~ mu
    return min(0.0, value * (1 - margin) + margin)


def _mills(x):
    """R(x) = Phi(-x) / phi(x) = integral of exp(-x t - t^2 / 2) over t > 0."""
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def _mills_slope(a, mu):
    """(R(a) - R(a + mu)) / mu for 0 < mu << 1 + a and a > -0.01: the sum of (-mu)^(k-1) h_k.

    ``h_k``, the integral of ``t^k / k! exp(-a t - t^2 / 2)``, satisfies (by parts)
    ``h_{k-1} = a h_k + (k + 1) h_{k+1}``.
    """
    total = ratio = 0.0
    if a > 3:  # backwards in the ratios h_k / h_{k-1}, the stable direction
        for k in range(60, 0, -1):
            ratio = 1 / (a + (k + 1) * ratio)
            total = ratio * (1 - mu * total)
        return _mills(a) * total
    before, h = _mills(a), 1 - a * _mills(a)
    for k in range(1, 12):
        total += (-mu) ** (k - 1) * h
        before, h = h, (before - a * h) / (k + 1)
    return total


@lru_cache(maxsize=4096)
def _largest_mu(epsilon, delta):
    goal, quantile = math.log(delta), -float(ndtri(delta))
    # safe starts: delta(epsilon; mu) <= Phi(-a), and <= delta(0; mu) = erf(mu / sqrt(8))
    root = math.hypot(quantile, math.sqrt(2 * epsilon))
    mu = 2 * epsilon / (quantile + root) if quantile > 0 else root - quantile
    mu = max(mu, math.sqrt(8) * float(erfinv(delta)))
    for _ in range(50):  # Newton on (log mu, log delta)
        value = log_delta(epsilon, mu)
        margin = log_delta_up(epsilon, mu) - value
        gap = goal - 2 * margin - value
        if abs(gap) <= 0.01 * margin:
            break
        a = epsilon / mu - mu / 2
        slope = mu * math.exp(-a * a / 2 - LOG_SQRT_2PI - value)  # d log delta / d log mu
        mu *= math.exp(min(max(gap / slope, -1.0), 1.0))
    step = 1e-15
    while log_delta_up(epsilon, mu) > goal:  # the certificate
        mu, step = mu * (1 - step), min(2 * step, 0.5)
    return mu


def smallest(certified, low, high):
    """Return the smallest x that ``certified``, monotone, accepts; doubles high until it does."""
    if certified(low):
        return low
    while not certified(high):
        low, high = high, 2 * high
    while high - low > 1e-15 * abs(high) + 1e-300:
        middle = (low + high) / 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return high


def round_up(x):
    """Return a float above x by a few units in the last place, more than its rounding errors."""
    return math.nextafter(x * (1 + 1e-15), math.inf)


def exp_up(x):
    """Return a float >= min(1, e^x) that is positive."""
    return min(1.0, round_up(math.exp(min(x, 0.0))))


def real(value, name, allowed=None):
    """Return ``value`` as a float after checking it against an interval such as ``"(0, 1]"``."""
    default, hint = ALLOWED[name]
    allowed = allowed or default
    low, high = (float(end) for end in allowed[1:-1].split(","))
    number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        x = float(value) if number else math.nan
    except OverflowError:
        x = math.inf
    ends = [low] * (allowed[0] == "[") + [high] * (allowed[-1] == "]")
    if not (low < x < high or x in ends):
        seen = repr(value) if number else f"a {type(value).__name__}"
        raise ValueError(f"{name} must be a number in {allowed}. Got {seen} instead. {hint}")
    return x


def _mu(sigma, sensitivity):
    return real(round_up(real(sensitivity, "sensitivity") / real(sigma, "sigma")), "mu")
