"""BasicFilter: rows kept by coins of exact probabilities, and what it does to a guarantee."""

import math
from fractions import Fraction

import numpy as np

from skdp.kernel.pairs._distance import real, whole
from skdp.mechanisms._exact import exact

ROUNDING = Fraction(1, 2**36)  # 2^28 rows, 2^-64 each


def basic_filter_probabilities(counts, n, alpha):
    """Return p_i = clip((2 c_i - n) / ((1 - 2 alpha) n), 0, 1), exact, as a list of Fractions.

    Notes
    -----
    **Privacy**: a function of private counts, and private: for :func:`basic_filter`.
    """
    n = whole(n)
    width = (1 - 2 * _alpha(alpha)) * n
    return [min(max(Fraction(2 * int(c) - n) / width, Fraction(0)), Fraction(1)) for c in counts]


def basic_filter(counts, n, alpha, coins, *, use=0):
    """Keep every row with its probability, independently: the paper's BasicFilter.

    Parameters
    ----------
    counts, n, alpha
        As in ``basic_filter_probabilities``; n <= 2^28.
    coins : RowKeys
        ``curator.coins``, secret.
    use : int, default=0
        Numbers the filters of one fit: each needs coins of its own.

    Returns
    -------
    core : ndarray of bool
        Private.

    See Also
    --------
    paradigm, skdp.friendly.noisy_filter

    Notes
    -----
    **Privacy.** A key of 64 bits below floor(2^64 p) is a Bernoulli variate of probability
    floor(2^64 p) / 2^64: the same for p = 0 and p = 1, less than 2^-64 below otherwise. The sum of
    |p_i - p'_i| is at most `basic_filter_gamma` plus n 2^-64, which :func:`paradigm` adds.

    Any two rows that have positive probabilities, be it on D or on D' = D without x_j, share a
    friend in D: two on D, or two on D', as majorities; one on D and one on D' have
    (floor(n/2) + 1 - 1) + (floor((n-1)/2) + 1) = n friends among the n - 1 common rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly.published import basic_filter
    >>> from skdp.mechanisms import RowKeys, make_entropy
    >>> basic_filter(np.array([3, 3, 3, 1]), 4, 0.25, RowKeys(make_entropy(0))).tolist()
    [True, True, True, False]
    """
    counts = np.asarray(counts, dtype=np.int64)
    values, place = np.unique(counts, return_inverse=True)
    limits = [math.floor(p * 2**64) for p in basic_filter_probabilities(values, n, alpha)]
    surely = np.array([t == 2**64 for t in limits], dtype=bool)
    limits = np.array([min(t, 2**64 - 1) for t in limits], dtype=np.uint64)
    keys = np.asarray(coins.keys(0, len(counts), use=f"basic filter {use}"), dtype=np.uint64)
    return (keys < limits[place]) | surely[place]


def basic_filter_gamma(alpha):
    """Return gamma = (2 - alpha - 2 alpha^2) / (1 - 2 alpha) >= sum |p_i - p'_i|, p'_j = 0.

    Proof. With s = c_j / n and k = 1/2 - alpha, a friend of x_j moves by at most 1 / (2 k (n - 1)),
    others by (1 - alpha) / (k n). The sum is at most
    clip((s - 1/2) / k) + (s / 2 + (1 - s)(1 - alpha)) / k, largest at s = 1 - alpha.

    Parameters
    ----------
    alpha : float or Fraction, 0 <= alpha < 1/2

    Returns
    -------
    gamma : Fraction

    See Also
    --------
    paradigm, basic_filter

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp.friendly.published import basic_filter_gamma
    >>> basic_filter_gamma(Fraction(1, 4))
    Fraction(13, 4)
    """
    a = _alpha(alpha)
    return (2 - a - 2 * a * a) / (1 - 2 * a)


def paradigm(epsilon, delta, alpha):
    """Return what a friendly (epsilon, delta)-DP algorithm guarantees after a BasicFilter.

    Parameters
    ----------
    epsilon, delta : float
        Of the friendly algorithm.
    alpha : float or Fraction, 0 <= alpha < 1/2
        Of the filter.

    Returns
    -------
    epsilon, delta : floats
        epsilon' = gamma (e^epsilon - 1), delta' = delta (e^epsilon' - 1) / (e^epsilon - 1).

    See Also
    --------
    paradigm_inverse, basic_filter

    Notes
    -----
    Couple the two filters by common uniform variates and split each coordinate so that in each
    part one of v_i, v'_i is fixed. With H, H' mismatches around a common centre,
    E e^(epsilon H) <= e^(g1 (e^epsilon - 1)) and E e^(-epsilon H') >= e^(-g2 epsilon) with
    g1 + g2 <= gamma; group privacy both ways.

    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.friendly.published import paradigm
    >>> epsilon, delta = paradigm(0.1, 1e-8, 0.0)
    >>> round(epsilon, 3), delta > 1e-8
    (0.21, True)
    """
    epsilon, delta = real(epsilon), real(delta)
    outer = float(basic_filter_gamma(alpha) + ROUNDING) * math.expm1(epsilon) * (1 + 1e-12)
    return outer, delta * math.expm1(outer) / math.expm1(epsilon) * (1 + 1e-12)


def paradigm_inverse(epsilon, delta, alpha):
    """Return (epsilon, delta) of a friendly algorithm that is (epsilon, delta) after the filter.

    Parameters
    ----------
    epsilon, delta : float
        After the filter.
    alpha : float or Fraction, 0 <= alpha < 1/2
        Of the filter.

    Returns
    -------
    epsilon, delta : float
        Of the friendly algorithm.

    See Also
    --------
    paradigm

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.friendly.published import paradigm, paradigm_inverse
    >>> inner = paradigm_inverse(1.0, 1e-6, 0.0)
    >>> paradigm(*inner, 0.0) <= (1.0, 1e-6)
    True
    """
    epsilon, delta = real(epsilon), real(delta)
    gamma = float(basic_filter_gamma(alpha) + ROUNDING)
    inner = math.log1p(epsilon / gamma) * (1 - 1e-11)
    return inner, delta * math.expm1(inner) / math.expm1(epsilon) * (1 - 1e-11)


def _alpha(alpha):
    alpha = exact(alpha)
    if not 0 <= alpha < Fraction(1, 2):
        raise ValueError(f"alpha must be in [0, 1/2). Got {float(alpha)!r}.")
    return alpha
