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

*Matrices.* For a positive definite S = L L^T, L lower triangular, and G of independent standard
normals the mechanism is B = L (1 + eta G) (1 + eta G)^T L^T. Released is its lower triangular
factor C, each entry rounded to the nearest float64. C determines B and B determines C; G and the
product L (1 + eta G) are not functions of B and go nowhere. With (1 + eta G) = T Q, T lower
triangular and Q orthogonal, C = L T: two eliminations in integers, far finer than a float.
"""

import math
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from scipy.special import ndtri

from skdp.mechanisms._exact import exact


def exponential_choice(scores, rate, entropy):
    """Draw an index i with probability exactly proportional to ``exp(rate * scores[i])``.

    Parameters
    ----------
    scores : array-like of int of shape (n_candidates,)
        Not empty; TypeError if not integers.
    rate : Fraction
        Non-negative and finite, else ValueError; an int or float is taken exactly.
    entropy : SystemEntropy or SeededEntropy
        Source of random words, see `make_entropy`.

    See Also
    --------
    make_entropy, skdp.sensitivity.personal_select

    Notes
    -----
    **Privacy.** If adding or removing one row moves every score by at most D, the choice costs
    epsilon = 2 D rate, and D rate when all scores move in one direction (McSherry and Talwar 2007).
    A uniform index is kept with probability exp(-rate (max - score)), drawn exactly, else drawn
    anew, so the kept one has the stated law; at most ``n_candidates`` trials are expected.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp.mechanisms import exponential_choice, make_entropy
    >>> exponential_choice([0, 100, 0], Fraction(1, 2), make_entropy(0))
    1
    """
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"scores must have shape (n_candidates,), not empty; got {scores.shape}.")
    if scores.dtype.kind not in "iu":
        raise TypeError(f"scores must be integers, got dtype {scores.dtype}; put them on a grid.")
    if not 0 <= rate < float("inf"):
        raise ValueError(f"rate must be non-negative and finite, got {rate}.")
    rate, best = exact(rate), int(scores.max())
    while True:
        index = _randbelow(scores.size, entropy)
        if _bernoulli_exp(rate * (best - int(scores[index])), entropy):
            return index


def _bernoulli_exp(gamma, entropy):
    """Return True with probability exp(-gamma) (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    whole = gamma.numerator // gamma.denominator
    parts = (Fraction(1) if i < whole else gamma - whole for i in range(whole + 1))
    return all(_bernoulli_exp_small(part, entropy) for part in parts)


def _bernoulli_exp_small(gamma, entropy):
    k = 1
    while _randbelow(k * gamma.denominator, entropy) < gamma.numerator:  # Bernoulli(gamma / k)
        k += 1
    return k % 2 == 1


def _randbelow(n, entropy):
    """Return a uniform integer in {0, ..., n - 1}, by rejection."""
    n_bits = (n - 1).bit_length()
    n_words = -(-n_bits // 64)
    while True:
        draw = int.from_bytes(entropy.words(n_words).tobytes(), "little") >> (64 * n_words - n_bits)
        if draw < n:
            return draw


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
    if np.any(drowned := scale > _DROWNED):
        np.copyto(out, words.view(np.int64), where=drowned)  # its sign keeps it uniform
    for i in np.flatnonzero(undecided & ~drowned):
        low, high = (int(np.rint(end)) for end in (x[i] - margin[i], x[i] + margin[i]))
        unit = Fraction(float(scale[i] if scale.ndim else scale))
        settled = _settle(int(leading[i]), max(low, 0), high, unit, tail, entropy)
        out[i] = (settled + _TOP) % _WRAP - _TOP
    sign = -(words & np.uint64(1)).view(np.int64)  # 0 or -1
    out[:] = (out ^ sign) - sign  # the two's complement of those that are negative


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


LEAST_LOG, MOST_ROWS, LEAST_ETA = -240.0, 1024, 2.0**-32
DOUBT = 2.0**-20  # of the failure probability that is left for what real numbers would have changed


def fine_gaussian(size, bits, entropy):
    """Draw standard normal variates as integers in units of 2^-(47 + bits), an object array.

    Notes
    -----
    With K = round(2^46 Z) exact, Z given K has a density proportional to exp(-z^2 / 2) in the cell
    of K: a uniform point of the cell, kept with that probability over its largest value there, else
    drawn anew. Only ``bits`` bits of the point are drawn; seeing the others would change a decision
    with probability below 2^-bits.
    """
    cells = rounded_gaussian(2.0**46, size, entropy)
    fine = [_within(abs(int(cell)), bits, entropy) for cell in cells.ravel()]
    signs = np.where(cells.ravel() < 0, -1, 1)
    return (np.array(fine, dtype=object) * signs).reshape(cells.shape)


def _within(cell, bits, entropy):
    inner = (2 * cell - 1) << bits if cell else 0
    n_words = -(-bits // 64)
    while True:
        u = int.from_bytes(entropy.words(n_words).tobytes()) >> (64 * n_words - bits)
        point = (2 * cell - 1 << bits) + 2 * u + 1  # the cell is 2^(bits + 1) wide
        if _bernoulli_exp(Fraction(point * point - inner * inner, 1 << (2 * bits + 95)), entropy):
            return point


def noisy_factor(S, eta, log_p, entropy):
    """Draw C, lower triangular, such that C C^T is S with multiplicative noise.

    Shapes: S (d, d); C (d, d).

    Notes
    -----
    **Proof.** Divide row and column i of S by powers of two 2^a_i such that the diagonal is in
    (1/2, 4); then C's rows are divided by them, exactly, and the lower bound on S gives
    l_i^2 >= 2^-49 for the diagonal of L. Rounding is exact unless the computed entry C~ and the
    real C lie on two sides of the midpoint of two floats. *Density*: given the rows before, entry
    (i, j) of C is normal with standard deviation eta l_i for j < i; for j = i it is eta l_i
    times a noncentral chi variate, a mixture of chi variates, whose densities are below 1. There
    are less than 2^64 midpoints, so an error |C~ - C| <= e leads to trouble with probability at
    most d^2 2^65 e / (eta min l_i).

    *Error*, outside of two events. With a = log2(1/p) + 44: (i) some row of X = 1 + eta G is nearer
    than 2^-a eta to the span of the others, probability at most .8 d 2^-a; (ii) some
    |G_ij| > sqrt(2 a), at most 2 d^2 e^-a. Then |X^-1|^2 <= d 4^a / eta^2 and |X|_F <= x = 1 +
    eta d sqrt(2 a). Elimination in integers, unit 2^-w, is exact but for floors: it returns the
    factor of a matrix whose entries differ by at most 2^(1-w) x for X X^T, 2^(3-w) for S; unseen
    bits of G add 2 x d eta 2^-w to the former. For factors, |dT|_F <= |T| |M^-1| |dM|_F
    (Sun 1991; Higham 2002, theorem 10.8; dM small). Altogether
    |C~ - C| <= 2^-w (8 d^2.5 x^2 4^a / eta^2 + 2^54 d^1.5 x), which for w >= 3 a + 256,
    d <= 2^10, eta >= 2^-32 and a <= 400 is below 2^-(a + 90) eta. The probabilities sum to at most
    3 d^2 2^-a <= 2^-20 p. (Rounding errors of subnormal floats, C_ij < 2^-1022, are far rarer.)
    """
    d = len(S)
    if not (1 <= d <= MOST_ROWS and LEAST_ETA <= eta <= 1 and log_p >= LEAST_LOG):
        raise ValueError(
            "noisy_factor needs at most 1024 columns, eta in [2^-32, 1], log_p > -240."
        )
    bits = 3 * (math.ceil(-log_p / math.log(2)) + 44) + 256
    numerator, denominator = float(eta).as_integer_ratio()
    w = 47 + bits + denominator.bit_length() - 1
    X = numerator * fine_gaussian((d, d), bits, entropy)  # eta G in units of 2^-w
    X[np.diag_indices(d)] += 1 << w
    on_diagonal = (exact(S[i, i]) for i in range(d))
    halves = [(x.numerator.bit_length() - x.denominator.bit_length()) // 2 for x in on_diagonal]
    scaled = np.empty((d, d), dtype=object)
    for i in range(d):
        for j in range(d):
            scaled[i, j] = math.floor(
                exact(S[i, j]) * Fraction(2) ** (2 * w - halves[i] - halves[j])
            )
    C = _cholesky(scaled) @ _cholesky(X @ X.T)
    rounded = np.array([[entry / (1 << 2 * w) for entry in row] for row in C])
    return np.ldexp(rounded, np.array(halves)[:, None])


def _cholesky(M):
    """Return the lower triangular factor of integers M in units u^2, as integers in units u."""
    T = np.zeros(M.shape, dtype=object)
    for j in range(len(M)):
        rest = M[j:, j] - T[j:, :j] @ T[j, :j]
        T[j, j] = math.isqrt(rest[0])
        T[j + 1 :, j] = rest[1:] // T[j, j]
    return T
