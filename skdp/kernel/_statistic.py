"""What may be asked of rows: frozen descriptions of sums over rows that bound themselves."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.kernel._plain import Checked, refuse
from skdp.mechanisms._exact import sqrt_up
from skdp.readers._rows import MappedRows

MOST_CELLS = 2**24  # of a histogram


@dataclass(frozen=True)
class Shape:
    """What is public of the rows of a Table."""

    n_features: int  # number of columns
    # what a block of rows is: an array of numbers, or what a view makes of it
    kind: str = "numbers"
    sizes: tuple | None = None  # of a view of cells: how many there are of every feature


@dataclass(frozen=True)
class Offer:
    """What a question is paid with. Public: statistics choose their grid by it."""

    budget: object
    share: object
    unit: int  # as how many rows, times their grain, a person counts at most; 1 without persons
    heads: float = 0.0  # the released number of persons; 0 without

    @property
    def strength(self):
        """By how many scales of the noise one row moves a sum at most."""
        return self.budget.mu * math.sqrt(self.share) / self.unit

    def room(self, n):
        """Return the number of rows that sums have room for: at least n, whatever a field says.

        With a quarter of the persons that there are, sums of 60 bits have at most 62.
        """
        return max(n, self.heads / 4)

    def bits(self, noise_bits, most, *, power=1, n=None, share=None):
        """Return the resolution of a sum by :func:`grid_bits`, of about n rows if these weigh."""
        strength = self.budget.mu * math.sqrt(self.share if share is None else share)
        room = {"unit": self.unit, "n": 0.0 if n is None else self.room(n)}
        return grid_bits(strength, noise_bits=noise_bits, most=most, power=power, **room)


class Statistic(Checked, ABC):
    """A sum over rows of integer vectors, each a function of one row and of public fields.

    A subclass is made a frozen dataclass by :func:`public`. Its fields are public or
    released numbers, arrays of numbers, or other registered dataclasses. No field is a bound: the
    class computes its bounds from its fields, and the caller cannot state one.

    Attributes
    ----------
    kind : str
        Of the blocks that it reads, see :class:`Shape`.
    squared_l2, l1 : int or Fraction
        Bounds of the length of one contribution. ``l1`` is None where no pure budget can pay.
    step : float
        Worth of one unit of the integers, in the unit of the data.
    bits : int
        Of the grid, chosen by the kernel in :meth:`at`.

    Notes
    -----
    **Privacy** (add or remove one row). The total moves by one contribution, whose length the
    class bounds, in integers. A statistic is *total*: whatever fields :meth:`check` lets pass and
    whatever the row (NaN, infinity, 1e308), integers come back and nothing is raised, for an
    exception that rows decide on would be an answer without noise.

    See Also
    --------
    OneCell, Table, certified, skdp.audit.check_statistic

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Statistic, public
    >>> @public
    ... class ClippedSum(Statistic):  # of the first column, in units of 1 / 1000
    ...     high: float
    ...     step = 0.001
    ...
    ...     def check(self, shape):
    ...         super().check(shape)
    ...         if not 0 < self.high < 1e9:
    ...             raise ValueError("high is between 0 and 10^9")
    ...
    ...     @property
    ...     def squared_l2(self):
    ...         return int(1000 * self.high) ** 2
    ...
    ...     def total(self, block):
    ...         x = np.nan_to_num(np.clip(block[:, :1], 0, self.high))
    ...         return np.trunc(1000 * x).astype(np.int64).sum(axis=0)
    ...
    >>> from skdp.audit import check_statistic
    >>> check_statistic(ClippedSum(5.0), np.array([[3.0], [7.0], [np.inf]]))
    1.0
    """

    kind = "numbers"
    step = 1.0
    bits = None
    l1 = None

    def check(self, shape):
        """Raise ValueError from public fields and the Shape alone; nothing else may raise."""
        super().check(shape)
        refuse(shape.kind != self.kind, f"{type(self).__name__} reads {self.kind}")

    def at(self, offer):
        """Return the statistic on a grid that suits an :class:`Offer`: public arithmetic."""
        return self

    @property
    @abstractmethod
    def squared_l2(self):
        """The bound of the squared Euclidean length of one contribution."""

    @property
    def l2(self):
        """The bound of the length, rounded up."""
        root = math.isqrt(self.squared_l2) if isinstance(self.squared_l2, int) else 0
        return root if root * root == self.squared_l2 else sqrt_up(Fraction(self.squared_l2))

    def contributions(self, block):
        """Return the integers of every row, shape (n, ...): the definition, for auditors."""
        none = np.asarray(self.total(block[:0]))
        parts = [np.asarray(self.total(block[i : i + 1]))[None] for i in range(len(block))]
        return np.concatenate([none[None][:0], *parts])

    @abstractmethod
    def total(self, block):
        """Return the sum of the contributions of the rows of a block: exact integers."""


class OneCell(Statistic):
    """A histogram: one index for each row, -1 for none. Its bound is 1 by construction.

    A subclass has ``size``, the number of cells, and writes ``cells(block)``; see :func:`public`
    for an example.
    """

    squared_l2 = l1 = 1

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(not 0 < self.size <= MOST_CELLS, "a histogram has from 1 to 2^24 cells")

    def cells(self, block):
        """Return the cell of every row, an array of integers; -1 for none."""
        raise NotImplementedError

    def contributions(self, block):
        """Return the integers of every row: a one in its cell."""
        return (self.cells(block)[:, None] == np.arange(self.size)).astype(np.int64)

    def total(self, block):
        """Return the number of rows in each cell."""
        return self.weighed_total(block, None)

    def weighed_total(self, block, weights):
        """Return the sum of the weights of the rows in each cell."""
        at = self.cells(block)
        at = np.where((at >= 0) & (at < self.size), at, -1)
        counts = np.bincount(at + 1, weights, minlength=self.size + 1)[1:]
        return counts.astype(np.int64, copy=False)


class OnBall(Statistic):
    """A sum of rows that are clipped to a ball of ``radius``, on a grid of 2^bits steps to it."""

    @property
    def squared_l2(self):
        """The bound: 2^bits, squared."""
        return 4**self.bits

    @property
    def step(self):
        """The worth of a unit of the grid."""
        return self.radius / 2**self.bits


class OnePerColumn(Statistic):
    """Numbers of k columns, of which a row moves at most one each, by 1.

    **Privacy** (add or remove one row): of k columns k in l1, sqrt(k) in l2.
    """

    each = "columns"  # the field that has an entry for each of them

    @property
    def squared_l2(self):
        return len(getattr(self, self.each))

    l1 = squared_l2


class RowMap(Checked, ABC):
    """What a Table shows of every row: a frozen dataclass, registered by :func:`public`.

    **Privacy**: a row of the view is a function of the same row behind it, or is left out by
    itself; so neighbours stay neighbours.
    """

    keyed = None  # the use of secret keys, where rows are drawn by them
    kind = None  # of the blocks that it reads, if it does not read all of them

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(self.kind not in (None, shape.kind), f"{type(self).__name__} maps {self.kind}")

    def over(self, rows):
        """Return the view of rows that calls of this map make of blocks. For the kernel alone."""
        return Seen(rows, self)


class Seen(MappedRows):
    """Rows through a :class:`RowMap`, which may have other columns: ``dims`` of them."""

    def __init__(self, rows, row_map):
        super().__init__(rows)
        self._mapped, self.n_features = row_map, getattr(row_map, "dims", rows.n_features)


class Rule(Checked, ABC):
    """In which of some disjoint sets a row is: a frozen dataclass, registered by :func:`public`."""

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(shape.kind != "numbers", "rows of numbers are put in sets")

    @abstractmethod
    def __call__(self, block):
        """Return the number of the set of every row, -1 for none; each decides by itself."""


def certified(vectors, squared_l2):
    """Return integer vectors of which none is longer than allowed.

    Parameters
    ----------
    vectors : ndarray of int of shape (k, n)
        A column for each of n rows.
    squared_l2 : int or Fraction
        The square of the largest length.

    Returns
    -------
    vectors : ndarray of int of shape (k, n)
        A column that is too long became zeros. Exact while ``squared_l2`` is at most 2^52; of
        k = 1 entries, always.

    See Also
    --------
    Statistic

    Notes
    -----
    **Privacy**: a wrong function of rows costs accuracy, never privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import certified
    >>> certified(np.array([[3, 3], [4, 5]]), 25)
    array([[3, 0],
           [4, 0]])
    """
    if len(vectors) == 1:
        bad = np.abs(vectors) > math.isqrt(math.floor(squared_l2))
    else:
        bad = np.einsum("ij,ij->j", vectors, vectors, dtype=np.float64)[None] > squared_l2
    return np.where(bad, 0, vectors) if bad.any() else vectors


class Choice(Statistic):
    """Integers that the exponential mechanism chooses by, see :meth:`skdp.base.Table.choose`.

    A subclass writes ``most``, the largest change of one of them by one row, and
    ``scores(exact)``, whose entries move by no more than those of ``exact``.
    """

    @property
    @abstractmethod
    def most(self):
        """The largest size of an entry of a contribution."""

    @abstractmethod
    def scores(self, exact):
        """Return the scores of the candidates; large ones are likely."""


ROOM = 60  # bits of noise and of sums of rows with weights, in grid units


def grid_bits(strength, *, noise_bits, most, least=1, power=1, unit=1, n=0.0):
    """Return a resolution at which the noise of a sum stays below ``2^noise_bits`` grid units.

    One row moves the sum by ``strength`` scales of the noise at most: mu, of the whole budget. Sums
    of rows to a ``power``, 2 for products, have ``2^(power bits)`` units of an entry of one. With
    weights of ``unit`` sums and noise are so many times larger; both stay below 2^60 for n rows.
    """
    weight = unit_bits(unit)
    if weight:
        noise_bits = min(noise_bits, ROOM - weight)
        most = min(most, (ROOM - weight - math.ceil(math.log2(max(n, 1.0)))) // power)
    return max(least, min(most, (noise_bits + math.floor(math.log2(strength))) // power))


def unit_bits(unit):
    """Return the number of bits by which weights make sums of rows larger, 0 without weights."""
    return math.ceil(math.log2(unit))
