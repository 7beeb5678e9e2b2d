"""How X and y are read together: what y may be, decided and told without quoting it."""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from skdp.readers._columns import MixedBlockEncoder, TableRows, read_columns
from skdp.readers._labels import Known
from skdp.readers._raw import has_two_dimensions, library, numbers, refuse_masked, schema_of
from skdp.readers._sources import FrameRows, source_of
from skdp.readers._target import (
    OF_X,
    OF_Y,
    OUTSIDE,
    Kind,
    PairedBatches,
    PairRows,
    PairSplitter,
    SourceWithTarget,
    TargetRows,
    TargetSplitter,
    column_of,
    missing_in,
    without_column,
)
from skdp.table._levels import is_text, label_type, levels_of, public_classes
from skdp.table._schema import (
    IGNORED,
    INFINITE,
    INVALID,
    NO_ROWS,
    NO_TYPE,
    TWICE,
    are_batches,
    keep_calendars,
    look_at,
    read_rows,
    told_of_gaps,
)
from skdp.utils._config import get_config

ASKED_FOR = "This {} estimator requires y to be passed, but the target y is None."
COLUMN_VECTOR = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
    "(n_samples,), for example using ravel()."
)
ONE_COLUMN = "y should be a 1d array, with one entry for each row of X. Got more columns than one."
LENGTHS = "X and y must have the same number of rows. Pass a y with one entry for each row of X."
NAN_Y = f"Input y contains NaN. Leave such rows out, or {IGNORED}"
INFINITE_Y = f"Input y contains infinity. Leave such rows out, or {IGNORED}"
MIXED_INFINITE = (
    "Input X contains infinity, or an entry that is no number in a column of numbers. Name columns "
    f"of text in categories. {INVALID}"
)
COMPLEX = "Complex data not supported: y holds complex numbers. Pass y.real."
NO_NUMBERS = (
    "y must hold real numbers. Got another type: convert it with astype(float), or use a "
    "classifier if it holds classes."
)
NO_LABELS = (
    "Unknown label type: classes are text, whole numbers or truth values, and y has something "
    "else, as a continuous target has. Round it to codes, pass the numbers that are classes as "
    f"`classes`, use a regressor, or {IGNORED}"
)
OUTSIDE_CLASSES = (
    "y has labels that are not in `classes`. Pass every label that may occur, as in "
    f"classes=['no', 'yes'], or {IGNORED}"
)
NO_NAMES = (
    "y is text, which names a column of X, but X has no names of columns. Pass y as an array with "
    "one entry for each row of X, or X as a frame."
)
DASK = "y is a collection of dask, and X is not. Pass y.compute(), or X as a collection of dask."
ONE_SHOT_Y = (
    "y is an iterator or a stream, which can be read only once, and a fit reads it several times. "
    "Pass a list of batches, or an object whose __iter__ starts anew each time."
)
UNREADABLE = "y could not be read as one column. Pass an array or a series of one dimension."


def read_with_target(estimator, X, y):
    """Return X and y as TargetRows, whatever they come from, and set the feature names."""
    return _Reading(estimator).read(X, y)


def checked_target(estimator, y, n_rows):
    """Return a y in memory as it can be given to a later fit, an array or a series."""
    if y is None:
        raise ValueError(ASKED_FOR.format(type(estimator).__name__))
    reading = _Reading(estimator)
    target, _ = reading._target(y)
    if len(target) != n_rows:
        raise ValueError(LENGTHS)
    if not _ignores():
        reading._require(*reading.kind.faults(target))
    if library(y) != "numpy":
        return y
    objects = np.dtype(getattr(y, "dtype", object)).kind == "O"
    return target if objects else np.asarray(y).reshape(-1)


class _Reading:
    def __init__(self, estimator):
        self.estimator, self.mixed = estimator, estimator._mixed
        self.is_class = estimator._target == "class"
        classes = getattr(estimator, "classes", None) if self.is_class else None
        known = None if classes is None else Known(public_classes(classes))
        self.kind, self.levels = Kind(self.is_class, known), None

    def read(self, X, y):
        if isinstance(y, str):
            joined, like = self._named(X, y)
        elif y is None:
            joined, like = self._pairs(X)
        elif type(y).__module__.partition(".")[0] in ("dask", "dask_expr"):
            joined, like = self._dask(X, y)
        elif are_batches(y):
            joined, like = self._batches(X, iter(y) is y, y)
        else:
            joined, like = self._join_target(X, y)
        told = {"levels": self.levels, "label_type": label_type(like, 0) if self.is_class else None}
        return TargetRows(joined, mixed=self.mixed, **told)

    def _named(self, X, column):
        source = source_of(X)
        if source is None and library(X) in ("pandas", "polars"):
            source = FrameRows(X)
        schema = None if source is None else schema_of(source.head())
        if schema is None or schema.names is None:
            raise ValueError(NO_NAMES)
        if schema.names.count(column) != 1:
            raise ValueError(
                f"y names the column {column!r}, which X has not, or has twice. Pass the name of a "
                "column of X, or an array with one entry for each row."
            )
        place, head = schema.names.index(column), source.head()
        like = head[[column]] if library(head) == "pandas" else head.select([column])
        self._require_type(like)
        rest = self._rest(without_column(head, place))
        return self._looked(source, TargetSplitter(schema, place, rest, self.kind)), like

    def _pairs(self, X):
        first = None
        if source_of(X) is None and hasattr(X, "__iter__") and not hasattr(X, "__array__"):
            first = next(iter(X), None)
        if not (isinstance(first, tuple) and len(first) == 2 and has_two_dimensions(first[0])):
            raise ValueError(ASKED_FOR.format(type(self.estimator).__name__))
        return self._paired(PairRows(X, first), first[1])

    def _batches(self, X, once, y):
        if once:
            raise TypeError(ONE_SHOT_Y)
        if source_of(X) is None or not hasattr(X, "__iter__"):
            raise ValueError(UNREADABLE)
        return self._paired(PairRows(PairedBatches(X, y), (next(iter(X)), None)), next(iter(y)))

    def _paired(self, source, target):
        like = _of_two_dimensions(target)[:0]
        self._require_type(like)
        numeric = schema_of(like).numeric[0]
        return self._looked(
            source, PairSplitter(numeric, self._rest(source.head()), self.kind)
        ), like

    def _dask(self, X, y):
        from skdp.readers._dask import DaskRows, paired

        source = source_of(X)
        if not isinstance(source, DaskRows):
            raise ValueError(DASK)
        both, like = paired(source, y)
        like = _of_two_dimensions(like)
        self._require_type(like)
        numeric = schema_of(like).numeric[0]
        return self._looked(both, PairSplitter(numeric, self._rest(source.head()), self.kind)), like

    def _join_target(self, X, y):
        target, like = self._target(y)
        rows = self._mixed_rows(X) if self.mixed else None
        if rows is None:
            rows = read_rows(self.estimator, X, missing=self.mixed)
        if len(rows) != len(target):
            raise ValueError(LENGTHS)
        absent = self.estimator._absent()
        target = target if absent is None else missing_in(target, absent)
        if get_config()["invalid_rows"] == "error":
            self._require(*self.kind.faults(target))
        return SourceWithTarget(rows, target, self.kind), like

    def _mixed_rows(self, X):
        """Return the rows of a table whose columns may differ, None for what numpy is to read."""
        source = source_of(X)
        if source is None:
            is_frame = library(X) in ("pandas", "polars") and has_two_dimensions(X)
            is_text = getattr(getattr(X, "dtype", None), "kind", None) in ("U", "T")
            given = getattr(self.estimator, "categories", None) is not None
            given = given and has_two_dimensions(X)
            typed = is_frame or hasattr(X, "dtype") or not _ignores()
            if not (is_frame or is_text or given) or not typed:
                return None
            source = TableRows(read_columns(X))
        return self._looked(source, self._rest(source.head()))

    def _rest(self, head):
        """Return what makes rows of pieces of X alone, of which this is one without rows."""
        schema = schema_of(head)
        if schema.names is not None and len(set(schema.names)) < len(schema):
            raise ValueError(TWICE)
        if self.mixed and len(schema):
            self.levels = levels_of(getattr(self.estimator, "categories", None), head)
            rest = MixedBlockEncoder(schema, tuple(level is None for level in self.levels))
        else:
            schema.require_numbers()
            rest = partial(numbers, schema)
        validate_data(self.estimator, head, skip_check_array=True)  # sets the names
        keep_calendars(self.estimator, schema.calendars)
        return rest

    def _looked(self, source, decode):
        """Return a source with another way to make rows, after it has been read once."""
        source = source.decoded_by(decode)
        source.finite = source.random_access = False
        entries = not _ignores()
        self._require(*look_at(source, entries=entries))
        if entries and not len(source):
            raise ValueError(NO_ROWS)
        return source

    def _require(self, missing, wrong):
        """Raise ValueError for what is missing or wrong, both as bits."""
        if missing & OF_X and not self.mixed:
            raise ValueError(told_of_gaps(self.estimator.n_features_in_))
        if wrong & OF_X:
            raise ValueError(MIXED_INFINITE if self.mixed else INFINITE)
        if missing & OF_Y:
            raise ValueError(NAN_Y)
        if wrong & OF_Y:
            raise ValueError(NO_LABELS if self.is_class else INFINITE_Y)
        if wrong & OUTSIDE:
            raise ValueError(OUTSIDE_CLASSES)

    def _require_type(self, like):
        """Raise ValueError if the type of the target, a table of no rows, is none of its kind."""
        if schema_of(like).numeric[0]:
            return
        if isinstance(like, np.ndarray) and like.dtype.kind == "c":
            raise ValueError(COMPLEX)
        if not self.is_class:
            raise ValueError(NO_NUMBERS)
        if not (is_text(like, 0) or label_type(like, 0) != np.dtype("O")):
            raise ValueError(NO_LABELS)

    def _target(self, y):
        """Return a target in memory as an array of float64 or object, and a table of no rows."""
        table = _of_two_dimensions(y, is_class=self.is_class)
        if not self.is_class and isinstance(table, np.ndarray) and table.dtype == object:
            table = _numbers_of(table)
        self._require_type(table[:0])
        return column_of(table), table[:0]


def _ignores():
    return get_config()["invalid_rows"] == "ignore"


def _of_two_dimensions(y, *, is_class=False):
    """Return a target in memory as a table of one column, an array or a frame.

    Classes that have no type of their own, as in lists, are objects: numpy would choose a type that
    depends on all of them, so that one row would decide how the others are read.
    """
    if hasattr(y, "tocsr"):
        raise TypeError("y is sparse, and a dense array is asked for: pass y.toarray().")
    refuse_masked(y)
    kind = library(y)
    if kind == "pyarrow" and not hasattr(y, "schema"):
        import pyarrow

        return pyarrow.table({"y": y})
    if kind in ("pandas", "polars") and len(y.shape) == 1:
        return y.to_frame()
    if kind == "numpy":
        y = _array(y, is_class=is_class)
    if len(y.shape) != 2 or y.shape[1] != 1:
        raise ValueError(ONE_COLUMN)
    return y


def _array(y, *, is_class):
    if _ignores() and not hasattr(y, "dtype"):
        raise ValueError(NO_TYPE.format("y as "))
    try:
        y = np.asarray(y, dtype=None if hasattr(y, "dtype") or not is_class else object)
    except Exception:  # which may quote entries
        refusal = ValueError(UNREADABLE)
    else:
        if y.ndim == 1:
            return y.reshape(-1, 1)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(COLUMN_VECTOR, DataConversionWarning, stacklevel=2)
            return y
        refusal = ValueError(ONE_COLUMN)
    raise refusal


def _numbers_of(table):
    """Return an array of objects as floats, for a caller who may know whether it holds others."""
    if not _ignores():
        try:
            return table.astype(np.float64)
        except (ValueError, TypeError, OverflowError):
            pass
    raise ValueError(NO_NUMBERS)
