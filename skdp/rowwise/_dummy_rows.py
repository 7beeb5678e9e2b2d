"""Public rows with the columns and the types of a private table."""

import numpy as np

__all__ = ["N_TAME", "column_kind", "dummy_rows"]

TAME = (1.0, 0.5, 2.0, 0.0, -1.0)  # rows of one number, before numbers of many sizes
N_TAME, N_WILD = len(TAME), 67
WORDS = ("a", "b", "bb", "word", "", "Zebra", "0")
EPOCH = np.datetime64("2000-01-01T00:00:00", "us")


def dummy_rows(X):
    """Return public rows with the columns and the types of X."""
    numbers = _numbers(X.shape[1])
    if not hasattr(X, "columns"):
        return _array(numbers, X.dtype)
    if hasattr(X, "clear"):  # polars
        columns = [_polars_column(X[name], x) for name, x in zip(X.columns, numbers.T, strict=True)]
        return type(X)(columns)
    made = type(X)(index=range(len(numbers)))
    for j, x in enumerate(numbers.T):
        made.insert(j, j, _pandas_column(X.iloc[:0, j], x, j), allow_duplicates=True)
    made.columns = X.columns
    return made


def column_kind(dtype):
    """Return the kind of a type of numpy, pandas or polars as numpy names it, or "O"."""
    kind = getattr(dtype, "kind", None)
    if kind is None and hasattr(dtype, "is_numeric"):  # polars
        kind = "f" if dtype.is_float() else "i" if dtype.is_integer() else "O"
        kind = "b" if str(dtype) == "Boolean" else kind
    return kind or "O"


def _numbers(n_features):
    i, j = np.ogrid[:N_WILD, :n_features]
    units = np.sin(12.9898 * (i + 1) + 78.233 * (j + 1)) * 43758.5453
    wild = ((units - np.floor(units)) * 16 - 8) * 10.0 ** ((i + j) % 9 - 3)
    wild[(i + 3 * j) % 11 == 5] = np.nan
    wild[(i + j) % 29 == 28] = np.inf
    tame = np.repeat(np.array(TAME)[:, None], n_features, axis=1)
    return np.concatenate([tame, wild])


def _small(x):
    """Return small whole numbers, which occur more than once."""
    return np.nan_to_num(x, posinf=0.0) % 7 // 1


def _words(x):
    return [WORDS[int(v) % len(WORDS)] if np.isfinite(v) else None for v in x]


def _dates(x):
    return EPOCH + 37 * _small(x).astype("timedelta64[h]")


def _objects(x, j):
    """Return words and numbers in turn: a column of objects does not say what it holds."""
    words = _words(x)
    return [v if i % 4 in (0, 2 + j % 2) else words[i] for i, v in enumerate(x.tolist())]


def _array(numbers, dtype):
    if dtype.kind in "fc":
        return numbers.astype(dtype)
    if dtype.kind in "iub":
        return _small(numbers).astype(dtype)
    columns = {
        "U": lambda x, j: [w or "" for w in _words(x)],
        "S": lambda x, j: [w or "" for w in _words(x)],
        "M": lambda x, j: _dates(x),
        "m": lambda x, j: _dates(x) - EPOCH,
    }.get(dtype.kind, _objects)
    table = np.empty(numbers.shape, dtype=object)
    for j, x in enumerate(numbers.T):
        table[:, j] = columns(x, j)
    return table if dtype.kind == "O" else table.astype(dtype)


def _pandas_column(empty, x, j):
    """Return a column of the type of ``empty``, of missing values where nothing else is known."""
    dtype, kind = empty.dtype, column_kind(empty.dtype)
    if kind == "O" and isinstance(dtype, np.dtype):
        return np.array([*_objects(x, j), None], dtype=object)[:-1]
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return empty.array._from_sequence(
            [categories[int(v) % len(categories)] if len(categories) else None for v in _small(x)],
            dtype=dtype,
        )
    candidates = {"f": x, "b": _small(x) > 2, "M": _dates(x)}.get(kind, _words(x))
    if kind in "iu":
        candidates = _small(x).astype(np.int64)
    if kind == "m":
        candidates = _dates(x) - EPOCH
    try:
        if getattr(dtype, "tz", None) is not None:
            naive = empty.dt.tz_localize(None).array._from_sequence(candidates)
            return naive.tz_localize(dtype.tz, ambiguous="NaT", nonexistent="NaT").astype(dtype)
        if hasattr(dtype, "type") and not isinstance(dtype, np.dtype):
            return empty.array._from_sequence(candidates, dtype=dtype)
        return np.asarray(candidates).astype(dtype)
    except Exception:  # a type that nothing is known about
        return empty.reset_index(drop=True).reindex(range(len(x)))


def _polars_column(column, x):
    dtype, kind = column.dtype, column_kind(column.dtype)
    name, missing = str(dtype).split("(")[0], column.clear(len(x))
    if name == "Categorical":
        raise ValueError(
            "a column is a Categorical of polars: the numbers of its categories hang on the rows "
            "before. Cast it to Enum with public categories, or to String."
        )
    if kind in "ib":
        values = (_small(x) > 2 if kind == "b" else _small(x).astype(np.int64)).tolist()
    elif kind == "f":
        values = x.tolist()
    elif name == "Enum":
        known = dtype.categories.to_list()
        values = [known[int(v) % len(known)] if known else None for v in _small(x)]
    elif name in ("Datetime", "Date", "Time", "Duration"):
        made = {"Date": lambda t: t.date(), "Time": lambda t: t.time()}.get(name, lambda t: t)
        dates = _dates(x) - EPOCH if name == "Duration" else _dates(x)
        values = [made(date) for date in dates.tolist()]
    else:
        values = _words(x)
    try:
        return type(column)(column.name, values, dtype=dtype, strict=False)
    except Exception:  # a type that nothing is known about
        return missing
