"""What a table must look like, decided and told without quoting it."""

from dataclasses import astuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.readers import ArrayRows
from skdp.readers._calendar import calendar_of, from_calendar
from skdp.readers._columns import SPARSE
from skdp.readers._raw import TableError, first_of, library, numbers, refuse_masked, schema_of
from skdp.readers._sources import BROKEN, converted, source_of
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

TEXT = (
    "X must be a table of real numbers. Got entries that are not numbers: encode categories first, "
    "and convert columns of dtype object with astype(float). PrivateSummary and additive models "
    "take text as it is, in a frame of pandas or polars."
)


NO_TABLE = (
    'X must be a table of two dimensions, with columns. Under invalid_rows="ignore" pass an array '
    "or a frame, which has dtypes of its own: those of lists depend on their entries."
)
NO_NUMBERS = (
    "a list that is a table must hold numbers alone, since one entry would decide how all others "
    "are read. If X holds text or categories, pass it as an array or a frame, which has dtypes."
)
NO_TYPE = (
    'Under invalid_rows="ignore" pass {}an array or a series, which has a type of its own: that of '
    "a list depends on its entries."
)
A_DICT = "X must be a table. Got a dict, or a list of them: pass pandas.DataFrame(X)."
A_SERIES = (
    "X must be a table of two dimensions. Got one column: pass X.to_frame(), or frame[['age']]."
)
NO_COLUMNS = "X has no columns. Pass a table with one at least."
TWICE = (
    "X must have columns whose names differ. Got a name twice: rename a column, or pass "
    "X.to_numpy()."
)
UNREADABLE = (
    'X could not be read as a table of real numbers. Under invalid_rows="ignore" nothing more is '
    "told: pass a dense array or frame of float64, whose columns, if named, have text for names."
)
IGNORED = 'set skdp.config_context(invalid_rows="ignore"), where such rows count as absent.'
INVALID = f"Fill in public values, for instance with a RowMap, or {IGNORED}"
NAN, INFINITE = "Input X contains NaN.", f"Input X contains infinity. {INVALID}"
WHOLE = (
    "One gap would lose its row, all {n} columns of it; statistics of columns lose its entry alone."
)
NO_ROWS = "X has no rows, and at least one is needed."
TEXT_FILES = (
    'X is a dataset of text files. Under invalid_rows="ignore" no entry may decide whether a table '
    "can be read, and in text each one does: write them as parquet files, which have types."
)
DATES = "X must be a table of real numbers. Got dates or durations: subtract a date and divide."


def read_rows(estimator, X, *, missing=False, first=None):
    """Return X as Rows, whatever it comes from, and set the feature names.

    What is no array or frame in memory is read once before anything is charged, in pieces: its rows
    are counted and its columns checked, and its entries too, unless ``invalid_rows="ignore"``, for
    a caller who holds the data. What changes afterwards fails in the private part. NaN is not
    refused if entries may be ``missing``. Of n columns ``first(n)`` are sums that the fit asks
    first, see ``Source.look``.
    """
    source, dated = source_of(X), None
    if source is None and isinstance(X, np.ndarray) and X.ndim == 2:
        dated = calendar_of(X.dtype)
        X = X if dated is None else from_calendar(X, "numpy")
    if source is None and dated is None:
        source = converted(X)
    if source is None:
        rows = ArrayRows(validated_rows(estimator, X, missing=missing))
        keep_calendars(estimator, (dated,) * rows.n_features)
        return rows
    _require_types(source)
    schema = schema_of(source.head())
    schema.require_numbers()
    keep_calendars(estimator, schema.calendars)
    validate_data(estimator, source.head(), skip_check_array=True)  # sets the names
    entries = get_config()["invalid_rows"] == "error"
    read = entries or source.n_rows is None
    asked = first(source.n_features) if read and first is not None else None
    nan, infinite = look_at(source, entries=entries, first=asked)
    if nan and not missing:
        raise ValueError(told_of_gaps(source.n_features))
    if infinite:
        raise ValueError(INFINITE)
    if entries and not len(source):
        raise ValueError(NO_ROWS)
    return source


def told_of_gaps(n_columns):
    """Return the text of an error about gaps, for an estimator of whole rows."""
    return " ".join([NAN, *([WHOLE.format(n=n_columns)] if n_columns > 1 else []), INVALID])


def keep_calendars(estimator, calendars):
    """Set what the types of columns of dates and durations say, if there are some."""
    vars(estimator).pop("calendars_in_", None)
    if any(calendars):
        told = tuple(None if one is None else astuple(one) for one in calendars)
        vars(estimator)["calendars_in_"] = told


def _require_types(source):
    """Raise ValueError for text, whose entries decide its types, if none may decide anything."""
    if source.text and get_config()["invalid_rows"] == "ignore":
        raise ValueError(TEXT_FILES)


def look_at(source, *, entries, first=None):
    """Read a source once, before anything is charged; see ``Source.look``."""
    _require_types(source)
    with np.errstate(all="ignore"):
        if get_config()["invalid_rows"] == "error":
            return source.look(entries=entries, first=first)
        try:
            with quiet():
                return source.look(entries=entries, first=first)
        except (TableError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # of a reader, as polars panics: an entry may decide on it
            refusal = ValueError(BROKEN)
    raise refusal


def validated_rows(estimator, X, *, missing=False):
    """Return X as a float array of shape (n_samples, n_features) and set the feature names.

    Under ``invalid_rows="ignore"`` everything is decided from types, dtypes and the number of
    dimensions and columns, which are public, so that no row decides for others whether there is an
    exception, or which; messages are constant but for the names of dtypes. Else scikit-learn looks
    at the entries too, for a caller who holds the data. No message quotes an entry.
    """
    refuse_masked(X)
    ignore = get_config()["invalid_rows"] == "ignore"
    if (isinstance(X, dict) and not issparse(X)) or (
        not ignore and isinstance(X, list) and dict in map(type, X[:1])
    ):
        raise TypeError(A_DICT)
    if hasattr(X, "to_frame") and len(X.shape) == 1:
        raise ValueError(A_SERIES)
    if ignore:
        _require_numbers(X)
    elif {_kind(dtype) for dtype in _dtypes(X)} & set("mM"):
        raise ValueError(DATES) if not _others(X, "mM") else _told_where(ValueError(TEXT), X, "mM")
    elif hasattr(X, "columns") and not len(X.columns):
        raise ValueError(NO_COLUMNS)
    try:
        with np.errstate(all="ignore"):
            return validate_data(
                estimator,
                X,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False if ignore else "allow-nan" if missing else True,
                ensure_min_samples=0 if ignore else 1,
            )
    except (ValueError, TypeError, OverflowError) as error:
        refusal = ValueError(UNREADABLE) if ignore else _told_where(_without_entries(error), X)
        if NAN in str(refusal) and len(getattr(X, "shape", ())) == 2:
            refusal = ValueError(told_of_gaps(X.shape[1]))
    except Exception as error:  # of Arrow, on text that is no UTF-8, which it quotes
        if library(error) != "pyarrow":
            raise
        refusal = _told_where(ValueError(TEXT), X)
    raise refusal


def typed_rows(estimator, X):
    """Return a table in memory whose columns have types; lists and objects become floats."""
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    typed = hasattr(X, "columns") or kind in "iubUTmM"
    return X if typed else validated_rows(estimator, X, missing=True)


def checked_rows(estimator, X):
    """Return a table that :func:`validated_rows` takes, dates or not.

    A frame, and dates, stay as they are: later steps read names and types themselves.
    """
    rows = numbers_of_dates(X)
    checked = validated_rows(estimator, rows)
    return X if hasattr(X, "columns") or rows is not X else checked


def later_rows(estimator, X, *, least=1):
    """Return rows that a fitted estimator shall map, ``least`` of them or more.

    As a float array, for a caller who has them.
    """
    check_is_fitted(estimator)
    refuse_masked(X)
    finite = "allow-nan" if getattr(estimator, "_gaps", False) else True
    options = {"dtype": [np.float64, np.float32], "ensure_all_finite": finite, "reset": False}
    options["ensure_min_samples"] = least
    return validate_data(estimator, numbers_of_dates(X), **options)


def numbers_of_dates(X):
    """Return a table in memory with dates and durations as numbers, any other as it is."""
    if not any(map(calendar_of, _dtypes(X))):
        return X
    rows = numbers(schema_of(X), X)
    if library(X) == "polars":
        return type(X)(rows, schema=X.columns)
    return type(X)(rows, columns=X.columns) if library(X) == "pandas" else rows


def validated_table(estimator, X):
    """Return X, a table of any types, as an array or a frame, and set the feature names.

    A frame stays as it is. A list becomes an array of float64, or is refused under
    ``invalid_rows="ignore"``: the type that numpy gives it depends on its entries, so that one row
    could change what a function of rows makes of all others. No message quotes an entry.
    """
    refuse_masked(X)
    ignore = get_config()["invalid_rows"] == "ignore"
    if ignore and not _dtypes(X):
        raise ValueError(NO_TABLE)
    if hasattr(X, "columns"):
        options = {"skip_check_array": True}
    else:
        dtype = None if hasattr(X, "dtype") else np.float64
        least = 0 if ignore else 1
        options = {"dtype": dtype, "ensure_all_finite": False, "ensure_min_samples": least}
    try:
        checked = validate_data(estimator, X, **options)
    except (ValueError, TypeError, OverflowError) as error:
        refusal = _without_entries(error)
        if str(refusal) == TEXT:
            refusal = ValueError(NO_NUMBERS)
    else:
        return X if hasattr(X, "columns") else checked
    raise refusal


def require_type(x):
    """Raise ValueError for what has no type of its own where no row may decide, and for masks."""
    refuse_masked(x)
    if get_config()["invalid_rows"] == "ignore" and not hasattr(x, "__array__"):
        raise ValueError(NO_TYPE.format(""))


def _require_numbers(X):
    """Raise ValueError unless X has two dimensions, and all types are those of real numbers."""
    dtypes, shape = _dtypes(X), getattr(X, "shape", ())
    if not dtypes or len(shape) != 2 or shape[1] == 0:
        raise ValueError(NO_TABLE)
    if not {_kind(dtype) for dtype in dtypes} <= set("fiub"):
        names, others = ", ".join(sorted({str(dtype) for dtype in dtypes})), _others(X)
        told = f" Columns of another type: {others}." if others else ""
        raise ValueError(
            f"X must be a table of real numbers. Got dtype {names}: convert it with astype(float)."
            f"{told}"
        )


def _dtypes(X):
    """Return the types of the columns of X, none for what has no types of its own."""
    if hasattr(X, "dtype"):
        return [X.dtype]
    return list(getattr(X, "dtypes", ()))


def _kind(dtype):
    """Return the kind of a type of numpy, pandas or polars, as numpy names it."""
    kind = getattr(dtype, "kind", None)
    if kind is None and hasattr(dtype, "is_numeric"):  # polars
        if dtype.is_temporal():
            return "M"
        kind = "f" if dtype.is_numeric() or str(dtype) == "Boolean" else "O"
    return kind


def _told_where(refusal, X, dates=""):
    """Return a refusal of text, with the names of the columns of a frame that have such a type."""
    others = _others(X, dates)
    told = str(refusal) == TEXT and others
    return ValueError(f"{TEXT} Columns of another type: {others}.") if told else refusal


def _others(X, dates=""):
    """Return the names of the columns of a frame that hold no numbers, nor ``dates``, as text."""
    if not hasattr(X, "columns"):
        return ""
    return first_of(X.columns, [_kind(dtype) in set("fiub" + dates) for dtype in _dtypes(X)])


def _without_entries(error):
    """Return scikit-learn's exception with the lines and the quotes that show entries left out."""
    lines = str(error).splitlines() or [""]
    if "could not convert" in lines[0] or isinstance(error, OverflowError):
        return ValueError(TEXT)
    if "unique column names" in lines[0]:
        return ValueError(TWICE)
    kept = [line for line in lines[1:] if line.startswith("Reshape your data")]
    if lines[0].startswith("Sparse data was passed"):
        return TypeError(SPARSE)
    if "contains NaN" in lines[0] or "contains infinity" in lines[0]:
        kept.append(INVALID)
    return type(error)(" ".join([lines[0].rstrip(":.") + ".", *kept]))


def are_batches(y):
    """Return whether something is an iterable of arrays or series, and is none itself."""
    if any(hasattr(y, name) for name in ("__array__", "shape", "dtype", "__arrow_c_stream__")):
        return False
    if not hasattr(y, "__iter__"):
        return False
    return iter(y) is y or len(getattr(next(iter(y), None), "shape", ())) > 0
