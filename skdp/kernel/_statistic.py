"""What may be asked of rows: frozen descriptions of sums over rows that bound themselves."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import numpy as np

from skdp.mechanisms._exact import sqrt_up

__all__ = [
    "MOST_CELLS",
    "Offer",
    "OneCell",
    "RowMap",
    "Rule",
    "Shape",
    "Statistic",
    "certified",
    "own",
    "public",
    "refuse",
    "registered",
    "tame",
]

TYPES = {}  # what may cross the wall: classes by name, no pickle
POSITIVE = {"radius", "radii", "unit", "scale", "width", "widths", "half", "clip", "drop"}
LONGEST = 2**62
MOST_CELLS = 2**24  # of a histogram


def public(cls):
    """Register a frozen dataclass as one that a Table may be asked with.

    Parameters
    ----------
    cls : type
        Its fields are public or released numbers, arrays and texts. A class that is defined again
        in the same place, as in a notebook, takes the place of the old one.

    Returns
    -------
    cls : type
        The same.

    Raises
    ------
    TypeError
        For a name that another class has.

    See Also
    --------
    Statistic

    Notes
    -----
    **Privacy**: a class is known by its name, so what is asked is plain data: no code crosses.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from skdp.base import OneCell, public
    >>> @public
    ... @dataclass(frozen=True)
    ... class Signs(OneCell):
    ...     size = 2
    ...
    ...     def cells(self, block):
    ...         return np.where(np.isnan(block[:, 0]), -1, block[:, 0] > 0)
    ...
    >>> Signs().total(np.array([[3.0], [-1.0], [2.0], [np.nan]]))
    array([1, 2])
    """
    other = TYPES.get(cls.__name__, cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"two public classes have the name {cls.__name__}. Rename one of them.")
    TYPES[cls.__name__] = cls
    return cls


def registered(thing):
    """Return whether the class of a thing is public, itself and not by a class derived from it."""
    return TYPES.get(type(thing).__name__) is type(thing)


def refuse(wrong, text):
    """Raise ValueError if something is wrong with public fields, before rows are looked at."""
    if wrong:
        raise ValueError(text)


PLAIN = (bool, int, float, str, type(None))
NUMBERS = int | float | np.integer | np.floating | Fraction
TAKEN = {  # what a field may hold that is declared as one thing
    bool: bool | np.bool_,
    int: int | np.integer,
    float: NUMBERS,
    str: str | np.str_,
    tuple: list | tuple,
    list: list | tuple,
    np.ndarray: np.ndarray | list | tuple,
}


def own(x):
    """Return a copy of a question, made of its fields alone: exact types, as the class declares.

    Nothing of the caller's comes along: no attribute of the instance that hides one of its class,
    no array that changes later, no derived number or array with operators of its own, which rows
    would be handed to.
    """
    if is_dataclass(x) and not isinstance(x, type):
        refuse(not registered(x), "a class that is not public")
        missing, hints = object(), _hints(type(x))
        held = {field.name: getattr(x, field.name, missing) for field in fields(x)}
        refuse(any(value is missing for value in held.values()), "a field is missing")
        for name, value in held.items():
            refuse(not _taken(hints.get(name), value), f"{name} is of another type")
        return type(x)(**{name: own(value) for name, value in held.items()})
    if isinstance(x, np.ndarray):
        return np.array(x, order="K")
    if isinstance(x, list | tuple):
        return [own(one) for one in x] if type(x) is list else tuple(own(one) for one in x)
    if type(x) is Fraction:
        refuse(x.denominator <= 0, "a fraction of nothing")
        return Fraction(x.numerator, x.denominator)
    generic = isinstance(x, np.generic) and type(x) is x.dtype.type
    refuse(not generic and type(x) not in PLAIN, "a field of another type")
    return x


@cache
def _hints(cls):
    return get_type_hints(cls)


def _taken(hint, x):
    """Return whether a field that is declared so may hold this; scalars may be 0-d arrays."""
    if hint is None or hint is type(None):
        return hint is None or x is None
    if get_origin(hint) in (Union, UnionType):
        return any(_taken(one, x) for one in get_args(hint))
    hint = get_origin(hint) or hint
    if hint in (int, float) and isinstance(x, bool | np.bool_):
        return False
    if hint in (bool, int, float) and isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    return not isinstance(hint, type) or isinstance(x, TAKEN.get(hint, hint))


def tame(x, name=""):
    """Refuse fields on which a row could make arithmetic raise: NaN, infinite, wrapping, no unit.

    ``edges`` of cells may be infinite. Numbers in fields named in ``POSITIVE`` are positive.
    """
    if is_dataclass(x):
        refuse(not registered(x), "a class that is not public")
        for field in fields(x):
            tame(getattr(x, field.name), field.name)
    elif isinstance(x, list | tuple):
        for one in x:
            tame(one, name)
    elif isinstance(x, np.ndarray | np.generic | float | int) and not isinstance(x, bool):
        x = np.asarray(x)
        refuse(x.dtype.kind not in "fiub", "fields are numbers")
        if x.dtype.kind == "f":
            open_ended = name == "edges" and not np.isnan(x).any()
            refuse(not (open_ended or np.isfinite(x).all()), f"{name} is finite")
        elif x.dtype.kind in "iu":
            refuse(((x > LONGEST) | (x < -LONGEST)).any(), f"{name} is at most 2^62")
        refuse(name in POSITIVE and not (x > 0).all(), f"{name} is positive")
    else:
        refuse(not isinstance(x, str | bool | Fraction | None), "a field of another type")
        refuse(name in POSITIVE and isinstance(x, Fraction) and x <= 0, f"{name} is positive")


@dataclass(frozen=True)
class Shape:
    """What is public of the rows of a Table.

    Parameters
    ----------
    n_features : int
        Number of columns.
    kind : str, default="numbers"
        What a block of rows is: an array of numbers, or what a view makes of it.
    sizes : tuple of int, default=None
        Of a view of cells: how many there are of every feature.
    """

    n_features: int
    kind: str = "numbers"
    sizes: tuple | None = None


@dataclass(frozen=True)
class Offer:
    """What a question is paid with. Public: statistics choose their grid by it.

    Parameters
    ----------
    budget : Budget
    share : float or Fraction
    unit : int
        As how many rows, times their grain, a person counts at most; 1 without persons.
    """

    budget: object
    share: object
    unit: int

    @property
    def strength(self):
        """By how many scales of the noise one row moves a sum at most."""
        return self.budget.mu * math.sqrt(self.share) / self.unit


class Statistic(ABC):
    """A sum over rows of integer vectors, each a function of one row and of public fields.

    A subclass is a frozen dataclass, registered by :func:`public`. Its fields are public or
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
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from skdp.base import Statistic, public
    >>> @public
    ... @dataclass(frozen=True)
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
        tame(self)
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


class RowMap(ABC):
    """What a Table shows of every row: a frozen dataclass, registered by :func:`public`.

    **Privacy**: a row of the view is a function of the same row behind it, or is left out by
    itself; so neighbours stay neighbours.
    """

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        tame(self)

    @abstractmethod
    def over(self, rows):
        """Return the view of rows. Called in the kernel alone."""


class Rule(ABC):
    """In which of some disjoint sets a row is: a frozen dataclass, registered by :func:`public`."""

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        tame(self)

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
