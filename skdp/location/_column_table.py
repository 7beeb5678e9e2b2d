"""Tables of one column, whose doubts are said in another place, or not at all."""

from functools import wraps

import numpy as np

from skdp.kernel._table import Table

__all__ = ["ColumnTable", "QuietTable"]


class ColumnTable:
    """The Table of one column, whose doubts are those of that column in the table of all."""

    def __init__(self, table, whole, column):
        self._table, self._whole, self._column = table, whole, column

    def __getattr__(self, name):
        found = getattr(self._table, name)
        return self._of_column(found) if callable(found) else found

    def _of_column(self, method):
        @wraps(method)
        def asked(*given, **options):
            answer = method(*given, **options)
            if isinstance(answer, Table):
                return type(self)(answer, self._whole, self._column)
            return answer

        return asked

    def doubt(self, text, columns=None):
        """Note a doubt; see :meth:`skdp.kernel._table.Table.doubt`."""
        if columns is None or np.any(columns):
            self._whole.doubt(text, np.arange(self._whole.n_features) == self._column)


class QuietTable(ColumnTable):
    """The Table of one column, a step of something that says itself how well it is known."""

    def __init__(self, table, whole=None, column=0):
        super().__init__(table, whole, column)

    def doubt(self, text, columns=None):
        """Say nothing: advice on a mean, as to pass its bounds, is of no use there."""
