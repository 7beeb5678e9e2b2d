"""Multiplicative noise for a matrix, rounded as if it had been computed with real numbers.

For a positive definite S = L L^T, L lower triangular, and G of independent standard normals the
mechanism is B = L (1 + eta G) (1 + eta G)^T L^T. Released is its lower triangular factor C, each
entry rounded to the nearest float64. C determines B and B determines C; G and the product
L (1 + eta G) are not functions of B and go nowhere. With (1 + eta G) = T Q, T lower triangular and
Q orthogonal, C = L T: two eliminations in integers, far finer than a float.
"""

import math
from fractions import Fraction

import numpy as np

from skdp.mechanisms._choice import _bernoulli_exp
from skdp.mechanisms._exact import exact
from skdp.mechanisms._noise import rounded_gaussian

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
    halves = [_half_log2(exact(S[i, i])) for i in range(d)]
    scaled = np.empty((d, d), dtype=object)
    for i in range(d):
        for j in range(d):
            scaled[i, j] = math.floor(
                exact(S[i, j]) * Fraction(2) ** (2 * w - halves[i] - halves[j])
            )
    C = _cholesky(scaled) @ _cholesky(X @ X.T)
    rounded = np.array([[entry / (1 << 2 * w) for entry in row] for row in C])
    return np.ldexp(rounded, np.array(halves)[:, None])


def _half_log2(x):
    return (x.numerator.bit_length() - x.denominator.bit_length()) // 2


def _cholesky(M):
    """Return the lower triangular factor of integers M in units u^2, as integers in units u."""
    T = np.zeros(M.shape, dtype=object)
    for j in range(len(M)):
        rest = M[j:, j] - T[j:, :j] @ T[j, :j]
        T[j, j] = math.isqrt(rest[0])
        T[j + 1 :, j] = rest[1:] // T[j, j]
    return T
