"""Which source reads a table; nothing is imported that the caller has not imported."""

from importlib import import_module
from pathlib import PurePath

from skdp.chunks._batches import ONE_SHOT, BatchRows
from skdp.chunks._raw import library
from skdp.chunks._rows import Source

__all__ = ["converted", "source_of"]

# The modules of this room that read the tables of a package; ``source(X)`` gives None for others.
READERS = {
    "dask": "skdp.chunks._dask",
    "dask_expr": "skdp.chunks._dask",
    "polars": "skdp.chunks._polars",
    "pyarrow": "skdp.chunks._arrow",
}
IN_MEMORY = {
    "numpy": "skdp.chunks._array",
    "pandas": "skdp.chunks._frames",
    "polars": "skdp.chunks._frames",
}


def source_of(X):
    """Return the Source of a table that is not one array or frame of numpy, pandas or polars.

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
    if _is_path(X) or (isinstance(X, list | tuple) and X and all(map(_is_path, X))):
        return import_module("skdp.chunks._paths").source(X)
    source = _read_by(READERS, X)
    return _of_batches(X) if source is None else source


def converted(X):
    """Return the Source of an array or frame of numbers that is converted block by block.

    None for what scikit-learn reads: arrays that need no conversion, and whatever it refuses.
    """
    return _read_by(IN_MEMORY, X)


def _read_by(readers, X):
    reader = readers.get(type(X).__module__.partition(".")[0])
    return None if reader is None else import_module(reader).source(X)


def _is_path(X):
    return isinstance(X, str | PurePath)


def _of_batches(X):
    """Return the rows of an iterable of tables that is no table itself, else None."""
    if hasattr(X, "__array__") or isinstance(X, bytes | dict):
        return None
    if hasattr(X, "__arrow_c_stream__"):
        raise TypeError(ONE_SHOT)
    if not hasattr(X, "__iter__"):
        return None
    batches = iter(X)
    if batches is X:
        raise TypeError(ONE_SHOT)
    if any(hasattr(X, name) for name in ("shape", "dtype", "columns")):
        return None
    first = next(batches, None)
    is_table = library(first) != "numpy" or getattr(first, "ndim", 0) == 2
    return BatchRows(X, first) if is_table else None
