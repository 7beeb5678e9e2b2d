"""Labels and numbers of the columns of a table: which there are, and views of them."""

from functools import partial
from typing import Annotated

import numpy as np

from skdp.kernel._plain import (
    Checked,
    ColumnTuple,
    checked,
    made_of,
    numbered,
    public,
    refuse,
    rising,
)
from skdp.kernel._statistic import MOST_CELLS, OnePerColumn, RowMap, Statistic
from skdp.readers import ArrayRows, map_merge
from skdp.readers._columns import ColumnBlock, numbers_of
from skdp.readers._labels import (
    LEVELS,
    CodedRows,
    Coding,
    Known,
    count_labels,
    has_entries,
    plain_label,
    sorted_keys,
)
from skdp.readers._persons import representatives_of, without_weights
from skdp.readers._rows import MappedRows, take


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


@public
class ColumnLabels(Checked):
    """The labels of columns, or of the target; of rows with a target those of rows that are there.

    **Privacy**: a row has at most one label in each of ``n_columns`` columns.
    """

    columns: ColumnTuple | None = None  # None for the target

    @property
    def n_columns(self):
        """The number of columns."""
        return 1 if self.columns is None else len(self.columns)

    def columns_of(self, rows):
        """Return the source behind rows, and what gives the columns of its blocks."""
        if self.columns is None or hasattr(rows, "joined"):
            return rows.joined, partial(_present, rows, self.columns)
        return rows, partial(_columns, self.columns)


def _present(rows, columns, block):
    there = rows.present(block)
    told = [block.target] if columns is None else _columns(columns, block.table)
    return [column[there] for column in told]


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
    labels = checked(labels, ColumnLabels, table.shape, "labels of columns are asked for")
    curator, log = table._curator, table._log
    refuse(not curator.plans(label, type(labels)), "the plan names another statistic")
    curator.afford(label, "gaussian", share)
    rows, _ = representatives_of(table._rows, curator.coins)
    counts = count_labels(*labels.columns_of(rows), labels.n_columns)
    numbered = {(j, key): one[key] for j, one in enumerate(counts) for key in sorted_keys(one)}
    log.bound[event] = log.keep(table, labels)
    pay = {"share": share, "label": label, "event": event, "of_persons": True}
    found = curator.names(numbered, moved=labels.n_columns, **pay)
    return [
        list(dict.fromkeys(map(plain_label, sorted_keys(key for i, key in found if i == j))))
        for j in range(labels.n_columns)
    ]


GAP, FRACTION, WHOLE = range(3)  # what an entry of a column of numbers is


@public
class NumberColumns(RowMap):
    """Some columns as numbers: NaN where an entry is missing, infinite where it is no number."""

    columns: Annotated[tuple, numbered]  # maybe none
    kind = "text"

    def over(self, rows):
        return NumberRows(rows, self.columns)


class NumberRows(MappedRows):
    """What :class:`NumberColumns` shows of rows."""

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


# Levels of columns, and rows as their numbers.
for _levels in LEVELS:
    public(_levels)


@public
class Coded(RowMap):
    """Rows as codes of levels of every column, NaN for none; in memory where rows have weights."""

    levels: Annotated[tuple, "d", made_of(*LEVELS)]
    entered: bool = False  # whether rows all of whose entries are missing have no codes

    def check(self, shape):
        super().check(shape)
        refuse(shape.kind not in ("text", "text" if self.entered else "numbers"), "entries")
        for one in self.levels:
            rising(getattr(one, "edges", ()), "edges")
            refuse(not 0 < one.n <= MOST_CELLS, "a column has from 1 to 2^24 levels")
            fits = all(x is None or 0 <= x < one.n for x in (one.other, one.missing))
            refuse(not fits, "codes count levels")

    def of_block(self, block):
        """Return the codes of a ColumnBlock, or of an array of numbers, float64."""
        columns = block.columns if isinstance(block, ColumnBlock) else list(block.T)
        pairs = zip(self.levels, columns, strict=True)
        codes = np.column_stack([one.codes(column) for one, column in pairs])
        codes = codes.astype(np.float64, copy=False)
        if self.entered:
            codes[~has_entries(block)] = np.nan
        return codes

    def present(self, block):
        """Return which rows of a block have codes in all columns."""
        return ~np.isnan(self.of_block(block)).any(axis=1)

    def over(self, rows):
        view = CodedRows(rows, self.levels, self.of_block)
        if rows.unit == 1:
            return view
        plain, weighed = without_weights(view)
        codes = map_merge(plain, view.small, list.__add__)
        return weighed.with_rows(ArrayRows(np.concatenate(codes)))

    def outside(self, rows):
        """Return in which columns some rows have no code. Private."""
        return map_merge(self.over(rows), _gaps, np.logical_or)


def _gaps(start, block):
    return np.isnan(block).any(axis=0)
