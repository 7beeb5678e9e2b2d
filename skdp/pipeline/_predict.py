"""What a fitted pipeline does for rows, as far as its last step can."""

from functools import partial

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._pieces import made_later, tables_for
from skdp.chunks._tables import Tables
from skdp.contracts import Released, Rows, contract_of
from skdp.pipeline._pieces import worker_copy
from skdp.pipeline._run import mapped

__all__ = ["PredictMixin"]


def _last_has(name):
    def check(pipeline):
        last = pipeline._last()
        if any(isinstance(kind, Released) for kind in pipeline._kinds_between()):
            raise AttributeError(
                f"this pipeline has no {name}: a step inside it releases its result, and no rows "
                "reach the last step."
            )
        getattr(last, name)
        return True

    return check


def _goes_back(pipeline):
    for _, step in pipeline._all_steps():
        if not isinstance(step, str | None):
            _ = step.inverse_transform  # or AttributeError
    return True


class PredictMixin:
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
        return made_later(X, partial(function, worker_copy(last)))

    @available_if(_last_has("predict"))
    def predict(self, X):
        """Map rows through the steps and predict with the last one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray
            A local view of the rows: as private as X itself.
        """
        return self._by_last(_predict, X)

    @available_if(_last_has("predict_proba"))
    def predict_proba(self, X):
        """Map rows through the steps and return probabilities of the last one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            A local view of the rows: as private as X itself.
        """
        return self._by_last(_predict_proba, X)

    @available_if(_last_has("predict"))
    def fit_predict(self, X, y=None):
        """Fit, then predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        y : ndarray
            A local view of the rows: as private as X itself.
        """
        return self.fit(X, y).predict(X)

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

    @available_if(_last_has("transform"))
    def fit_transform(self, X, y=None):
        """Fit, then transform.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        X_new : ndarray or DataFrame
            A local view of the rows: as private as X itself.
        """
        return self.fit(X, y).transform(X)

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

    @available_if(_last_has("score_samples"))
    def score_samples(self, X):
        """Map rows through the steps and score each with the last one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            A local view of the rows: as private as X itself.
        """
        return self._by_last(_score_samples, X)

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


def _predict(step, X):
    return step.predict(X)


def _predict_proba(step, X):
    return step.predict_proba(X)


def _score_samples(step, X):
    return step.score_samples(X)


class _Identity:
    """What "passthrough" does as a last step."""

    def transform(self, X):
        """Return X."""
        return X
