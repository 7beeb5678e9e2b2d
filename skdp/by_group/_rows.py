"""The rows of a fit by group: counted by key, and a table for each group."""

from collections import Counter
from functools import partial

import numpy as np
from sklearn.base import clone

from skdp._unread import StepRows, Unread
from skdp.by_group._keys import Keys, name_of, ordered
from skdp.readers._tables import Tables, columns_of
from skdp.readers._together import Meeting
from skdp.utils._compat import safe_indexing

__all__ = ["GroupViews", "GroupedRows", "numbered", "of_columns"]

AT_ONCE = 64  # groups that share a pass


def of_columns(X, places):
    """Return some columns of an array, a frame or Tables."""
    return X.columns(places) if isinstance(X, Tables) else columns_of(X, places)


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
        self._keys, self._estimator = Keys(len(places)), estimator
        self.about = {"key_columns_": places}

    def read(self, label, curator):
        """Return the rows themselves: they are read group by group."""
        return self, curator, {}

    def counted(self):
        """Return how often each key occurs, in the order of keys."""
        if isinstance(self._table, Tables):
            return ordered(sum(self._table.each(self._keys.counted), Counter()))
        return ordered(self._keys.counted(self._table))

    def sets(self, levels):
        """Return the rising numbers of the rows of each level, by its name."""
        numbers = numbered(self._keys, levels, self._table)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(-1, len(levels)), side="right")
        pairs = zip(levels, ends[:-1], ends[1:], strict=True)
        return {name_of(key): order[a:b] for key, a, b in pairs}

    def parts(self, sets):
        """Return the rows of some disjoint sets; of tables in pieces some share a pass."""
        parts = []
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
            X = self._features
            X = X.rows(rows) if isinstance(X, GroupViews) else safe_indexing(X, rows)
        y = None if self._y is None else safe_indexing(self._y, rows)
        return StepRows(X, y, self._copied, "groups")

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
    """Some columns of a memory map: the rows of one group at a time are held in memory."""

    def __init__(self, X, places):
        self._X, self._places = X, list(places)

    def rows(self, numbers):
        """Return an array of the rows with these numbers."""
        return np.array(self._X[numbers][:, self._places])
