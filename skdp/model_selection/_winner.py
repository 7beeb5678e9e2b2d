"""What can be done with the winner of a search."""

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["WinnerMixin"]


def _winner_has(name):
    def check(self):
        getattr(getattr(self, "best_estimator_", self.estimator), name)  # its AttributeError
        return True

    return available_if(check)


class WinnerMixin:
    """Methods that ``best_estimator_`` has. Their results are local: as private as X."""

    def _winner(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.best_estimator_, X

    @_winner_has("predict")
    def predict(self, X):
        """Return the predictions of the winner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Local: as private as X.
        """
        winner, X = self._winner(X)
        return winner.predict(X)

    @_winner_has("predict_proba")
    def predict_proba(self, X):
        """Return the probabilities that the winner predicts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Local: as private as X.
        """
        winner, X = self._winner(X)
        return winner.predict_proba(X)

    @_winner_has("transform")
    def transform(self, X):
        """Return the rows as the winner transforms them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_new : ndarray
            Local: as private as X.
        """
        winner, X = self._winner(X)
        return winner.transform(X)

    @_winner_has("transform")
    def fit_transform(self, X, y=None):
        """Search, then transform the rows as the winner does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        X_new : ndarray
            Local: as private as X.
        """
        return self.fit(X, y).transform(X)

    @_winner_has("score_samples")
    def score_samples(self, X):
        """Return the scores of the rows by the winner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Local: as private as X.
        """
        winner, X = self._winner(X)
        return winner.score_samples(X)

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
        winner, X = self._winner(X)
        return winner.score(X, y)
