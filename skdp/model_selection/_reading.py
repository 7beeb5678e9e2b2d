"""How a search reads X: as runs are given parts of it."""

import numpy as np
from sklearn.utils.validation import validate_data

import skdp
from skdp.estimator._estimator import PrivateEstimator
from skdp.model_selection._runs import as_float64
from skdp.readers._rows import Source
from skdp.table._levels import public_classes
from skdp.table._schema import look_at, validated_rows
from skdp.table._split_target import final_step, reads_numbers_and_gaps
from skdp.table._supervised import checked_target
from skdp.utils._config import config_context, get_config

__all__ = [
    "classes_of",
    "counted",
    "in_memory",
    "is_plain",
    "of_doubles",
    "reads_numbers",
    "targets_of",
]


UNTYPED = (
    "y has no dtype of its own, and its entries must not choose one: one row could turn the "
    "targets of all others into text. {} an array or a Series."
)


PLAIN = bool, int, float, str, type(None)
OWN = "random_state", "ledger"  # of the fit


def classes_of(estimator):
    """Return the public classes of an estimator, None if it has none."""
    classes = getattr(final_step(estimator), "classes", None)
    return None if classes is None else public_classes(classes)


def counted(search, tables):
    """Set the names of what comes in pieces, and count its rows."""
    validate_data(search, tables.head(), skip_check_array=True)
    look_at(tables, entries=False)
    return tables


def in_memory(search, X, numbers):
    """Return X as runs are given parts of it: a frame stays one."""
    model = search.estimator
    if not numbers and reads_numbers_and_gaps(model, X):
        return validated_rows(search, X, missing=True)
    if not numbers:
        frame = {"skip_check_array": True} if hasattr(X, "columns") else {"dtype": None}
        return validate_data(search, X, **frame, ensure_all_finite=False, ensure_min_samples=0)
    if not hasattr(X, "columns"):
        return validated_rows(search, X, missing=getattr(model, "_gaps", False))
    with config_context(invalid_rows="ignore"):  # as runs will read it: by its types
        validated_rows(search, X, missing=getattr(model, "_gaps", False))
    return X


def of_doubles(tables):
    """Return tables of single precision as those of double precision."""
    return tables.mapped(as_float64, as_float64(tables.head()))


def reads_numbers(model, X, y):
    """Let a model read X as its fit would; return whether that is a table of numbers."""
    if not isinstance(model, PrivateEstimator):
        return True
    rows = model._read(X, y)
    if hasattr(model, "_begins_with_numbers"):
        return model._begins_with_numbers()
    return isinstance(rows, Source) if model._target is None else not model._mixed


def targets_of(X, y, model):
    """Return the targets, an array with one entry per row, checked as a model checks them."""
    if y is None:
        raise ValueError("this search requires y to be passed, but the target y is None.")
    n_rows = _length(X)
    if getattr(final_step(model), "_target", None) is not None:
        return _typed(checked_target(final_step(model), y, n_rows))
    y = _typed(y)
    if y.ndim != 1 or len(y) != n_rows:
        raise ValueError("y must be one-dimensional, with one entry for every row of X.")
    return y


def _length(X):
    if hasattr(X, "shape"):
        return X.shape[0]
    return len(X if hasattr(X, "__len__") else np.asarray(X))


def _typed(y):
    """Return targets as an array whose type no single target chooses.

    Of what has no type of its own, as lists, numbers become float64 and texts objects; so do
    entries of types that numpy does not know, which it would choose by whether one is missing.
    """
    if hasattr(y, "dtype"):
        return np.asarray(y) if isinstance(y.dtype, np.dtype) else _objects(y)
    if get_config()["invalid_rows"] == "ignore":
        raise ValueError(UNTYPED.format('Under invalid_rows="ignore" pass'))
    if isinstance(y, list | tuple) and all(isinstance(target, str) for target in y):
        return _objects(y)
    try:
        return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        refusal = ValueError(UNTYPED.format("Pass numbers, texts, or"))
    raise refusal


def _objects(y):
    targets = np.empty(len(y), dtype=object)
    targets[:] = list(y)
    return targets


def is_plain(x):
    """Return whether an estimator, or a parameter, holds no code of a user."""
    if type(x) in PLAIN or (type(x) is np.ndarray and x.dtype.kind in "biufU"):
        return True
    if type(x) in (list, tuple) or (type(x) is np.ndarray and x.dtype.kind == "O"):
        return all(map(is_plain, np.ravel(x) if type(x) is np.ndarray else x))
    if type(x) is dict:
        return all(type(key) is str for key in x) and all(map(is_plain, x.values()))
    if getattr(skdp, type(x).__name__, None) is not type(x) or not hasattr(x, "get_params"):
        return False  # denoisers too are public, of plain parameters
    return all(is_plain(v) for k, v in x.get_params(deep=False).items() if k not in OWN)
