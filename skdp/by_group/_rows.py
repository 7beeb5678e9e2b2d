"""The rows of a fit by group: which count in which, counted by key, and a table for each group."""

import math
from collections import Counter
from copy import copy
from functools import partial

import numpy as np
from sklearn.base import clone

from skdp._unread import StepRows, Unread
from skdp.by_group._keys import Keys, merged, name_of, narrow, ordered
from skdp.kernel._parts import present_rows
from skdp.readers._labels import plain_key
from skdp.readers._persons import Persons
from skdp.readers._raw import library
from skdp.readers._tables import Tables, columns_of
from skdp.readers._together import Meeting
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context

AT_ONCE = 64  # groups that share a pass
STEP = 2**16  # rows that are looked at together
GATHERED_BYTES = 2**26  # at most, of groups whose rows are taken together
NEAR = 2**12  # rows whose columns stay in the cache
MOST_PASSES = 3  # of a larger table, in which the rows of one group take as long one by one


def _floats_of(X, places):
    """Return columns of a frame of pandas as an array, where it holds them in one; else None.

    A frame copies columns that lie beside others, and takes rows column after column.
    """
    if type(X).__module__.partition(".")[0] != "pandas" or X.shape[0] < 2 or not places:
        return None
    dtypes = X.dtypes
    if any(dtypes.iloc[j] != np.float64 for j in places):
        return None
    columns = [X.iloc[:, j].to_numpy() for j in places]  # views
    apart = {one.strides[0] for one in columns}
    steps = set(np.diff([one.__array_interface__["data"][0] for one in columns]).tolist())
    owner = columns[0].base  # of them all, or they are apart in memory by chance
    if len(apart) > 1 or len(steps) > 1 or any(one.base is not owner for one in columns):
        return None
    if owner is None and len(columns) > 1:
        return None
    shape, strides = (X.shape[0], len(places)), (*apart, *(steps or {8}))
    return np.lib.stride_tricks.as_strided(columns[0], shape, strides, writeable=False)


def of_columns(X, places):
    """Return some columns of an array, a frame or Tables: a view, if they are neighbors."""
    if isinstance(X, Tables):
        return X.columns(places)
    if (floats := _floats_of(X, places)) is not None:
        return type(X)(floats, index=X.index, columns=X.columns[list(places)], copy=False)
    if library(X) not in ("numpy", "pandas") or places != tuple(range(places[0], places[-1] + 1)):
        return columns_of(X, places)
    return getattr(X, "iloc", X)[:, places[0] : places[-1] + 1]


def gathered(floats, groups):
    """Return the rows of groups, which are disjoint, by one pass over a table of floats."""
    n_rows, d = floats.shape
    ends = np.cumsum([0, *map(len, groups)])
    place = np.full(n_rows, -1, dtype=np.int32 if n_rows < 2**31 else np.int64)
    for group, start, end in zip(groups, ends[:-1], ends[1:], strict=True):
        place[group] = np.arange(start, end)
    rows = np.empty((ends[-1], d))
    line = np.dtype((np.void, 8 * d))
    whole = rows.view(line)[:, 0]
    for start in range(0, n_rows, NEAR):
        to = place[start : start + NEAR]
        here = to >= 0
        block = np.ascontiguousarray(floats[start : start + NEAR]).view(line)[:, 0]
        whole[to[here]] = block[here]
    return np.split(rows, ends[1:-1])


def numbered(keys, levels, X):
    """Return the number of the group of each row of a table of keys, -1 for none."""
    if not isinstance(X, Tables):
        return keys.numbers(levels, X)
    parts = X.as_stored().each(partial(keys.numbers, levels))
    numbers = np.concatenate([np.empty(0, dtype=np.int16), *parts])
    if X.absent is not None:
        numbers[X.absent] = -1
    return numbers


class GroupedRows:
    """A table that models of groups read, each its rows."""

    kind, door = "unread", Unread

    def __init__(self, table, features, y, places, estimator):
        self._table, self._features, self._y = table, features, y
        self._keys, self._estimator, self._persons = Keys(len(places)), estimator, None
        self.about = {"key_columns_": places}

    def __len__(self):
        return len(self._table) if isinstance(self._table, Tables) else self._table.shape[0]

    def of(self, persons):
        """Return the rows as those of persons; a row that no fit would count is nobody's."""
        rows = copy(self)
        rows._persons = persons.of(self._present())
        return rows

    def _present(self):
        """Return which rows the models read as present, each by itself."""
        X = self._features
        if not isinstance(X, GroupViews):
            return self._present_of(X, self._y)
        ys = [None if self._y is None else safe_indexing(self._y, cut) for cut in X.cuts()]
        there = [self._present_of(X.rows(cut), y) for cut, y in zip(X.cuts(), ys, strict=True)]
        return np.concatenate([np.ones(0, dtype=bool), *there])

    def _present_of(self, X, y):
        with config_context(invalid_rows="ignore"):
            rows = self._copied(None)._read(X, y)
        if getattr(rows, "kind", None) == "unread":  # whose steps read it
            return np.ones(len(X) if isinstance(X, Tables) else X.shape[0], dtype=bool)
        return present_rows(rows, self._estimator._gaps)

    def read(self, label, curator):
        """Return the rows themselves: they are read group by group."""
        return self, curator, {}

    def counted(self, coins):
        """Return how often each key occurs, in the order of keys; of persons for how many.

        **Privacy**: of persons a key has one form, a number for a truth value: were it that of rows
        that hold it, one person could change how a level is written.
        """
        if isinstance(self._table, Tables):
            counts = ordered(sum(self._table.each(self._keys.counted), Counter()))
        else:
            counts = ordered(self._keys.counted(self._table))
        if self._persons is None or not counts:
            return counts
        levels = merged(counts)
        chosen = homes(self._persons, numbered(self._keys, levels, self._table), coins)
        each = np.bincount(chosen, minlength=len(levels)).tolist()
        return {tuple(map(plain_key, key)): n for key, n in zip(levels, each, strict=True) if n}

    def pairs(self, levels):
        """Return the persons of a table in which each has one row for each of its levels."""
        return first_rows(self._persons, numbered(self._keys, levels, self._table))

    def sets(self, levels, most, coins):
        """Return the rising numbers of the rows of each level, by its name.

        **Privacy**: of persons those of levels in which they count, see
        :func:`levels_that_count`.
        """
        numbers = numbered(self._keys, levels, self._table)
        if self._persons is not None:
            numbers = levels_that_count(self._persons, numbers, most, coins)
            numbers = numbers.astype(narrow(levels))
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers.astype(np.intp) + 1, minlength=len(levels) + 1))
        pairs = zip(levels, ends[:-1], ends[1:], strict=True)
        return {name_of(key): order[a:b] for key, a, b in pairs}

    def parts(self, sets):
        """Return the rows of some disjoint sets; of tables in pieces some share a pass."""
        parts = []
        if isinstance(self._features, GroupViews):
            self._features.expect(sets)
        for number, rows in enumerate(sets):
            if number % AT_ONCE == 0:
                meeting = Meeting(self._features) if isinstance(self._features, Tables) else None
            seat = None if meeting is None else meeting.seat(number % AT_ONCE, rows)
            parts.append(_Part(self, rows, meeting, seat))
        return parts

    def of_group(self, rows, seat):
        """Return the rows of one group, which its model reads."""
        X = seat
        if seat is None:
            X = self._features.rows(rows)
        y, persons = None if self._y is None else safe_indexing(self._y, rows), None
        if self._persons is not None:
            known, codes = np.unique(self._persons.codes[rows], return_inverse=True)
            persons = Persons(codes, len(known))
        return StepRows(X, y, self._copied, "groups", persons=persons)

    def _copied(self, label):
        return clone(self._estimator)


class _Part:
    """The rows of one group, which are taken when its model reads them."""

    kind, about = "unread", {}

    def __init__(self, rows, numbers, meeting, seat):
        self._rows, self._numbers, self.meeting, self._seat = rows, numbers, meeting, seat

    def read(self, label, curator):
        """Return what the model reads."""
        return self._rows.of_group(self._numbers, self._seat).read(label, curator)


class GroupViews:
    """Some columns of an array, a memory map or a frame: the rows of one group at a time."""

    def __init__(self, X, places):
        self._X, self._places, self._floats = X, list(places), _floats_of(X, places)
        self._batches, self._held = {}, {}  # by the identity of numbers, which both keep alive

    def expect(self, groups):
        """Tell whose rows are asked for, so that those of 64 MB are taken in one pass.

        Where columns lie apart, the rows of one group are as far from each other in each of them.
        """
        floats = self._floats
        if floats is None or floats.strides[0] >= floats.strides[1]:
            return
        most, size, batches = GATHERED_BYTES // (8 * floats.shape[1]), math.inf, []
        for group in groups:
            if size + len(group) > most:
                batches, size = [*batches, []], 0
            batches[-1].append(group)
            size += len(group)
        if len(batches) <= MOST_PASSES:
            self._batches = {id(group): batch for batch in batches for group in batch}

    def rows(self, numbers):
        """Return an array or frame of the rows with these numbers, a copy."""
        X = self._X
        if isinstance(X, np.ndarray) and X.flags.c_contiguous:
            taken = X[numbers] if isinstance(numbers, slice) else np.take(X, numbers, axis=0)
            return np.ascontiguousarray(of_columns(taken, tuple(self._places)))
        if self._floats is None or isinstance(numbers, slice):
            return columns_of(safe_indexing(self._X, numbers), self._places)
        if (batch := self._batches.get(id(numbers))) is None:
            taken = safe_indexing(self._floats, numbers)
        else:
            held = self._held
            if id(numbers) not in held:
                held = self._held = {}
                pairs = zip(batch, gathered(self._floats, batch), strict=True)
                held |= {id(group): (group, rows) for group, rows in pairs}
            _, taken = held[id(numbers)]
        return type(self._X)(taken, columns=self._X.columns[self._places], copy=False)

    def cuts(self):
        """Return slices of all rows."""
        n_rows = self._X.shape[0]
        return [slice(start, start + STEP) for start in range(0, n_rows, STEP)]


# --- in which levels a person counts, who may have rows in several: its own rows decide


def levels_that_count(persons, numbers, most, coins):
    """Return the number of the level of each row, -1 where its person does not count.

    A person counts in ``most`` levels at most: those of most of its rows, of equally many those
    with the smallest key of a row. A row of nobody counts nowhere.

    Notes
    -----
    **Privacy**: whether a row counts is a function of the rows of its person, of their keys, and of
    public or released levels. To remove a person changes ``most`` sets of rows at most, and leaves
    the others as they are, row by row.
    """
    at, pairs, _, counts, back = _pairs(persons, numbers)
    owners = pairs // _width(numbers)
    least = np.full(len(pairs), np.iinfo(np.uint64).max)
    np.minimum.at(least, back, coins.keys(0, len(numbers), use="level of a person")[at])
    order = np.lexsort((least, -counts, owners))
    owners = owners[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, owners)
    counted = np.zeros(len(order), dtype=bool)
    counted[order] = rank < most
    chosen = np.full(len(numbers), -1, dtype=np.int64)
    chosen[at] = np.where(counted[back], numbers[at], -1)
    return chosen


def homes(persons, numbers, coins):
    """Return the level in which each person counts who counts in one, without the others."""
    chosen = levels_that_count(persons, numbers, 1, coins)
    somewhere = np.flatnonzero(chosen >= 0)
    _, firsts = np.unique(persons.codes[somewhere], return_index=True)
    return chosen[somewhere[firsts]]


def first_rows(persons, numbers):
    """Return the Persons of a table in which each has one row for each of its levels."""
    at, _, firsts, _, _ = _pairs(persons, numbers)
    codes = np.full(len(numbers), -1, dtype=np.int64)
    codes[at[firsts]] = persons.codes[at[firsts]]
    return Persons(codes, persons.n)


def _pairs(persons, numbers):
    """Return rows in some level, and of pairs of person and level: key, first row, number, rows."""
    at = np.flatnonzero((persons.codes >= 0) & (numbers >= 0))
    keys = persons.codes[at].astype(np.int64) * _width(numbers) + numbers[at]
    pairs, firsts, back, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return at, pairs, firsts, counts, back


def _width(numbers):
    return int(numbers.max(initial=0)) + 1
