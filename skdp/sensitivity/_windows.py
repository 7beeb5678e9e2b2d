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
before any row is read (:mod:`skdp.sensitivity._trial`); beyond them it stays a promise.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.mechanisms._exact import as_fraction

__all__ = ["NAMED", "Mean", "Midrange", "Quantile", "SortedData", "TrimmedMean", "WinsorisedMean"]


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
