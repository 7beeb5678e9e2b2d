"""One pass over tables in pieces for all fits on disjoint rows that wait for rows."""

import threading
from contextvars import copy_context
from functools import partial

import numpy as np

from skdp.readers._raw import TableError
from skdp.readers._rows import Source
from skdp.readers._some_rows import SomeRows, TableBlock
from skdp.readers._tables import DecodedTable, Tables


class Meeting:
    """Fits in threads of their own, of which one runs at a time, until all wait for rows.

    Notes
    -----
    **Privacy**: which fit runs when depends on how often each asks for rows, which a private choice
    of rows may decide on: nothing that leaves may tell of it
    (:func:`skdp.gate._parallel.parallel_sessions`). A pass answers each question with the statistic
    of the rows of that fit.
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
            threading.Thread(target=copy_context().run, args=(run, number, task))
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
        """Wait for the next pass, if others may share it; return its answer to a question."""
        self._asked[number] = question
        if not self._turns:
            self._answer()
            self._asked = {}
            return self._answers.pop(number)
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

        plain = DecodedTable((), self.tables.decode)
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
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""
        question = _Question(self._places, self.decode, statistic, merge, beside)
        answer = self._meeting.ask(self._number, question)
        return None if answer is None else answer[0]
