"""Subtracting a released location from rows."""

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skdp.readers._dated import Dated
from skdp.table._batched import transforms_pieces
from skdp.table._schema import later_rows

__all__ = ["CentringMixin"]


@transforms_pieces
class CentringMixin(OneToOneFeatureMixin, TransformerMixin):
    """Mixin of estimators of one ``location_`` per column."""

    location_ = Dated()

    def transform(self, X):
        """Subtract the released location from every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_centred : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.

        Raises
        ------
        ValueError
            If several locations of each column were fitted.
        """
        check_is_fitted(self)
        location = vars(self)["location_"]  # numbers, of dates too
        if location.ndim > 1:
            raise ValueError(
                "transform subtracts one quantile of each column, and several were fitted. Pass a "
                "number as q."
            )
        X = later_rows(self, X)
        return X - location.astype(X.dtype, copy=False)
