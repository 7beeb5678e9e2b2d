"""Rows by group: views of tables in memory, and one pass for all groups of those in pieces."""

import threading
from collections import Counter
from contextvars import copy_context
from functools import partial

import numpy as np

from skdp._compat import safe_indexing
from skdp._pieces import carried
from skdp.chunks._raw import TableError
from skdp.chunks._rows import Source
from skdp.chunks._some_rows import SomeRows, TableBlock
from skdp.chunks._tables import Decoded, Tables, columns_of

__all__ = ["HeldByGroup", "by_turns", "counted", "numbered", "of_columns"]

AT_ONCE = 64  # groups that share a pass


def of_columns(X, places):
    """Return some columns of an array, a frame or Tables."""
    return X.columns(places) if isinstance(X, Tables) else columns_of(X, places)


class HeldByGroup:
    """Some columns of a memory map: the rows of one group at a time are held in memory."""

    def __init__(self, X, places):
        self._X, self._places = X, list(places)

    def rows(self, numbers):
        """Return an array of the rows with these numbers."""
        return np.array(self._X[numbers][:, self._places])


def counted(keys, X):
    """Return how often each key occurs in a table of keys."""
    if not isinstance(X, Tables):
        return keys.counted(X)
    return sum(X.each(keys.counted), Counter())


def numbered(keys, levels, X):
    """Return the number of the group of each row of a table of keys, -1 for none."""
    if not isinstance(X, Tables):
        return keys.numbers(levels, X)
    parts = X.as_stored().each(partial(keys.numbers, levels))
    numbers = np.concatenate([np.empty(0, dtype=np.int16), *parts])
    if X.absent is not None:
        numbers[X.absent] = -1
    return numbers


def by_turns(models, features, y, sets):
    """Fit each model on its rows; of tables in pieces, all that wait for rows share a pass.

    Parameters
    ----------
    models : list of estimators
    features : array, DataFrame, HeldByGroup or Tables
    y : array-like or None
    sets : list of ndarray of int
        Disjoint, rising: the numbers of the rows of each model.
    """
    if not isinstance(features, Tables):
        held = isinstance(features, HeldByGroup)
        taken = features.rows if held else partial(safe_indexing, features)
        for model, rows in zip(models, sets, strict=True):
            _fitted(model, taken(rows), y, rows)
        return
    for first in range(0, len(models), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        meeting = Meeting(features)
        meeting.hold(
            [
                partial(_fitted, model, meeting.seat(number, rows), y, rows)
                for number, (model, rows) in enumerate(zip(models[some], sets[some], strict=True))
            ]
        )


def _fitted(model, X, y, rows):
    if y is None:
        model.fit(X)
    else:
        model.fit(X, safe_indexing(y, rows))


class Meeting:
    """Fits in threads of their own, of which one runs at a time, until all wait for rows.

    Parameters
    ----------
    tables : Tables

    Notes
    -----
    Which fit runs when hangs on how often each asks for rows, which a private choice of rows may
    decide on: nothing that leaves may tell of it (:func:`skdp._beside.curators_beside`). A pass
    answers each question with the statistic of the rows of that fit.
    """

    def __init__(self, tables):
        self.tables = tables
        self._turns, self._back = {}, threading.Semaphore(0)
        self._asked, self._answers, self._failed = {}, {}, None

    def seat(self, number, rows):
        """Return the rows of one fit as Tables."""
        return Tables(_Seat(self, number, rows), (), self.tables.head())

    def hold(self, tasks):
        """Run tasks, one for each seat; what one of them raises ends all."""
        self._turns = {number: threading.Semaphore(0) for number in range(len(tasks))}
        errors = []

        def run(number, task):
            self._turns[number].acquire()
            try:
                self._go_on()
                task()
            except _Ended:
                pass
            except BaseException as error:
                errors.append(error)
                self._failed = error
            finally:
                self._back.release()

        threads = [
            threading.Thread(target=copy_context().run, args=(carried(run), number, task))
            for number, task in enumerate(tasks)
        ]
        for thread in threads:
            thread.start()
        running = list(range(len(tasks)))
        try:
            while running:
                for number in running:
                    self._turns[number].release()
                    self._back.acquire()
                running = sorted(self._asked)
                if running and self._failed is None:
                    self._answer()
                self._asked = {}
        except BaseException as error:
            self._failed = error
            self._asked = {}
            for number in running:
                self._turns[number].release()
                self._back.acquire()
            raise
        finally:
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]

    def ask(self, number, question):
        """Wait for the next pass; return its answer to a question."""
        self._asked[number] = question
        self._back.release()
        self._turns[number].acquire()
        self._go_on()
        return self._answers.pop(number)

    def _go_on(self):
        if self._failed is not None:
            raise _Ended

    def _answer(self):
        asked = [self._asked[number] for number in sorted(self._asked)]

        def laid(start, stop):
            return [question.laid(start, stop) for question in asked]

        plain = Decoded((), self.tables.decode)
        works = [question.work for question in asked]
        numbers = all(decode == plain for decode, _ in works)
        tables = self.tables.as_stored() if numbers else self.tables
        answers = tables.decoded_by(TableBlock).map_merge(
            partial(_of_all, plain, works),
            partial(_merged, [question.merge for question in asked]),
            laid,
        )
        answers = answers or [None] * len(asked)  # a table of no rows
        self._answers = dict(zip(sorted(self._asked), answers, strict=True))


class _Ended(BaseException):
    """Another fit has failed."""


class _Question:
    """What a fit asks of its rows."""

    def __init__(self, places, decode, statistic, merge, beside):
        self.work, self.merge = (decode, statistic), merge
        self._places, self._beside = places, beside

    def laid(self, start, stop):
        """Return the number of the first row in a block, their places, and what lies beside."""
        first, last = (int(k) for k in np.searchsorted(self._places, [start, stop]))
        others = () if self._beside is None else (self._beside(first, last),)
        return first, self._places[first:last] - start, others


def _of_all(plain, works, start, block, laid):
    """Return the statistics of a block, which is made numbers once for all that ask for these."""
    are_plain = [decode == plain for decode, _ in works]
    whole = plain(block.table) if any(are_plain) else None
    found = []
    asked = zip(works, are_plain, laid, strict=True)
    for (decode, statistic), is_plain, (first, places, others) in asked:
        if len(places):
            rows = whole[places] if is_plain else decode(block[places].table)
            if len(rows) != len(places):
                raise TableError("a piece of the table has another length than its rows.")
            found.append((statistic(first, rows, *others),))
        else:
            found.append(None)
    return found


def _merged(merges, one, two):
    return [
        b if a is None else a if b is None else (merge(a[0], b[0]),)
        for merge, a, b in zip(merges, one, two, strict=True)
    ]


class _Seat(Source):
    """The rows of one fit of a Meeting, numbered anew."""

    def __init__(self, meeting, number, places):
        tables = meeting.tables
        super().__init__(tables.n_features, n_rows=len(places), block_rows=tables.block_rows)
        self.names, self.decode = tables.names, tables.decode
        self._meeting, self._number, self._places = meeting, number, places

    def head(self):
        """Return raw rows of no rows."""
        return self._meeting.tables.head()

    def pieces(self):
        """Yield (number of rows, raw rows), in a pass of its own."""
        yield from SomeRows(self._meeting.tables, self._places).pieces()

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.chunks.map_merge` returns, None for no rows."""
        question = _Question(self._places, self.decode, statistic, merge, beside)
        answer = self._meeting.ask(self._number, question)
        return None if answer is None else answer[0]
