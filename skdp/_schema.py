"""What a table must look like, decided and told without quoting it."""

import numpy as np
from sklearn.utils.validation import validate_data

from skdp._config import get_config

__all__ = ["validated_rows", "validated_table"]

TEXT = (
    "X must be a table of real numbers. Got entries that are not numbers: encode categories first, "
    "and convert columns of dtype object with astype(float)."
)


def validated_rows(estimator, X):
    """Return X as a float array of shape (n_samples, n_features) and set the feature names.

    Under ``invalid_rows="ignore"`` everything is decided from types and shapes; else scikit-learn
    looks at the entries too, for a caller who holds the data. No message quotes an entry.

    Raises
    ------
    ValueError, TypeError
    """
    ignore = get_config()["invalid_rows"] == "ignore"
    if ignore:
        _require_numbers(X)
    try:
        with np.errstate(all="ignore"):
            return validate_data(
                estimator,
                X,
                dtype=[np.float64, np.float32],
                ensure_all_finite=not ignore,
                ensure_min_samples=0 if ignore else 1,
            )
    except (ValueError, TypeError, OverflowError) as error:
        refusal = _without_entries(error)
    raise refusal


def validated_table(estimator, X):
    """Return X, a table of any types, as an array or a frame, and set the feature names.

    A frame stays as it is. No message quotes an entry.

    Raises
    ------
    ValueError, TypeError
    """
    if hasattr(X, "columns"):
        options = {"skip_check_array": True}
    else:
        least = 0 if get_config()["invalid_rows"] == "ignore" else 1
        options = {"dtype": None, "ensure_all_finite": False, "ensure_min_samples": least}
    try:
        checked = validate_data(estimator, X, **options)
    except (ValueError, TypeError, OverflowError) as error:
        refusal = _without_entries(error)
    else:
        return X if hasattr(X, "columns") else checked
    raise refusal


def _require_numbers(X):
    """Raise ValueError unless all types are those of real numbers."""
    X = X if hasattr(X, "dtype") or hasattr(X, "dtypes") else np.asarray(X)
    dtypes = [X.dtype] if hasattr(X, "dtype") else list(X.dtypes)
    if not {_kind(dtype) for dtype in dtypes} <= set("fiub"):
        names = ", ".join(sorted({str(dtype) for dtype in dtypes}))
        raise ValueError(
            f"X must be a table of real numbers. Got dtype {names}: convert it with astype(float)."
        )


def _kind(dtype):
    """Return the kind of a type of numpy, pandas or polars, as numpy names it."""
    kind = getattr(dtype, "kind", None)
    if kind is None and hasattr(dtype, "is_numeric"):  # polars
        kind = "f" if dtype.is_numeric() or str(dtype) == "Boolean" else "O"
    return kind


def _without_entries(error):
    """Return scikit-learn's exception with the lines and the quotes that show entries left out."""
    lines = str(error).splitlines() or [""]
    if "could not convert" in lines[0] or isinstance(error, OverflowError):
        return ValueError(TEXT)
    kept = [line for line in lines[1:] if line.startswith("Reshape your data")]
    return type(error)(" ".join([lines[0].rstrip(":"), *kept]))
