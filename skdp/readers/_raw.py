"""Pieces of tables of numpy, pandas, polars or Arrow: their columns, and numbers as floats."""

from dataclasses import dataclass

import numpy as np

from skdp.readers._calendar import calendar_of, from_calendar

COLUMNS = (
    "a piece of the table has other columns than the first, or one of another type: all pieces "
    "must have the same names, in one order, and types. Select and cast them before the fit."
)
UNITS = (
    "a piece of the table has dates or durations in other columns than the first, or of another "
    "unit or time zone. Cast them to one type before the fit."
)
PIECE = "a piece of the table must be an array of two dimensions, or a frame."
TWICE = (
    "X must have columns whose names differ. Got a name twice: rename or select columns before the "
    "fit."
)
EMPTY = "X has no columns, and at least one is needed."
TYPES = (
    "X must be a table of real numbers. Got columns of another type{which}. Select columns of "
    "numbers before the fit, as with polars.scan_parquet(path).select(...) or "
    "dask.dataframe.read_parquet(path, columns=...), or encode categories and dates, and cast to "
    "float64."
)
MASKED = (
    "a masked array of numpy was passed, whose mask would be lost, so that what it hides would be "
    "read as data. Pass A.astype(float).filled(np.nan), where a masked entry is a missing one, or "
    "for labels A.astype(object).filled(None)."
)
SHOWN = 5


class TableError(ValueError):
    """A table, or a piece of it, that cannot be read; its text quotes no entry."""


@dataclass(frozen=True)
class Schema:
    """Names of columns, None if they have none, their number, and whether each holds numbers.

    ``calendars`` has for columns of dates and durations what their types say, None for others.
    """

    names: tuple | None
    numeric: tuple
    calendars: tuple

    def __len__(self):
        return len(self.numeric)

    def require_numbers(self):
        """Raise TableError unless there are columns, of numbers, and their names differ."""
        if not self.numeric:
            raise TableError(EMPTY)
        if self.names is not None and len(set(self.names)) < len(self):
            raise TableError(TWICE)
        readable = self.readable
        if not all(readable):
            which = "" if self.names is None else f": {first_of(self.names, readable)}"
            raise TableError(TYPES.format(which=which))

    @property
    def readable(self):
        """Whether each column is read as numbers: dates and durations are, by their unit."""
        pairs = zip(self.numeric, self.calendars, strict=True)
        return tuple(number or calendar is not None for number, calendar in pairs)


def first_of(names, numeric):
    """Return the names of the first columns that hold no numbers, as text."""
    others = [str(name) for name, is_number in zip(names, numeric, strict=True) if not is_number]
    more = len(others) - SHOWN
    return ", ".join(others[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def library(raw):
    """Return "pandas", "polars" or "pyarrow" for their tables, else "numpy"; imports nothing."""
    roots = (base.__module__.partition(".")[0] for base in type(raw).__mro__)
    return next((root for root in roots if root in ("pandas", "polars", "pyarrow")), "numpy")


def has_two_dimensions(raw):
    """Return whether something has the shape of a table."""
    shape = getattr(raw, "shape", None)
    return isinstance(shape, tuple) and len(shape) == 2


def schema_of(raw):
    """Return the Schema of a piece, which types and shapes alone decide."""
    kind = library(raw)
    if (kind == "numpy" and not isinstance(raw, np.ndarray)) or not has_two_dimensions(raw):
        raise TableError(PIECE)
    if kind == "numpy":
        refuse_masked(raw)
        d = raw.shape[1]
        return Schema(None, (raw.dtype.kind in "fiub",) * d, (calendar_of(raw.dtype),) * d)
    types = raw.schema.types if kind == "pyarrow" else raw.dtypes
    calendars = tuple(map(calendar_of, types))
    if kind == "pandas":
        numeric = tuple(getattr(dtype, "kind", "O") in "fiub" for dtype in types)
        return Schema(tuple(raw.columns), numeric, calendars)
    if kind == "polars":
        numeric = tuple(t.is_numeric() or str(t) == "Boolean" for t in types)
        return Schema(tuple(raw.columns), numeric, calendars)
    return Schema(tuple(raw.schema.names), tuple(map(_is_number, types)), calendars)


def readable(column):
    """Return a column of Arrow whose text is UTF-8, with U+FFFD in place of bytes that are not.

    Arrow does not look at the bytes of its text until Python does: one entry would end a fit.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return column
    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        entries = column.cast(pyarrow.large_binary()).to_pylist()
        texts = [x if x is None else x.decode(errors="replace") for x in entries]
        return pyarrow.array(texts, type=kind)
    return column


def refuse_masked(X):
    """Raise TableError for a masked array, or a list of them, whatever is masked."""
    parts = X if isinstance(X, list | tuple) else (X,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise TableError(MASKED)


def no_rows(raw):
    """Return a table of no rows with the columns of a piece; of Arrow, a Table."""
    kind = library(raw)
    if kind == "pyarrow":
        return raw.schema.empty_table()
    return raw.iloc[:0] if kind == "pandas" else raw[:0]


def kept(raw):
    """Return a piece that stays as it is when its owner writes new rows where these are."""
    return raw.copy() if library(raw) in ("numpy", "pandas") else raw


def column_type(raw, column):
    """Return the name of the type of a column of a piece, as its library names it."""
    kind = library(raw)
    if kind == "numpy":
        return str(raw.dtype)
    if kind == "pandas":
        return str(raw.dtypes.iloc[column])
    return str(raw.dtypes[column] if kind == "polars" else raw.schema.types[column])


def numbers(schema, raw):
    """Return the rows of a piece as an array of float64, or float32 if all columns are that.

    Dates and durations are numbers of the units of their types, NaN where missing.
    """
    own = schema_of(raw)
    if own.names != schema.names or len(own) != len(schema):
        raise TableError(COLUMNS)
    own.require_numbers()
    if own.calendars != schema.calendars:
        raise TableError(UNITS)
    kind = library(raw)
    if any(own.calendars):
        return _with_calendars(own, raw, kind)
    if kind == "numpy":
        raw = np.asarray(raw)  # a matrix multiplies in its own way
        return raw if raw.dtype in (np.float64, np.float32) else raw.astype(np.float64)
    if kind == "pandas":
        single = all(dtype == np.float32 for dtype in raw.dtypes)
        plain = all(isinstance(dtype, np.dtype) for dtype in raw.dtypes)
        options = {} if plain else {"na_value": np.nan}  # which copies
        return raw.to_numpy(dtype=np.float32 if single else np.float64, **options)
    if kind == "polars":
        columns = [raw.to_series(j).cast(_float(raw.dtypes[j])).to_numpy() for j in range(len(own))]
    else:
        columns = [_from_arrow(raw.column(j)) for j in range(len(own))]
    single = all(column.dtype == np.float32 for column in columns)
    rows = np.empty((len(raw), len(own)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        rows[:, j] = column
    return rows


def _with_calendars(schema, raw, kind):
    rows = np.empty((raw.shape[0], len(schema)))
    for j, calendar in enumerate(schema.calendars):
        column = raw[:, j] if kind == "numpy" else raw.iloc[:, j] if kind == "pandas" else None
        if column is None:
            column = raw.to_series(j) if kind == "polars" else raw.column(j)
        if calendar is not None:
            rows[:, j] = from_calendar(column, kind)
        elif kind == "pandas":
            rows[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        elif kind == "polars":
            rows[:, j] = column.cast(_float(column.dtype)).to_numpy()
        else:
            rows[:, j] = _from_arrow(column)
    return rows


def _is_number(kind):
    import pyarrow.types as types

    tests = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
    return any(test(kind) for test in tests)


def _float(dtype):
    import polars

    return dtype if dtype == polars.Float32 else polars.Float64


def _from_arrow(column):
    """Return a column of numbers; null is NaN."""
    import pyarrow

    kind = column.type if column.type == pyarrow.float32() else pyarrow.float64()
    return column.cast(kind, safe=False).to_numpy(zero_copy_only=False)
