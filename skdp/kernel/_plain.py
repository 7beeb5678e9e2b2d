"""What may cross the wall of the kernel: plain data of registered classes, and its checks.

Fields declare what they hold: sizes of arrays and tuples by letters (the same letter is the same
size in one question, "d" is the number of columns), and functions that refuse values.
"""

from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache, partial
from types import UnionType
from typing import Annotated, Union, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

TYPES = {}  # what may cross the wall: classes by name, no pickle
POSITIVE = {"radius", "radii", "unit", "scale", "width", "widths", "half", "clip", "drop"}
LONGEST = 2**62


@dataclass_transform(frozen_default=True)
def public(cls):
    """Make a class a frozen dataclass that a Table may be asked with, and register it.

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
        For what is no class, or a dataclass that is not frozen.

    See Also
    --------
    Statistic

    Notes
    -----
    **Privacy**: a class is known by its name, so what is asked is plain data: no code crosses.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import OneCell, public
    >>> @public
    ... class Signs(OneCell):
    ...     size = 2
    ...
    ...     def cells(self, block):
    ...         return np.where(np.isnan(block[:, 0]), -1, block[:, 0] > 0)
    ...
    >>> Signs().total(np.array([[3.0], [-1.0], [2.0], [np.nan]]))
    array([1, 2])
    """
    if isinstance(cls, type) and "__dataclass_params__" not in vars(cls):
        cls = dataclass(frozen=True)(cls)
    if not (isinstance(cls, type) and cls.__dataclass_params__.frozen):
        raise TypeError("a public class is frozen: leave @dataclass out, or freeze it.")
    other = TYPES.get(name_of(cls), cls)
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"two public classes have the name {cls.__name__}. Rename one of them.")
    TYPES[name_of(cls)] = cls
    return cls


def name_of(cls):
    """Return the name that a class is known by: those of others have that of their module too."""
    own_name = cls.__module__.startswith("skdp.")
    return cls.__name__ if own_name else f"{cls.__module__}.{cls.__qualname__}"


def registered(thing):
    """Return whether the class of a thing is public, itself and not by a class derived from it."""
    return TYPES.get(name_of(type(thing))) is type(thing)


def refuse(wrong, text):
    """Raise ValueError if something is wrong with public fields, before rows are looked at."""
    if wrong:
        raise ValueError(text)


PLAIN = (bool, int, float, str, type(None))
NUMBERS = int | float | np.integer | np.floating  # operators of a fraction raise for some rows
TAKEN = {  # what a field may hold that is declared as one thing
    bool: bool | np.bool_,
    int: int | np.integer,
    float: NUMBERS,
    str: str | np.str_,
    tuple: list | tuple,
    list: list | tuple,
}
PYTHON = {"b": bool, "i": int, "u": int, "f": float, "U": str}
NO_NUMBER = np.empty(1)


def rising(x, name, sizes=None, strictly=False):
    """Refuse a field that is no vector of rising numbers.

    A binary search among others finds a cell that depends on the entry before, or raises: no
    longer a function of one row.
    """
    x = np.asarray(x)
    refuse(x.ndim != 1 or x.dtype.kind not in "iuf", f"{name} is a vector of numbers")
    refuse(not np.all(x[1:] > x[:-1] if strictly else x[1:] >= x[:-1]), f"{name} rise")


distinct = partial(rising, strictly=True)  # refuses numbers that do not rise strictly


def whole(x, name, sizes=None):
    """Refuse an array of other numbers than integers."""
    refuse(np.asarray(x).dtype.kind not in "iu", f"{name} are integers")


def numbered(x, name, sizes):
    """Refuse what is no number of a column, or are none."""
    numbers = x.tolist() if isinstance(x, np.ndarray) else (x,) if isinstance(x, int) else x
    fits = all(type(j) is int and 0 <= j < sizes["d"] for j in numbers)
    refuse(not fits, f"{name}: no such column")


def once(x, name, sizes=None):
    """Refuse a vector or tuple with an entry twice."""
    refuse(len(set(np.asarray(x).tolist())) < len(x), f"{name}: an entry twice")


def within(low, high):
    """Return what refuses numbers that do not lie from ``low`` to ``high``."""
    return partial(_within, low, high)


def _within(low, high, x, name, sizes):
    x = np.asarray(x)
    refuse(not ((x >= low) & (x <= high)).all(), f"{name} is from {low} to {high}")


def positive(x, name, sizes=None):
    """Refuse a number that is not positive."""
    refuse(not x > 0, f"{name} is positive")


def each(*words):
    """Return what refuses a tuple of which one entry does not fit."""
    return partial(_each, words)


def _each(words, x, name, sizes):
    for one in {id(one): one for one in x}.values():
        _fit(one, name, words, sizes)


def made_of(*classes):
    """Return what refuses anything, and a tuple of anything, but instances of some classes."""
    return partial(_made_of, classes)


def _made_of(classes, x, name, sizes):
    of_class = (type(one) in classes for one in (x if isinstance(x, list | tuple) else (x,)))
    refuse(not all(of_class), f"{name} is of another class")


PerColumn = Annotated[np.ndarray, "d"]
Vector = Annotated[np.ndarray, "k"]
Points = Annotated[np.ndarray, "k d"]
Columns = Annotated[np.ndarray, "k", numbered]
ColumnTuple = Annotated[tuple, "k", numbered]
ColumnNumber = Annotated[int, numbered]


class Checked:
    """What is checked with its fields, by the Shape of the rows that it is asked of."""

    def check(self, shape):
        """Raise ValueError from public fields and the Shape alone; nothing else may raise."""
        inner, words = self.inner(shape), _words(type(self))
        sizes = {"d": inner.n_features}
        for field in fields(self):
            value = getattr(self, field.name)
            tame(value, field.name, inner)
            if value is not None:
                _fit(value, field.name, words[field.name], sizes)

    def inner(self, shape):
        """Return the Shape that its fields are of."""
        return shape


def _fit(x, name, words, sizes):
    """Refuse a value of other sizes than its letters have, or that its words refuse."""
    for word in words:
        if callable(word):
            word(x, name, sizes)
            continue
        letters, found = word.split(), (len(x),) if isinstance(x, tuple) else np.shape(x)
        fits = len(letters) == len(found) and all(
            0 < n == (int(letter) if letter.isdigit() else sizes.setdefault(letter, n))
            for letter, n in zip(letters, found, strict=True)
        )
        refuse(not fits, f"{name} has the shape ({', '.join(letters)}). Got {found}")


@cache
def _words(cls):
    """Return what fields of a class are declared to fit, by name."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        name: [
            word
            for one in (hint, *get_args(hint))
            if get_origin(one) is Annotated
            for word in one.__metadata__
        ]
        for name, hint in hints.items()
    }


def own(x):
    """Return a copy of a question, made of its fields alone: exact types, as the class declares.

    Nothing of the caller's comes along: no attribute of the instance that hides one of its class,
    no array that changes later, no derived number or array with operators of its own, which rows
    would be handed to. Numbers are those of Python, and arrays have 64 bits: fewer would wrap. A
    tuple in the place of an array becomes one: arithmetic with None or a text in it raises for some
    rows.
    """
    if is_dataclass(x) and not isinstance(x, type):
        refuse(not registered(x), "a class that is not public")
        missing, hints = object(), _hints(type(x))
        held = {field.name: getattr(x, field.name, missing) for field in fields(x)}
        refuse(any(value is missing for value in held.values()), "a field is missing")
        for name, value in held.items():
            if isinstance(value, list | tuple) and not _fits_annotation(hints[name], value):
                value = held[name] = np.asarray(own(value))
            refuse(not _fits_annotation(hints[name], value), f"{name} is of another type")
            if isinstance(value, np.ndarray) and value.ndim == 0:
                held[name] = value if _fits_annotation(hints[name], NO_NUMBER) else value[()]
        return type(x)(**{name: own(value) for name, value in held.items()})
    if isinstance(x, np.ndarray):
        x = np.asarray(x)  # a subclass may say of itself what it is not
        refuse(x.dtype.kind not in "fiub", "arrays are of numbers")
        with np.errstate(over="ignore"):
            return np.array(x, dtype=_wide(x.dtype), order="K")
    if isinstance(x, list | tuple):
        held = [*x]
        copies = {id(one): own(one) for one in held}  # of what it holds twice, one
        held = [copies[id(one)] for one in held]
        return held if type(x) is list else tuple(held)
    if type(x) is Fraction:
        refuse(x.denominator <= 0, "a fraction of nothing")
        return Fraction(x.numerator, x.denominator)
    generic = isinstance(x, np.generic) and type(x) is x.dtype.type
    refuse(not generic and type(x) not in PLAIN, "a field of another type")
    return PYTHON.get(x.dtype.kind, lambda x: x)(x) if generic else x


def checked(x, kind, shape, text):
    """Return a copy, which nobody can change, of a public x of a kind that fits a Shape."""
    refuse(not (isinstance(x, kind) and registered(x)), text)
    x = own(x)
    x.check(shape)
    return x


def _wide(dtype):
    """Return the type of arrays of numbers: of 64 bits, with a sign unless all are needed."""
    if dtype.kind == "u" and dtype.itemsize == 8:
        return np.uint64
    return {"i": np.int64, "u": np.int64, "f": np.float64}.get(dtype.kind, dtype)


@cache
def _hints(cls):
    """Return the kinds of which each field is one, by name."""
    return {name: _kinds(hint) for name, hint in get_type_hints(cls).items()}


def _kinds(hint):
    if get_origin(hint) in (Union, UnionType):
        return [kind for one in get_args(hint) for kind in _kinds(one)]
    return [get_origin(hint) or hint]


def _fits_annotation(kinds, x):
    """Return whether a field that is declared so may hold this; scalars may be 0-d arrays."""
    return any(_is_of(kind, x) for kind in kinds)


def _is_of(kind, x):
    if kind in (bool, int, float):
        x = x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
        return isinstance(x, TAKEN[kind]) and (kind is bool or not isinstance(x, bool | np.bool_))
    return not isinstance(kind, type) or isinstance(x, TAKEN.get(kind, kind))


def tame(x, name="", shape=None):
    """Refuse fields on which a row could make arithmetic raise: NaN, infinite, wrapping, no unit.

    ``edges`` of cells may be infinite. Numbers in fields named in ``POSITIVE`` are positive.
    """
    if is_dataclass(x):
        refuse(not registered(x), "a class that is not public")
        if isinstance(x, Checked):
            x.check(shape)
        else:
            for field in fields(x):
                tame(getattr(x, field.name), field.name, shape)
    elif isinstance(x, list | tuple):
        for one in {id(one): one for one in x}.values():
            tame(one, name, shape)
    elif isinstance(x, np.ndarray | np.generic | float | int) and not isinstance(x, bool):
        x = np.asarray(x)
        refuse(x.dtype.kind not in "fiub", "fields are numbers")
        if x.dtype.kind == "f":
            open_ended = name in ("edges", "low", "high") and not np.isnan(x).any()
            refuse(not (open_ended or np.isfinite(x).all()), f"{name} is finite")
        elif x.dtype.kind == "i":
            refuse(((x > LONGEST) | (x < -LONGEST)).any(), f"{name} is at most 2^62")
        refuse(name in POSITIVE and not (x > 0).all(), f"{name} is positive")
    else:
        refuse(not isinstance(x, str | bool | Fraction | None), "a field of another type")
