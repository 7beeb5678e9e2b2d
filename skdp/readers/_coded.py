"""Columns as numbers of levels that are public or released: every entry is coded by itself."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.readers._columns import MixedBlockEncoder, numbers_of, read_columns
from skdp.readers._labels import Known, is_missing
from skdp.readers._raw import schema_of
from skdp.readers._rows import MappedRows, take


class Levels:
    """Levels of a column, at most ``n``.

    A subclass writes ``codes(column)``: the code of every entry, NaN for none.

    **Privacy**: every code is a function of its entry alone.
    """

    other = missing = None  # the codes of entries that are in no other level; None for no code

    @property
    def rest(self):
        """The codes of other entries and of missing ones, NaN for none."""
        return [np.nan if code is None else float(code) for code in (self.other, self.missing)]


@dataclass(frozen=True)
class LevelLabels(Levels):
    """Entries that are equal to one of the labels, others, and missing ones."""

    labels: tuple
    other: int | None
    missing: int | None
    n = property(lambda self: len(self.labels) + 2)

    def codes(self, column):
        return Known(self.labels, *self.rest)(column)


@dataclass(frozen=True)
class LevelBins(Levels):
    """Numbers from ``low`` to ``high`` in bins between rising edges, others, and missing ones.

    A number that is an edge is in the bin above it if ``right``.
    """

    edges: np.ndarray
    right: bool
    low: float
    high: float
    other: int | None
    missing: int | None
    n = property(lambda self: len(self.edges) + 2)

    def codes(self, column):
        x, (other, missing) = numbers_of(column), self.rest
        bins = np.searchsorted(self.edges, x, side="right" if self.right else "left")
        inside = np.isfinite(x) & (x >= self.low) & (x <= self.high)
        return np.where(inside, bins, np.where(np.isnan(x), missing, other))


@dataclass(frozen=True)
class LevelSigns(Levels):
    """Finite numbers: 1 above zero, else 0."""

    n = 2

    def codes(self, column):
        x = numbers_of(column)
        return np.where(np.isfinite(x), x > 0, np.nan)


@dataclass(frozen=True)
class LevelNumbers(Levels):
    """Entries that are codes, 0 to n - 1."""

    n: int

    def codes(self, column):
        x = numbers_of(column)
        return np.where((x >= 0) & (x < self.n) & (x == np.floor(x)), x, np.nan)


@dataclass(frozen=True)
class AnyLevel(Levels):
    """One level of all entries but infinite numbers."""

    n = 1

    def codes(self, column):
        infinite = column.dtype != object and np.isinf(column)
        return np.where(infinite, np.nan, np.zeros(len(column)))


LEVELS = (AnyLevel, LevelBins, LevelLabels, LevelNumbers, LevelSigns)


class CodedRows(MappedRows):
    """Rows as codes of levels."""

    def __init__(self, rows, levels, of_block):
        super().__init__(rows)
        self.levels, self.n_features, self._of_block = levels, len(levels), of_block

    def _mapped(self, block):
        return self._of_block(block)

    def take(self, indices):
        """Return the codes of the rows at ``indices``."""
        return take(self, indices)

    @property
    def small(self):
        """What makes a list of a block, with -1 for none and few bytes for each entry."""
        return partial(_small, np.min_scalar_type(-max(one.n for one in self.levels)))


def _small(kind, start, block):
    return [np.where(np.isnan(block), -1, block).astype(kind)]


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
        return partial(_coded, self, MixedBlockEncoder(schema_of(head), numeric))

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


def has_entries(block):
    """Return which rows of a ColumnBlock have an entry that is not missing."""
    some = np.zeros(len(block), dtype=bool)
    for column in sorted(block.columns, key=lambda column: column.dtype == object):
        some |= ~is_missing(column)
        if some.all():
            break
    return some
