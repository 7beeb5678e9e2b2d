"""Rows that have many friends: a certificate that there are, and their average."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.kernel.pairs._distance import DistancePredicate
from skdp.kernel.pairs._public_numbers import real, whole
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._norms import as_table


def h_index(counts):
    """Return the largest k such that at least k rows have at least k friends.

    Parameters
    ----------
    counts : array-like of int of shape (n,)
        Number of friends of each row, itself included; see :meth:`DistancePredicate.friends`.

    Returns
    -------
    h : int
        Between 0 and n.

    See Also
    --------
    soft_core_average, DistancePredicate

    Notes
    -----
    **Privacy.** Adding a row moves h by 0 or 1: sensitivity 1. No old count falls, so h does not.
    If h = k >= 1 afterwards, k rows have k friends or more; k - 1 of them are old rows, whose
    counts grew by at most 1, so k - 1 old rows had k - 1 friends or more, and h was at least k - 1.
    A row without friends, not even itself, moves nothing.

    Examples
    --------
    >>> from skdp.friendly import h_index
    >>> int(h_index([5, 4, 3, 2, 1]))
    3
    """
    counts = np.sort(np.asarray(counts))[::-1]
    return int(np.count_nonzero(counts >= np.arange(1, len(counts) + 1)))


GRID_BITS = 21  # grid units in the power of two below the radius
LONGEST = 2.0**62  # grid units
SPREAD = 2.0**24  # grid units between the entries of two core rows
MOST_ROWS = 2**28
CELLS = 2**18  # cells of a block of rows


@dataclass(frozen=True)
class GridVector:
    """A vector on a grid, and how far one row can move it.

    Notes
    -----
    **Privacy**: ``value`` is private: release it through a Curator, with this sensitivity.
    """

    value: np.ndarray  # shape (d,): private
    grid: float  # a power of two
    # upper bound in grid units of the Euclidean distance for neighbours (add or remove a row)
    sensitivity: float


def soft_core_average(X, counts, *, n_up, h_low, radius):
    """Average the rows, each with a weight that grows with its number of friends.

    A row with c friends has the weight clip(2 c - n_up, 0, 2 h_low - n_up).

    Parameters
    ----------
    X : array of shape (n, d)
    counts : array of shape (n,)
        ``DistancePredicate(radius).friends(X)``.
    n_up, h_low : int
        Public or released, 1 <= n_up < 2 h_low <= 2^29, else ValueError.
    radius : float
        Public or released, as for :class:`DistancePredicate`.

    Returns
    -------
    average : GridVector
        The weighted mean of q_i = floor(x_i / grid), clipped to +-2^62, rounded down. `grid` is
        2^-21 times the largest power of two that is at most the radius. Zero if no row has weight.

    See Also
    --------
    soft_core_sensitivity, h_index

    Notes
    -----
    **Privacy.** Let n_up be at least the number n of finite rows of the larger of two neighbours D
    and D' = D without x_j, and h_low at most the h-index of D', hence of D. Let T = n_up / 2,
    w = clip((c - T) / (h_low - T), 0, 1) the weights in units of the largest, W their sum, A the
    mean; primes belong to D', w'_j = 0. Friends' q are at most rho = r / grid + sqrt(d) apart, r
    the certified radius: rounding down adds less than 1 to the difference of two entries, and
    clipping does not increase it.

    - Old counts grow by 0 or 1, so w >= w'. As sum w'_i (q_i - A') = 0 and W = W' + t with
      t = sum (w_i - w'_i), |A - A'| = |sum (w_i - w'_i) (q_i - A')| / W
      <= t / (W' + t) max |q_i - A'| over rows with w_i > 0.
    - h_low old rows at least have c' >= h_low, w' = w = 1: W' >= h_low. The other old rows, at
      most n_up - 1 - h_low, move by at most 1 / (h_low - T), the new one by at most 1:
      t <= 1 + (n_up - 1 - h_low)_+ / (h_low - T).
    - If w_i > 0 and w'_k > 0, both have more than n / 2 friends in D, so they share one: q_i and
      q_k are at most 2 rho apart, and rho if they are friends. Old rows that are no friends of i
      number n - c_i <= (n_up - 1) / 2, with w' <= 1: |q_i - A'| <= rho (1 + (n_up - 1) / 2 / W').

    Rounding A down moves the distance by less than sqrt(d). The product is what
    :func:`soft_core_sensitivity` returns. Where n_up or h_low are wrong nothing is claimed.

    **Exactness.** With k a row of positive weight, floor(A) = q_k + floor(sum w_i (q_i - q_k) / W)
    for every k. Entries of q_i - q_k are at most 2 (2^22 (1 + 2^-20) + 1) < 2^24, so differences of
    integers in float64 are exact; blocks of rows keep the sums of products of integers below
    2^53 in any order, and Python's integers add the blocks. Rows without weight are never read.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import DistancePredicate, soft_core_average
    >>> X = np.array([[1.0], [2.0], [3.0], [99.0]])
    >>> counts = DistancePredicate(4.0).friends(X)
    >>> average = soft_core_average(X, counts, n_up=4, h_low=3, radius=4.0)
    >>> (average.value * average.grid).tolist()  # without the far row
    [2.0]
    """
    n_up, h_low = whole(n_up), whole(h_low)
    X, predicate = as_table(X), DistancePredicate(radius)
    d, grid = X.shape[1], predicate.unit * 2.0**-GRID_BITS
    sensitivity = soft_core_sensitivity(n_up=n_up, h_low=h_low, radius=radius, grid=grid, d=d)
    weights = np.clip(2 * np.asarray(counts, dtype=np.int64) - n_up, 0, 2 * h_low - n_up)
    core = np.flatnonzero(weights)
    if core.size == 0:
        return GridVector(np.zeros(d, dtype=np.int64), grid, sensitivity)
    reference = _grid_rows(X[core[:1]], predicate)
    total = np.zeros(d, dtype=object)
    step = max(1, min(CELLS // d, 2**29 // int(weights.max())))
    for start in range(0, core.size, step):
        part = core[start : start + step]
        differences = _grid_rows(X[part], predicate) - reference
        np.clip(differences, -SPREAD, SPREAD, out=differences)  # acts only where nothing is claimed
        total += (weights[part] @ differences).astype(np.int64)
    mean = reference[0].astype(np.int64) + (total // int(weights.sum())).astype(np.int64)
    return GridVector(mean, grid, sensitivity)


def soft_core_sensitivity(*, n_up, h_low, radius, grid, d):
    """Bound what one row does to :func:`soft_core_average`, in grid units, from public numbers.

    Parameters
    ----------
    n_up, h_low : int
        1 <= n_up < 2 h_low <= 2^29, else ValueError.
    radius, grid : float
    d : int

    Returns
    -------
    sensitivity : float
        t / (h + t) rho (1 + (n_up - 1) / 2h) + sqrt(d), rounded up, with h = h_low,
        t = 1 + (n_up - 1 - h)_+ / (h - n_up / 2), rho = certified radius / grid + sqrt(d).
        About 1.5 radius / n when all are friends.

    See Also
    --------
    soft_core_average

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.friendly import soft_core_sensitivity
    >>> public = {"n_up": 1000, "radius": 1.0, "grid": 2.0**-21, "d": 2}
    >>> soft_core_sensitivity(h_low=999, **public) < soft_core_sensitivity(h_low=700, **public)
    True
    """
    n_up, h_low, d = whole(n_up), whole(h_low), whole(d)
    if not 1 <= n_up < 2 * h_low <= 2 * MOST_ROWS:
        raise ValueError(
            f"a soft core needs 1 <= n_up < 2 h_low <= 2**29. Got n_up={n_up}, h_low={h_low}: "
            "take a larger radius, or more rows."
        )
    h, grid = Fraction(h_low), real(grid)
    root = Fraction(sqrt_up(d))
    rho = Fraction(DistancePredicate(radius).certified_radius(d)) / Fraction(grid) + root
    t = 1 + max(0, n_up - 1 - h) / (h - Fraction(n_up, 2))
    bound = t / (h + t) * rho * (1 + Fraction(n_up - 1, 2) / h) + root
    return math.nextafter(float(bound), math.inf)


def _grid_rows(X, predicate, longest=LONGEST):
    """Return floor(x / grid), clipped, as integers in float64."""
    with np.errstate(all="ignore"):
        rows = predicate.rows(X)
        rows *= 2.0**GRID_BITS
    np.floor(rows, out=rows)
    np.fmax(np.fmin(rows, longest, out=rows), -longest, out=rows)
    return rows
