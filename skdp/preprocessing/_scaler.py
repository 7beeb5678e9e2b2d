"""What the private scalers have in common: a row-wise map with released parameters."""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from skdp._estimator import PrivateEstimator
from skdp._pieces import by_pieces
from skdp._schema import later_rows
from skdp.contracts import Contract, Rows
from skdp.location._column_estimator import ColumnEstimator

__all__ = ["Scaler"]


class Scaler(OneToOneFeatureMixin, TransformerMixin, ColumnEstimator):
    """Base of scalers: rows less an ``_offset``, the name of an attribute, over ``scale_``."""

    _parameter_constraints: dict = PrivateEstimator._row_constraints
    sensitivity = center = None
    _offset = "center_"

    @by_pieces
    def transform(self, X):
        """Scale every row by the released parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        X = later_rows(self, X)
        offset, scale = self._of_type(X)
        return (X - offset) / scale

    def inverse_transform(self, X):
        """Undo :meth:`transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        offset, scale = self._of_type(X)
        return X * scale + offset

    def _affine(self):
        """Return what to subtract, and what to divide by then."""
        offset, scale = getattr(self, self._offset), self.scale_
        return 0.0 if offset is None else offset, 1.0 if scale is None else scale

    def _of_type(self, X):
        return (np.asarray(part).astype(X.dtype, copy=False) for part in self._affine())

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        return Contract((Rows,), yields=lambda kind: Rows(), spends=True, weight=0.25)


def usable(scale, center):
    """Return scales to divide by: 1.0 where a column is constant, as far as floats can tell."""
    constant = ~(scale > np.maximum(np.abs(center) * 2.0**-40, 2.0**-300))
    return np.where(constant, 1.0, scale)
