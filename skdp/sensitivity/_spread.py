"""Sensitivity preprocessing of variance, standard deviation and sum of squares."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.sensitivity._closed import _nonpositive
from skdp.sensitivity._search import smallest_window

__all__ = ["StandardDeviation", "SumOfSquares", "Variance", "bounded_spread"]


@dataclass(frozen=True)
class SumOfSquares:
    """Sum of squared deviations from the mean."""

    def floor(self, m, Q, S):
        """Return the floor of the statistic of m entries with sum S and sum of squares Q."""
        return (m * Q - S * S) // m

    def at_least(self, squares, m):
        """Return the statistic of m entries with this sum of squared deviations, in floats."""
        return squares


@dataclass(frozen=True)
class Variance:
    """Variance, the mean squared deviation from the mean."""

    def floor(self, m, Q, S):
        """Return the floor of the statistic of m entries with sum S and sum of squares Q."""
        return (m * Q - S * S) // (m * m)

    def at_least(self, squares, m):
        """Return the statistic of m entries with this sum of squared deviations, in floats."""
        return squares / m


@dataclass(frozen=True)
class StandardDeviation:
    """Square root of the variance, in units of 2^-bits of the unit of the entries."""

    bits: int = 0

    def floor(self, m, Q, S):
        """Return the floor of the statistic of m entries with sum S and sum of squares Q."""
        return math.isqrt(4**self.bits * (m * Q - S * S) // (m * m))

    def at_least(self, squares, m):
        """Return the statistic of m entries with this sum of squared deviations, in floats."""
        return 2.0**self.bits * np.sqrt(squares / m)


def bounded_spread(s, statistic, *, sensitivity, center=0):
    """Return the preprocessed variance, standard deviation or sum of squares of integers.

    Notes
    -----
    **Privacy** (add or remove one row): g is the value of the general recursion, hence moves by at
    most ``sensitivity``. All three satisfy f(x - i) <= n / (n - 1) f(x) (sums of squares do not
    grow). Then the lower limit of the recursion never acts: g(x - i) <= (n - 1) D as c <= 0, and if
    f(x) < (n - 2) D, then f(x - i) <= f(x) + f(x) / (n - 1) < f(x) + D; so g(x - i) - D <= f(x).
    What remains, g(x) = min(f(x), min_i g(x - i) + D), unrolls to the smallest f(W) + D (n - |W|)
    over all W within x, and c + n D; among all W of one size a run of neighbours in the sorted data
    has the least sum of squares (Cummings and Durfee 2020, Lemma 6.4, for the variance).
    """
    c = _nonpositive(center)
    return smallest_window(s, statistic, int(sensitivity), c + len(s) * int(sensitivity))
