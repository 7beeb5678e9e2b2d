"""Methods that look at rows with what was released: one docstring for all of a kind."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.table._batched import mean_of_pieces
from skdp.table._groups import without_groups

__all__ = [
    "AccuracyMixin",
    "ExplainedVarianceMixin",
    "MeanScoreMixin",
    "NamesOutMixin",
    "fit_then",
    "row_method",
]

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
FIT_THEN = """Fit, then {name}.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        groups : array-like of shape (n_samples,) or str, default=None
            As for ``fit``; a column that it names is none of the features.

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


def fit_then(name, returns):
    """Return a method ``fit_name(X, y)`` of a class: ``fit(X, y)``, then the method ``name``."""

    def method(self, X, y=None, *, groups=None):
        X, groups = without_groups(X, groups)
        return getattr(self.fit(X, y, groups=groups), name)(X)

    return _named(method, f"fit_{name}", FIT_THEN.format(name=name, returns=returns))


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


class AccuracyMixin:
    """Mixin of classifiers, which have ``predict``."""

    def score(self, X, y, sample_weight=None):
        """Return the accuracy of ``predict(X)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        accuracy : float
            Local: not private for the rows of X. On the training rows it must not be published.
        """
        from sklearn.metrics import accuracy_score

        return accuracy_score(in_memory(y), in_memory(self.predict(X)), sample_weight=sample_weight)


class ExplainedVarianceMixin:
    """Mixin of regressors, which have ``predict``."""

    def score(self, X, y, sample_weight=None):
        """Return R^2 of ``predict(X)``, the part of the variance of y that it explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        r2 : float
            Local: not private for the rows of X. On the training rows it must not be published.
        """
        from sklearn.metrics import r2_score

        return r2_score(in_memory(y), in_memory(self.predict(X)), sample_weight=sample_weight)


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
