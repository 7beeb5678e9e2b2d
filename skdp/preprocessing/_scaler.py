"""What the private scalers have in common: a row-wise map with released parameters."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from skdp.accounting import Plan
from skdp.columns import rank_steps
from skdp.contracts._contract import Contract
from skdp.contracts._kinds import Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._plain import public, refuse
from skdp.kernel._statistic import RowMap
from skdp.location._column_estimator import ColumnEstimator
from skdp.location._public import bounds_vectors
from skdp.location._quantiles import rank_rule
from skdp.readers._dated import calendars_of, in_dates
from skdp.scales._column_noise import check_strength, column_budget
from skdp.table._batched import transforms_pieces
from skdp.table._schema import later_rows


@transforms_pieces
class Scaler(OneToOneFeatureMixin, TransformerMixin, ColumnEstimator):
    """Base of scalers: rows less an ``_offset``, the name of an attribute, over ``scale_``."""

    _parameter_constraints: dict = PrivateEstimator._row_constraints
    sensitivity = center = None
    _offset = "center_"

    def transform(self, X):
        """Scale every row by the released parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        return self._map().of(later_rows(self, X))

    def inverse_transform(self, X):
        """Undo :meth:`transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have the {self.n_features_in_} columns of fit, in their order."
            )
        offset, scale = self._of_type(X)
        return in_dates(X * scale + offset, calendars_of(self))

    def _affine(self):
        """Return what to subtract, and what to divide by then."""
        offset, scale = getattr(self, self._offset), self.scale_
        return 0.0 if offset is None else offset, 1.0 if scale is None else scale

    def _map(self):
        parts = (np.asarray(part, dtype=np.float64) for part in self._affine())
        return Affine(*(np.broadcast_to(part, self.n_features_in_) for part in parts))

    def _row_map(self):
        """Return what :meth:`transform` makes of a row as plain data, None if there is no such."""
        return self._map()

    def _of_type(self, X):
        return (np.asarray(part).astype(X.dtype, copy=False) for part in self._affine())

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        return Contract((Rows,), yields=lambda kind: Rows(), spends=True, weight=0.25)


class RankScaler(Scaler):
    """Base of scalers by released quantiles, with the parameter ``bounds``."""

    _parameter_constraints: dict = {**Scaler._parameter_constraints, "bounds": ["array-like", None]}
    _weighs_groups = _gaps = True

    def _group_rule(self, n_features):
        return rank_rule(n_features)

    def _check_public(self, n_features):
        bounds_vectors(self.bounds, n_features)
        check_strength(self._budget(column_budget), n_features)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(column_budget)
        return Plan(budget, rank_steps(budget, bounded=self.bounds is not None))


@public
@dataclass(frozen=True)
class Affine(RowMap):
    """Rows less an ``offset``, over a ``scale``, in the precision that they have."""

    offset: np.ndarray
    scale: np.ndarray

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        sizes = {np.shape(self.offset), np.shape(self.scale)}
        refuse(shape.kind != "unread" or sizes != {(shape.n_features,)}, "one for each column")

    def over(self, rows):
        """Return the view of rows."""
        return rows.numbers_mapped(self.of)

    def of(self, X):
        """Return what the map makes of an array."""
        offset, scale = (part.astype(X.dtype) for part in (self.offset, self.scale))
        return (X - offset) / scale


def usable(scale, center):
    """Return scales to divide by: 1.0 where a column is constant, as far as floats can tell."""
    constant = ~(scale > np.maximum(np.abs(center) * 2.0**-40, 2.0**-300))
    return np.where(constant, 1.0, scale)
