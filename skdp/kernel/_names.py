"""Labels that occur often in columns of a table: which may be asked for, and how often they do."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from skdp.chunks._labels import count_labels, plain, sorted_keys
from skdp.chunks._persons import representatives_of
from skdp.kernel._plain import own, public, refuse, registered, tame
from skdp.kernel._statistic import check_columns

__all__ = ["ColumnLabels", "Labels", "TargetLabels", "names_of"]


class Labels(ABC):
    """Columns whose labels are asked for: a frozen dataclass, registered by :func:`public`.

    **Privacy**: a row has at most one label in each of ``n_columns`` columns.
    """

    def check(self, shape):
        tame(self)

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
        return rows.joined, PresentTarget(rows)


@public
class ColumnLabels(Labels):
    """The labels of columns, of rows with a target those of rows that are there."""

    columns: tuple

    def check(self, shape):
        super().check(shape)
        check_columns(self.columns, shape)
        refuse(not self.columns, "no columns")

    @property
    def n_columns(self):
        """The number of columns."""
        return len(self.columns)

    def columns_of(self, rows):
        """Return the source behind rows, and what gives the columns of its blocks."""
        if hasattr(rows, "joined"):
            return rows.joined, PresentColumns(rows, self.columns)
        return rows.table, BlockColumns(self.columns)


@dataclass(frozen=True)
class PresentTarget:
    """The targets of the rows of a block that are there."""

    rows: object

    def __call__(self, block):
        return [block.target[self.rows.present(block)]]


@dataclass(frozen=True)
class PresentColumns:
    """Some columns of the rows of a block that are there."""

    rows: object
    columns: tuple

    def __call__(self, block):
        there = self.rows.present(block)
        return [block.table.columns[j][there] for j in self.columns]


@dataclass(frozen=True)
class BlockColumns:
    """Some columns of a block."""

    columns: tuple

    def __call__(self, block):
        return [block.columns[j] for j in self.columns]


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
