"""Gaussian and Laplace noise, exactly rounded to integers.

Released floats tell their inputs through their low bits, so noise lives on an integer grid. Here
``rounded_gaussian`` is the nearest integer to sigma Z for a *real-valued* normal Z. For an integer
v, v + round(sigma Z) = round(v + sigma Z): the ideal Gaussian mechanism followed by a rounding, a
post-processing, so every guarantee of the ideal mechanism holds unchanged. So for Laplace.

How a word decides. One bit of a 64-bit word is the sign; the other 63, the integer k, begin the
binary expansion of a uniform U in [k, k+1] 2^-63, and |X| = scale q(U), where P(|Z| > q(U)) = U,
or q(U) = -log U. A relative error e in U moves q by at most 1.26 e (Mills' ratio is at most
sqrt(pi/2)). For k >= 2^42 the unseen bits of U and the conversion of k to float64 make
e <= 2^-42 + 2^-53; the float q adds a relative error below 2^-45 (the tests measure it), the
product 2^-53. So |X| lies strictly within 2^-40 (x + scale) of the computed x = scale q. If that
interval rounds to one integer, it is the answer; else, and for k < 2^42, U is compared with the
tail probability at half-integers in exact arithmetic, to as many bits of U as it takes.

No noise is too large. Integers are taken modulo 2^64, as those of int64 are: (v + round(sigma Z))
mod 2^64 is a function of v + round(sigma Z), again a post-processing. (For |v| <= 2^62 and scales
up to 2^55 it is another number with probability below 2^-180.) So a budget that is too small ends
in a useless answer, and never in an error after it was charged. Beyond a scale of 2^128 the noise
is a uniform number modulo 2^64, from which Laplace noise differs with probability below 2^-130:
exact draws take longer and longer. v plus a uniform number is uniform whatever v is: it tells
nothing of rows.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from scipy.special import ndtri

# --- tail probabilities in fixed point, to any number of bits, with proved error bounds

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


_MARGIN, _DEEP, _BLOCK, _DROWNED = 2.0**-40, 2.0**42, 8192, 2.0**128
_MAX_SCALE, _WRAP, _TOP = 2.0**1000, 2**64, 2**63  # products with a quantile are finite


def rounded_gaussian(sigma, size, entropy):
    """Draw the nearest integers to ``sigma * Z``, Z independent real standard normal variates.

    Parameters
    ----------
    sigma : float or array-like broadcastable to ``size``
        Standard deviation in grid units; as a float64 in (0, 2**1000], else ValueError.
    size : int or tuple of int
        Shape of the result, an int64 array; integers are modulo 2^64.
    entropy : SystemEntropy or SeededEntropy
        Source of random words, see `make_entropy`.

    See Also
    --------
    rounded_laplace, make_entropy, skdp.base.Curator

    Notes
    -----
    **Privacy.** Added to an integer vector of l2 sensitivity D (add or remove one row), this is a
    post-processing of the Gaussian mechanism with mu = D / sigma: v + round(sigma Z) =
    round(v + sigma Z). About sigma 2^-39 of the draws need exact arithmetic (20-60 us each, and
    all of them, with log2 sigma - 38 comparisons, beyond 2^39).

    Examples
    --------
    >>> from skdp.mechanisms import make_entropy, rounded_gaussian
    >>> noise = rounded_gaussian(100.0, 1000, make_entropy(0))
    >>> noise.dtype.name, bool(80 < noise.std() < 120)
    ('int64', True)
    """
    return _rounded(sigma, "sigma", size, entropy, _gaussian_quantile, gaussian_tail)


def rounded_laplace(scale, size, entropy):
    """Draw the nearest integers to independent real Laplace variates of mean 0.

    Parameters, errors and proof are those of `rounded_gaussian`; ``scale`` is the mean absolute
    value. **Privacy.** Added to an integer vector of l1 sensitivity D (add or remove one row), this
    is a post-processing of the Laplace mechanism with epsilon = D / scale.

    Parameters
    ----------
    scale : float or array-like broadcastable to ``size``
    size : int or tuple of int
    entropy : SystemEntropy or SeededEntropy

    See Also
    --------
    rounded_gaussian, make_entropy, skdp.base.Curator

    Examples
    --------
    >>> from skdp.mechanisms import make_entropy, rounded_laplace
    >>> noise = rounded_laplace(100.0, 1000, make_entropy(0))
    >>> noise.dtype.name, bool(80 < abs(noise).mean() < 120)
    ('int64', True)
    """
    return _rounded(scale, "scale", size, entropy, _exponential_quantile, exponential_tail)


def _gaussian_quantile(k):
    return -ndtri(k * 2.0**-64)


def _exponential_quantile(k):
    return -np.log(k * 2.0**-63)


def _rounded(scale, name, size, entropy, quantile, tail):
    scale = np.asarray(scale, dtype=np.float64)
    if not np.all((scale > 0) & (scale <= _MAX_SCALE)):
        raise ValueError(
            f"{name} must be positive and at most 2**1000 grid units; got {scale}. "
            "Use a coarser grid if it is larger, a finer one if it rounds to zero."
        )
    noise = np.empty(size, dtype=np.int64)
    flat = noise.reshape(-1)
    scales = np.broadcast_to(scale, noise.shape).reshape(-1) if scale.ndim else None
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        _fill(flat[block], scale if scales is None else scales[block], entropy, quantile, tail)
    return noise


def _fill(out, scale, entropy, quantile, tail):
    words = entropy.words(out.size)
    leading = (words >> np.uint64(1)).view(np.int64)
    k = leading.astype(np.float64)
    x = quantile(np.maximum(k, _DEEP)) * scale
    margin = _MARGIN * (x + scale)
    nearest = np.rint(x)
    undecided = (np.abs(x - nearest) + margin >= 0.5) | (k < _DEEP)  # all that is above 2^40
    out[:] = np.where(undecided, 0, nearest)
    np.copyto(out, words.view(np.int64), where=scale > _DROWNED)  # its sign keeps it uniform
    for i in np.flatnonzero(undecided & (scale <= _DROWNED)):
        low, high = (int(np.rint(end)) for end in (x[i] - margin[i], x[i] + margin[i]))
        unit = Fraction(float(scale[i] if scale.ndim else scale))
        settled = _settle(int(leading[i]), max(low, 0), high, unit, tail, entropy)
        out[i] = (settled + _TOP) % _WRAP - _TOP
    np.negative(out, out=out, where=(words & np.uint64(1)).astype(bool))


def _settle(k, low, high, scale, tail, entropy):
    """Round |X| exactly from the first 63 bits k of U; it is >= low, and <= high if k >= 2^42."""
    bits, deep = 63, k < _DEEP

    def beyond(n):
        nonlocal k, bits
        while True:
            p = tail(Fraction(2 * n + 1, 2) / scale, bits)
            if k + 1 <= p - 2:  # U < P(|X| > n + 1/2), that is |X| > n + 1/2
                return True
            if k >= p + 2:
                return False
            k, bits = k << 64 | int(entropy.words(1)[0]), bits + 64

    while deep and beyond(high):
        low, high = high + 1, 2 * high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if beyond(middle) else (low, middle)
    return low
