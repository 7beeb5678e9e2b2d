"""The entries that tell persons apart, read so that none of them decides how another is read."""

import numpy as np

from skdp.readers._id_keys import tells_ids
from skdp.readers._raw import library

__all__ = ["ONE_EACH", "STRANGE", "arrays_of", "entries_of", "require_ids"]

ONE_EACH = (
    "groups must have one entry per row of X: a one-dimensional array-like, or the name of a "
    "column of X."
)
UNREADABLE = (
    "groups could not be read as one column of entries. Pass an array or a series of numbers or "
    "text."
)
STRANGE = (
    "the entries of groups must be numbers, text, bytes, dates, times, durations, UUIDs, or tuples "
    "of these. Got another type, of which nobody knows when two are one person: convert the ids, "
    "for instance with astype(str)."
)


def arrays_of(groups):
    """Return ids as arrays of numbers, text or objects: one, or one for each batch of a list."""
    if _root(groups) in ("dask", "dask_expr"):
        groups = groups.compute()
    batches = isinstance(groups, list | tuple) and groups and all(map(_is_column, groups))
    return [_array_of(one) for one in (groups if batches else [groups])]


def _array_of(groups):
    if isinstance(groups, str) or not (hasattr(groups, "__array__") or hasattr(groups, "__iter__")):
        raise ValueError(ONE_EACH)
    require_ids(groups)
    try:
        ids = entries_of(groups)
    except Exception:  # which may quote entries
        ids = None
    if ids is None:
        raise ValueError(UNREADABLE)
    if ids.ndim != 1:
        raise ValueError(ONE_EACH)
    return ids


def require_ids(column):
    """Raise TypeError for a column whose type, which is public, holds no ids."""
    kind = _root(column)
    dtype = getattr(column, "type" if kind == "pyarrow" else "dtype", None)
    if dtype is None:  # of a list or a table
        return
    if kind == "pyarrow":
        from pyarrow import types

        known = not (types.is_nested(dtype) or types.is_time(dtype))
    elif kind == "polars":
        known = tells_ids(dtype.to_python())
    else:
        dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
        known = tells_ids(getattr(dtype, "type", object))
    if not known:
        raise TypeError(STRANGE)


def entries_of(column):
    """Return a column of any library as an array of its entries.

    Where one that is missing would make floats of all others, they are objects.
    """
    kind = _root(column)
    if kind == "pyarrow":
        return _of_arrow(column)
    if kind == "polars":
        whole = column.dtype.is_integer() and (column.null_count() or "128" in str(column.dtype))
        return _objects(column.to_list()) if whole else column.to_numpy()
    if kind == "pandas":
        return _of_pandas(column)
    if isinstance(column, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(column), None, column.data.astype(object))
    if hasattr(column, "dtype"):
        return np.asarray(column)
    return np.asarray(column) if hasattr(column, "__array__") else _of_list(list(column))


def _of_list(ids):
    """Return entries as an array: floats, else what they are, as numpy finds a type for all."""
    kinds = {type(x) for x in ids}
    if len(kinds) == 1 and issubclass(*kinds, float | np.floating):
        return np.asarray(ids)
    return _objects(ids)


def _of_pandas(column):
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    if hasattr(column.dtype, "tz"):
        return column.to_numpy(dtype=f"M8[{column.dtype.unit}]")  # in UTC
    try:
        return np.asarray(column.astype(object) if column.isna().any() else column)
    except Exception:  # text of Arrow that is no UTF-8
        ids = column if hasattr(column, "__arrow_array__") else column.array
    return _of_arrow(ids.__arrow_array__())


def _of_arrow(column):
    """Return the entries of a column of Arrow; text that is no UTF-8 stays what it is, as bytes."""
    import pyarrow
    import pyarrow.types as kinds

    if kinds.is_dictionary(column.type):  # which may hold a missing entry that it does not count
        column = column.cast(column.type.value_type)
    floats = kinds.is_temporal(column.type) or kinds.is_floating(column.type)
    gaps = column.null_count and not floats
    try:
        return _objects(column.to_pylist()) if gaps else np.asarray(column)
    except Exception:  # which quotes the text
        entries = column.cast(pyarrow.large_binary()).to_pylist()
    escaped = (x if x is None else x.decode(errors="surrogateescape") for x in entries)
    return _objects(list(escaped))


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
