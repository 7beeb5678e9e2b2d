"""Tail probabilities in fixed point, to any number of bits, with proved error bounds.

Each function takes a Fraction x >= 0 and 1 <= bits < 2**15 and returns an integer within 2 of
2**bits P(variate > x). Plain integers: no state is shared between threads, nothing is assumed.

Lemma. Let t_n = floor(t_(n-1) y / d_n) with d_n >= n, and tau_n the exact terms. Then tau_n - t_n
<= (tau_(n-1) - t_(n-1)) y / d_n + 1, with no "+ 1" once t_n = 0. So the sum of the N nonzero t_n
is less than the sum of all tau_n by at most (N + 1) sum_m y^m / m! = (N + 1) exp(y) units.
"""

from functools import lru_cache
from math import isqrt

_GUARD = 32


def exponential_tail(x, bits):
    """P(E > x) = exp(-x), E a standard exponential variate."""
    if x >= bits:  # exp(-x) < 2**-bits
        return 0
    prec = bits + _GUARD
    x = (x.numerator << prec) // x.denominator
    return (1 << (prec + bits)) // _series(1 << prec, x, 1, 1, prec)


def gaussian_tail(x, bits):
    """P(|Z| > x) = 1 - sqrt(2/pi) exp(-x^2/2) sum_n x^(2n+1) / (2n+1)!!, Z standard normal.

    All terms are positive and (2n+1)!! >= 2^n n!, so the lemma with y = x^2/2 bounds the error of
    the sum by (N + 2) exp(y) units and that of exp(y) by as much, floors of x and x^2 included:
    2N + 8 units of 2**-prec in the quotient, where N <= 6 bits + 40; far below 2**-bits.
    """
    if x * x >= 2 * bits:  # P(|Z| > x) <= exp(-x^2/2) < 2**-bits
        return 0
    prec = bits + _GUARD
    x = (x.numerator << prec) // x.denominator
    odd = _series(x, x * x >> prec, 3, 2, prec)
    even = _series(1 << prec, x * x >> (prec + 1), 1, 1, prec)
    return ((1 << prec) - _root_two_over_pi(prec) * odd // even) >> _GUARD


def _series(term, y, divisor, step, prec):
    total = 0
    while term:
        total += term
        term = (term * y >> prec) // divisor
        divisor += step
    return total


@lru_cache(maxsize=8)
def _root_two_over_pi(prec):
    work = prec + 16  # Machin's formula, whose floors cost less than 5 work + 40 units
    pi = 16 * _arctan_of_inverse(5, work) - 4 * _arctan_of_inverse(239, work)
    return isqrt((2 << 3 * work) // pi) >> 16


def _arctan_of_inverse(m, prec):
    total, power, divisor = 0, (1 << prec) // m, 1
    while power:
        total += power // divisor if divisor % 4 == 1 else -(power // divisor)
        power, divisor = power // (m * m), divisor + 2
    return total
