"""What a released mixture says of given rows: scikit-learn's manners."""

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.mixture._parameters import as_mixture
from skdp.table._batched import apply_batched, source_for
from skdp.table._row_methods import MeanScoreMixin, fit_then, row_method
from skdp.table._schema import look_at, numbers_of_dates

__all__ = ["MixtureMixin"]


def _by_mixture(estimator, X, name):
    X, mixture = estimator._local(X)
    return getattr(mixture, name)(X)


class MixtureMixin(MeanScoreMixin, DensityMixin):
    """Methods that compare rows with ``weights_``, ``means_`` and ``covariances_``.

    Their results, but for :meth:`sample`, are local: as private as the rows that are passed.
    """

    def _local(self, X):
        """Return given rows and the mixture, both seen from the middle of the means."""
        check_is_fitted(self)
        X = validate_data(self, numbers_of_dates(X), dtype=[np.float64, np.float32], reset=False)
        origin = (self.means_ / len(self.means_)).sum(axis=0)
        return X - origin, as_mixture(self, origin)

    predict = apply_batched(
        row_method(
            "predict",
            _by_mixture,
            "Return the likeliest component of every row",
            "labels : ndarray of shape (n_samples,)",
        )
    )

    fit_predict = fit_then("predict", "labels : ndarray of shape (n_samples,)")

    predict_proba = apply_batched(
        row_method(
            "predict_proba",
            _by_mixture,
            "Return the probabilities of all components for every row",
            "probabilities : ndarray of shape (n_samples, n_components)",
        )
    )

    score_samples = apply_batched(
        row_method(
            "score_samples",
            _by_mixture,
            "Return the log-density of every row",
            "log_density : ndarray of shape (n_samples,)",
        )
    )

    def bic(self, X):
        """Return the Bayesian information criterion on the given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
            **Local, not private**: it tells the sum of the log-densities of X, and their number.
        """
        n_rows = self._count(X)
        return self._criterion(X, n_rows, np.log(n_rows))

    def aic(self, X):
        """Return the Akaike information criterion on the given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
            **Local, not private**: it tells the sum of the log-densities of X.
        """
        return self._criterion(X, self._count(X), 2)

    def _count(self, X):
        source = source_for(self, X)
        if source is None:
            return len(self._local(X)[0])
        look_at(source, entries=False)
        return len(source)

    def _criterion(self, X, n_rows, price):
        return -2 * self.score(X) * n_rows + as_mixture(self, 0.0)._n_parameters() * price

    def sample(self, n_samples=1):
        """Draw rows from the released mixture: as public as the mixture itself.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Ordered by component.
        components : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        origin = (self.means_ / len(self.means_)).sum(axis=0)
        X, components = as_mixture(self, origin).sample(n_samples)
        return X + origin, components
