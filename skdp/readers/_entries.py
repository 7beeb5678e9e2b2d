"""Entries that tell persons apart: one key for each id, whatever the ids beside it.

An id is a text, bytes, a number, a time, a duration, a UUID, or a tuple of these. Python's own
comparison will not do: ``pandas.Timestamp`` equals ``numpy.datetime64`` and ``datetime``, which
differ, so that an id would decide whether two others are one.

**Privacy**. The key of an id is a function of that id alone, made of types of Python that are
compared by value, exactly: int, float, complex, Fraction and Decimal as numbers (a truth value is 0
or 1), str, and tuples that begin with the name of a family. A date is the time at its midnight. So
equality of keys is an equivalence relation, and which of some rows have one owner does not depend
on other rows.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from skdp.readers._raw import library

UNKNOWN = ...  # in place of the key of what is no id by its type
AS_THEY_ARE = {str, int, bool, type(None)}
PARTS = ("s", "ms", "us", "ns", "ps", "fs", "as")
LENGTHS = {unit: 10 ** (18 - 3 * i) for i, unit in enumerate(PARTS)}  # of units, in attoseconds
LENGTHS |= {"W": 604800 * 10**18, "D": 86400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18}
MONTHS = {"M": 1, "Y": 12}  # lengths of units in months, whose own length differs
CYCLE, DAYS_OF_CYCLE = 4800, 146097  # months and days of 400 years, after which dates repeat
DAYS = np.arange(CYCLE).astype("M8[M]").astype("M8[D]").view(np.int64).tolist()
EPOCH = np.datetime64(0, "us").item()  # a datetime
FIRST_DAY = EPOCH.toordinal()
TIME, DATE, SPAN = type(EPOCH), type(EPOCH.date()), type(EPOCH - EPOCH)


def keys_of(entries):
    """Return the keys of a list of entries, and whether some are no ids by their types.

    A key is None for a missing entry, a tuple with a missing part, and what is no id. An entry of a
    class derived from these types is taken by its value: the class could compare in any way.
    """
    kinds = set(map(type, entries))
    if kinds <= AS_THEY_ARE:
        return entries, False
    made = {kind: _maker(kind) for kind in kinds}
    try:
        keys = [made[type(entry)](entry) for entry in entries]
    except Exception:  # of one entry, which may quote itself
        keys = [_tried(made[type(entry)], entry) for entry in entries]
    if UNKNOWN in keys:
        return [None if key is UNKNOWN else key for key in keys], True
    return keys, False


def tells_ids(kind):
    """Return whether entries of a type of Python or numpy are ids; object may hold anything."""
    return kind in (object, np.object_) or _maker(kind) is not _unknown


def _maker(kind):
    """Return the function that makes keys of the entries of a type."""
    if kind in AS_THEY_ARE:
        return _itself
    exactly = {float: _number, complex: _number, Fraction: _number, Decimal: _decimal}
    if kind in exactly:
        return exactly[kind]
    if issubclass(kind, DATE | SPAN) and hasattr(kind, "asm8"):
        return _pandas
    makers = [make for above, make in MAKERS.items() if issubclass(kind, above)]
    return makers[0] if makers else NAMED.get(kind.__name__, _unknown)


def _tried(make, entry):
    try:
        return make(entry)
    except Exception:
        return UNKNOWN


def _itself(entry):
    return entry


def _missing(entry):
    return None


def _unknown(entry):
    return UNKNOWN


def _number(entry):
    return entry if entry == entry else None


def _decimal(entry):
    return None if entry.is_nan() else entry


def _uuid(entry):
    return "uuid", int.__int__(entry.int)


def _longer(entry):
    """Return the key of a float that is longer than those of Python."""
    return _number(Fraction(*entry.as_integer_ratio()) if np.isfinite(entry) else float(entry))


def _plain(entry):
    return _number(entry.item())


def _text(entry):
    return "".join([entry])


def _bytes(entry):
    return "bytes", b"".join([entry])  # beside text, which Python would compare it with


def _integer(entry):
    return int.__int__(entry)


def _real(entry):
    return _number(float.__float__(entry))


def _tuple(entry):
    keys, unknown = keys_of(list(tuple.__iter__(entry)))
    return UNKNOWN if unknown else None if None in keys else ("tuple", *keys)


def _moment(entry):
    return None if np.isnat(entry) else moments(entry.reshape(1))[0]


def _pandas(entry):
    """Return the key of a Timestamp, in UTC, a Timedelta or NaT."""
    if entry != entry:
        return None
    try:
        return entry.asm8.dtype.kind, "", entry.value * LENGTHS["ns"]
    except OverflowError:  # too long for nanoseconds
        return _moment(entry.asm8)


def _time(entry):
    """Return the key of a time, in UTC if it has no zone."""
    offset = entry.utcoffset()
    if offset is None:
        return "M", "", _length(entry - EPOCH)
    return "M", "", _length(entry.replace(tzinfo=None) - EPOCH) - _length(offset)


def _date(entry):
    return "M", "", (entry.toordinal() - FIRST_DAY) * LENGTHS["D"]


def _duration(entry):
    return "m", "", _length(entry)


def _length(span):
    seconds = span.days * 86400 + span.seconds
    return (seconds * 10**6 + span.microseconds) * LENGTHS["us"]


MAKERS = {  # the first that fits
    np.datetime64: _moment,
    np.timedelta64: _moment,
    np.longdouble: _longer,
    np.clongdouble: _unknown,
    np.str_: _text,
    np.bytes_: _bytes,
    np.inexact: _plain,
    np.number: np.generic.item,
    np.bool_: np.generic.item,
    np.generic: _unknown,
    str: _text,
    bytes: _bytes,
    int: _integer,
    float: _real,
    tuple: _tuple,
    TIME: _time,
    DATE: _date,
    SPAN: _duration,
}
NAMED = {"UUID": _uuid, "NAType": _missing}  # types of modules that are not imported for this


def moments(times):
    """Return the keys of an array of times or durations of numpy, in whatever unit; none is NaT."""
    kind, (unit, step) = times.dtype.kind, np.datetime_data(times.dtype)
    ticks = (step * tick for tick in times.view(np.int64).tolist())
    if unit not in MONTHS:
        known = "" if unit in LENGTHS else unit
        return [(kind, known, LENGTHS.get(unit, 1) * tick) for tick in ticks]
    months = (MONTHS[unit] * tick for tick in ticks)
    if kind == "m":
        return [(kind, "M", n) for n in months]
    days = (n // CYCLE * DAYS_OF_CYCLE + DAYS[n % CYCLE] for n in months)
    return [(kind, "", LENGTHS["D"] * day) for day in days]


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
