"""Filters: from the number of friends of each row to a core in which any two share a friend."""

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from skdp.mechanisms._exact import sqrt_up

__all__ = [
    "noisy_filter",
    "replace_one_filter",
    "tail_margin",
]


def tail_margin(log_probability, scale):
    """Return an integer k with P(round(scale Z) > k) <= the probability, Z standard normal."""
    return max(0, math.ceil(-float(ndtri_exp(log_probability)) * scale * (1 + 1e-9)))


def noisy_filter(counts, n, *, n_up, curator, share, label, event, level=Fraction(1, 2), q=1):
    """Keep rows whose number of friends is certainly above (1 - level) n.

    Parameters
    ----------
    counts : array of shape (n,), int
        Friends of the rows in the table, or in a sample of it.
    n : int
        Private: rows of the table, or of the sample.
    n_up : int
        Released; at least the number of rows of the larger neighbour outside a planned failure.
    curator, share, label, event
        The planned Gaussian step and the failure event "a bad row is kept".
    level : float or Fraction in (0, 1/2]
        Kept rows have fewer than level * n non-friends in the larger neighbour.
    q : float, default=1
        Public probability with which a row was taken into the sample, by the coin of the row.

    Returns
    -------
    core : ndarray of bool
        Private. Any two kept rows share a friend.

    Notes
    -----
    **Privacy** (add or remove a row x_j; D the larger table, n its rows). Released inside the
    engine are the integers 2 c_i - n. One row moves those of the others by 1 (or none, if the
    sample has not taken it): sensitivity sqrt(n_up - 1). Couple with ideal runs that overwrite the
    coordinates of *bad* rows, those with c_i <= (1 - level) n in D, the same for both runs, by
    "dropped". Whether x_j itself is kept is decided by noise of its own, hence mixes the later
    releases on the core with x_j and on the core without. Real and ideal runs differ with at
    most the planned probability: a bad row shows at most (1 - 2 level) n on D, one more on D',
    and at most n_up rows are bad. In a sample, on D or D', each bad row has
    ln E exp(t v) <= q n ((1 - level)(e^t - 1) + level (e^-t - 1)) + q t; Chernoff's bound with the
    Gaussian noise gives the threshold for any t > 0.
    """
    if n_up < 1:
        return np.zeros(len(counts), dtype=bool)
    level = Fraction(level)
    if not 0 < level <= Fraction(1, 2):
        raise ValueError(f"level must be in (0, 1/2]. Got {float(level)!r}.")
    log_p = curator.fails(event) - math.log(n_up) - 1e-9
    values = 2 * np.asarray(counts, dtype=np.int64) - n
    release = curator.gaussian(
        values, sensitivity=sqrt_up(max(1, n_up - 1)), share=share, label=label
    )
    if q >= 1:
        top = math.floor((1 - 2 * level) * n_up) + 1
        return release.value > top + tail_margin(log_p, release.scale)
    return release.value > _chernoff(log_p, n_up * q, float(level), release.scale) + 1


def replace_one_filter(counts, *, size, curator, share, label, event, least=Fraction(1, 2)):
    """Keep elements with certainly more than least (m + 1) friends; neighbours replace one.

    Parameters
    ----------
    counts : array of shape (m,), int
        m <= size; m may be private.
    size : int
        Public bound.
    curator, share, label, event
        The planned Gaussian step and the failure event "a bad element is kept".
    least : Fraction, default=1/2
        At 1/2 any two kept elements share a friend, at 2/3 any three.

    Returns
    -------
    core : ndarray of bool
        Private.

    Notes
    -----
    **Privacy** (replace, add or remove one element). With least = a / b the integers
    b c_i - a (m + 1) move by at most b each: sensitivity b sqrt(size - 1); the replaced element
    mixes. Bad are those with at most least |U| friends in the union U of both tables, |U| <= m + 1,
    on either table: their integers are <= 0. (Judging in the union, which both runs share, spares
    the added 1 of a judgement in one of the two tables.) Each is kept with at most the planned
    probability / size; all others are certified in U, whichever run keeps them.
    """
    least, counts = Fraction(least), np.asarray(counts, dtype=np.int64)
    a, b = least.numerator, least.denominator
    if not Fraction(1, 2) <= least < 1 or not len(counts) <= size:
        raise ValueError("replace_one_filter needs 1/2 <= least < 1 and at most `size` counts.")
    log_p = curator.fails(event) - math.log(max(1, size)) - 1e-9
    release = curator.gaussian(
        b * counts - a * (len(counts) + 1),
        sensitivity=b * Fraction(sqrt_up(max(1, size - 1))),
        share=share,
        label=label,
    )
    return release.value > tail_margin(log_p, release.scale)


def _chernoff(log_p, expected, level, scale):
    """Return an integer that a bad row's sampled value plus noise exceeds with at most e^log_p."""
    t = np.geomspace(1e-9, 20, 2000)  # every t gives a bound
    growth = expected * ((1 - level) * np.expm1(t) + level * np.expm1(-t))
    return math.ceil(float(np.min((-log_p + growth + (t * scale) ** 2 / 2) / t)) * (1 + 1e-9) + 1)
