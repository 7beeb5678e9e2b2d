"""Which source reads a table; nothing is imported that the caller has not imported."""

from importlib import import_module
from pathlib import PurePath

from skdp.chunks._batches import BatchRows, refuse_one_shot
from skdp.chunks._raw import library
from skdp.chunks._rows import Source

__all__ = ["source_of"]

# The module of this room that reads the tables of a package; ``source(X)`` gives None for others.
READERS = {
    "numpy": "skdp.chunks._array",
    "pandas": "skdp.chunks._frames",
    "polars": "skdp.chunks._polars",
    "pyarrow": "skdp.chunks._arrow",
}


def source_of(X):
    """Return the Source of a table that is read in pieces, None for what scikit-learn reads.

    Only types are looked at, the first batch of batches, and the schema of files.

    Parameters
    ----------
    X : object

    Raises
    ------
    TypeError
        For what can be read only once.
    ImportError
        For a path of parquet files, without pyarrow.
    TableError
        For a path of no parquet files, and for tables that cannot be read.
    """
    if isinstance(X, Source):
        return X
    reader = _reader(X)
    source = None if reader is None else import_module(reader).source(X)
    if source is None and _holds_batches(X):
        return BatchRows(X)
    return source


def _reader(X):
    if _is_path(X) or (isinstance(X, list | tuple) and X and all(map(_is_path, X))):
        return "skdp.chunks._paths"
    return READERS.get(type(X).__module__.partition(".")[0])


def _is_path(X):
    return isinstance(X, str | PurePath)


def _holds_batches(X):
    """Return whether X is an iterable of tables, and no table itself."""
    if hasattr(X, "__array__") or isinstance(X, bytes | dict):
        return False
    refuse_one_shot(X)
    if not hasattr(X, "__iter__") or any(hasattr(X, a) for a in ("shape", "dtype", "columns")):
        return False
    first = next(iter(X), None)
    return library(first) != "numpy" or getattr(first, "ndim", 0) == 2
