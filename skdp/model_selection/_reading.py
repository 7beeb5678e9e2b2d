"""How a search reads X: as runs are given parts of it."""

from sklearn.utils.validation import validate_data

from skdp.estimator._estimator import PrivateEstimator
from skdp.model_selection._runs import as_float64
from skdp.readers._rows import Source
from skdp.table._levels import public_classes
from skdp.table._schema import look_at, validated_rows
from skdp.table._split_target import final_step, reads_numbers_and_gaps
from skdp.utils._config import config_context

__all__ = ["classes_of", "counted", "in_memory", "of_doubles", "reads_numbers"]


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
