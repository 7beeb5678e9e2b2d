"""Labels: what entries of columns of any kind stand for, and columns as numbers of their levels.

What an entry stands for depends on that entry and the type of its column alone. A column is an
array of float64, in which NaN is missing, or of objects, in which None and NaN are.
"""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from numbers import Integral, Real

import numpy as np

from skdp.readers._columns import MixedBlockEncoder, numbers_of, read_columns
from skdp.readers._raw import schema_of
from skdp.readers._rows import MappedRows, take

WHOLE = 2.0**53  # whole numbers below are themselves as floats
AT_ONCE = 2**16  # labels that wait before they are added up
NEAR = 2**16  # whole numbers no farther apart are found in a table
STRIP = 2**14  # entries that stay in the cache
TEXT = 2  # ranks of keys: truth values 0, numbers 1
NO_LABEL = ...
PLAIN = {str, type(None)}


def label_of(entry):
    """Return the text or the number of Python that an entry is, None if missing, else ``...``."""
    if isinstance(entry, str):
        return str.__str__(entry)  # a class derived from it could say anything
    try:
        return _number_of(entry)
    except Exception:  # of a number of another library, such as a duration of numpy
        return NO_LABEL


def _number_of(entry):
    if isinstance(entry, bool | np.bool_):
        return bool(entry)
    if isinstance(entry, Integral):
        return int(entry)
    if isinstance(entry, float | np.floating):
        number = float(entry)
        if number != number:
            return None
        return _integer_if_whole(number) if abs(number) < np.inf else NO_LABEL
    return None if entry is None else NO_LABEL


def _integer_if_whole(number):
    return int(number) if number.is_integer() else number


def is_missing(column):
    """Return which entries of a column are missing."""
    if column.dtype != object:
        return np.isnan(column)
    entries = (entry is None or label_of(entry) is None for entry in column.tolist())
    return np.fromiter(entries, dtype=bool, count=len(column))


def are_labels(column):
    """Return which entries of a column are text, truth values or whole numbers."""
    if column.dtype != object:
        return (column == np.trunc(column)) & (np.abs(column) < WHOLE)
    entries = (_key(entry) is not None for entry in column.tolist())
    return np.fromiter(entries, dtype=bool, count=len(column))


class Known:
    """Numbers of labels that are known: 0, 1, ... in their order.

    Notes
    -----
    **Privacy**: each code is a function of its entry alone. Numbers are compared as numbers,
    ``1 == 1.0 == True``; text is never a number.
    """

    def __init__(self, labels, other=np.nan, missing=np.nan):
        self.labels = [label_of(label) for label in labels]
        self.other, self.missing = other, missing
        self._codes = {label: float(code) for code, label in enumerate(self.labels)}

    def __call__(self, column):
        """Return the codes of a column, float64."""
        if column.dtype == object:
            return self._of_objects(column)
        numbers = [(float(x), code) for x, code in self._codes.items() if isinstance(x, Real)]
        codes = np.full(column.shape, self.other, dtype=np.float64)
        known, code = np.array(sorted(numbers)).reshape(-1, 2).T
        places = _places(known) if numbers else None
        for start in range(0, len(column), STRIP):
            entries, own = column[start : start + STRIP], codes[start : start + STRIP]
            if numbers:
                at = places(entries)
                np.copyto(own, code[at], where=known[at] == entries)
            own[np.isnan(entries)] = self.missing
        return codes

    def _of_objects(self, column):
        get, other, entries = self._codes.get, self.other, column.tolist()
        if set(map(type, entries)) <= PLAIN:
            codes = map({**self._codes, None: self.missing}.get, entries, repeat(other))
        else:
            codes = (get(x, other) if type(x) is str else self._of_any(x) for x in entries)
        return np.fromiter(codes, dtype=np.float64, count=len(column))

    def _of_any(self, entry):
        label = label_of(entry)
        return self.missing if label is None else self._codes.get(label, self.other)


def _places(known):
    """Return what tells for every entry the place where it stands among rising numbers, if so."""
    low, most = known[0], known[-1] - known[0]
    if most <= NEAR and (known == np.trunc(known)).all():  # a table of places: no search
        table = np.searchsorted(known, low + np.arange(most + 1))
        return lambda column: table[np.fmin(np.fmax(column - low, 0), most).astype(np.intp)]
    return lambda column: np.minimum(np.searchsorted(known, column), len(known) - 1)


def count_labels(rows, columns_of, n_columns):
    """Return how often every label occurs in columns, a list of dicts by key.

    Notes
    -----
    **Memory**: two numbers, and the text, for each label that occurs; parts of the table that wait
    to be added up hold no more than twice as many, or 2^16.
    """

    def statistic(start, block):
        return [[_counted(column) for column in columns_of(block)]]

    def merge(some, others):
        parts = [*some, *others]
        sizes = [sum(map(len, part)) for part in parts]
        return parts if sum(sizes) <= 2 * max(sizes[0], AT_ONCE) else [_added(parts)]

    return _added(rows.map_merge(statistic, merge) or [[{}] * n_columns])


def _counted(column):
    if column.dtype == object:
        counts = Counter(map(_key, column.tolist()))
        counts.pop(None, None)
        return counts
    labels, counts = np.unique(column[are_labels(column)], return_counts=True)
    return {(1, int(x)): int(n) for x, n in zip(labels, counts, strict=True)}


def _added(parts):
    sums = [Counter() for _ in parts[0]]
    for part in parts:
        for total, counts in zip(sums, part, strict=True):
            total.update(counts)
    return sums


def _key(entry):
    """Return text as it is, other labels as (rank, number), None for no label."""
    label = entry if type(entry) is str else label_of(entry)
    if type(label) is str:
        return label
    if label is None or label is NO_LABEL or isinstance(label, float):
        return None
    return int(not isinstance(label, bool)), label


def plain_label(key):
    """Return the label of a key."""
    return key if isinstance(key, str) else key[1]


def plain_key(label):
    """Return the key of a label, of True and 1 the same."""
    return label if isinstance(label, str) else (1, int(label))


def sorted_keys(keys):
    """Return keys in their order: truth values, numbers, text."""
    return sorted(keys, key=lambda key: (TEXT, key) if isinstance(key, str) else key)


# --- columns as numbers of levels that are public or released: every entry is coded by itself


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
