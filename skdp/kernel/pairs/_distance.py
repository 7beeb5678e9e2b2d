"""Friends by distance, the rule and the distance it guarantees, and the average of rows with many.

Numbers of NumPy keep their width in sums and products: ``np.int8(100) ** 2`` is 16. Comparisons do
so as well: a bound is rounded to float16 before ``np.float16(x) <= bound``. What a proof computes
with has passed :func:`whole`, :func:`real` or :func:`skdp.mechanisms._exact.exact`.
"""

import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real

import numpy as np

from skdp.kernel.pairs._counting import count_between, count_within
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._norms import as_table

GRID_BITS = 21  # grid units in the power of two below the radius
LONGEST = 2.0**62  # grid units
SPREAD = 2.0**24  # grid units between the entries of two core rows
MOST_ROWS = 2**28
CELLS = 2**18  # cells of a block of rows


@dataclass(frozen=True)
class DistancePredicate:
    """Two rows are friends if their Euclidean distance is at most `radius`.

    Parameters
    ----------
    radius : float
        Between 2^-1000 and 2^1000, else ValueError.

    See Also
    --------
    friendly_core, MatchPredicate

    Notes
    -----
    **The rule**, in float64 with rounding to nearest. A row x (float32 and integers are cast first)
    is multiplied by the power of two that brings r, the radius, to [1, 2). Then x and y are friends
    if S <= fl(r r), where S adds the squares fl(fl(x_k - y_k)^2) one after the other from k = 0.
    It is symmetric and depends on x and y alone. Comparisons with NaN fail: a row that holds NaN or
    infinity, or leaves the range of float64 when multiplied, is nobody's friend, not even its own.
    Differences whose squares overflow are those of rows at least 2^511 radii apart.

    **Certified radius.** Let u = 2^-53 and D the real distance of the multiplied rows. Differences,
    squares and d - 1 additions round by factors within 1 +- u, squares below 2^-1022 by
    at most 2^-1022 each: S >= (1 - u)^(d+2) D^2 - d 2^-1022. With S <= r^2 (1 + u),

        D <= r (1 - u)^(-(d+3)/2) (1 + d 2^-1022) <= r (1 + (d + 4) u)

    as long as d < 2^50. Multiplication is exact but for entries that become subnormal, which adds
    less than sqrt(d) 2^-1021 to D: within what the last step rounded up.

    **Privacy**: who is whose friend is private; that one row moves the counts of others by at most
    1 is what proofs build on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.friendly import DistancePredicate
    >>> DistancePredicate(1.5).friends(np.array([[0.0], [1.0], [2.0], [9.0]])).tolist()
    [2, 3, 2, 1]
    """

    radius: float

    def __post_init__(self):
        object.__setattr__(self, "radius", real(self.radius))
        if not 2.0**-1000 <= self.radius <= 2.0**1000:
            raise ValueError(
                f"radius must be between 2**-1000 and 2**1000. Got {self.radius!r}: "
                "change the unit of the rows."
            )

    @property
    def unit(self):
        """The largest power of two that is at most the radius."""
        return math.ldexp(1.0, math.frexp(self.radius)[1] - 1)

    @property
    def limit(self):
        """The rounded square of the radius in units of `unit`."""
        r = self.radius / self.unit
        return r * r

    def certified_radius(self, d):
        """Return a float that the real distance of friends with d columns does not exceed.

        It is radius * (1 + (d + 5) * 2^-52), rounded: above the bound of the class whichever way.
        """
        return self.radius * (1 + (d + 5) * 2.0**-52)

    def implies(self, d):
        """Return what friends are certain to meet: :meth:`certified_radius`."""
        return self.certified_radius(d)

    def rows(self, X, out=None):
        """Return rows in units of `unit`, as float64."""
        return np.multiply(X, 1 / self.unit, out=out, dtype=np.float64)

    def rule(self, x, y):
        """Apply the rule to pairs of rows in units of `unit`: two (p, d) arrays give p bools."""
        squares = x - y
        squares *= squares
        return np.add.accumulate(squares, axis=1)[:, -1] <= self.limit

    def rule_for_all(self, x, y):
        """Apply the rule to all pairs: (p, d) and (q, d) arrays give (p, q) bools."""
        total = np.zeros((len(x), len(y)))
        for x_k, y_k in zip(x.T, y.T, strict=True):
            squares = np.subtract.outer(x_k, y_k)
            squares *= squares
            total += squares
        return total <= self.limit

    def friends(self, A, B=None):
        """Count for each row of A the rows of B that are its friends.

        Parameters
        ----------
        A : array of shape (n, d)
        B : array of shape (m, d), default=None
            None takes A, every row of which counts itself; this takes half of the work.

        Returns
        -------
        counts : ndarray of shape (n,), int64

        Notes
        -----
        **Privacy.** The counts are those of the rule, pair by pair, whatever the order, blocks or
        threads: adding a row to B adds 1 to the counts of its friends and 0 to all others.

        Memory is that of B and of n integers; see `skdp.kernel.pairs._counting` for the method.
        """
        A, B = as_table(A), B if B is None else as_table(B)
        if B is not None and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"A and B must have the same columns. Got {A.shape[1]} and {B.shape[1]} columns."
            )
        with np.errstate(all="ignore"):
            return count_within(A, self) if B is None else count_between(A, B, self)


# --- public numbers as Python's own: integers without a width, floats of 64 bits


def whole(value):
    """Return a public integer as an int; TypeError for anything else."""
    if not isinstance(value, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(value)
    raise TypeError(f"a public integer was expected. Got {type(value).__name__}.")


def real(value):
    """Return a public number as a float; TypeError for what is no real number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"a public number was expected. Got {type(value).__name__}.")
    return float(value)


# --- rows that have many friends: a certificate that there are, and their average


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
