"""Named statistics of numbers, bounded and on a public grid: what meets noise."""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from skdp.accounting._plan import release_mechanism
from skdp.mechanisms._exact import sqrt_up
from skdp.sensitivity._cells import Grid, gathered_columns
from skdp.sensitivity._closed import (
    _nonpositive,
    bounded_max,
    bounded_median,
    bounded_min,
    bounded_range,
    bounded_sum,
    smallest_window,
)
from skdp.sensitivity._path import bounded_mean, bounded_ordered
from skdp.sensitivity._streamed import Spread, streamed, streaming_method
from skdp.sensitivity._windows import Midrange, check_own_statistic

# --- sensitivity preprocessing of variance, standard deviation and sum of squares


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


BITS = 10  # a sensitivity is 2^10 grid units, for squares and sums 2^20
AT_ONCE = 2**23  # entries that are gathered in one pass: 64 MB, or one column
LONG = 2**17  # rows: more are looked at in passes, as far as these tell
JOBS_AT_ONCE = 32  # of two passes: 64 MB at most
ROOT_BITS = 6  # entries for a standard deviation are that much coarser than itself

EXTREMES = {"max": bounded_max, "min": bounded_min}
ROOT = StandardDeviation(ROOT_BITS)
SQUARES = {"variance": Variance(), "sum_of_squares": SumOfSquares()}
STATISTICS = ("mean", "midrange", "median", *EXTREMES, "sum", "range", "std", *SQUARES)


@dataclass(frozen=True)
class BoundedValue:
    """A private statistic of bounded sensitivity, an exact integer on a public grid.

    It is not private to look at: pass it to :func:`release_bounded`. It has no text and no pickle.

    Notes
    -----
    **Privacy**: private until :func:`release_bounded` adds noise for its sensitivity.
    """

    value: int = field(repr=False)  # private
    sensitivity: int  # largest change of `value` when one row is added or removed, exactly
    # unit, origin: public: the statistic is `origin + unit * value`
    unit: float
    origin: float
    statistic: str

    def __reduce__(self):
        raise TypeError("a bounded value is private: release it instead of storing it.")


class BoundedRelease(NamedTuple):
    """Released statistics, and the noise in them.

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.
    """

    values: np.ndarray  # shape (k,)
    # shape (k,): standard deviations (Gaussian) or scales (Laplace) of the noise
    scales: np.ndarray
    law: str  # {"gaussian", "laplace"}


def bounded_statistic(x, statistic, *, sensitivity, center=0.0):
    """Return a statistic of any numbers such that one of them moves it by a bounded amount.

    Parameters
    ----------
    x : array-like of float of shape (n,)
        Unbounded; NaN and infinity count as absent.
    statistic : str or object
        ``"mean"``, ``"median"``, ``"min"``, ``"max"``, ``"midrange"``, ``"sum"``, ``"range"``,
        ``"variance"``, ``"std"``, ``"sum_of_squares"``, or ``Quantile(p)``, ``TrimmedMean(alpha)``,
        ``WinsorisedMean(alpha)``, or an ordered statistic of one's own with their methods.
    sensitivity : float
        Public or released, > 0: what one row may move the statistic by, in its unit.
    center : float, default=0.0
        Public or released. Value of a location for no rows: it can lie at most ``n * sensitivity``
        away from there. Variance and the like: any point near the rows. A sum needs 0.

    Returns
    -------
    bounded : BoundedValue
        Equal to the statistic, up to the grid, on tables whose rows are not worth more than
        ``sensitivity`` each.

    See Also
    --------
    release_bounded, skdp.SensitivityPreprocessor

    Notes
    -----
    **Privacy** (add or remove one row): the value is an exact integer and moves by at most the
    integer ``bounded.sensitivity``, whatever the rows are; of a statistic of one's own on the
    promise that it is ordered, f(S + x) <= f(S + y) for x <= y and all S, which is tried on made-up
    integers first: ValueError if it does not hold on them. Each number becomes an integer by
    itself: ``floor((x - center) / unit)``, clipped to 2^26 sensitivities (for sums of squares and
    variances 2^21 of their roots, for standard deviations 2^27), with a unit of sensitivity / 1024
    (variance: the root of it / 1024). On integers the statistic is the recursion of [1]_,
    Definition 3.1, in exact arithmetic: proofs are in the functions named ``bounded_...``.
    Replacing a row moves it by up to twice that. The time it takes is not protected.

    References
    ----------
    .. [1] Cummings, Durfee. "Individual sensitivity preprocessing for data privacy". SODA 2020.

    Examples
    --------
    >>> from skdp.sensitivity import bounded_statistic
    >>> bounded_statistic([1.0, 2.0, 3e300], "median", sensitivity=0.5, center=1.0)
    BoundedValue(sensitivity=1024, unit=0.00048828125, origin=1.0, statistic='median')
    """
    check_own_statistic(statistic)
    question = _question(statistic, sensitivity, center)
    return question.answered(x)


def bounded_columns(rows, columns, statistics, *, sensitivity, center):
    """Return :func:`bounded_statistic` of k columns, which may repeat, in few passes over rows."""
    for own in {id(statistic): statistic for statistic in statistics}.values():
        check_own_statistic(own)
    sensitivity, center = (np.asarray(x, dtype=np.float64).tolist() for x in (sensitivity, center))
    asked = [_question(*of_one) for of_one in zip(statistics, sensitivity, center, strict=True)]
    values = [None] * len(columns)
    if len(rows) > LONG:
        values = _streamed(rows, columns, asked)
    left = [i for i, value in enumerate(values) if value is None]
    each = sorted({columns[i] for i in left})
    step = max(1, AT_ONCE // max(1, len(rows)))
    for start in range(0, len(each), step):
        together = each[start : start + step]
        table = dict(zip(together, gathered_columns(rows, together), strict=True))
        for i in (i for i in left if columns[i] in table):
            values[i] = asked[i].answered(table[columns[i]])
    return values


def release_bounded(values, curator, *, share, label):
    """Release bounded statistics with noise in proportion to their sensitivities.

    Laplace noise for pure budgets, Gaussian noise otherwise.

    Parameters
    ----------
    values : sequence of k BoundedValue
        Of one table, whose sensitivities are public or released.
    curator : Curator
        With a step ``label`` of the kind :func:`release_mechanism` tells.
    share : float or Fraction
        For all of them together.
    label : str

    Returns
    -------
    release : BoundedRelease

    See Also
    --------
    bounded_statistic

    Notes
    -----
    **Privacy** (add or remove one row): in units in which every sensitivity is the same integer D,
    k statistics move by at most k D in l1 and sqrt(k) D in l2.

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.sensitivity import bounded_statistic, release_bounded
    >>> curator = CannedCurator(Plan(Budget.pure(1.0), (Step("median", "laplace"),)))
    >>> value = bounded_statistic([1.0, 2.0, 3.0, 1e9], "median", sensitivity=0.5)
    >>> release_bounded([value], curator, share=1, label="median").scales.round(2).tolist()
    [0.5]
    """
    D = max(value.sensitivity for value in values)
    finer = np.array([D // value.sensitivity for value in values])
    integers = np.array([value.value for value in values]) * finer
    if release_mechanism(curator.budget) == "laplace":
        total = len(values) * D
        release = curator.laplace(integers, sensitivity=total, share=share, label=label)
    else:
        total = D * sqrt_up(len(values))
        release = curator.gaussian(integers, sensitivity=total, share=share, label=label)
    units = np.array([value.unit for value in values]) / finer
    origins = np.array([value.origin for value in values])
    return BoundedRelease(origins + release.value * units, release.scale * units, release.law)


@dataclass(frozen=True)
class _Question:
    """A named statistic on a grid: ``of(integers, sensitivity=fine)`` is an integer."""

    name: str
    grid: Grid
    of: object
    fine: int
    unit: float
    origin: float
    way: object = None  # how two passes tell it, if they do

    def answered(self, x):
        return self.answer(self.of(self.grid.integers(x), sensitivity=self.fine))

    def answer(self, g):
        return BoundedValue(g, self.fine, self.unit, self.origin, self.name)


def _question(statistic, sensitivity, center):
    D, center = _positive(sensitivity), float(center)
    name = statistic if isinstance(statistic, str) else repr(statistic)
    if isinstance(statistic, str) and statistic not in STATISTICS:
        raise ValueError(
            f"statistic must be one of {STATISTICS}, Quantile(p), TrimmedMean(alpha), "
            f"WinsorisedMean(alpha) or an ordered statistic of your own. Got {statistic!r}."
        )
    if name == "sum":
        if center != 0:
            raise ValueError("the sum of no rows is 0: leave center out.")
        fine = 4**BITS
        nearest = Grid(-D / fine / 2, D / fine)
        return _Question(name, nearest, bounded_sum, fine, D / fine, 0.0)
    fine = 2**BITS
    if name in SQUARES:
        grid, way = Grid(center, math.sqrt(D) / fine, bits=31), Spread(SQUARES[name])
        of = partial(bounded_spread, statistic=SQUARES[name])
        return _Question(name, grid, of, fine**2, D / fine**2, 0.0, way)
    if name == "std":
        grid, way = Grid(center, D / fine * 2**ROOT_BITS, bits=31), Spread(ROOT)
        of = partial(bounded_spread, statistic=ROOT)
        return _Question(name, grid, of, fine, D / fine, 0.0, way)
    grid = Grid(center, D / fine)
    if name == "range":
        of = _of_sorted(bounded_range)
        return _Question(name, grid, of, fine, grid.unit, 0.0)
    if name in EXTREMES:
        of = partial(EXTREMES[name], center=0)
    elif name == "mean":
        of = partial(bounded_mean, center=0)
    elif name == "median":
        of = _of_sorted(bounded_median, center=0)
    else:
        ordered = Midrange() if name == "midrange" else statistic
        of = _of_sorted(bounded_ordered, statistic=ordered, center=0)
    return _Question(
        name, grid, of, fine, grid.unit, grid.origin, streaming_method(name, statistic)
    )


def _of_sorted(function, **public):
    def of(integers, **bound):
        integers.sort()
        return function(integers, **public, **bound)

    return of


def _streamed(rows, columns, asked):
    """Return the answers that two passes tell, and None for others; in groups of some columns."""
    values = [None] * len(asked)
    told = [i for i, question in enumerate(asked) if question.way is not None]
    for start in range(0, len(told), JOBS_AT_ONCE):
        some = told[start : start + JOBS_AT_ONCE]
        jobs = [(columns[i], asked[i].grid, asked[i].way, asked[i].fine) for i in some]
        for i, g in zip(some, streamed(rows, jobs), strict=True):
            values[i] = None if g is None else asked[i].answer(g)
    return values


def _positive(sensitivity):
    sensitivity = float(sensitivity)
    if not 2.0**-800 <= sensitivity <= 2.0**800:
        raise ValueError(
            f"sensitivity must be a positive number in [2**-800, 2**800]. Got {sensitivity!r}."
        )
    return sensitivity
