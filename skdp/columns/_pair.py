"""Moments of columns between public bounds: a few sums whose sensitivity is known exactly."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.chunks import weighed_sum
from skdp.kernel._grid_bits import grid_bits
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import sqrt_up

__all__ = ["Moments", "bounded_moments", "bounded_sums"]

BITS, NOISE_BITS = 30, 44  # of a row, at most; of the noise, at most
WEIGHED_BITS = 20  # of a row that counts with a weight
PAIRS = 5  # columns up to which pairs have less Laplace noise than middles and one count


@dataclass(frozen=True)
class Moments:
    """Released sums of the powers of t, the entries mapped evenly from the bounds to [-1, 1].

    Attributes
    ----------
    values : ndarray of shape (degree + 1, d)
        Estimates of the number of rows, alike in all columns, of sum t and, for degree 2, sum t^2.
    covariance : ndarray of shape (degree + 1, degree + 1)
        Of the noise in them, in every column. That in sum t is uncorrelated to the others.
    law : {"gaussian", "laplace"}
        They are sums of noises of this law.

    See Also
    --------
    bounded_moments

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step
    >>> from skdp.columns import bounded_moments
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("moments"),)))
    >>> public = {"low": np.zeros(1), "high": np.ones(1), "share": 1, "label": "moments"}
    >>> moments = bounded_moments(ArrayRows(np.full((8, 1), 0.75)), curator, degree=1, **public)
    >>> np.round(moments.values, 2).tolist()  # eight rows, each at t = 0.5
    [[8.0], [4.0]]
    """

    values: np.ndarray
    covariance: np.ndarray
    law: str


def bounded_moments(rows, curator, *, low, high, degree, share, label):
    """Release the number of rows and the first moments of all columns in one go.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        Of a Gaussian or a pure budget.
    low, high : ndarrays of shape (d,)
        Public; entries outside are clipped.
    degree : {1, 2}
    share : float or Fraction
    label : str

    Returns
    -------
    moments : Moments

    See Also
    --------
    Moments, bounded_sums

    Notes
    -----
    **Privacy** (add or remove one row): a row adds a vector of integers that is a function of the
    row alone, or nothing if it holds NaN or infinity. With w in [0, 1] the place of an entry
    between its bounds, t = 2 w - 1, and G a power of two, a column of the vector is, in integers,

    ========= ====== ============================== =============================================
    law       degree column                         norm
    ========= ====== ============================== =============================================
    Gaussian  1      G t                            l2 at most G
    Gaussian  2      G (sqrt(8/9) t, 4/3 t^2 - 1)   l2 at most G + 1
    Laplace   1      G (w, 1 - w)                   l1 exactly G
    Laplace   2      G ((1-w)^2, 2 w (1-w), w^2)    l1 exactly G
    ========= ====== ============================== =============================================

    and Gaussian vectors end with a constant K, which counts; those of pure budgets too, for degree
    1 and more than five columns. All columns together have ``sqrt(d (G + degree - 1)^2 + K^2)`` in
    l2 and ``d G + K`` in l1.

    *Proof.* Row 1: with a = round(G w), an integer in [0, G], it is 2 a - G. Row 2: 8/9 t^2 +
    (4/3 t^2 - 1)^2 = 1 - 16/9 t^2 (1 - t^2) <= 1, and rounding moves two numbers by less than 1 in
    l2. Row 3: (a, G - a). Row 4: the ends are rounded, and the middle is what they leave of G, not
    negative: their sum is G (1 - 2 w (1 - w)) before rounding, so above G - 1 only if w or 1 - w is
    below 1/G, where one end is rounded to 0 and the other to at most G.

    **The constants** make the noise least in the worst case, which is a column that lies on one of
    its bounds (doc/bounds.rst).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step
    >>> from skdp.columns import bounded_moments
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("moments"),)))
    >>> public = {"low": np.zeros(1), "high": np.ones(1), "share": 1, "label": "moments"}
    >>> moments = bounded_moments(ArrayRows(np.full((8, 1), 0.75)), curator, degree=2, **public)
    >>> moments.values.shape, moments.law
    ((3, 1), 'gaussian')
    """
    d, pure = len(low), curator.budget.unit == "pure"
    sketch = _Bernstein if pure and (degree == 2 or d <= PAIRS) else _Powers
    sketch = sketch(d, degree, pure, _bits(curator.budget, share, d, rows.unit))
    width = high - low

    def statistic(start, block):
        x = np.asarray(block[finite_rows(block)], dtype=np.float64)
        w = (np.clip(x, low, high) - low) / width
        sums = [column.astype(np.int64).sum(axis=0) for column in sketch.columns(w)]
        return np.concatenate([*sums, sketch.count(len(w))])

    exact = weighed_sum(rows, statistic)
    draw = curator.laplace if pure else curator.gaussian
    release = draw(exact, sensitivity=sketch.sensitivity, share=share, label=label)
    deviation = release.scale * (math.sqrt(2) if pure else 1)
    values, covariance = sketch.moments(release.value / sketch.grid)
    return Moments(values, covariance * (deviation / sketch.grid) ** 2, release.law)


def bounded_sums(rows, curator, *, low, high, share, label):
    """Release the sums of all columns.

    Parameters
    ----------
    rows, curator, low, high, share, label
        As for :func:`bounded_moments`.

    Returns
    -------
    sums : ndarray of shape (d,)
        Finite.
    scale : ndarray of shape (d,)
        Standard deviations of the noise, or scales b of Laplace noise.
    law : {"gaussian", "laplace"}

    See Also
    --------
    bounded_moments, skdp.PrivateSum

    Notes
    -----
    **Privacy** (add or remove one row): with R = max(|low|, |high|) an entry becomes G x / R,
    rounded to an integer, after it was clipped: at most G in size. One row moves d sums by at most
    ``sqrt(d) G`` in l2, ``d G`` in l1, and by nothing if it holds NaN or infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Plan, Step
    >>> from skdp.columns import bounded_sums
    >>> curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("sums"),)))
    >>> public = {"low": np.zeros(1), "high": np.ones(1), "share": 1, "label": "sums"}
    >>> sums, scale, law = bounded_sums(ArrayRows(np.full((8, 1), 0.75)), curator, **public)
    >>> sums.round(3).tolist(), law
    ([6.0], 'gaussian')
    """
    d, pure = len(low), curator.budget.unit == "pure"
    most = np.maximum(np.abs(low), np.abs(high))
    grid = 2 ** _bits(curator.budget, share, d, rows.unit)

    def statistic(start, block):
        x = np.asarray(block[finite_rows(block)], dtype=np.float64)
        return np.rint(grid * (np.clip(x, low, high) / most)).astype(np.int64).sum(axis=0)

    exact = weighed_sum(rows, statistic)
    draw = curator.laplace if pure else curator.gaussian
    sensitivity = d * grid if pure else sqrt_up(d * grid**2)
    release = draw(exact, sensitivity=sensitivity, share=share, label=label)
    sums = np.nan_to_num(most * (release.value / grid))
    return sums, most * (release.scale / grid), release.law


class _Powers:
    """Powers of t, centred, column by column, and one count for all of them."""

    def __init__(self, d, degree, pure, bits):
        self.d, self.degree, self.grid = d, degree, 2**bits
        weight = d ** (1 / 3 if pure else 1 / 4) * math.sqrt(7 / 9 if degree == 2 else 1)
        self.constant = max(1, round(weight * self.grid))
        if pure:
            self.sensitivity = d * self.grid + self.constant
        else:
            longest = self.grid + degree - 1
            self.sensitivity = sqrt_up(d * longest**2 + self.constant**2)

    def columns(self, w):
        if self.degree == 1:
            return [2 * np.rint(self.grid * w) - self.grid]
        t = 2 * w - 1
        return [
            np.rint(self.grid * math.sqrt(8 / 9) * t),
            np.rint(self.grid * (4 / 3 * t * t - 1)),
        ]

    def count(self, n):
        return [n * self.constant]

    def moments(self, sums):
        """Return estimates of moments and their covariance, per variance of a sum."""
        weight = self.constant / self.grid
        n, var_n = np.full(self.d, sums[-1] / weight), 1 / weight**2
        sums = sums[:-1].reshape(self.degree, self.d)
        if self.degree == 1:
            return np.array([n, sums[0]]), np.diag([var_n, 1.0])
        values = np.array([n, sums[0] * math.sqrt(9 / 8), 3 / 4 * (sums[1] + n)])
        mixed = 3 / 4 * var_n
        covariance = [[var_n, 0, mixed], [0, 9 / 8, 0], [mixed, 0, 9 / 16 * (1 + var_n)]]
        return values, np.array(covariance)


class _Bernstein:
    """The Bernstein polynomials of w, which sum to one: each column counts, too."""

    def __init__(self, d, degree, pure, bits):
        self.d, self.degree, self.grid = d, degree, 2**bits
        self.sensitivity = d * self.grid

    def columns(self, w):
        if self.degree == 1:
            a = np.rint(self.grid * w)
            return [self.grid - a, a]
        first, last = np.rint(self.grid * np.square(1 - w)), np.rint(self.grid * np.square(w))
        return [first, self.grid - first - last, last]

    def count(self, n):
        return np.zeros(0, dtype=np.int64)

    def moments(self, sums):
        """Return estimates of moments and their covariance, per variance of a sum.

        All columns count the same rows: the mean of their counts has the least noise, and that of
        sum t^2 is taken off as far as it is told by the count of its own column.
        """
        sums = sums.reshape(self.degree + 1, self.d)
        own, d = sums.sum(axis=0), self.d
        n = np.full(d, own.mean())
        first = sums[-1] - sums[0]
        if self.degree == 1:
            return np.array([n, first]), np.diag([2 / d, 2.0])
        second = sums[0] - sums[1] + sums[2] - (own - n) / 3
        covariance = [[3 / d, 0, 1 / d], [0, 2, 0], [1 / d, 0, 3 - (1 - 1 / d) / 3]]
        return np.array([n, first, second]), np.array(covariance)


def _bits(budget, share, d, unit):
    """Return the resolution of d columns, of which a row moves two numbers each."""
    strength = budget.amount * share / (2 * d)
    strength = strength if budget.unit == "pure" else math.sqrt(strength)
    most = BITS if unit == 1 else WEIGHED_BITS
    return grid_bits(strength / unit, noise_bits=NOISE_BITS, most=most)
