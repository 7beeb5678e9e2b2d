"""Public numbers as Python's own: integers without a width, floats of 64 bits, exact fractions.

Numbers of NumPy keep their width in sums and products: ``np.int8(100) ** 2`` is 16, and
``Fraction(np.int64(x))`` holds an integer that wraps. Comparisons do so as well: a bound is rounded
to float16 before ``np.float16(x) <= bound``. What a proof computes with has passed one of these.
"""

import operator
from contextlib import suppress
from fractions import Fraction
from numbers import Rational, Real

import numpy as np

__all__ = ["exact", "real", "whole"]


def whole(value):
    """Return a public integer as an int; TypeError for anything else."""
    if not isinstance(value, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(value)
    raise TypeError(f"a public integer was expected. Got {type(value).__name__}.")


def real(value):
    """Return a public number as a float; TypeError for what is no real number."""
    return float(_number(value))


def exact(value):
    """Return the rational number that an int, a float or a Fraction is, exactly."""
    value = _number(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(float(value))


def _number(value):
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"a public number was expected. Got {type(value).__name__}.")
    return value
