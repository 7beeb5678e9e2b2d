"""What estimators of one location per column have in common."""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.denoising._parameter import DENOISER
from skdp.denoising._vector import VectorMixin
from skdp.location._column_estimator import ColumnEstimator

__all__ = ["SLACK", "Location"]

SLACK = 2.0  # sensitivities are so many times what even spacing asks for


class Location(VectorMixin, OneToOneFeatureMixin, TransformerMixin, ColumnEstimator):
    """Base of estimators of one location per column."""

    _parameter_constraints: dict = {
        **ColumnEstimator._parameter_constraints,
        "denoiser": DENOISER,
    }

    def _fitted(self, values, sd, center):
        value, risk = self._denoised(values[0], sd[0])
        return {
            "location_": value,
            "released_location_": values[0],
            "sure_": risk,
            "noise_scale_": sd[0],
        }

    def _without_rows(self, center):
        return [center]

    def interval(self, confidence=0.95, *, simultaneous=False):
        """Return intervals for the bounded statistic, column by column.

        They lie around ``released_location_``: a denoised value is no middle of an interval. They
        account for the privacy noise, whose law is known exactly. The bounded statistic is that of
        the table where no row is worth more than the sensitivity.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.

        Returns
        -------
        lower, upper : ndarrays of shape (n_features,)
        """
        check_is_fitted(self)
        half = self._half_width(self.noise_scale_, confidence, simultaneous)
        return self.released_location_ - half, self.released_location_ + half

    def transform(self, X):
        """Subtract the released location from every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_centred : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X - self.location_.astype(X.dtype, copy=False)
