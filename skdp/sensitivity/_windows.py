"""Statistics that grow with every entry, evaluated on windows of the sorted data.

The window (i, j) of sorted integers ``s`` is ``s[i:j]``, what is left when the i smallest and the
n - j largest are removed. A statistic is the quotient ``total / weight`` of an exact integer of the
window and a positive integer of its size. Every such object, one's own too, needs

``total(data, i, j)``
    from ``data.s`` and the prefix sums ``data.P`` (``P[j] - P[i]`` is the sum of the window), by
    arithmetic and indexing alone, so that ``i`` and ``j`` may be ints or integer arrays; of m
    entries at most ``2 max(m, weight(m))`` times the largest magnitude;
``weight(m)``
    for an int or an integer array ``m >= 1``;
``increasing``
    whether adding an entry above all others never lowers it, nor one below all raises it.

**Privacy**: the statistic must be *database-ordered*: for x <= y and every multiset S,
f(S + x) <= f(S + y). Every symmetric f that is nondecreasing in each entry at fixed size is.
Without it the fast path does not bound the sensitivity. One's own is tried on made-up integers,
before any row is read (:func:`check_own_statistic`); beyond them it stays a promise.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from numbers import Integral

import numpy as np

from skdp.mechanisms._exact import as_fraction

FINEST = 10**6  # denominator of p and alpha


class SortedData:
    """Sorted integers ``s`` and their prefix sums ``P``, in a form for arrays of indices.

    ``one`` is the same for single indices, with Python's integers. ``wide`` keeps all numbers as
    Python's integers, for data whose products leave 64 bits.
    """

    def __init__(self, s, *, wide):
        self.s = s.astype(object) if wide else s
        self.P = np.concatenate([np.zeros(1, self.s.dtype), np.cumsum(self.s)])
        self.one = _Single(*((x.tolist() if wide else memoryview(x)) for x in (self.s, self.P)))


@dataclass(frozen=True)
class _Single:
    s: object
    P: object


@dataclass(frozen=True)
class Mean:
    """Mean of the entries."""

    increasing = True

    def total(self, data, i, j):
        """Return the sum of the window."""
        return data.P[j] - data.P[i]

    def weight(self, m):
        """Return the size of the window."""
        return m


@dataclass(frozen=True)
class Midrange:
    """Middle between the smallest and the largest entry."""

    increasing = True

    def total(self, data, i, j):
        """Return the sum of both ends."""
        return data.s[i] + data.s[j - 1]

    def weight(self, m):
        """Return two."""
        return 2 + 0 * m


@dataclass(frozen=True)
class Quantile:
    """Quantile with linear interpolation, at position ``p (m - 1)`` of m sorted entries.

    Parameters
    ----------
    p : float or Fraction in [0, 1]
        The nearest fraction with a denominator of at most 10^6 is taken.

    See Also
    --------
    bounded_statistic, TrimmedMean

    Notes
    -----
    **Privacy**: names a statistic; :func:`bounded_statistic` bounds what one row does to it.

    Examples
    --------
    >>> from skdp.sensitivity import Quantile, bounded_statistic
    >>> bounded_statistic([1.0, 2.0, 3.0], Quantile(0.25), sensitivity=1.0).statistic
    'Quantile(p=Fraction(1, 4))'
    """

    p: float | Fraction
    increasing = True

    def __post_init__(self):
        p = as_fraction(self.p, name="p").limit_denominator(FINEST)
        if p > 1:
            raise ValueError(f"p must be in [0, 1]. Got {float(p)!r} instead.")
        object.__setattr__(self, "p", p)

    def total(self, data, i, j):
        """Return the two neighbours of the position, weighted by distance."""
        whole, rest = divmod(self.p.numerator * (j - i - 1), self.p.denominator)
        low, high = data.s[i + whole], data.s[i + whole + (rest > 0)]
        return (self.p.denominator - rest) * low + rest * high

    def weight(self, m):
        """Return the denominator of p."""
        return self.p.denominator + 0 * m


@dataclass(frozen=True)
class TrimmedMean:
    """Mean without the ``floor(alpha m)`` smallest and as many largest of m entries.

    Parameters
    ----------
    alpha : float or Fraction in [0, 1/2)
        The nearest fraction with a denominator of at most 10^6 is taken.

    See Also
    --------
    bounded_statistic, WinsorisedMean

    Notes
    -----
    **Privacy**: names a statistic; :func:`bounded_statistic` bounds what one row does to it.

    Examples
    --------
    >>> from skdp.sensitivity import TrimmedMean, bounded_statistic
    >>> value = bounded_statistic([1.0, 2.0, 3.0, 1e9], TrimmedMean(0.25), sensitivity=1.0)
    >>> round(value.origin + value.unit * value.value, 2)
    2.5
    """

    alpha: float | Fraction
    increasing = True

    def __post_init__(self):
        alpha = as_fraction(self.alpha, name="alpha").limit_denominator(FINEST)
        if not alpha < Fraction(1, 2):
            raise ValueError(f"alpha must be in [0, 1/2). Got {float(alpha)!r} instead.")
        object.__setattr__(self, "alpha", alpha)

    def _cut(self, m):
        return self.alpha.numerator * m // self.alpha.denominator

    def total(self, data, i, j):
        """Return the sum of the entries that are kept."""
        cut = self._cut(j - i)
        return data.P[j - cut] - data.P[i + cut]

    def weight(self, m):
        """Return the number of entries that are kept."""
        return m - 2 * self._cut(m)


class WinsorisedMean(TrimmedMean):
    """Mean after the ``floor(alpha m)`` entries at either end are moved to the nearest kept one.

    Parameters
    ----------
    alpha : float or Fraction in [0, 1/2)

    See Also
    --------
    bounded_statistic, TrimmedMean

    Notes
    -----
    **Privacy**: names a statistic; :func:`bounded_statistic` bounds what one row does to it.

    Examples
    --------
    >>> from skdp.sensitivity import WinsorisedMean, bounded_statistic
    >>> value = bounded_statistic([1.0, 2.0, 3.0, 1e9], WinsorisedMean(0.25), sensitivity=1.0)
    >>> round(value.origin + value.unit * value.value, 2)
    2.5
    """

    def total(self, data, i, j):
        """Return the sum of the entries that are kept, the outermost repeated."""
        cut = self._cut(j - i)
        return super().total(data, i, j) + cut * (data.s[i + cut] + data.s[j - cut - 1])

    def weight(self, m):
        """Return the size of the window."""
        return m


NAMED = (Mean, Midrange, Quantile, TrimmedMean, WinsorisedMean)  # proved, by their own type


LEVELS = (-(2**20), -2, 0, 1, 2**20)
SMALL = [S for m in range(3) for S in combinations_with_replacement(LEVELS, m)]
LARGE = [tuple((k * k * 7919 + 13 * k) % 103 - 40 for k in range(m)) for m in range(3, 42, 6)]
FAR = 2**21
NUMBERS = (
    "weight(m) must be a positive integer, and total an integer of at most twice max(m, weight(m)) "
    "times the largest magnitude of the m entries"
)
WEIGHT = "weight(m) must be a function of m alone: of an int an int, of an array an array"
WINDOW = "total(data, i, j) must be a function of the entries data.s[i:j] alone, ints and arrays"
ORDERED = "it must not fall when an entry is exchanged for a larger one"
RISES = "with increasing=True an entry above all others must not lower it, nor one below raise it"


def own_statistic_note(statistic):
    """Return what a reader of a plan must know of a statistic, None of a named one."""
    if isinstance(statistic, str) or type(statistic) in NAMED:
        return None
    return (
        f"statistic {type(statistic).__name__}: bounded on your promise that it is ordered, never "
        "falling when an entry is exchanged for a larger one; tried on made-up integers alone"
    )


def own_statistic_problem(statistic):
    """Return which promise a statistic breaks on made-up integers, None if it breaks none.

    Notes
    -----
    **Privacy**: of public integers, always the same. Tried is what :func:`bounded_ordered` rests
    on: the quotient ``total / weight`` of an integer, small enough for 64 bits, and a positive
    integer of the size of the window, depends on the window alone, and is database-ordered:
    f(S + x) <= f(S + y) for x <= y. Its bracket also rests on ``increasing``. What passes may
    break a promise elsewhere: it stays a promise.
    """
    if own_statistic_note(statistic) is None:
        return None
    try:
        with np.errstate(all="ignore"):
            told = next(_broken(statistic), None)
    except Exception as error:  # of code that is not ours, on public integers
        told = f"it raised {type(error).__name__}"
    return told and (
        f"the statistic {type(statistic).__name__} breaks a promise on made-up integers: {told}. "
        "Its sensitivity would not be bounded. Correct it, or use one of skdp.sensitivity."
    )


def check_own_statistic(statistic):
    """Raise ValueError for a statistic that breaks a promise on made-up integers."""
    problem = own_statistic_problem(statistic)
    if problem:
        raise ValueError(problem)


def _broken(f):
    """Yield the promises that a statistic breaks."""
    for S in SMALL + LARGE:
        values = [_value(f, (*S, x)) for x in LEVELS]
        if None in values:
            yield NUMBERS
        if any(t * v > u * w for (t, w), (u, v) in pairwise(values)):
            yield ORDERED
        if not S:
            continue
        total, weight = _value(f, S)
        if getattr(f, "increasing", False):
            (low, v), (high, u) = _value(f, (-FAR, *S)), _value(f, (*S, FAR))
            if not (low * weight <= total * v and total * u <= high * weight):
                yield RISES
        m, frame = len(S), SortedData(np.array([-FAR, -FAR, *sorted(S), FAR]), wide=False)
        i, j = np.array([2, 2]), np.array([2 + m, 2 + m])
        if f.total(frame.one, 2, 2 + m) != total or list(f.total(frame, i, j)) != [total] * 2:
            yield WINDOW
        if np.shape(f.weight(j - i)) != (2,) or list(f.weight(j - i)) != [weight] * 2:
            yield WEIGHT


def _value(f, entries):
    """Return total and weight of some entries, None if they are no such numbers."""
    data, m = SortedData(np.array(sorted(entries)), wide=False), len(entries)
    total, weight = f.total(data.one, 0, m), f.weight(m)
    numbers = isinstance(total, Integral) and isinstance(weight, Integral) and weight >= 1
    if not numbers or abs(total) > 2 * max(m, weight) * max(map(abs, entries)):
        return None
    return int(total), int(weight)
