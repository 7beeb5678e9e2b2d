"""What groups have released as one tidy table: a line for each group and statistic."""

import numpy as np

__all__ = ["lines_of", "n_values", "tidy"]

VALUES = "location_", "var_", "counts_", "sum_", "count_"  # what estimators with intervals release
COUNTS = "n_rows_", "count_"
NUMBERS = "value", "low", "high", "n"
COLUMNS = "statistic", *NUMBERS, "reliable"


def lines_of(estimator, confidence, parameters):
    """Return the COLUMNS of everything that a fitted estimator has released, a tuple for each.

    Parameters
    ----------
    estimator : estimator
        Fitted; of a pipeline the last step speaks.
    confidence : float
    parameters : dict
        More for its method ``interval``.
    """
    last = _last(estimator)
    n = _count(last)
    values = _values(last)
    low = high = np.full(values.shape, np.nan)
    if hasattr(last, "interval"):
        low, high = map(np.asarray, last.interval(confidence=confidence, **parameters))
    if low.shape != values.shape:
        low, high = (ends.reshape(values.shape) for ends in (low, high))
    cells = (values.ravel(), low.ravel(), high.ravel())
    return [
        (name, float(value), float(a), float(b), n, estimator.reliable_)
        for name, value, a, b in zip(_names(last, values.shape), *cells, strict=True)
    ]


def n_values(estimator):
    """Return how many lines :func:`lines_of` has."""
    return _values(_last(estimator)).size


def tidy(rows, titles):
    """Return rows as a frame of pandas, or a dict of arrays where that is not installed."""
    columns = list(zip(*rows, strict=True)) or [()] * len(titles)
    arrays = {
        title: np.array(column, dtype=float) if title in NUMBERS else _objects(column)
        for title, column in zip(titles, columns, strict=True)
    }
    try:
        from pandas import DataFrame
    except ImportError:
        return arrays
    return DataFrame(arrays).infer_objects()


def _objects(column):
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def _last(estimator):
    while hasattr(estimator, "steps_"):
        estimator = next(
            step for _, step in reversed(estimator.steps_) if not isinstance(step, str | None)
        )
    return estimator


def _count(estimator):
    """Return the released number of rows, NaN where there is none."""
    if hasattr(estimator, "moments_"):  # of bounded columns; its first row is that of ones
        return float(np.asarray(estimator.moments_)[0, 0])
    if hasattr(estimator, "rank_curves_"):
        return estimator.rank_curves_.n_rows
    told = (float(getattr(estimator, name)) for name in COUNTS if hasattr(estimator, name))
    return next(told, np.nan)


def _values(estimator):
    for name in VALUES:
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name), dtype=float)
    if hasattr(estimator, "coef_"):
        coef = np.asarray(estimator.coef_, dtype=float)
        return np.append(coef, np.reshape(estimator.intercept_, (*coef.shape[:-1], 1)), axis=-1)
    raise AttributeError(
        "this estimator releases no means, rates, counts, sums, quantiles, variances or "
        "coefficients that results could list. Read estimators_ instead."
    )


def _names(estimator, shape):
    """Return names of values: those of their columns, with a number where there are several."""
    if not shape:
        return ["count"]
    d = estimator.n_features_in_
    names = [str(x) for x in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(d)])]
    names = [*names, *(["intercept"] if shape[-1] == d + 1 else [])]
    if len(names) != shape[-1]:
        names = [f"cell {j}" for j in range(shape[-1])]
    outer = list(np.ndindex(shape[:-1]))
    if len(outer) == 1:
        return names
    return [f"{name} ({', '.join(map(str, place))})" for place in outer for name in names]
