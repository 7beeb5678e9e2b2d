"""Which source reads a table; nothing is imported that the caller has not imported."""

from importlib import import_module

from skdp.chunks._batches import BatchRows, refuse_one_shot
from skdp.chunks._raw import library
from skdp.chunks._rows import Source

__all__ = ["source_of"]

# The module, within this room, that reads the tables of a package.
READERS = {"dask": "skdp.chunks._dask", "dask_expr": "skdp.chunks._dask"}


def source_of(X):
    """Return the Source of a table that is not one array in memory, else None.

    Only types are looked at, and the first batch of batches.

    Parameters
    ----------
    X : object

    Raises
    ------
    TypeError
        For what can be read only once.
    """
    if isinstance(X, Source):
        return X
    reader = READERS.get(type(X).__module__.partition(".")[0])
    if reader is not None:
        return import_module(reader).source(X)
    return BatchRows(X) if _holds_batches(X) else None


def _holds_batches(X):
    """Return whether X is an iterable of tables, and no table itself."""
    if isinstance(X, str | bytes | dict) or any(
        hasattr(X, a) for a in ("shape", "dtype", "columns")
    ):
        return False
    if not hasattr(X, "__iter__") or hasattr(X, "__array__"):
        return False
    refuse_one_shot(X)
    first = next(iter(X), None)
    return library(first) != "numpy" or getattr(first, "ndim", 0) == 2
