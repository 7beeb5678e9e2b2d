"""Entries of the columns of a table: which are there, and which labels and numbers they are."""

import numpy as np

from skdp.chunks._columns import numbers_of
from skdp.chunks._labels import Known, is_missing
from skdp.chunks._rows import MappedRows, take
from skdp.kernel._plain import public, refuse
from skdp.kernel._statistic import RowMap, Statistic, check_columns

__all__ = ["EntryStates", "NumberColumns", "RowEntries", "RowsWithEntries", "has_entries"]

GAP, FRACTION, WHOLE = range(3)  # what an entry of a column of numbers is


@public
class RowEntries(RowMap):
    """The entries behind rows of codes, as they were read."""

    def over(self, rows):
        return EntryRows(rows)


class EntryRows(MappedRows):
    """What :class:`RowEntries` shows of rows of codes."""

    kind = "text"

    def __init__(self, rows):
        super().__init__(rows.table)
        self.n_features = rows.n_features

    def _mapped(self, block):
        return block


@public
class NumberColumns(RowMap):
    """Some columns behind rows of codes as numbers: NaN where there is none."""

    columns: tuple

    def check(self, shape):
        super().check(shape)
        check_columns(self.columns, shape)

    def over(self, rows):
        return NumberRows(rows.table, self.columns)


class NumberRows(MappedRows):
    """What :class:`NumberColumns` shows of rows of codes."""

    def __init__(self, table, columns):
        super().__init__(table)
        self.columns, self.n_features = columns, len(columns)

    def _mapped(self, block):
        columns = [numbers_of(block.columns[j]) for j in self.columns]
        return np.column_stack(columns) if columns else np.empty((len(block), 0))

    def take(self, indices):
        """Return the numbers of the rows at ``indices``."""
        return take(self, indices)


@public
class RowsWithEntries(Statistic):
    """The number of rows with an entry that is not missing."""

    kind = "text"
    squared_l2 = l1 = 1

    def total(self, block):
        """Return the number, shape (1,)."""
        return np.array([np.count_nonzero(has_entries(block))])


@public
class EntryStates(Statistic):
    """How many entries of every column are in each of its states.

    **Privacy** (add or remove one row). A row all of whose entries are missing adds nothing. Any
    other is in one state of every column: c counts move by 1, the vector of all by sqrt(c).
    """

    columns: tuple  # tuple of c int
    # of every column its labels, public or released, as a tuple: an entry is one of them, another,
    # or missing. None for numbers: an entry is missing, a fraction or a whole number
    labels: tuple
    kind = "text"

    def check(self, shape):
        super().check(shape)
        check_columns(self.columns, shape)
        refuse(not self.columns or len(self.labels) != len(self.columns), "labels of every column")
        refuse(not all(x is None or type(x) is tuple for x in self.labels), "labels, or None")

    @property
    def squared_l2(self):
        return len(self.columns)

    l1 = squared_l2

    @property
    def sizes(self):
        """The number of states of every column."""
        return [3 if labels is None else len(labels) + 2 for labels in self.labels]

    def total(self, block):
        """Return the counts of the states, one column after the other."""
        there = has_entries(block)
        parts = []
        for j, labels, size in zip(self.columns, self.labels, self.sizes, strict=True):
            n = 0 if labels is None else len(labels)
            states = states_of if labels is None else Known(labels, n, n + 1.0)
            of_rows = states(block.columns[j])[there].astype(np.int64)
            parts.append(np.bincount(of_rows, minlength=size))
        return np.concatenate(parts)


def states_of(column):
    """Return whether the entries of a column of numbers are missing, fractions or whole."""
    x = numbers_of(column)
    return np.where(np.isfinite(x), np.where(x == np.floor(x), WHOLE, FRACTION), GAP)


def has_entries(block):
    """Return which rows of a ColumnBlock have an entry that is not missing."""
    some = np.zeros(len(block), dtype=bool)
    for column in sorted(block.columns, key=lambda column: column.dtype == object):
        some |= ~is_missing(column)
        if some.all():
            break
    return some
