"""The table of a fit that is made of others: each of these reads it as it would its own."""

from functools import partial
from itertools import groupby
from operator import itemgetter

import numpy as np
import sklearn
from sklearn.utils import check_array

from skdp._private_part import SCHEMA
from skdp.contracts import Rows, target_of
from skdp.gate._accountant import BudgetAllocation
from skdp.gate._parallel import parallel_sessions
from skdp.kernel._log import Log
from skdp.kernel._parts import persons_table
from skdp.kernel._plain import refuse
from skdp.kernel._table import Table, made_table
from skdp.readers._persons import Persons
from skdp.readers._some_rows import mask_rows as without_rows
from skdp.readers._tables import Tables
from skdp.table._batched import with_current_config
from skdp.table._schema import numbers_of_dates
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context


class Unread(Table):
    """A Table whose rows no fit has read yet; its views are read under the name of a fit.

    Notes
    -----
    **Privacy**: what comes out are Tables, what a fit knows of its columns, and a bill.
    """

    __slots__ = ()

    @property
    def grouped(self):
        """Whether the fit protects persons."""
        return self._curator.protects_groups

    def child(self, label, share, *, budget=None):
        """Return the same rows for the fit of this name; see :meth:`Table.child`."""
        curator = self._curator.child(label, share, budget=budget)
        curator.step = label
        return self.paid_by(curator)

    def read(self, label):
        """Return the Table that the fit of this name asks, and what is public of it by name."""
        rows, curator, told = self._rows.read(label, self._curator)
        return made_table(rows, curator), told

    def close(self, estimator):
        """Return the report of everything released; see :meth:`skdp.base.Curator.close`."""
        return self._curator.close(estimator)

    def forget(self):
        """Let go of the Tables of a fit on disjoint rows that has ended; see :meth:`Log.forget`."""
        Log.forget(self._curator)

    def keys(self, *, share, label, event):
        """Return the keys of many rows, sorted; see :meth:`skdp.base.Curator.names`.

        **Privacy**: a person counts once, for one key that its own rows choose.
        """
        self._curator.afford(label, "gaussian", share)
        told = {"share": share, "label": label, "event": event, "of_persons": self.grouped}
        return self._curator.names(self._rows.counted(self._curator.coins), moved=1, **told)

    def persons_by_levels(self, levels):
        """Return the Table whose rows are persons; of each the number of its levels is asked.

        **Privacy**: a person has a row of it, whose number is a function of its own rows.
        """
        return persons_table(self._rows.pairs(levels), self._curator)

    def partition(self, levels, label, share, *, budget, most=1):
        """Return Unread tables of the rows of each level, disjoint, which pay ``share`` together.

        **Privacy**: a row decides by its own key in which table it is; with persons all rows of one
        decide together, and are in ``most`` tables at most. Then
        :func:`skdp.gate._parallel.parallel_sessions`.
        """
        refuse(type(most) is not int or most < 1, "most is a positive integer")
        self._curator.afford_all("child", [(label, share / most)] * most)
        sets = self._rows.sets(levels, most, self._curator.coins)
        told = {"budget": budget, "share": share, "most": most}
        curators = parallel_sessions(self._curator, label, sets, **told)
        parts = self._rows.parts(list(sets.values()))
        return [self._view(*part) for part in zip(parts, curators, strict=True)]

    def search(self):
        """Return the winner of many trials, by name; the others and their number stay unseen.

        **Privacy**: the search is that of the fit, which is planned and paid: no argument names
        its budget.
        """
        return self._rows.search(self._curator)


class StepRows:
    """Rows that no fit has read yet.

    Notes
    -----
    **Privacy**: with persons every fit has all of them, so none can read rows as nobody's.
    """

    kind, door = "unread", Unread

    def __init__(self, X, y, find, last, *, persons=None, absent=None):
        self.X, self.persons, self.absent = X, persons, absent
        self._y, self._find, self._last = y, find, last

    def __len__(self):
        return len(self.X) if isinstance(self.X, Tables) else self.X.shape[0]

    @property
    def about(self):
        """What else is public of the rows: whether they have weights."""
        return {"weighted": self.persons is not None and self.persons.shares is not None}

    @property
    def n_features(self):
        """The number of columns."""
        return self.X.n_features if isinstance(self.X, Tables) else self.X.shape[1]

    def head(self):
        """Return a table of no rows."""
        return self.X.head() if isinstance(self.X, Tables) else safe_indexing(self.X, slice(0, 0))

    def read(self, label, curator):
        """Return the rows as a fit reads them, its Curator, and what is public of them by name."""
        step = self._find(label)
        step.set_params(ledger=BudgetAllocation(label, Rows()))
        step.ledger.absent = self.absent
        rows, told = self.X, {}
        if hasattr(rows, "shape") or isinstance(rows, Tables):
            y = self._y if label == self._last or target_of(step) is not None else None
            with config_context(invalid_rows="ignore"), sklearn.config_context(assume_finite=True):
                rows = step._read(self.present(), y)
            known = {name: value for name, value in vars(step).items() if name in SCHEMA}
            told = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in known.items()}
            curator.column_names = told.get("feature_names_in_")
        if self.persons is not None:
            persons = step._persons(self.persons, rows)
            rows, curator, more = step._of_persons(persons, rows, curator)
            told |= more
        return rows, curator, told

    def present(self):
        """Return the table, with NaN in the rows that are absent."""
        return self.X if self.absent is None else _without(self.X, self.absent)

    def mapped(self, function):
        """Return what a function makes of the table, each row by itself."""
        return self.holding(function(self.X))

    def numbers_mapped(self, function):
        """Return what a function makes of the table as an array of numbers."""
        return self.mapped(partial(_numbers_mapped, function))

    def without(self, absent):
        """Return these rows without those where ``absent`` is True."""
        absent = absent if self.absent is None else self.absent | absent
        rows = self.holding(_without(self.X, absent))
        rows.absent = absent
        return rows

    def holding(self, X):
        """Return another table of the same rows."""
        told = {"persons": self.persons, "absent": self.absent}
        return StepRows(X, self._y, self._find, self._last, **told)

    def joined(self, function):
        """Return one row of each person, as ``function`` makes them of a table and its persons.

        **Privacy**: the caller proves that each is a function of the rows of its person, present
        ones alone. The target is that of the first of them.
        """
        n_rows, whose = len(self), None
        persons = Persons(np.arange(n_rows), n_rows) if self.persons is None else self.persons
        persons = persons if self.absent is None else persons.of(~self.absent)
        X, firsts = function(self.X, persons)
        if self.persons is not None:
            whose = Persons(np.arange(len(firsts)), len(firsts))
        y = None if self._y is None else safe_indexing(self._y, firsts)
        return StepRows(X, y, self._find, self._last, persons=whose)

    def of(self, persons):
        """Return the rows as those of persons."""
        rows = self.holding(self.X)
        rows.persons = persons
        return rows


def mapped_here(view, function):
    """Return the view that a function makes of rows: of a user, or of another library.

    It is no plain data, so it works in this process only. **Privacy**: the caller proves that
    a row is a function of the same row.
    """
    return view._view(function(view._rows))


def side_by_side(parts, tasks):
    """Run a task for each part of a table; all that wait for rows in this process share a pass."""
    meetings = [getattr(getattr(part, "_rows", None), "meeting", None) for part in parts]
    for meeting, some in groupby(zip(meetings, tasks, strict=True), itemgetter(0)):
        tasks = [task for _, task in some]
        if meeting is None:
            [task() for task in tasks]
        else:
            meeting.hold(tasks)


def _without(X, absent):
    """Return a table of numbers with NaN in the rows that are absent."""
    if isinstance(X, Tables):
        return X.mapped(_as_floats, _as_floats(X.head())).without(absent)
    return without_rows(numbers_of_dates(X), absent)


def _as_floats(table):
    return without_rows(numbers_of_dates(table), np.zeros(len(table), dtype=bool))


def _numbers_mapped(function, X):
    if isinstance(X, Tables):
        mapped = with_current_config(partial(_numbers_mapped, function))
        return X.mapped(mapped, mapped(X.head()))
    X = check_array(
        numbers_of_dates(X),
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
    return function(X)
