"""Engines without any rows: a Table that answers from a script."""

import json
from functools import partial

from skdp.kernel._table import Table
from tests.kernel._elsewhere import Line, handle, sent

__all__ = ["Script", "ScriptedTable", "replayed", "view"]


class Script(Line):
    """Answers in place of a holder.

    Parameters
    ----------
    answers : sequence
        To the requests, in order: Noisy, lists of them, numbers, budgets, or lines of a holder.
    questions : sequence of str, default=None
        Lines of the only requests that are answered.
    """

    def __init__(self, answers, questions=None):
        self._left, self._questions = iter(answers), questions
        self.requests, self.answers = [], []

    def raw(self, line):
        """Return the next answer."""
        self.requests.append(line)
        asked = len(self.requests)
        known = self._questions is None or self._questions[asked - 1 : asked] == [line]
        assert known, "another question than that of the script"
        answer = next(self._left)
        if isinstance(answer, bytes):
            return answer
        return json.dumps({"ok": answer if isinstance(answer, view) else sent(answer, None)})

    def close(self):
        """Do nothing: there is no holder."""


class view(dict):
    """What a script answers to a request for a view: a Table or Parts of this number."""

    def __init__(self, number, kind="Table", purse=0):
        super().__init__(number=number, purse=purse, **{"class": kind})


def ScriptedTable(answers, questions=None, kind="Table"):
    """Return a Table without rows that answers from a script; its ``_line`` has the requests."""
    return handle(Script(answers, questions), view(0, kind))


def replayed(line):
    """Return what to replace the Table of a fit by: the answers of an earlier one, and no rows."""

    def make(rows, curator):
        kind = getattr(rows, "door", Table).__name__
        vars(rows).clear()
        table = ScriptedTable(line.answers, line.requests, kind)
        curator._write(partial(table._line, 0, "bill"))
        return table

    return make
