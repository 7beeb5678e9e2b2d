"""Subtracting a released location from rows."""

from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from skdp._pieces import transforms_pieces
from skdp._schema import later_rows

__all__ = ["CentringMixin"]


@transforms_pieces
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
        X = later_rows(self, X)
        return X - self.location_.astype(X.dtype, copy=False)
