"""The targets of a search, in memory, of a type that no single one of them chooses."""

import numpy as np

from skdp.table._split_target import final_step
from skdp.table._supervised import checked_target
from skdp.utils._config import get_config

__all__ = ["targets_of"]

UNTYPED = (
    "y has no dtype of its own, and its entries must not choose one: one row could turn the "
    "targets of all others into text. {} an array or a Series."
)


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
