"""Moments of columns between bounds: integers whose length is known exactly."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from skdp.kernel._plain import PerColumn, public, refuse, within
from skdp.kernel._statistic import Statistic, grid_bits
from skdp.mechanisms import _compiled, finite_rows

BITS, NOISE_BITS = 30, 44  # of a row, at most; of the noise, at most
WEIGHED_BITS = 20  # of a row that counts with a weight
# Weights of a sum beside that of the squares, and of the count: the intervals lie around a guess of
# the mean, so that a variance depends on either but little; l1 norms pay for them in full.
SUM = {False: 0.25, True: 0.1}  # by whether the budget is pure
COUNT = {False: 0.3, True: 0.1}
# Weight of a count of each column's own: the noise of a mean is the weight of all, 1 + K^2, times 1
# + t^2 / K^2, on average over means t spread evenly over [-1, 1] least for K = 3^(-1/4).
OWN = 3.0**-0.25
MEAN = 1.0  # weight of a sum whose mean is asked for
Degree = Annotated[int, within(1, 2)]


class OnGrid(Statistic):
    """Sums of numbers on a grid of 2^bits steps to one."""

    @property
    def grid(self):
        """The number of steps."""
        return 2**self.bits

    @property
    def step(self):
        return 2.0**-self.bits

    def with_bits(self, strength, offer, most=BITS, **fields):
        """Return the same on a grid: one row moves a sum by ``strength`` scales of the noise."""
        most = most if offer.unit == 1 else WEIGHED_BITS
        return replace(self, bits=grid_bits(strength, noise_bits=NOISE_BITS, most=most), **fields)


class ColumnsOnGrid(OnGrid):
    """Sums of numbers between -1 and 1, d columns side by side.

    ``pure`` and ``bits`` are chosen by the kernel: a pure budget pays for ``l1``, any other one for
    ``squared_l2``.
    """

    @property
    def d(self):
        """The number of columns."""
        return len(self._fields()[0])

    def at(self, offer):
        budget, pure = offer.budget, offer.budget.measure == "pure"
        strength = budget.amount * offer.share / (2 * self.d)
        strength = strength if pure else math.sqrt(strength)
        return self.with_bits(strength / offer.unit, offer, pure=pure)


class Ends(ColumnsOnGrid):
    """Sums of functions of entries that are clipped to ``low`` and ``high``."""

    def _fields(self):
        return tuple(np.asarray(one, dtype=np.float64) for one in (self.low, self.high))


@dataclass(frozen=True)
class Between(Ends):
    """Sums of functions of the places of entries between ``low`` and ``high``."""

    # both (d,): entries outside are clipped. With w in [0, 1] the place of an entry, t = 2 w - 1
    low: PerColumn
    high: PerColumn
    degree: Degree
    pure: bool = False
    bits: int | None = None
    entries: bool = False  # whether a gap is one of its own column

    def check(self, shape):
        super().check(shape)
        low, high = self._fields()
        with np.errstate(over="ignore"):
            width = high - low
        refuse(not ((width > 0) & np.isfinite(width)).all(), "low is below high")

    def _sums(self, block):
        """Return the sums of the functions, and which entries count, or which rows."""
        x, (low, high) = np.asarray(block, dtype=np.float64), self._fields()
        there = np.isfinite(x) if self.entries else finite_rows(x)[:, None]
        x = np.where(there, x, low)
        w = (np.clip(x, low, high) - low) / (high - low)  # in [0, 1]: floats are monotone
        columns = (np.where(there, column, 0) for column in self._columns(w))
        return [column.astype(np.int64).sum(axis=0) for column in columns], there


@public
class Powers(Between):
    """Sums of powers of t, centred, column by column, and one count for all of them.

    **Privacy** (add or remove one row): a row with NaN or infinity adds nothing. Else, with G the
    grid, a column is ``G t`` for degree 1: with a = round(G w), an integer in [0, G], it is
    2 a - G, of size G at most. For degree 2 it is ``G (sqrt(8/9) t, 4/3 t^2 - 1)``: 8/9 t^2 +
    (4/3 t^2 - 1)^2 = 1 - 16/9 t^2 (1 - t^2) <= 1, and rounding moves two numbers by less than 1 in
    l2, so it is at most G + 1 long; in integers, a longer one becomes zeros. A constant K counts.
    All together have at most ``sqrt(d (G + degree - 1)^2 + K^2)`` in l2, and for degree 1
    ``d G + K`` in l1.

    By ``entries`` a gap (NaN or infinity) adds nothing to its own column, which has a count of its
    own: a column has at most ``sqrt((G + degree - 1)^2 + K^2)`` in l2, ``G + K`` in l1, and all
    together the root of d, and d, times that.
    """

    @property
    def constant(self):
        """What a row adds to the count."""
        weight = OWN if self.entries else self.d ** (1 / 3 if self.pure else 1 / 4)
        return max(1, round(weight * math.sqrt(7 / 9 if self.degree == 2 else 1) * self.grid))

    @property
    def squared_l2(self):
        counts = self.d if self.entries else 1
        return self.d * (self.grid + self.degree - 1) ** 2 + counts * self.constant**2

    @property
    def l1(self):
        counts = self.d if self.entries else 1
        return self.d * self.grid + counts * self.constant if self.degree == 1 else None

    def _compiled(self, block):
        longest = np.full(self.d, (self.grid + 1) ** 2)
        pairs = {"gain": self.grid * math.sqrt(8 / 9), "factor": 4 / 3, "level": np.ones(self.d)}
        fields = *self._fields(), self.grid, longest
        options = True, self.degree == 2, False, self.entries
        *sums, counts = pair_sums(block, *fields, **pairs, options=options)
        counts = counts if self.entries else counts[:1]
        return np.concatenate([*sums[: self.degree], self.constant * counts])

    def _columns(self, w):
        if self.degree == 1:
            return [2 * np.rint(self.grid * w) - self.grid]
        t = 2 * w - 1
        pair = self.grid * math.sqrt(8 / 9) * t, self.grid * (4 / 3 * t * t - 1)
        return short_pairs(*pair, (self.grid + 1) ** 2)

    def total(self, block):
        """Return the sums of powers, and the count, or one of every column."""
        if _compiled.loops is not None and self.bits <= BITS:
            return self._compiled(block)
        sums, there = self._sums(block)
        return np.concatenate([*sums, self.constant * np.count_nonzero(there, axis=0)])


def pair_sums(block, low, high, grid, longest, *, gain, factor, level, options):
    """Return sums of pairs, or of first numbers alone, and counts, by the compiled loops.

    With t the place of an entry between ``low`` and ``high``, in [-1, 1], or the clipped entry, a
    pair is ``(gain t, grid (factor t^2 - level))``, rounded; ``longest`` bounds its squares, or its
    sizes. All numbers are at most 2^30 + 1 in size. Four ``options``: whether t is a place, there
    are squares, ``longest`` bounds sizes, and gaps are of their own columns.
    """
    d = len(low)
    sums = [np.zeros(d, dtype=np.int64) for _ in range(3)]
    columns = [_compiled.plain(one) for one in (low, high, level)]
    for _, x in _compiled.plain_parts(block):
        _compiled.loops.pair_sums(x, *columns, longest, *sums, *options, gain, grid, factor)
    return sums


def short_pairs(first, second, longest, *, sizes=False):
    """Return pairs of numbers of less than 2^31 as integers, zeros for those that are too long.

    ``longest`` bounds the squares of a pair, or its ``sizes``.
    """
    first, second = (np.rint(one).astype(np.int64) for one in (first, second))
    wrong = (np.abs(first) + np.abs(second) if sizes else first**2 + second**2) > longest
    return [np.where(wrong, 0, one) for one in (first, second)] if wrong.any() else [first, second]


@public
class Bernstein(Between):
    """Sums of the Bernstein polynomials of w, which sum to one: each column counts, too.

    **Privacy** (add or remove one row): with G the grid a column is ``G (1 - w, w)`` for degree 1:
    (G - a, a) with a = round(G w). For degree 2 it is ``G ((1-w)^2, 2 w (1-w), w^2)``: the ends are
    rounded, and the middle is what they leave of G. It is not negative: the sum of the ends is
    G (1 - 2 w (1 - w)) before rounding, so above G - 1 only if w or 1 - w is below 1/G, where one
    end is rounded to 0 and the other to at most G. A column where it were becomes zeros. So the
    sizes add up to G for every column, d G in l1, and no length is more than that: (d G)^2 bounds
    the square, and so does d G^2, as the columns lie side by side. By ``entries`` a gap (NaN or
    infinity) adds nothing to its own column.
    """

    @property
    def squared_l2(self):
        return self.d * self.grid**2

    @property
    def l1(self):
        return self.d * self.grid

    def _columns(self, w):
        if self.degree == 1:
            a = np.rint(self.grid * w)
            return [self.grid - a, a]
        first, last = np.rint(self.grid * np.square(1 - w)), np.rint(self.grid * np.square(w))
        columns = [first, self.grid - first - last, last]
        wrong = columns[1] < 0
        return [np.where(wrong, 0, one) for one in columns] if wrong.any() else columns

    def total(self, block):
        """Return the sums of the polynomials."""
        return np.concatenate(self._sums(block)[0])


@public
class BoundedSums(Ends):
    """The sums of columns, entries clipped to bounds, from a point or an interval of each column.

    **Privacy** (add or remove one row): an entry x becomes clip(x, low, high), less clip(x, a, b)
    for an interval [a, b] between the bounds, or less a point. That rises with x, and rounding of
    floats is monotone, so it lies between its values R at both ends; G times it over the larger
    size of these is rounded to an integer, at most G. One row moves d sums by at most ``sqrt(d) G``
    in l2, ``d G`` in l1, and by nothing if it holds NaN or infinity; by ``entries`` these add
    nothing to their own columns.
    """

    low: PerColumn
    high: PerColumn
    pure: bool = False
    bits: int | None = None
    entries: bool = False  # whether a gap is one of its own column
    start: Annotated[np.ndarray, "2 d"] | None = None  # what x is seen from, clipped to it; 0
    squared_l2, l1 = Bernstein.squared_l2, Bernstein.l1

    def check(self, shape):
        super().check(shape)
        (low, high), (a, b) = self._fields(), self._start
        inside = (low <= high) & ((a == b) | (low <= a) & (a < b) & (b <= high))
        ordinary = (self.most > 0) & np.isfinite(self.most)
        refuse(not (inside & ordinary).all(), "bounds are finite, not zero, low not above high")

    @property
    def _start(self):
        return np.asarray(np.zeros((2, self.d)) if self.start is None else self.start, np.float64)

    @property
    def most(self):
        return np.abs(np.array(self._fields()) - self._start).max(axis=0)

    def total(self, block):
        """Return the sums, shape (d,)."""
        if _compiled.loops is not None:
            sums = np.zeros(self.d, dtype=np.int64)
            columns = [_compiled.plain(x) for x in (*self._fields(), self._start, self.most)]
            for _, x in _compiled.plain_parts(block):
                _compiled.loops.span_sums(x, *columns, sums, self.entries, self.grid)
            return sums
        there = np.isfinite(block) if self.entries else finite_rows(block)[:, None]
        x = np.where(there, block, np.float64(0.0))
        size = (np.clip(x, *self._fields()) - np.clip(x, *self._start)) / self.most
        return np.rint(self.grid * np.where(there, size, 0.0)).astype(np.int64).sum(axis=0)


@public
class BoxedSquares(ColumnsOnGrid):
    """Sums of t and of t^2 about a level, for t the entries clipped to [-1, 1], and a count.

    **Privacy** (add or remove one row): a row adds a vector of integers that is a function of the
    row alone, or nothing if it holds NaN or infinity: for every column ``G (b t, t^2 - a)``
    rounded, and one constant K that counts. G is a power of two; a in [0, 1] is the level, b and K
    are constants. With u = t^2 in [0, 1] the square of the length of (b t, t^2 - a) is
    ``b^2 u + (u - a)^2``, convex in u, so at most the larger of a^2 and b^2 + (1 - a)^2. Its l1
    norm is ``b |t| + |t^2 - a|``: beyond the root of a it grows with |t| to b + 1 - a, below it is
    at most a + b^2 / 4. Rounding two numbers adds at most 1 to either norm; another unit is added
    for the roundings of floats. Pairs of integers that were longer become zeros.
    """

    level: Annotated[np.ndarray, "d", within(0, 1)]  # guesses of the means of t^2
    means: bool  # whether sums are wanted as well as squares
    pure: bool = False
    bits: int | None = None

    def _fields(self):
        return (self.level,)

    @property
    def weight(self):
        """The weight b of the sums beside the squares."""
        return MEAN if self.means else SUM[self.pure]

    @property
    def constant(self):
        """What a row adds to the count."""
        root = self.d ** (1 / 3 if self.pure else 1 / 4)
        return max(1, round(COUNT[self.pure] * root * self.grid))

    @property
    def _longest(self):
        """Return the largest length of the pair of every column, in the norm that pays."""
        a, b = np.asarray(self.level, dtype=np.float64), self.weight
        if self.pure:
            norms = np.maximum(b + 1 - a, a + b * b / 4)
        else:
            norms = np.sqrt(np.maximum(np.square(a), b * b + np.square(1 - a)))
        return [math.ceil(self.grid * float(x)) + 2 for x in norms]

    @property
    def squared_l2(self):
        if self.pure:
            return self.l1**2
        return sum(one**2 for one in self._longest) + self.constant**2

    @property
    def l1(self):
        return sum(self._longest) + self.constant if self.pure else None

    def total(self, block):
        """Return the sums of t, of squares, and the count."""
        longest = np.array(self._longest)
        if _compiled.loops is not None and self.bits <= BITS:
            ends, limit = np.ones(self.d), longest if self.pure else longest**2
            pairs = {"gain": self.grid * self.weight, "factor": 1.0, "level": self.level}
            fields, options = (-ends, ends, self.grid, limit), (False, True, self.pure, False)
            *sums, counts = pair_sums(block, *fields, **pairs, options=options)
            return np.concatenate([*sums, counts[:1] * self.constant])
        t = np.clip(np.asarray(block[finite_rows(block)], dtype=np.float64), -1, 1)
        pairs = self.grid * self.weight * t, self.grid * (np.square(t) - self.level)
        pairs = short_pairs(*pairs, longest if self.pure else longest**2, sizes=self.pure)
        return np.concatenate([*(one.sum(axis=0) for one in pairs), [len(t) * self.constant]])
