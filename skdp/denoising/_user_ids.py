"""Whose row it is: the column of users becomes numbers, equal exactly where users are.

**Privacy.** A guarantee for all rows of one user needs a partition of the rows into users. If two
users were taken for one, the cap would hold for both together: removing one of them lets rows of
the other in, and counts move by up to twice ``rows_per_user``. If one user were taken for two, both
halves would count. So an entry is an id of its own only if nothing can have been lost before:

* whole numbers of an integer type: themselves, up to the last digit;
* floats: whole numbers below 2^53 (2^24 in float32); others may have been rounded from several,
  or would be when floats of 64 bits are made of those that are longer;
* text and bytes: themselves; beside text a whole number reads as its decimal text, so that 1, 1.0
  and "1" are one user;
* truth values, dates and times in a column of that type: themselves.

Of rows that come in pieces, whole numbers alone are ids, as each piece is read by itself.

Everything else, missing entries included, is no id, and the row counts as absent, or is refused
with the table. What an entry stands for depends on that entry and the type of its column alone, so
a row that is absent is so whatever the other rows are: tables that differ in the rows of one
user differ in the rows of one user after it. The numbers handed on depend on the table, but only
which of them are equal is used.
"""

import re
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from skdp.readers._entries import entries_of
from skdp.readers._raw import column_type, schema_of
from skdp.readers._sources import source_of
from skdp.table._schema import look_at
from skdp.utils._config import get_config

WHOLE = 2**53  # integers of smaller size are floats exactly
LONGEST = 2**1024
EXACT = re.compile(r"u?int\d*|float64|double", re.IGNORECASE)
OF_SOURCES = (
    "X must be finite, and where rows come in pieces the column of users must hold whole numbers "
    "of less than 2^53, of an integer type or float64. Give text and longer numbers a number for "
    "each user first; or leave rows without one out with "
    'skdp.config_context(invalid_rows="ignore").'
)
REFUSAL = (
    "the column of users must tell for every row whose it is: by whole numbers, text, dates or "
    "categories, of one type. Got entries that are missing, of another type, or floats that are "
    "no whole numbers or so large that they may have been rounded. Convert the column, for instance"
    ' with astype("int64") or astype(str) in a frame, where it keeps a type of its own; or leave '
    'such rows out with skdp.config_context(invalid_rows="ignore").'
)


def with_exact_users(X, user):
    """Return a table in which the column of users holds floats, equal where users are."""
    source = source_of(X)
    if source is not None:
        return _source(source, user)
    if hasattr(X, "isetitem"):
        return _pandas(X, user)
    if hasattr(X, "replace_column"):
        return _polars(X, user)
    return _array(X, user)


@dataclass(frozen=True)
class _WholeUsers:
    """Decodes pieces of a source, each row by itself: what is no whole number is no id.

    A cast to float64 takes integers to 2^53 and beyond to floats of that size, never below, so what
    is below was exact; floats of other types than float64 may have been rounded before.
    """

    decode: object
    user: int

    def __call__(self, raw):
        rows = self.decode(raw)
        x = rows[:, self.user]
        known = EXACT.fullmatch(column_type(raw, self.user))
        exact = (np.abs(x) < WHOLE) & (x == np.trunc(x)) if known else False
        return np.where(
            np.arange(rows.shape[1]) == self.user, np.where(exact, x, np.nan)[:, None], rows
        )


def _source(source, user):
    """Return a source whose users are whole numbers; pieces share no table of other names."""
    if user >= source.n_features:
        return source
    if not schema_of(source.head()).numeric[user]:
        raise ValueError(OF_SOURCES)
    whole = source.decoded_by(_WholeUsers(source.decode, user))
    if get_config()["invalid_rows"] == "error" and any(look_at(whole, entries=True)):
        raise ValueError(OF_SOURCES)
    return whole


def _pandas(X, user):
    if user >= X.shape[1]:
        return X
    numbers = _checked(*_pandas_numbers(X.iloc[:, user]))
    X = X.copy(deep=False)
    X.isetitem(user, numbers)
    return X


def _polars(X, user):
    from polars import Series

    if user >= X.shape[1]:
        return X
    numbers = _checked(*_polars_numbers(X.to_series(user)))
    return X.clone().replace_column(user, Series(X.columns[user], numbers))


def _array(X, user):
    listed = not hasattr(X, "dtype")  # what an entry is read as would depend on the other entries
    if hasattr(X, "tocsr") or (listed and get_config()["invalid_rows"] == "ignore"):
        return X
    try:
        table = np.asarray(X)
        if not isinstance(X, np.ndarray) and table.dtype.kind not in "fiub":
            table = np.array(X, dtype=object)  # numbers stay numbers beside text
    except ValueError:
        return X
    if table.ndim != 2 or user >= table.shape[1] or table.dtype.kind not in "fiubOUS":
        return X
    numbers = _checked(*_array_numbers(table[:, user]))
    if table.dtype.kind == "f" and np.array_equal(numbers, table[:, user]):
        return table
    target = np.float64 if table.dtype.kind in "iub" else object
    table = np.array(table, dtype=table.dtype if table.dtype.kind == "f" else target)
    table[:, user] = numbers
    return table


def _checked(numbers, mixed=False):
    """Return the numbers, unless some are missing or of several types and the caller may know."""
    if get_config()["invalid_rows"] == "error" and (mixed or np.isnan(numbers).any()):
        raise ValueError(REFUSAL)
    return numbers


def _array_numbers(x):
    """Return floats that are equal where entries are, NaN for no id; and whether types differ."""
    kind = x.dtype.kind
    if kind == "f":
        exact = (np.abs(x) < _first_rounded(x.dtype)) & (x == np.trunc(x))
        return (np.where(exact, x, np.nan).astype(np.float64),)
    if kind in "mM":
        return (np.where(np.isnat(x), np.nan, _numbered(x.view(np.int64))),)
    if kind in "biu":
        small = not x.size or (int(x.min()) > -WHOLE and int(x.max()) < WHOLE)
        return (x.astype(np.float64) if small else _numbered(x),)
    return _list_numbers(x.tolist())


def _pandas_numbers(x):
    if hasattr(x.dtype, "categories"):
        numbers, *mixed = _pandas_numbers(x.dtype.categories.to_series())
        codes = x.cat.codes.to_numpy().astype(np.int64)
        return np.append(numbers, np.nan)[codes], *mixed  # -1 is missing
    if isinstance(x.dtype, np.dtype):
        return _array_numbers(x.to_numpy())
    if x.dtype.kind == "f":
        own = getattr(x.dtype, "numpy_dtype", getattr(x.dtype, "subtype", np.dtype(np.float64)))
        return _array_numbers(x.to_numpy(dtype=own, na_value=np.nan))
    if x.dtype.kind in "mM":
        codes = x.factorize()[0]
        return (np.where(codes < 0, np.nan, codes),)
    return _list_numbers(entries_of(x.astype("UInt8") if x.dtype.kind == "b" else x).tolist())


def _polars_numbers(x):
    import polars

    if x.dtype.is_float():
        return _array_numbers(x.to_numpy())  # null is NaN
    if x.dtype.is_temporal():
        x = x.to_physical()
    if x.dtype == polars.Boolean:
        x = x.cast(polars.UInt8)
    return _list_numbers(x.to_list())


def _numbered(x):
    return np.unique(x, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _list_numbers(entries):
    """Return a number for every entry, and whether text, bytes and numbers come together."""
    known, kinds = {}, set()
    numbers = np.full(len(entries), np.nan)
    for row, entry in enumerate(entries):
        kind, name = _read(entry)
        if name is not None:
            numbers[row] = known.setdefault(name, len(known))
            kinds.add(kind)
    return numbers, len(kinds) > 1


def _read(entry):
    """Return the kind of an entry and the text that it reads as, None for no id."""
    if isinstance(entry, str):
        return "text", str.__str__(entry)  # a class derived from it could say anything
    if isinstance(entry, bytes):
        return "bytes", bytes.decode(entry, "latin-1")
    if isinstance(entry, bool | np.bool_):
        return None, None
    if isinstance(entry, Integral):
        entry = int(entry)
        return "number", str(entry) if abs(entry) < LONGEST else None
    if isinstance(entry, float | np.floating):
        most = WHOLE if isinstance(entry, float) else _first_rounded(type(entry))
        return "number", str(int(entry)) if abs(entry) < most and entry == int(entry) else None
    return None, None


def _first_rounded(dtype):
    """Return the least whole number that floats of a type, or of 64 bits, make of several."""
    return 2.0 ** min(np.finfo(dtype).nmant + 1, 53)
