"""Intervals for what was released: the law of the noise is known, so their coverage is exact.

All of them are around the **raw** release. Shrunk coordinates have no such intervals: an outlying
coordinate is moved towards the others by more than its noise. Balls are the exception.
"""

import math

import numpy as np
from scipy.special import chdtri, ndtri

from skdp.denoising._base import known_noise
from skdp.denoising._shrinkers import james_stein
from skdp.scales._column_noise import check_confidence


def coordinate_interval(value, noise_scale, confidence=0.95, *, law="gaussian", simultaneous=False):
    """Return an interval for every coordinate of a released array.

    Parameters
    ----------
    value : array-like
        Released values of any shape, before any denoising.
    noise_scale : float or array-like that broadcasts to ``value``
        Standard deviations of the noise, or scales b of Laplace noise.
    confidence : float, default=0.95
        Probability with which an interval covers the exact value.
    law : {"gaussian", "laplace"}, default="gaussian"
    simultaneous : bool, default=False
        Whether all intervals together shall cover with this probability.

    Returns
    -------
    lower, upper : ndarrays of the shape of ``value``

    See Also
    --------
    linear_interval, confidence_ball

    Notes
    -----
    They cover the exact statistic of the table, not of a population behind it. Coordinates are
    independent, so d intervals of level ``confidence^(1/d)`` cover together with ``confidence``.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import coordinate_interval
    >>> low, high = coordinate_interval([10.0, 20.0], noise_scale=1.0)
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([8.04, 18.04], [11.96, 21.96])
    """
    value = np.asarray(value, dtype=np.float64)
    miss = _miss(confidence)
    if simultaneous:
        miss = -math.expm1(math.log1p(-miss) / max(value.size, 1))
    z = -ndtri(miss / 2) if law == "gaussian" else -math.log(miss)
    half = z * np.asarray(noise_scale, dtype=np.float64)
    return value - half, value + half


def count_interval(value, noise_scale, confidence, *, law, simultaneous, nonnegative, integer):
    """Return intervals for counts that were released on a grid, as :func:`coordinate_interval`.

    The grid's half unit, which rounding may have added, is at most 2^-10 of the noise or 2^-21.
    Exact counts are integers, and not negative: the same maps on both ends keep them covered.
    """
    lower, upper = coordinate_interval(
        value, noise_scale, confidence, law=law, simultaneous=simultaneous
    )
    rounding = 2.0**-10 * noise_scale + 2.0**-21
    lower, upper = lower - rounding, upper + rounding
    if nonnegative:
        lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
    if integer:
        lower, upper = np.ceil(lower), np.maximum(np.floor(upper), np.ceil(lower))
    return lower, upper


def linear_interval(value, noise_scale, coefficients, confidence=0.95, *, law="gaussian"):
    """Return an interval for a linear form ``c' theta`` of the exact values.

    Parameters
    ----------
    value : array-like of shape (d,)
        Released values, before any denoising.
    noise_scale : float or array-like of shape (d,)
        Standard deviations of the noise, or scales b of Laplace noise.
    coefficients : array-like of shape (d,)
        The vector c: public, or chosen before looking at ``value``.
    confidence : float, default=0.95
    law : {"gaussian", "laplace"}, default="gaussian"
        For Laplace noise the interval is a little too wide.

    Returns
    -------
    lower, upper : float

    See Also
    --------
    coordinate_interval, confidence_ball

    Notes
    -----
    Gaussian: ``c' y`` is normal with the variance ``sum c_i^2 v_i``. Laplace: with ``a_i = c_i
    b_i``, ``P(|sum a_i L_i| > t) <= 2 e^(-s t) prod 1 / (1 - s^2 a_i^2)`` for ``0 < s < 1 / max
    |a_i|`` (Chernoff), solved for t and minimised over a grid of s.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import linear_interval
    >>> low, high = linear_interval([10.0, 20.0], [3.0, 4.0], [1.0, 1.0])  # of the sum
    >>> round(float(low), 1), round(float(high), 1)
    (20.2, 39.8)
    """
    value, c = np.asarray(value, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    if value.ndim != 1 or c.shape != value.shape:
        raise ValueError(
            "value and coefficients must have the same shape (d,). Got "
            f"{value.shape} and {c.shape}."
        )
    noise = known_noise(noise_scale, law, value.size)
    miss, centre = _miss(confidence), float(c @ value)
    if noise.gaussian:
        half = float(-ndtri(miss / 2) * np.sqrt(np.square(c) @ noise.variance))
    else:
        a = np.abs(c * noise.scale)
        x = np.linspace(0, 1, 1001)[1:-1, None]  # s max a
        spread = -np.log1p(-np.square(x * a / max(a.max(), 1e-300))).sum(axis=1)
        half = float(np.min((spread - math.log(miss / 2)) / x[:, 0]) * a.max())
    return centre - half, centre + half


def confidence_ball(value, noise_scale, confidence=0.95, *, recentred=True):
    """Return a ball that holds the vector of exact values.

    Parameters
    ----------
    value : array-like of shape (d,)
        Released values with equal Gaussian noise.
    noise_scale : float
        Standard deviation of the noise.
    confidence : float, default=0.95
    recentred : bool, default=True
        Centre the ball at a James-Stein estimate if d >= 4: the same radius, and more coverage.

    Returns
    -------
    center : ndarray of shape (d,)
    radius : float

    See Also
    --------
    coordinate_interval, skdp.JamesSteinDenoiser

    Notes
    -----
    ``|y - theta|^2 / sigma^2`` is chi-square, which gives the radius c. Hwang and Casella (1982)
    prove that the ball around ``(1 - a sigma^2 / |y|^2)_+ y`` covers with at least the same
    probability, whatever theta, for ``0 < a <= a_0``, the root of
    ``((c + sqrt(c^2 + a)) / sqrt(a))^(d - 2) e^(-c sqrt(a)) = 1``; a is the smaller of a_0 and
    d - 2.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.denoising import confidence_ball
    >>> center, radius = confidence_ball([3.0, 2.0, 4.0, 3.0], noise_scale=1.0)
    >>> center.shape, round(float(radius), 2)
    ((4,), 3.08)
    """
    y = np.asarray(value, dtype=np.float64)
    if y.ndim != 1 or np.ndim(noise_scale) > 0:
        raise ValueError(
            "a ball needs a vector and one noise scale for all its coordinates. Got shapes "
            f"{y.shape} and {np.shape(noise_scale)}."
        )
    noise = known_noise(noise_scale, "gaussian", y.size)
    c = math.sqrt(chdtri(y.size, _miss(confidence)))
    centre = y
    if recentred and y.size >= 4:
        centre = james_stein(y, noise, constant=_ball_constant(y.size, c)).value
    return centre, c * float(noise_scale)


def _ball_constant(d, c):
    """Return min(a_0, d - 2) of the theorem of Hwang and Casella, by bisection."""

    def excess(a):
        return (d - 2) * math.log((c + math.sqrt(c * c + a)) / math.sqrt(a)) - c * math.sqrt(a)

    low, high = 0.0, float(d - 2)
    if excess(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) >= 0 else (low, middle)
    return low


def _miss(confidence):
    check_confidence(confidence)
    return 1 - confidence
