"""Subtracting a released location from rows."""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["CentringMixin"]


class CentringMixin(OneToOneFeatureMixin, TransformerMixin):
    """Mixin of estimators of one ``location_`` per column."""

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
