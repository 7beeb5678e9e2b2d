"""What the models of groups say of rows: each row is asked of that of its group."""

from functools import partial

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.readers._tables import columns_of
from skdp.table._batched import fitted_alone, lazy_result, row_method, tables_for
from skdp.utils._compat import safe_indexing


def _has(name):
    def check(group_by):
        getattr(group_by.estimator, name)  # or AttributeError
        return True

    return check


def _routed(name, what, returns):
    return available_if(_has(name))(row_method(name, _ask, what, returns))


def _ask(group_by, X, name):
    tables = tables_for(group_by, X)
    if tables is not None:
        return lazy_result(tables, partial(_answers, fitted_alone(group_by), name))
    check_is_fitted(group_by)
    if hasattr(X, "columns"):
        validate_data(group_by, X, reset=False, skip_check_array=True)
    else:
        X = validate_data(group_by, X, reset=False, dtype=None, ensure_all_finite=False)
    return _answers(group_by, name, X)


def _answers(group_by, name, table):
    """Return what the models say of the rows of an array or frame, in their order."""
    numbers = group_by.group_numbers(table)
    features = columns_of(table, group_by._rest())
    parts = []
    for number, model in enumerate(group_by.estimators_.values()):
        rows = np.flatnonzero(numbers == number)
        if len(rows):
            answer = np.asarray(getattr(model, name)(safe_indexing(features, rows)))
            parts.append((rows, _by_classes(answer, model, group_by, name)))
    return _placed(parts, len(numbers), group_by, name)


def _by_classes(answer, model, group_by, name):
    """Return probabilities of all classes; 0 for those that a group does not know."""
    if name != "predict_proba" or group_by._target != "class":
        return answer
    classes = group_by.classes_
    whole = np.zeros((len(answer), len(classes)))
    whole[:, np.searchsorted(classes, model.classes_)] = answer
    return whole


def _placed(parts, n_rows, group_by, name):
    """Return answers in the order of the rows, and for rows in no group what says so."""
    n_inside = sum(len(rows) for rows, _ in parts)
    if not parts:
        shape = (n_rows, len(group_by.classes_)) if name == "predict_proba" else (n_rows,)
        return np.full(shape, np.nan)
    kind = np.result_type(*(answer.dtype for _, answer in parts))
    fill = np.nan
    if n_inside < n_rows and kind.kind != "f":
        if group_by._target == "class":
            kind, fill = np.dtype(object), None
        else:
            fill = -1
    placed = np.full((n_rows, *parts[0][1].shape[1:]), fill if n_inside < n_rows else 0, kind)
    for rows, answer in parts:
        placed[rows] = answer
    return placed


class RoutesRows:
    """Methods of the models of groups, for rows that say by their key whose they are."""

    predict = _routed(
        "predict",
        "Predict each row with the model of its group; rows in no group get NaN, labels of "
        "clusters -1, classes None",
        "y : ndarray of shape (n_samples,)",
    )
    predict_proba = _routed(
        "predict_proba",
        "Return probabilities by the model of the group of each row, NaN for rows in no group",
        "probabilities : ndarray of shape (n_samples, n_classes)",
    )

    @property
    def classes_(self):
        """The classes that the groups know, a sorted array."""
        known = [model.classes_ for model in self.estimators_.values()]
        return np.unique(np.concatenate(known)) if known else np.empty(0)
