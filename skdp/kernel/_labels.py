"""Labels and numbers of the columns of a table: which there are, and views of them."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Annotated

import numpy as np

from skdp.chunks._columns import MixedOf, numbers_of, read_columns
from skdp.chunks._labels import Known, count_labels, is_missing, plain, sorted_keys
from skdp.chunks._persons import representatives_of
from skdp.chunks._raw import schema_of
from skdp.chunks._rows import MappedRows, take
from skdp.kernel._plain import (
    Checked,
    ColumnTuple,
    made_of,
    numbered,
    own,
    public,
    refuse,
    registered,
)
from skdp.kernel._statistic import OnePerColumn, RowMap, Statistic


@public
class CodedTarget(RowMap):
    """Rows whose last column is the number of the label of their target, NaN for no label."""

    labels: tuple  # tuple of text and numbers: public or released

    def over(self, rows):
        return rows.with_target(Known(self.labels))


@public
class CodedColumns(RowMap):
    """Rows whose columns are codes of levels, see :class:`Coding`."""

    levels: tuple  # public or released: of every column None, for numbers, or a tuple

    def over(self, rows):
        return rows.with_columns(Coding(self.levels).of_block)


class Coding:
    """Codes of the columns of a mixed table.

    ``levels``: public or released: of every column None, for numbers, or a tuple.

    **Privacy**: every code is a function of its entry alone.
    """

    def __init__(self, levels):
        self.levels = levels
        self._known = [
            None if level is None else Known(level, len(level), len(level) + 1.0)
            for level in levels
        ]

    def __repr__(self):
        return f"{type(self).__name__}({self.levels})"

    @property
    def n_cells(self):
        """Cells of every column: 0 for numbers, else its levels, "other" and "missing"."""
        return tuple(0 if level is None else len(level) + 2 for level in self.levels)

    def codes(self, X):
        """Return the codes of a table in memory, an array of float64 of its shape."""
        table = read_columns(X).table
        return self.decoder(table)(table)

    def decoder(self, head):
        """Return what makes codes of tables with the columns of ``head``, to decode a source by."""
        numeric = tuple(level is None for level in self.levels)
        return partial(_coded, self, MixedOf(schema_of(head), numeric))

    def of_block(self, block):
        """Return the codes of an array of numbers, or of a ColumnBlock, as an array of float64."""
        columns = list(block.T) if isinstance(block, np.ndarray) else block.columns
        rows = np.empty((len(block), len(columns)))
        for j, (known, column) in enumerate(zip(self._known, columns, strict=True)):
            rows[:, j] = _finite(column) if known is None else known(column)
        return rows


def _coded(coding, decode, raw):
    return coding.of_block(decode(raw))


def _finite(column):
    return np.where(np.isfinite(column), column, np.nan)


class Labels(Checked, ABC):
    """Columns whose labels are asked for: a frozen dataclass, registered by :func:`public`.

    **Privacy**: a row has at most one label in each of ``n_columns`` columns.
    """

    @property
    @abstractmethod
    def n_columns(self):
        """The number of columns."""

    @abstractmethod
    def columns_of(self, rows):
        """Return the source behind rows, and what gives the columns of its blocks."""


@public
class TargetLabels(Labels):
    """The labels of the target of rows that are there."""

    n_columns = 1

    def columns_of(self, rows):
        """Return the source behind rows, and what gives the target of its blocks."""
        return rows.joined, partial(_present_target, rows)


@public
class ColumnLabels(Labels):
    """The labels of columns, of rows with a target those of rows that are there."""

    columns: ColumnTuple

    @property
    def n_columns(self):
        """The number of columns."""
        return len(self.columns)

    def columns_of(self, rows):
        """Return the source behind rows, and what gives the columns of its blocks."""
        if hasattr(rows, "joined"):
            return rows.joined, partial(_present_columns, rows, self.columns)
        return rows.table, partial(_columns, self.columns)


def _present_target(rows, block):
    return [block.target[rows.present(block)]]


def _present_columns(rows, columns, block):
    there = rows.present(block)
    return [block.table.columns[j][there] for j in columns]


def _columns(columns, block):
    return [block.columns[j] for j in columns]


def names_of(table, labels, *, share, label, event):
    """Return the labels that occur often in columns; see :meth:`skdp.kernel._table.Table.names`.

    **Privacy** (add or remove one row, or one person: one row of each is counted). A row has at
    most one label in each column, so it moves the counts of at most k pairs of a column and a
    label, by 1 each. A name is returned if its noisy count is above ``1 + t``, with t so high that
    rounded noise exceeds it with probability at most f / k, f that of the event. Outside one
    failure event, which this answer alone has, the release has sensitivity sqrt(k), although
    either table may have names that the other has not: the theorem of
    :meth:`skdp.base.Curator.names`. What is returned is sorted, equal labels once: True is 1, and
    rows with either count; so neither the order of rows nor that of the counts is in it.
    """
    refuse(not (isinstance(labels, Labels) and registered(labels)), "only registered labels")
    labels = own(labels)
    labels.check(table.shape)
    curator, log = table._curator, table._log
    curator.afford(label, "gaussian", share)
    rows, _ = representatives_of(table._rows, curator.coins)
    counts = count_labels(*labels.columns_of(rows), labels.n_columns)
    numbered = {(j, key): one[key] for j, one in enumerate(counts) for key in sorted_keys(one)}
    log.bound[event] = log.keep(table, labels)
    pay = {"share": share, "label": label, "event": event, "of_persons": True}
    found = curator.names(numbered, moved=labels.n_columns, **pay)
    return [
        list(dict.fromkeys(map(plain, sorted_keys(key for i, key in found if i == j))))
        for j in range(labels.n_columns)
    ]


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

    columns: Annotated[tuple, numbered]  # maybe none

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
class EntryStates(OnePerColumn):
    """How many entries of every column are in each of its states.

    **Privacy** (add or remove one row). A row all of whose entries are missing adds nothing. Any
    other is in one state of every column: c counts move by 1, the vector of all by sqrt(c).
    """

    columns: ColumnTuple
    # of every column its labels, public or released, as a tuple: an entry is one of them, another,
    # or missing. None for numbers: an entry is missing, a fraction or a whole number
    labels: Annotated[tuple, "k", made_of(tuple, type(None))]
    kind = "text"

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
