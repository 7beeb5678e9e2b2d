"""What a fitted estimator makes of rows that come in pieces: the same, piece by piece."""

import math
from functools import partial, wraps

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.readers._sources import source_of
from skdp.readers._tables import tables_of
from skdp.rowwise._dummy_rows import dummy_rows
from skdp.table._groups import rows_alone
from skdp.utils._compat import output_config, safe_indexing
from skdp.utils._config import config_context, get_config
from skdp.utils._threads import quiet

__all__ = [
    "apply_batched",
    "by_tables",
    "fitted_alone",
    "lazy_result",
    "mean_of_pieces",
    "public_row",
    "source_for",
    "sum_of_pieces",
    "tables_for",
    "transforms_pieces",
    "transforms_tables",
    "with_current_config",
]


def transforms_pieces(cls):
    """Let ``transform`` and ``fit_transform`` of a class take sources, whatever its output is."""
    return _outermost(cls, apply_batched(cls.transform), by_tables(cls.transform))


def transforms_tables(cls):
    """As :func:`transforms_pieces`; each piece is given as the array or frame that it is."""
    transform = by_tables(cls.transform)
    return _outermost(cls, transform, transform)


def by_tables(method):
    """Let a method of rows map the pieces of a source, each as the table that it is, when read."""

    @wraps(method)
    def transform(self, X):
        tables = tables_for(self, X)
        if tables is None:
            return method(self, X)
        return lazy_result(tables, partial(method, fitted_alone(self)))

    return transform


def _outermost(cls, to_arrays, to_frames):
    """Set methods outside of those that set_output has wrapped, which would read all pieces."""
    method = cls.fit_transform

    @wraps(to_arrays)
    def transform(self, X):
        is_array = output_config("transform", self)["dense"] == "default"
        return (to_arrays if is_array else to_frames)(self, X)

    @wraps(method)
    def fit_transform(self, X, y=None, **params):
        X, params = rows_alone(X, params)
        if source_of(X) is None:
            return method(self, X, y, **params)
        return self.fit(X, y, **params).transform(X)

    cls.transform, cls.fit_transform = transform, fit_transform
    return cls


def apply_batched(method):
    """Let a method of rows alone map each piece of a source when it is read.

    It returns what :meth:`skdp.readers._rows.Source.later` returns. Anything else is passed on.
    """

    @wraps(method)
    def mapped(self, X):
        source = source_for(self, X)
        return method(self, X) if source is None else source.later(_function(method, self))

    return mapped


def sum_of_pieces(method):
    """Let a method that returns a sum over rows add the sums of the pieces of a source."""
    return _reduced(method, lambda values: math.fsum(value for value, _ in values))


def mean_of_pieces(method):
    """Let a method that returns a mean over rows average the means of the pieces of a source."""

    def mean(values):
        n = sum(rows for _, rows in values)
        return math.fsum(value * rows for value, rows in values) / n if n else math.nan

    return _reduced(method, mean)


def _reduced(method, reduce):
    @wraps(method)
    def reduced(self, X, y=None):
        source = source_for(self, X)
        if source is None:
            return method(self, X, y)
        function = _function(method, self)
        return reduce(source.map_merge(partial(_value, function), list.__add__) or [])

    return reduced


def _value(function, start, block):
    return [(float(function(block)), len(block))]


def source_for(estimator, X):
    """Return the Source of X, after its columns have been compared with those of the fit.

    None for one array or frame in memory, which is mapped as a whole.
    """
    source = source_of(X)
    if source is not None and source.random_access:
        return None
    if source is not None:
        check_is_fitted(estimator)
        validate_data(estimator, source.head(), reset=False, skip_check_array=True)
    return source


def tables_for(estimator, X):
    """Return the Tables of X, after their columns have been compared with those of the fit."""
    tables = tables_of(X)
    if tables is not None:
        check_is_fitted(estimator)
        validate_data(estimator, tables.head(), reset=False, skip_check_array=True)
    return tables


def lazy_result(tables, function):
    """Return what a function makes of Tables when they are asked for, see :meth:`Source.later`."""
    with config_context(invalid_rows="ignore"):
        made = with_current_config(function)(public_row(tables))[:0]
    return tables.as_they_are().later(with_current_config(function), made)


def public_row(tables):
    """Return one made-up row with the columns and types of Tables."""
    return safe_indexing(dummy_rows(tables.head()), [0])


def with_current_config(function):
    """Return a function that works elsewhere as it does here, and silently."""
    return partial(_under, get_config(), sklearn.get_config(), function)


def _under(config, of_sklearn, function, *arguments):
    with (
        config_context(**config),
        sklearn.config_context(**of_sklearn),
        np.errstate(all="ignore"),
        quiet(),
    ):
        return function(*arguments)


def _function(method, estimator):
    return with_current_config(partial(method, fitted_alone(estimator)))


def fitted_alone(estimator):
    """Return an estimator that takes no ledger and no random words along.

    What is local stays behind where the result is pickled, unless ``_local_state``, a method of the
    estimator, gives something in its place, for workers that read the same rows.
    """
    fitted = object.__new__(type(estimator))
    away = {name: None for name in ("ledger", "random_state") if hasattr(estimator, name)}
    local = getattr(estimator, "_local_state", dict)()
    fitted.__dict__ |= vars(estimator) | away | local
    return fitted
