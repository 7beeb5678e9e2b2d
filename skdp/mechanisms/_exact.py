"""Exact numbers: what a user wrote as a fraction, and certified square roots."""

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Rational

import numpy as np

LARGEST = math.nextafter(math.inf, 0)
SMALLEST_NORMAL = 2.0**-1022


def exact(x, *, name="value"):
    """Return a number as the fraction of Python integers that it is exactly."""
    if is_exact(x):
        return x
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (float, np.floating, Rational)):
        raise TypeError(f"{name} must be a real number. Got {type(x).__name__} instead.")
    if not isinstance(x, (float, np.floating)):
        return Fraction(int(x.numerator), int(x.denominator))
    if not np.isfinite(x):
        raise ValueError(f"{name} must be finite. Got {x!r} instead.")
    return Fraction(*map(int, x.as_integer_ratio()))


def is_exact(x):
    """Return whether x is a Fraction of Python integers, as :func:`exact` makes them."""
    return type(x) is Fraction and type(x.numerator) is int and type(x.denominator) is int


def as_fraction(x, *, name="value"):
    """Return a user's amount as the exact number that its decimal text says: 0.1 is 1/10.

    Takes, returns and raises what :func:`exact` does, and ValueError for an ``x`` that is negative
    or a subnormal float.
    """
    fraction = exact(x, name=name)
    if fraction < 0:
        raise ValueError(f"{name} must not be negative. Got {x!r} instead.")
    if isinstance(x, Rational):
        return fraction
    if 0 < fraction < SMALLEST_NORMAL:
        raise ValueError(f"{name} must be zero or at least 2.3e-308. Got {x!r} instead.")
    return Fraction(np.format_float_scientific(x, unique=True, trim="-"))


def log_of(q):
    """Return the logarithm of a Fraction, which may be too small or too large for a float."""
    return math.log(q.numerator) - math.log(q.denominator) if q else -math.inf


def sqrt_up(q):
    """Return the smallest float64 whose exact square is at least q."""
    return _root_up(exact(q))


@lru_cache(maxsize=256)  # a fit asks for few, which are public, again and again
def _root_up(q):
    if q < 0:
        raise ValueError("a square root needs a number >= 0.")
    if q > Fraction(LARGEST) ** 2:
        raise OverflowError("the square root exceeds the largest float64.")
    n, d = q.numerator, q.denominator
    half = (n.bit_length() - d.bit_length()) // 2 - 64
    root = math.isqrt((n << max(0, -2 * half)) // (d << max(0, 2 * half)))
    root = math.ldexp(root, half)  # of 64 bits: sqrt(q) = root * 2^half

    def below(x):  # whether x^2 < q
        return d * (ratio := x.as_integer_ratio())[0] ** 2 < n * ratio[1] ** 2

    while below(root):
        root = math.nextafter(root, math.inf)
    while root > 0 and not below(lower := math.nextafter(root, 0)):
        root = lower
    return root


def sqrt_down(q):
    """Return the largest float64 whose exact square is at most q (see :func:`sqrt_up`)."""
    root = sqrt_up(q)
    return root if Fraction(root) ** 2 == exact(q) else math.nextafter(root, 0)
