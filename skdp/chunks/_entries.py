"""The entries that tell persons apart, read so that none of them decides how another is read."""

import numpy as np

from skdp.chunks._raw import library

__all__ = ["ONE_EACH", "arrays_of", "entries_of", "is_missing"]

ONE_EACH = (
    "groups must have one entry per row of X: a one-dimensional array-like, or the name of a "
    "column of X."
)
UNREADABLE = (
    "groups could not be read as one column of entries. Pass an array or a series of numbers or "
    "text."
)


def arrays_of(groups):
    """Return ids as arrays of numbers, text or objects: one, or one for each batch of a list.

    Raises
    ------
    ValueError
        Without a word about entries.
    """
    if _root(groups) in ("dask", "dask_expr"):
        groups = groups.compute()
    batches = isinstance(groups, list | tuple) and groups and all(map(_is_column, groups))
    return [_array_of(one) for one in (groups if batches else [groups])]


def _array_of(groups):
    if isinstance(groups, str) or not (hasattr(groups, "__array__") or hasattr(groups, "__iter__")):
        raise ValueError(ONE_EACH)
    try:
        ids = entries_of(groups)
    except Exception:  # which may quote entries
        ids = None
    if ids is None:
        raise ValueError(UNREADABLE)
    if ids.ndim != 1:
        raise ValueError(ONE_EACH)
    return ids


def entries_of(column):
    """Return a column of any library as an array of its entries.

    Where one that is missing would make floats of all others, they are objects.
    """
    kind = _root(column)
    if kind == "pyarrow":
        return _of_arrow(column)
    if kind == "polars":
        whole = column.null_count() and column.dtype.is_integer()
        return _objects(column.to_list()) if whole else column.to_numpy()
    if kind == "pandas":
        gaps = not isinstance(column.dtype, np.dtype) and column.isna().any()
        return np.asarray(column.astype(object) if gaps else column)
    if isinstance(column, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(column), None, column.data.astype(object))
    if hasattr(column, "dtype"):
        return np.asarray(column)
    return np.asarray(column) if hasattr(column, "__array__") else _of_list(list(column))


def is_missing(entry):
    """Return whether an entry is None, NaN, NaT or NA, which is neither equal to itself nor not.

    A tuple is missing if a part of it is.
    """
    if entry is None:
        return True
    if isinstance(entry, tuple):
        return any(map(is_missing, entry))
    try:
        return bool(entry != entry)
    except TypeError:
        return type(entry).__name__ == "NAType"


def _of_list(ids):
    """Return entries as an array: floats, else what they are, as numpy finds a type for all."""
    kinds = {type(x) for x in ids}
    if len(kinds) == 1 and issubclass(*kinds, float | np.floating):
        return np.asarray(ids)
    return _objects(ids)


def _of_arrow(column):
    import pyarrow.types as kinds

    floats = kinds.is_temporal(column.type) or kinds.is_floating(column.type)
    gaps = column.null_count and not floats
    return _objects(column.to_pylist()) if gaps else np.asarray(column)


def _objects(entries):
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made


def _is_column(batch):
    return len(getattr(batch, "shape", ())) == 1 or _root(batch) == "pyarrow"


def _root(column):
    """Return the library that a column is of; "numpy" for all that are no other's."""
    own = type(column).__module__.partition(".")[0]
    return own if own in ("dask", "dask_expr") else library(column)
