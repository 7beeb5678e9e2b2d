"""What a map of rows returns: how many columns, of which types and names, whatever the rows."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

TAME = (1.0, 0.5, 2.0, 0.0, -1.0)  # rows of one number, before numbers of many sizes
N_TAME, N_WILD = len(TAME), 67
WORDS = ("a", "b", "bb", "word", "", "Zebra", "0")
CODED = (
    "a column is a Categorical of polars or a dictionary of Arrow, perhaps in lists: which "
    "categories it knows, and their numbers, depend on the rows before. Cast it to Enum or "
    "CategoricalDtype with public categories, or to text."
)
EPOCH = np.datetime64("2000-01-01T00:00:00", "us")


def dummy_rows(X):
    """Return public rows with the columns and the types of X."""
    numbers = _numbers(X.shape[1])
    if not hasattr(X, "columns"):
        return _array(numbers, X.dtype)
    if any(map(_has_codes, X.dtypes)):
        raise ValueError(CODED)
    if hasattr(X, "clear"):  # polars
        columns = [_polars_column(X[name], x) for name, x in zip(X.columns, numbers.T, strict=True)]
        return type(X)(columns)
    made = type(X)(index=range(len(numbers)))
    for j, x in enumerate(numbers.T):
        made.insert(j, j, _pandas_column(X.iloc[:0, j], x, j), allow_duplicates=True)
    made.columns = X.columns
    return made


def _has_codes(dtype):
    """Return whether a type of a column is of coded entries, and does not say what the codes are.

    **Privacy**: what pandas makes of groups, codes and indicators of such entries shows the
    categories of other rows.
    """
    if isinstance(dtype, np.dtype):
        return False
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    inner = [dtype.field(i).type for i in range(getattr(dtype, "num_fields", 0))]
    if hasattr(dtype, "is_nested"):  # polars
        fields = (one.dtype for one in getattr(dtype, "fields", ()))
        inner = [*fields, getattr(dtype, "inner", None)]
    return type(dtype).__name__ in ("Categorical", "DictionaryType") or any(map(_has_codes, inner))


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


# --- columns of a type that is known beforehand, not inferred from what is in them


def pandas_column(entries, dtype):
    """Return entries as a column of text, dates, durations or categories; else as objects."""
    unit = _unit(dtype)
    if unit is not None:
        return _instants(entries, dtype, unit)
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        known = set(categories)
        kept = [v if _is_in(v, known) else None for v in entries]
        return dtype.construct_array_type()._from_sequence(kept, dtype=dtype)
    if getattr(dtype, "type", None) is str and not isinstance(dtype, np.dtype):
        kept = [v if isinstance(v, str) else None for v in entries]
        return dtype.construct_array_type()._from_sequence(kept, dtype=dtype)
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def polars_column(entries, dtype, frame):
    """Return entries as a column of a type of polars; ``frame`` is the class of its tables.

    Each is converted by itself: what cannot be is missing.
    """
    text = str(dtype) == "String"
    kept = [v if text and type(v) is str else _converted(v, dtype, frame) for v in entries]
    return frame({"": kept}, schema={"": dtype}, strict=False)[""]


def _converted(v, dtype, frame):
    try:
        return frame({"": [v]}, schema={"": dtype}, strict=False)[""].to_list()[0]
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException:  # polars panics
        return None


def _unit(dtype):
    """Return the unit of a type of dates or durations of numpy, or of dates with a zone."""
    if isinstance(dtype, np.dtype):
        return np.datetime_data(dtype)[0] if dtype.kind in "mM" else None
    return getattr(dtype, "unit", None) if hasattr(dtype, "tz") else None


def _instants(entries, dtype, unit):
    zone = getattr(dtype, "tz", None)
    kept = np.full(len(entries), "NaT", dtype=f"{dtype.kind}8[{unit}]")
    for i, v in enumerate(entries):
        try:
            v = v.as_unit(unit)
            if dtype.kind == "m":
                kept[i] = v.to_timedelta64()
            elif (v.tzinfo is None) is (zone is None):
                kept[i] = v.to_datetime64()
        except Exception:  # not of the type
            continue
    if zone is None:
        return kept
    naive = dtype.construct_array_type()._from_sequence(kept)
    return naive.tz_localize("UTC").tz_convert(zone)


def _is_in(v, known):
    try:
        return v in known
    except TypeError:  # nothing that could be looked up
        return False


NUMBERS = "fiub"


class FormError(ValueError):
    """A result that is not of the form; what it says quotes nothing."""


@dataclass(frozen=True)
class Form:
    """The form of the table that a map returns, known from public rows.

    Numbers are float64, so that every row can be missing; columns of frames keep types of text,
    dates and categories; everything else is an object. Were it the rows that decide, as where
    pandas infers a type from what it finds, one of them could change the type or the width of a
    table.
    """

    dtypes: tuple  # tuple of dtype: float64 or object, of every column
    names: tuple | None = None  # of the columns, if the map returns a DataFrame
    frame: type | None = None  # the class of the DataFrame
    given: tuple = ()  # the types that the columns of the DataFrame have

    @property
    def dtype(self):
        """The type of an array that can hold the table."""
        if any(dtype.kind == "O" for dtype in self.dtypes):
            return np.dtype(object)
        return np.result_type(*self.dtypes) if self.dtypes else np.dtype(float)

    def missing(self, n_rows):
        """Return an array of ``n_rows`` rows that are absent."""
        empty = np.nan if self.dtype.kind == "f" else None
        return np.full((n_rows, len(self.dtypes)), empty, dtype=self.dtype)

    def array(self, Z, n_rows):
        """Return a result for ``n_rows`` rows as an array of this form."""
        numeric = self.dtype.kind == "f"
        if hasattr(Z, "to_numpy") and hasattr(Z, "iloc"):  # pandas: its NA is no number
            Z = Z.to_numpy(dtype=self.dtype, na_value=np.nan if numeric else None)
        elif not numeric and hasattr(Z, "rows"):  # polars: as an array dates would be numbers
            Z = np.array([*Z.rows(), (None,) * Z.shape[1]], dtype=object)[:-1]
        A = as_table(Z, n_rows)
        if A.shape[1] != len(self.dtypes):
            raise FormError("a row-wise map must return the same number of columns for all rows.")
        if numeric and A.dtype.kind not in NUMBERS + "O":
            raise FormError("a row-wise map returned text or complex numbers in place of numbers.")
        A = A if A.dtype == self.dtype else _finite_type(A, self.dtype)
        return A if numeric else self._with_floats(A)

    def table(self, A, like):
        """Return an array of this form as what the map returns; ``like`` has the index.

        No library may choose the type of a column: it would look at all entries.
        """
        if self.frame is None:
            return A
        if not hasattr(self.frame, "iloc"):
            columns = [self._column(A, j, polars_column, self.frame) for j in range(A.shape[1])]
            return self.frame(dict(zip(self.names, columns, strict=True)))
        index = getattr(like, "index", None)
        Z = self.frame(A, index=index, columns=list(self.names), dtype=self.dtype)
        if self.dtype.kind != "f":
            columns = [self._column(A, j, pandas_column) for j in range(A.shape[1])]
            for j, column in enumerate(columns):
                if column.dtype != object:
                    Z.isetitem(j, column)
        return Z

    def _with_floats(self, A):
        """Return an array of objects with floats in the columns of numbers."""
        A = A.copy()
        for j, dtype in enumerate(self.dtypes):
            if dtype.kind == "f":
                A[:, j] = _finite_type(A[:, j], dtype)
        return A

    def _column(self, A, j, typed, *others):
        if self.dtypes[j].kind == "f":
            return _finite_type(A[:, j], self.dtypes[j])
        return typed(A[:, j].tolist(), self.given[j], *others)


def form_of(func, rows, *, trusted=False):
    """Return the form of what ``func`` returns for public rows, given one by one."""
    forms, failure = [], None
    for i in range(rows.shape[0]):
        row = rows.iloc[i : i + 1] if hasattr(rows, "iloc") else rows[i : i + 1]
        try:
            with np.errstate(all="ignore"):
                forms.append(_form(func(row.copy() if hasattr(row, "copy") else row)))
        except KeyboardInterrupt:  # of the user
            raise
        except BaseException as error:
            failure = failure or error
        if trusted and forms:
            break
    if not forms:
        failure = f"{type(failure).__name__}: {failure}".strip().rstrip(".")
        raise ValueError(
            "func fails on every made-up row with the columns and the types of X, so that nobody "
            f"can tell what it returns. The first time: {failure}. It is "
            "given tables of one row, with the columns of X, and must return a table of one row, "
            "with NaN for what it does not know. Columns of dtype object do not tell what they "
            "hold: convert them, for instance to numbers or to categories."
        )
    if len({len(form.dtypes) for form in forms}) > 1:
        raise ValueError(
            "func returns another number of columns for some rows. It must return the same number "
            "for all rows, with NaN where there is nothing to return."
        )
    given = tuple(map(_common, zip(*(form.given for form in forms), strict=False)))
    dtypes = forms[0].dtypes
    if hasattr(rows, "iloc") and any(dtype == "O" for dtype in rows.dtypes):
        # objects do not tell what they hold: a number of the first row, a word of another
        kinds = zip(*(form.dtypes for form in forms), strict=True)
        dtypes = tuple(max(column, key=lambda dtype: dtype.kind == "O") for column in kinds)
    return replace(forms[0], dtypes=dtypes, given=given)


def _common(types):
    """Return the type that a column has for all rows, or that of the first; no row's categories."""
    own = getattr(types[0], "categories", None) is not None and len(set(types)) > 1
    return np.dtype(object) if own and not hasattr(types[0], "is_numeric") else types[0]


def as_table(Z, n_rows):
    """Return a result as an array with ``n_rows`` rows."""
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
    Z = Z.reshape(-1, 1) if Z.ndim == 1 else Z
    if Z.ndim != 2 or Z.shape[0] != n_rows:
        raise FormError(
            "a row-wise map must return a table with one row for every row that it is given. Got "
            f"{Z.ndim} dimensions{'' if Z.ndim != 2 else ' and another number of rows'}."
        )
    return Z


def _form(Z):
    """Return the form that the result for one row has."""
    if hasattr(Z, "columns"):
        as_table(Z, 1)
        dtypes = list(Z.dtypes)
        given = tuple(map(_without_codes, dtypes))
        return Form(tuple(map(_kept, dtypes)), tuple(Z.columns), type(Z), given)
    A = as_table(Z, 1)
    if A.dtype.kind == "c":
        raise TypeError("complex numbers are no numbers of a table.")
    return Form((_kept(A.dtype),) * A.shape[1])


def _without_codes(dtype):
    """Return a type; of polars String for a Categorical, whose codes depend on what came before."""
    if not str(dtype).startswith("Categorical"):
        return dtype
    import polars

    return polars.String


def _kept(dtype):
    """Return the type in which a column is handed on."""
    return np.dtype(np.float64 if column_kind(dtype) in NUMBERS else object)


def _finite_type(A, dtype):
    with np.errstate(all="ignore"):
        return A.astype(dtype)
