"""The columns of tables of any kind, and rows whose columns differ in type."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from skdp.readers._calendar import from_calendar
from skdp.readers._raw import Schema, TableError, library, readable, schema_of
from skdp.readers._rows import MappedRows, Source

SPARSE = (
    "X is sparse, and rows are read dense. Pass X.toarray(), of a frame X.sparse.to_dense(). Where "
    "that is too large pass an object whose __iter__ yields X[i : i + 10_000].toarray(), batch by "
    "batch."
)

OTHER = (
    "a piece of the table has other columns than the first, or columns of another type: all must "
    "have the same names, and numbers in the same columns."
)


@dataclass(frozen=True)
class Columns:
    """The columns of a table."""

    table: object  # shape (n_rows, n_features)

    def __len__(self):
        return len(self.table)

    @cached_property
    def schema(self):
        """The Schema of the table."""
        return schema_of(self.table)

    @property
    def library(self):
        """Name of the package of the table."""
        return library(self.table)

    def read(self, column):
        """Return the entries of a column, by its number: float64 or object."""
        if self.calendar(column) is not None:
            return from_calendar(self._one(column), self.library)
        one = self._one(column)
        if self.library == "pyarrow":
            return _from_arrow(one, self.numeric(column))
        if self.library == "polars":
            return _from_polars(one)
        if self.library == "pandas":
            return _from_pandas(one)
        with np.errstate(all="ignore"):
            return one.astype(np.float64 if self.numeric(column) else object)

    def part(self, rows):
        """Return a slice of rows of the table."""
        return self.table.iloc[rows] if self.library == "pandas" else self.table[rows]

    def numeric(self, column):
        """Return whether a column has a type of numbers."""
        return self.schema.numeric[column]

    def calendar(self, column):
        """Return what the type of a column of dates or durations says, None of others."""
        return self.schema.calendars[column]

    def _one(self, column):
        """Return a column as its library has it."""
        if self.library == "pyarrow":
            return self.table.column(column)
        if self.library == "polars":
            return self.table.to_series(column)
        return self.table.iloc[:, column] if self.library == "pandas" else self.table[:, column]


def table_type(X):
    """Return "pandas" or "polars" for their frames, "numpy" for anything else."""
    found = library(X)
    return found if found in ("pandas", "polars") else "numpy"


def read_columns(X):
    """Return the Columns of a table; only its type and shape are looked at."""
    if table_type(X) != "numpy":
        return Columns(X)
    if hasattr(X, "tocsr"):
        raise TypeError(SPARSE)
    refusal = ValueError("X must be a table: its rows have different lengths.")
    try:
        table = np.asarray(X)
        if not isinstance(X, np.ndarray) and table.dtype.kind not in "fiub":
            table = np.array(X, dtype=object)  # numbers stay numbers beside strings
    except ValueError:
        raise refusal from None
    if table.ndim != 2:
        raise ValueError(
            f"X must be a table. Got an array of {table.ndim} dimensions: reshape your data with "
            "X.reshape(-1, 1) if it has one column."
        )
    if table.dtype.kind not in "fiubOUTmM":
        raise ValueError(
            f"X must be a table of numbers, strings or objects. Got dtype {table.dtype}."
        )
    return Columns(table)


class ColumnBlock:
    """Rows of columns that differ in type: a list of arrays of one length."""

    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, rows):
        return ColumnBlock([column[rows] for column in self.columns])

    def without(self, absent):
        """Return these rows with missing entries in those that are absent."""
        missing = [None if column.dtype == object else np.nan for column in self.columns]
        pairs = zip(self.columns, missing, strict=True)
        return ColumnBlock([np.where(absent, gap, column) for column, gap in pairs])

    def faults(self):
        """Return whether entries are missing that must not, and whether numbers are infinite."""
        numbers = (column for column in self.columns if column.dtype != object)
        return 0, int(any(np.isinf(column).any() for column in numbers))


class UnreadBlock(ColumnBlock):
    """Some columns of a piece of a table, each of which is read when it is asked for."""

    def __init__(self, table, wanted):
        super().__init__(UnreadColumns(table, wanted))

    def __len__(self):
        return self.columns.table.table.shape[0]

    def __getitem__(self, rows):
        if isinstance(rows, slice):
            table = Columns(self.columns.table.part(rows))
            return UnreadBlock(table, self.columns.wanted)
        return super().__getitem__(rows)


class UnreadColumns(Sequence):
    """The columns of an :class:`UnreadBlock`."""

    def __init__(self, table, wanted):
        self.table, self.wanted, self._read = table, wanted, {}

    def __len__(self):
        return len(self.wanted)

    def __getitem__(self, place):
        if place not in self._read:
            self._read[place] = self.table.read(self.wanted[place])
        return self._read[place]


class TableRows(Source):
    """Rows of a table in memory, as Columns; to be decoded by what makes rows of its parts."""

    in_memory = True

    def __init__(self, columns):
        super().__init__(columns.table.shape[1], n_rows=len(columns))
        self._columns = columns

    def pieces(self):
        """Yield (number of rows, part of the table)."""
        step = self.shared_rows()
        for start in range(0, len(self), step):
            part = self._columns.part(slice(start, start + step))
            yield part.shape[0], part

    def head(self):
        """Return no rows of the table."""
        return self._columns.part(slice(0, 0))


class ColumnRows(MappedRows):
    """Columns as they were read, and what is public of them."""

    def __init__(self, source, n_features, *, kind, present, about):
        super().__init__(source)
        self.n_features, self.kind, self.present, self.about = n_features, kind, present, about

    def _mapped(self, block):
        return block


@dataclass(frozen=True)
class BlockEncoder:
    """Makes ColumnBlocks of some columns, by number, of tables like the first one."""

    wanted: tuple
    schema: Schema

    def __call__(self, raw):
        if schema_of(raw) != self.schema:
            raise TableError(OTHER)
        return UnreadBlock(Columns(raw), self.wanted)


@dataclass(frozen=True)
class MixedBlockEncoder:
    """Makes ColumnBlocks of all columns: some are numbers, NaN where missing, others as they are.

    In a column of numbers an entry of another type is infinite: an entry that is wrong.
    """

    schema: Schema  # of the first table
    numeric: tuple  # tuple of bool: which columns are numbers

    def __call__(self, raw):
        block = BlockEncoder(tuple(range(len(self.schema))), self.schema)(raw)
        pairs = zip(block.columns, self.numeric, strict=True)
        return ColumnBlock([numbers_of(column) if number else column for column, number in pairs])


def has_text(column):
    """Return whether an entry of a column is text."""
    return column.dtype == object and any(isinstance(entry, str) for entry in column.tolist())


def numbers_of(column):
    """Return a column as float64: NaN where missing, infinite where an entry is no number."""
    if column.dtype != object:
        return column
    return np.fromiter(map(_number, column.tolist()), dtype=np.float64, count=len(column))


def _number(entry):
    if entry is None:
        return np.nan
    try:
        return float(entry) if isinstance(entry, Real | np.bool_) else np.inf
    except Exception:  # too large, or of another library, such as a duration of numpy
        return np.inf


def _from_pandas(series):
    if series.dtype.kind in "fiub":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if series.dtype == object:
        from pandas.api.types import infer_dtype

        if infer_dtype(series, skipna=False) == "string":  # text alone: nothing is missing
            return series.to_numpy()
    try:
        if hasattr(series.dtype, "categories"):
            return _of_categories(series)
        return series.to_numpy(dtype=object, na_value=None)
    except Exception:  # of text of Arrow that is no UTF-8, which it quotes, or of an entry
        if series.dtype == object:
            entries = (None if _is_missing(entry) else entry for entry in series.array)
            return np.fromiter(entries, dtype=object, count=len(series))
        column = series.array.__arrow_array__()
    return _from_arrow(column, numeric=False)


def _of_categories(series):
    """Return the entries of a column of categories; pandas makes floats of integers by a gap."""
    known = np.fromiter([*series.dtype.categories.tolist(), None], dtype=object)
    return known[series.cat.codes.to_numpy()]  # -1, the last, of a gap


def _is_missing(entry):
    import pandas as pd

    try:
        return pd.isna(entry) is True
    except Exception:  # of an entry that cannot be compared, such as a signaling NaN
        return False


def _from_arrow(column, numeric):
    if numeric:
        return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)  # null is NaN
    column = readable(column)
    try:
        entries = column.to_pylist()
    except Exception:  # of an entry that Python cannot hold, such as a date of the year 20000
        entries = map(_of_python, column)
    return np.fromiter(entries, dtype=object, count=len(column))


def _of_python(entry):
    try:
        return entry.as_py()
    except Exception:
        return None


def _from_polars(series):
    import polars

    if series.dtype.is_numeric() or series.dtype == polars.Boolean:
        return series.cast(polars.Float64).to_numpy().astype(np.float64)  # null is NaN
    return np.fromiter(series.to_list(), dtype=object, count=len(series))
