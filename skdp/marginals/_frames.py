"""Tables of any kind, read column by column; and tidy frames out."""

import sys
from dataclasses import dataclass

import numpy as np
from sklearn import get_config

from skdp.chunks import ArrayRows

__all__ = [
    "CodedRows",
    "Columns",
    "TableRows",
    "read_columns",
    "table_type",
    "tidy_frame",
    "wants_frame",
]

PANDAS = (
    "frames need pandas. Install it with `pip install pandas`, or ask for an array: "
    "marginal(columns, as_frame=False)."
)


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_features), or DataFrame of pandas or polars
    library : {"numpy", "pandas", "polars"}
    """

    table: object
    library: str

    def __len__(self):
        return self.table.shape[0]

    def read(self, column, rows):
        """Return the entries of a column, by its number, in a slice of rows: float64 or object."""
        if self.library == "polars":
            return _from_polars(self.table.to_series(column)[rows])
        if self.library == "pandas":
            return _from_pandas(self.table.iloc[rows, column])
        part = self.table[rows, column]
        return part.astype(np.float64 if self.numeric(column) else object)

    def numeric(self, column):
        """Return whether a column has a type of numbers."""
        if self.library == "polars":
            dtype = self.table.dtypes[column]
            return dtype.is_numeric() or str(dtype) == "Boolean"
        dtypes = self.table.dtypes if self.library == "pandas" else None
        return (self.table.dtype if dtypes is None else dtypes.iloc[column]).kind in "fiub"

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
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)
        if module is not None and isinstance(X, getattr(module, "DataFrame", ())):
            return library
    return "numpy"


def read_columns(X):
    """Return the Columns of a table; only its type and shape are looked at.

    Raises
    ------
    ValueError, TypeError
        If it is no table of two dimensions.
    """
    library = table_type(X)
    if library != "numpy":
        return Columns(X, library)
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
    return Columns(table, "numpy")


class TableRows(ArrayRows):
    """Some columns of a table, block by block: each block is a list of columns."""

    def __init__(self, columns, wanted):
        super().__init__(np.empty((0, len(wanted))))
        self._columns, self._wanted = columns, wanted

    def __len__(self):
        return len(self._columns)

    def blocks(self):
        """Yield (index of the first row, columns of a block)."""
        for start in range(0, len(self), self.block_rows):
            yield start, self._read(slice(start, start + self.block_rows))

    def take(self, indices):
        """Return the columns of the rows at ``indices``."""
        return self._read(np.asarray(indices, dtype=np.intp))

    def _read(self, rows):
        return [self._columns.read(column, rows) for column in self._wanted]


class CodedRows(ArrayRows):
    """Rows as level numbers, encoded block by block; NaN where an entry is outside its levels.

    Parameters
    ----------
    source : TableRows, or ArrayRows of all columns
    domain : Domain
    table_type : str
        Of the table, see :func:`table_type`.
    """

    def __init__(self, source, domain, table_type):
        super().__init__(np.empty((0, len(domain.names))), block_rows=source.block_rows)
        self._source, self.domain, self.table_type = source, domain, table_type

    def __len__(self):
        return len(self._source)

    def blocks(self):
        """Yield (index of the first row, block of codes)."""
        for start, block in self._source.blocks():
            yield start, self.domain.encode(_columns(block))

    def take(self, indices):
        """Return the codes of the rows at ``indices``."""
        return self.domain.encode(_columns(self._source.take(indices)))

    def outside(self):
        """Return the names of the columns with entries outside their levels. Private."""
        found = np.zeros(self.n_features, dtype=bool)
        for _, block in self.blocks():
            found |= np.isnan(block).any(axis=0)
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


def _from_polars(series):
    import polars

    if series.dtype.is_numeric() or series.dtype == polars.Boolean:
        return series.cast(polars.Float64).to_numpy().astype(np.float64)  # null is NaN
    return np.fromiter(series.to_list(), dtype=object, count=len(series))


def _columns(block):
    """Return the columns of a block, which is an array or a list of them already."""
    return block if isinstance(block, list) else list(block.T)
