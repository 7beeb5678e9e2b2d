"""Rows with a target: a table and the column that a model learns, read together."""

from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.mechanisms import _compiled, finite_rows
from skdp.readers._columns import Columns
from skdp.readers._labels import are_labels, is_missing
from skdp.readers._raw import TableError, kept, library, refuse_masked, schema_of
from skdp.readers._rows import MappedRows, Source, rows_of, take
from skdp.readers._sources import BatchRows

JOINED_BYTES = 2**21  # of a block
OF_X, OF_Y, OUTSIDE = 1, 2, 4  # bits of faults
OTHER = (
    "a piece of the table has other columns than the first, or a target of another type: all must "
    "have the same names, and numbers in the same columns."
)
UNTYPED = "batches of y must be arrays or series, which have a type of their own."
LENGTH = "a batch of y has another length than its batch of X."
NUMBER = "y has batches of numbers and batches of other types. Give all of them one type."


@dataclass(frozen=True)
class Kind:
    """What a target is: a number, or a class."""

    is_class: bool
    known: object = None  # Known: codes of the classes, if they are public

    def faults(self, target):
        """Return whether entries are missing, and whether they are wrong, as bits."""
        missing = is_missing(target)
        if not self.is_class:
            wrong = np.isinf(target)
        elif self.known is not None:
            outside = np.isnan(self.known(target[~missing])).any()
            return OF_Y * int(missing.any()), OUTSIDE * int(outside)
        else:
            wrong = ~missing & ~are_labels(target)
        return OF_Y * int(missing.any()), OF_Y * int(wrong.any())


class TargetBlock:
    """Rows and their targets."""

    def __init__(self, table, target, kind):
        self.table, self.target, self.kind = table, target, kind

    def __len__(self):
        return len(self.target)

    def __getitem__(self, rows):
        return TargetBlock(self.table[rows], self.target[rows], self.kind)

    def without(self, absent):
        """Return these rows with missing targets in those that are absent."""
        return TargetBlock(self.table, missing_in(self.target, absent), self.kind)

    def faults(self):
        """Return which entries are missing, and which are wrong, as bits."""
        if isinstance(self.table, np.ndarray):
            finite = np.isfinite(self.table).all()
            nan = 0 if finite else int(np.isnan(self.table).any())
            infinite = 0 if finite else int(np.isinf(self.table).any())
        else:
            nan, infinite = self.table.faults()
        missing, wrong = self.kind.faults(self.target)
        return nan | missing, infinite | wrong


def missing_in(target, absent):
    """Return a copy of a target that is missing in the rows that are absent."""
    return np.where(absent, None if target.dtype == object else np.nan, target)


@dataclass(frozen=True)
class TargetSplitter:
    """Makes TargetBlocks of pieces of a table one of whose columns is the target."""

    schema: object  # Schema: of the table, with the target
    column: int  # number of the target
    rest: object  # makes rows of a piece without the target
    kind: Kind

    def __call__(self, raw):
        if schema_of(raw) != self.schema:
            raise TableError(OTHER)
        target = Columns(raw).read(self.column)
        return TargetBlock(self.rest(without_column(raw, self.column)), target, self.kind)


@dataclass(frozen=True)
class PairSplitter:
    """Makes TargetBlocks of pieces that are pairs of a table and its targets."""

    numeric: bool  # whether targets have a type of numbers
    rest: object  # makes rows of the table
    kind: Kind

    def __call__(self, raw):
        table, target = self.rest(raw[0]), column_of(raw[1])
        if (target.dtype != object) != self.numeric:
            raise TableError(NUMBER)
        if len(table) != len(target):
            raise TableError(LENGTH)
        return TargetBlock(table, target, self.kind)


def without_column(raw, column):
    """Return a frame without one of its columns, by number."""
    names = list(schema_of(raw).names)
    del names[column]
    if library(raw) == "pandas":
        return raw[names]
    return raw.select(names)


def column_of(y):
    """Return one column, an array or series, as an array of float64 or object."""
    kind = library(y)
    if kind in ("pandas", "polars"):
        return Columns(y.to_frame() if len(y.shape) == 1 else y).read(0)
    if kind == "pyarrow":
        import pyarrow

        return Columns(y if hasattr(y, "schema") else pyarrow.table({"y": y})).read(0)
    refuse_masked(y)
    return Columns(np.asarray(y).reshape(-1, 1)).read(0)


class SourceWithTarget(Source):
    """Rows of a source with a target in memory.

    Notes
    -----
    **Privacy**: the target is as private as the rows, and is laid beside their blocks. It is
    missing in rows that the source has left out.
    """

    def __init__(self, source, target, kind):
        source, n_features = source.decoded_by(source.decode), source.n_features + 1
        # what models make of a block, copy after copy, stays in the last level of the cache
        source.block_rows = min(source.block_rows, rows_of(JOINED_BYTES, n_features))
        super().__init__(n_features, n_rows=source.n_rows, block_rows=source.block_rows)
        self.random_access, self.in_memory = source.random_access, source.in_memory
        self._source, self.target, self._kind = source, target, kind
        if (absent := getattr(source, "absent", None)) is not None:
            self.target = missing_in(target, absent)

    def with_target(self, target):
        """Return the same rows with another target."""
        return SourceWithTarget(self._source, target, self._kind)

    def head(self):
        """Return raw rows of no rows, without the target."""
        return self._source.head()

    def pieces(self):
        """Yield (number of rows, pair of raw rows and targets)."""
        start = 0
        for n, raw in self._source.pieces():
            yield n, (raw, self.target[start : start + n])
            start += n

    def decode(self, raw):
        """Return a pair of raw rows and targets as a TargetBlock."""
        return TargetBlock(self._source.decode(raw[0]), raw[1], self._kind)

    def blocks(self):
        """Yield (number of the first row, TargetBlock)."""
        for start, block in self._source.blocks():
            target = self.target[start : start + len(block)]
            yield start, TargetBlock(block, target, self._kind)

    def no_rows(self):
        """Return a TargetBlock of no rows."""
        return TargetBlock(self._source.no_rows(), self.target[:0], self._kind)

    def take(self, indices):
        """Return the rows at ``indices`` as a TargetBlock, where rows can be taken."""
        return TargetBlock(self._source.take(indices), self.target[indices], self._kind)

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""

        def laid(start, stop):
            others = () if beside is None else (beside(start, stop),)
            return self.target[start:stop], others

        return self._source.map_merge(partial(_joined, statistic, self._kind), merge, laid)


def _joined(statistic, kind, start, block, laid):
    target, others = laid
    return statistic(start, TargetBlock(block, target, kind), *others)


class PairedBatches:
    """Batches of X and of y as pairs, anew at every pass."""

    def __init__(self, X, y):
        self._X, self._y = X, y

    def __iter__(self):
        missing = object()
        y = iter(self._y)
        for table in self._X:
            if (target := next(y, missing)) is missing:
                raise TableError(LENGTH)
            yield table, target
        if next(y, missing) is not missing:
            raise TableError(LENGTH)


class PairRows(BatchRows):
    """Rows of batches that are pairs of a table and its targets."""

    def __init__(self, batches, first):
        super().__init__(batches, first[0])
        self.n_features += 1

    def no_rows(self):
        """Return a TargetBlock of no rows."""
        pairs = self.decode
        target = np.empty(0, dtype=np.float64 if pairs.numeric else object)
        return TargetBlock(pairs.rest(self.head()), target, pairs.kind)

    @staticmethod
    def _checked(batch, keep):
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise TableError(OTHER)
        table, target = batch
        schema_of(table)  # a table
        if not any(hasattr(target, name) for name in ("dtype", "type", "schema")):
            raise TableError(UNTYPED)
        return len(table), (kept(table), kept(target)) if keep else (table, target)


def with_target(table, target):
    """Return rows of floats whose last entry is the target, NaN if it is not finite.

    **Privacy**: each row by itself, alike with compiled loops and without.
    """
    rows = np.empty((len(target), table.shape[1] + 1))
    if _compiled.loops is not None and table.dtype == target.dtype == np.float64:
        for part, x in _compiled.plain_parts(table):
            y = _compiled.plain(target[part])
            _compiled.loops.with_target(x, y, rows[part], x.shape[1])
        return rows
    rows[:, :-1] = table
    rows[:, -1] = np.where(np.isfinite(target), target, np.nan)
    return rows


class TargetRows(MappedRows):
    """Rows of floats whose last column is the target: what a release reads.

    Notes
    -----
    **Privacy**: a row is a function of the same row of the table and of its target, so neighbours
    stay neighbours. A target that is infinite, or has no code, is NaN: the row is absent.
    """

    def __init__(self, joined, *, mixed=False, levels=None, label_type=None):
        super().__init__(joined)
        self.mixed, self.label_type = mixed, label_type
        self.levels = (None,) * (joined.n_features - 1) if levels is None else levels
        self._columns = self._target = None  # codes of them, if they are no numbers

    @property
    def joined(self):
        """The TargetBlocks behind the rows: of a fit with groups weighed, or one of each person."""
        return self._rows

    @property
    def about(self):
        """What is public of the columns and of the target."""
        kind = self.label_type
        return {"levels": self.levels, "label_type": None if kind is None else kind.str}

    def with_target(self, target):
        """Return these rows with codes of the target, found once if it is in memory."""
        if isinstance(self.joined, SourceWithTarget):
            return self._with(_rows=self.joined.with_target(target(self.joined.target)))
        return self._with(_target=target)

    def with_columns(self, columns):
        """Return these rows with codes of the columns."""
        return self._with(_columns=columns)

    def _with(self, **attributes):
        rows = copy(self)
        rows.__dict__ |= attributes
        return rows

    def present(self, block):
        """Return which rows of a TargetBlock are there: that have a target, and no gaps if told."""
        there = self._has_target(block)
        return there if self.mixed else there & finite_rows(block.table)

    def entered(self, block):
        """Return which rows of a TargetBlock of numbers have an entry."""
        return self._has_target(block) | np.isfinite(block.table).any(axis=1)

    def _has_target(self, block):
        target = block.target if self._target is None else self._target(block.target)
        return ~is_missing(target) if target.dtype == object else np.isfinite(target)

    def _mapped(self, block):
        table = block.table if self._columns is None else self._columns(block.table)
        target = block.target if self._target is None else self._target(block.target)
        return with_target(table, target)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return super().take(indices) if self.random_access else take(self, indices)
