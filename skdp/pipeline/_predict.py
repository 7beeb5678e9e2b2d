"""What a fitted pipeline does for rows, as far as its last step can."""

from functools import partial

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.contracts import Joined, Released, Rows, contract_of
from skdp.estimator._mixins import WeightsMixin
from skdp.pipeline._run import mapped, worker_copy
from skdp.readers._tables import Tables
from skdp.table._batched import fit_then, lazy_result, row_method, tables_for


def _last_has(name):
    def check(pipeline):
        last = pipeline._last()
        if any(isinstance(kind, Released) for kind in pipeline._kinds_between()):
            raise AttributeError(
                f"this pipeline has no {name}: a step inside it releases its result, and no rows "
                "reach the last step."
            )
        if any(isinstance(kind, Joined) for kind in pipeline._kinds_between()):
            raise AttributeError(
                f"this pipeline has no {name}: a GroupMap makes one row of several, and X alone "
                f"does not say whose they are. Call it after the map: pipe[1:].{name}(pipe[0]."
                "transform(X, groups=ids))."
            )
        getattr(last, name)
        return True

    return check


def _goes_back(pipeline):
    for _, step in pipeline._all_steps():
        if not isinstance(step, str | None):
            _ = step.inverse_transform  # or AttributeError
    return True


def _from_last(name, what, returns):
    """Return a method of the last step as one of the pipeline."""
    what = f"Map rows through the steps and {what}"
    return available_if(_last_has(name))(row_method(name, _ask_last, what, returns))


def _ask_last(pipeline, X, name):
    return pipeline._by_last(partial(_ask, name), X)


def _ask(name, step, X):
    return getattr(step, name)(X)


class PredictMixin(WeightsMixin):
    """Methods of the last step, for rows that have gone through the steps before it."""

    def _last(self):
        last = self._all_steps()[-1][1]
        return last if not isinstance(last, str | None) else _Identity()

    def _kinds_between(self):
        kind = Rows()
        for _, step in self._all_steps()[:-1]:
            contract = None if isinstance(step, str | None) else contract_of(step)
            kind = kind if contract is None else contract.yields(kind)
            yield kind

    def _rows_for_last(self, X):
        check_is_fitted(self)
        tables = tables_for(self, X)
        if tables is not None:
            X = tables
        elif not hasattr(X, "columns"):
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        for _, step in self.steps_[:-1]:
            X = mapped(step, X)
        return X

    def _by_last(self, function, X):
        """Return ``function(last step, X)`` of rows as they reach it, piece by piece."""
        X, last = self._rows_for_last(X), self._last()
        if not isinstance(X, Tables):
            return function(last, X)
        return lazy_result(X, partial(function, worker_copy(last)))

    predict = _from_last(
        "predict", "predict with the last one", "y : ndarray of shape (n_samples,)"
    )
    predict_proba = _from_last(
        "predict_proba",
        "return probabilities of the last one",
        "probabilities : ndarray of shape (n_samples, n_classes)",
    )
    predict_log_proba = _from_last(
        "predict_log_proba",
        "return logarithms of probabilities of the last one",
        "logs : ndarray of shape (n_samples, n_classes)",
    )
    decision_function = _from_last(
        "decision_function",
        "return decision values of the last one",
        "values : ndarray of shape (n_samples,) or (n_samples, n_classes)",
    )
    score_samples = _from_last(
        "score_samples", "score each with the last one", "scores : ndarray of shape (n_samples,)"
    )

    @property
    def classes_(self):
        """The classes that the last step knows, an array."""
        return self._last().classes_

    fit_predict = available_if(_last_has("predict"))(
        fit_then("predict", "y : ndarray", weights=True)
    )
    fit_transform = available_if(_last_has("transform"))(
        fit_then("transform", "X_new : ndarray or DataFrame", weights=True)
    )

    @available_if(_last_has("transform"))
    def transform(self, X):
        """Map rows through all steps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_new : ndarray or DataFrame
            A local view of the rows: as private as X itself.
        """
        return self._by_last(mapped, X)

    @available_if(_goes_back)
    def inverse_transform(self, X):
        """Undo :meth:`transform`, step by step from the last to the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        for _, step in reversed(self.steps_):
            if not isinstance(step, str | None):
                X = step.inverse_transform(X)
        return X

    @available_if(_last_has("score"))
    def score(self, X, y=None):
        """Map rows through the steps and return the score of the last one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
            Not private: no noise protects the rows of X.
        """
        X = self._rows_for_last(X)
        return self._last().score(X) if y is None else self._last().score(X, y)


class _Identity:
    """What "passthrough" does as a last step."""

    def transform(self, X):
        """Return X."""
        return X
