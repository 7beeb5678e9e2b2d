"""What can be done with the winner of a search."""

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp.table._batched import fit_then, row_method


def _winner_has(name):
    def check(self):
        getattr(getattr(self, "best_estimator_", self.estimator), name)  # its AttributeError
        return True

    return available_if(check)


def _by_winner(name, what, returns, *, columns="features"):
    """Return a method of the winner as one of the search."""
    what = f"{what}, by the winner"
    return _winner_has(name)(row_method(name, _run_winner, what, returns, columns=columns))


def _run_winner(search, X, name):
    check_is_fitted(search, "best_estimator_")
    return getattr(search.best_estimator_, name)(X)


class WinnerMixin:
    """Methods that ``best_estimator_`` has. Their results are local: as private as X."""

    predict = _by_winner("predict", "Predict", "y : ndarray of shape (n_samples,)")
    predict_proba = _by_winner(
        "predict_proba",
        "Predict probabilities",
        "probabilities : ndarray of shape (n_samples, n_classes)",
    )
    predict_log_proba = _by_winner(
        "predict_log_proba",
        "Predict logarithms of probabilities",
        "logs : ndarray of shape (n_samples, n_classes)",
    )
    decision_function = _by_winner(
        "decision_function",
        "Compute decision values",
        "values : ndarray of shape (n_samples,) or (n_samples, n_classes)",
    )
    score_samples = _by_winner(
        "score_samples", "Score every row", "scores : ndarray of shape (n_samples,)"
    )
    transform = _by_winner("transform", "Transform the rows", "X_new : ndarray or DataFrame")
    inverse_transform = _by_winner(
        "inverse_transform",
        "Undo :meth:`transform`",
        "X_original : ndarray of shape (n_samples, n_features)",
        columns="columns",
    )

    fit_transform = _winner_has("transform")(fit_then("transform", "X_new : ndarray or DataFrame"))

    @_winner_has("score")
    def score(self, X, y=None):
        """Return the winner's own score of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
            Not private for the rows of X.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.score(X, y)

    @_winner_has("get_feature_names_out")
    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that ``transform`` of the winner returns.

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.get_feature_names_out(input_features)

    @_winner_has("set_output")
    def set_output(self, *, transform=None):
        """Set what ``transform`` of the estimator, and of the winner if there is one, returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None

        Returns
        -------
        self : object
        """
        for model in (self.estimator, getattr(self, "best_estimator_", None)):
            if model is not None:
                model.set_output(transform=transform)
        return self

    @property
    def classes_(self):
        """The classes that the winner knows, an array."""
        return self.best_estimator_.classes_
