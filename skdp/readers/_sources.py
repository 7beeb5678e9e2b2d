"""Which source reads a table; nothing is imported that the caller has not imported."""

from importlib import import_module
from pathlib import PurePath

from skdp.readers._batches import ONE_SHOT, BatchRows
from skdp.readers._raw import has_two_dimensions, refuse_masked
from skdp.readers._rows import Source
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

__all__ = ["BROKEN", "converted", "source_of"]

BROKEN = (
    'X could not be read to its end. Under invalid_rows="ignore" nothing more is told: read it '
    "once without that to see what failed."
)
# The modules of this room that read the tables of a package; ``source(X)`` gives None for others.
READERS = {
    "dask": "skdp.readers._dask",
    "dask_expr": "skdp.readers._dask",
    "polars": "skdp.readers._polars",
    "pyarrow": "skdp.readers._arrow",
}
IN_MEMORY = {
    "numpy": "skdp.readers._array",
    "pandas": "skdp.readers._frames",
    "polars": "skdp.readers._frames",
}


def source_of(X):
    """Return the Source of a table that is not one array or frame of numpy, pandas or polars.

    Only types are looked at, the first batch of batches, and the schema of files.
    """
    if isinstance(X, Source):
        return X
    refuse_masked(X)
    if _is_path(X) or (isinstance(X, list | tuple) and X and all(map(_is_path, X))):
        return import_module("skdp.readers._paths").source(X)
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
    if (batches := _silent(iter, X)) is X:
        raise TypeError(ONE_SHOT)
    if any(hasattr(X, name) for name in ("shape", "dtype", "columns")):
        return None
    first = _silent(next, batches, None)
    return BatchRows(X, first) if has_two_dimensions(first) else None


def _silent(function, *arguments):
    """Return what a reader gives; what it says or raises is not told where no entry may tell."""
    if get_config()["invalid_rows"] == "error":
        return function(*arguments)
    try:
        with quiet():
            return function(*arguments)
    except Exception:  # it may hang on an entry, or quote it
        failure = ValueError(BROKEN)
    raise failure
