"""Exact numbers: fractions, certified square roots, integers of rows that count with weights."""

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Rational

import numpy as np

LARGEST = math.nextafter(math.inf, 0)
SMALLEST_NORMAL = 2.0**-1022

UNITS = "integers of rows that count with different weights do not mix."
PRODUCTS = {"multiply", "floor_divide", "left_shift", "matmul"}  # with public integers
SUMS = {"add", "subtract", "negative", "absolute", "minimum", "maximum"}
NO_SUMS = {
    *("argmax", "argmin", "argsort", "bincount", "convolve", "correlate", "cumprod", "digitize"),
    *("dot", "einsum", "inner", "kron", "nonzero", "outer", "prod", "searchsorted", "tensordot"),
    *("trapezoid", "unique", "vdot"),
}


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


# --- integers of rows that count with weights, and what one person adds to them at most


class Weighed(np.ndarray):
    """Exact integers that one person, with all rows, moves by ``unit`` times what a row does.

    The unit stays with what is cut, reshaped and added up, and with what is multiplied by public
    integers; integers of another unit do not mix. Products of two such integers, and whatever else
    a person may move by more, have none. A :class:`skdp.base.Curator` of a fit with groups takes
    nothing without a unit.
    """

    unit = None

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        units = {x.unit for x in inputs if isinstance(x, Weighed)}
        units |= {x.unit for x in out or () if isinstance(x, Weighed)}
        if len(units) > 1:
            raise TypeError(UNITS)
        plain = [x.view(np.ndarray) if isinstance(x, Weighed) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(np.asarray(x) for x in out)
        result = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            return out[0]
        n_weighed = sum(isinstance(x, Weighed) for x in inputs)
        keeps = ufunc.__name__ in SUMS
        keeps |= ufunc.__name__ in PRODUCTS and method == "__call__" and n_weighed == 1
        if not (keeps and units and isinstance(result, np.ndarray | np.generic)):
            return result
        return weighed(result, *units)

    def __array_function__(self, function, types, args, kwargs):
        result = super().__array_function__(function, types, args, kwargs)
        units = {x.unit for x in _all([*args, *kwargs.values()]) if isinstance(x, Weighed)}
        if len(units) > 1:
            raise TypeError(UNITS)
        if not isinstance(result, np.ndarray):
            return result
        if function.__name__ in NO_SUMS or result.dtype.kind not in "iu":
            return np.asarray(result)
        return weighed(result, *units)


def weighed(value, unit):
    """Return integers as :class:`Weighed`."""
    array = np.asarray(value).view(Weighed)
    array.unit = unit
    return array


def of_persons(value):
    """Return integers made of one row of each person: of ``readers.representatives_of(rows)``."""
    return weighed(value, 1)


def unit_of(value):
    """Return the unit of integers, or of all in a list; None for those that have no weights."""
    units = {getattr(x, "unit", None) for x in (value if isinstance(value, list) else [value])}
    if len(units) > 1:
        raise TypeError(UNITS)
    return units.pop() if units else None


def _all(values):
    for value in values:
        if isinstance(value, list | tuple):
            yield from _all(value)
        else:
            yield value
