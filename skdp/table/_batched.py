"""What a fitted estimator makes of rows that come in pieces: the same, piece by piece."""

import math
from functools import partial, wraps
from importlib import import_module

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.readers._sources import source_of
from skdp.readers._tables import tables_of
from skdp.rowwise._form import dummy_rows
from skdp.table._groups import rows_alone, without_groups
from skdp.utils._compat import output_config, safe_indexing
from skdp.utils._config import config_context, get_config
from skdp.utils._threads import quiet


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


OF_ROWS = """{what}.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_{columns})
{pieces}
        Returns
        -------
        {returns}
            Local: as private as X.
        """
PIECES = """\
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.
"""
WEIGHTS = """\
        **weights : None
            ``sample_weight``, as for ``fit``.
"""
FIT_THEN = """Fit, then {name}.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        groups : array-like of shape (n_samples,) or str, default=None
            As for ``fit``; a column that it names is none of the features.
{more}
        Returns
        -------
        {returns}
            Local: a view of the training rows, as private as they are. Keep it where they are.
        """


def row_method(name, run, what, returns, *, columns="features"):
    """Return a method ``name(X)`` of a class, which is ``run(self, X, name)``."""

    def method(self, X):
        return run(self, X, name)

    pieces = PIECES if columns == "features" else ""
    doc = OF_ROWS.format(what=what, returns=returns, columns=columns, pieces=pieces)
    return _named(method, name, doc)


def fit_then(name, returns, *, weights=False):
    """Return a method ``fit_name(X, y)`` of a class: ``fit(X, y)``, then the method ``name``."""

    def method(self, X, y=None, *, groups=None):
        X, groups = without_groups(X, groups)
        return getattr(self.fit(X, y, groups=groups), name)(X)

    def weighed(self, X, y=None, *, groups=None, **weights):
        X, told = rows_alone(X, {"groups": groups, **weights})
        return getattr(self.fit(X, y, **told), name)(X)

    doc = FIT_THEN.format(name=name, returns=returns, more=WEIGHTS if weights else "")
    return _named(weighed if weights else method, f"fit_{name}", doc)


def _named(method, name, doc):
    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


class MeanScoreMixin:
    """Mixin of densities, which have ``score_samples``."""

    @mean_of_pieces
    def score(self, X, y=None):
        """Return the mean log-density of the given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        log_likelihood : float
            Local: not private for the rows of X. On the training rows it must not be published.
        """
        return float(np.mean(self.score_samples(X)))


SCORE = """Return {what}.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        {name} : float
            Local: not private for the rows of X. On the training rows it must not be published.
        """


def _score(metric, name, what):
    def score(self, X, y, sample_weight=None):
        function = getattr(import_module("sklearn.metrics"), metric)
        return function(in_memory(y), in_memory(self.predict(X)), sample_weight=sample_weight)

    return _named(score, "score", SCORE.format(name=name, what=what))


class AccuracyMixin:
    """Mixin of classifiers, which have ``predict``."""

    score = _score("accuracy_score", "accuracy", "the accuracy of ``predict(X)``")


class ExplainedVarianceMixin:
    """Mixin of regressors, which have ``predict``."""

    score = _score(
        "r2_score", "r2", "R^2 of ``predict(X)``, the part of the variance of y that it explains"
    )


def in_memory(values):
    """Return what a method has made of rows, or a target, as one array."""
    if hasattr(values, "compute"):
        values = values.compute()
    if hasattr(values, "__array__"):
        return np.asarray(values)
    pieces = [np.asarray(piece) for piece in values]
    return np.concatenate(pieces) if pieces and pieces[0].ndim else np.asarray(values)


class NamesOutMixin:
    """Mixin of row-wise maps; they write ``_names_out(names)``, what becomes of the names."""

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        return self._names_out(input_features)
