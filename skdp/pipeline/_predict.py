"""What a fitted pipeline does for rows, as far as its last step can."""

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._row_methods import fit_then, row_method
from skdp.contracts import Released, Rows, contract_of
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


def _by_last(name, what, returns):
    """Return a method of the last step as one of the pipeline."""
    return available_if(_last_has(name))(row_method(name, _run_last, what, returns))


def _run_last(pipeline, X, name):
    return getattr(pipeline._last(), name)(pipeline._rows_for_last(X))


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
        if not hasattr(X, "columns"):
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
        for _, step in self.steps_[:-1]:
            X = mapped(step, X)
        return X

    predict = _by_last(
        "predict", "Map rows through the steps and predict with the last one", "y : ndarray"
    )

    predict_proba = _by_last(
        "predict_proba",
        "Map rows through the steps and return probabilities of the last one",
        "probabilities : ndarray of shape (n_samples, n_classes)",
    )

    fit_predict = available_if(_last_has("predict"))(fit_then("predict", "y : ndarray"))

    @available_if(_last_has("transform"))
    def transform(self, X):
        """Map rows through all steps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_new : ndarray or DataFrame
            Local: as private as X.
        """
        return mapped(self._last(), self._rows_for_last(X))

    fit_transform = available_if(_last_has("transform"))(
        fit_then("transform", "X_new : ndarray or DataFrame")
    )

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

    score_samples = _by_last(
        "score_samples",
        "Map rows through the steps and score each with the last one",
        "scores : ndarray of shape (n_samples,)",
    )

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
