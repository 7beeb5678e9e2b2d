"""Tables of any kind, read column by column; and tidy frames out."""

from dataclasses import dataclass

import numpy as np
from sklearn import get_config

from skdp.chunks import map_merge
from skdp.chunks._raw import Schema, TableError, library, schema_of
from skdp.chunks._rows import MappedRows, Source, take

__all__ = [
    "CodedRows",
    "Columns",
    "TableRows",
    "read_columns",
    "table_type",
    "tidy_frame",
    "wants_frame",
]

OTHER = (
    "a piece of the table has other columns than the first, or columns of another type: all must "
    "have the same names, and numbers in the same columns."
)
PANDAS = (
    "frames need pandas. Install it with `pip install pandas`, or ask for an array: "
    "marginal(columns, as_frame=False)."
)


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features), or table of pandas, polars or Arrow
    """

    table: object

    def __len__(self):
        return len(self.table)

    @property
    def library(self):
        """Name of the package of the table."""
        return library(self.table)

    def read(self, column):
        """Return the entries of a column, by its number: float64 or object."""
        if self.library == "pyarrow":
            return _from_arrow(self.table.column(column), self.numeric(column))
        if self.library == "polars":
            return _from_polars(self.table.to_series(column))
        if self.library == "pandas":
            return _from_pandas(self.table.iloc[:, column])
        return self.table[:, column].astype(np.float64 if self.numeric(column) else object)

    def part(self, rows):
        """Return a slice of rows of the table."""
        return self.table.iloc[rows] if self.library == "pandas" else self.table[rows]

    def numeric(self, column):
        """Return whether a column has a type of numbers."""
        return schema_of(self.table).numeric[column]

    def require_types(self, domain):
        """Raise ValueError if all levels are numbers and a column has another type."""
        if not all(kind.numeric for kind in domain.kinds):
            return
        pairs = zip(domain.names, domain.columns, strict=True)
        wrong = [name for name, column in pairs if not self.numeric(column)]
        if wrong:
            raise ValueError(
                f"all levels of the domain are numbers, but the columns {wrong[:10]} of X are not: "
                "convert them with astype(float)."
            )


def table_type(X):
    """Return "pandas" or "polars" for their frames, "numpy" for anything else."""
    found = library(X)
    return found if found in ("pandas", "polars") else "numpy"


def read_columns(X):
    """Return the Columns of a table; only its type and shape are looked at.

    Raises
    ------
    ValueError, TypeError
        If it is no table of two dimensions.
    """
    if table_type(X) != "numpy":
        return Columns(X)
    if hasattr(X, "tocsr"):
        raise TypeError("X is sparse, and a dense table is asked for: pass X.toarray().")
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
    if table.dtype.kind not in "fiubOUT":
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


class TableRows(Source):
    """Rows of a table in memory, as Columns; to be decoded by :class:`BlockOf`."""

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


@dataclass(frozen=True)
class BlockOf:
    """Makes ColumnBlocks of some columns, by number, of tables like the first one.

    Raises
    ------
    TableError
        For a table with columns of other names or kinds: numbers or not.
    """

    wanted: tuple
    schema: Schema

    def __call__(self, raw):
        if schema_of(raw) != self.schema:
            raise TableError(OTHER)
        return ColumnBlock([Columns(raw).read(column) for column in self.wanted])


class CodedRows(MappedRows):
    """Rows as level numbers, encoded block by block; NaN where an entry is outside its levels.

    Parameters
    ----------
    source : Source of ColumnBlocks, or Rows of numbers, of all columns
    domain : Domain
    table_type : str
        Of the table, see :func:`table_type`.
    """

    def __init__(self, source, domain, table_type):
        super().__init__(source)
        self.n_features = len(domain.names)
        self.domain, self.table_type = domain, table_type

    def _mapped(self, block):
        columns = block.columns if isinstance(block, ColumnBlock) else list(block.T)
        return self.domain.encode(columns)

    def take(self, indices):
        """Return the codes of the rows at ``indices``."""
        return take(self, indices)

    def outside(self):
        """Return the names of the columns with entries outside their levels. Private."""
        found = map_merge(self, lambda start, block: np.isnan(block).any(axis=0), np.logical_or)
        return [name for name, bad in zip(self.domain.names, found, strict=True) if bad]


def wants_frame(library):
    """Return the library that tables shall be frames of, or None."""
    configured = get_config()["transform_output"]
    if configured in ("pandas", "polars"):
        return configured
    return None if library == "numpy" else library


def tidy_frame(columns, library):
    """Return a frame of the library from a dict of name to array."""
    if library == "polars":
        import polars

        return polars.DataFrame({name: _uniform(values) for name, values in columns.items()})
    try:
        import pandas
    except ImportError:
        raise ImportError(PANDAS) from None
    return pandas.DataFrame({name: _inferred(values) for name, values in columns.items()})


def _inferred(values):
    """Return labels with a type of numbers, if all of them are numbers."""
    return values if values.dtype != object else values.tolist()


def _uniform(values):
    """Return labels as strings, if they have several types."""
    entries = values.tolist()
    types = {type(entry) for entry in entries} - {type(None)}
    return [x if x is None else str(x) for x in entries] if len(types) > 1 else entries


def _from_pandas(series):
    if series.dtype.kind in "fiub":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return series.to_numpy(dtype=object, na_value=None)


def _from_arrow(column, numeric):
    if numeric:
        return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)  # null is NaN
    return np.fromiter(column.to_pylist(), dtype=object, count=len(column))


def _from_polars(series):
    import polars

    if series.dtype.is_numeric() or series.dtype == polars.Boolean:
        return series.cast(polars.Float64).to_numpy().astype(np.float64)  # null is NaN
    return np.fromiter(series.to_list(), dtype=object, count=len(series))
