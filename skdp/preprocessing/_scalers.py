"""PrivateMinMaxScaler and PrivateStandardScaler: row-wise maps with released parameters."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from skdp.contracts import Contract, Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.kernel._plain import public, refuse
from skdp.kernel._statistic import RowMap
from skdp.location._column_estimator import (
    ColumnEstimator,
    ExtremesMixin,
    doubt_extremes,
    doubt_variance,
)
from skdp.readers._calendar import calendars_of, in_dates
from skdp.table._batched import transforms_pieces
from skdp.table._schema import later_rows
from skdp.utils._numbers import stores_parameters


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
        return self._clipped(self._map().of(later_rows(self, X)))

    def _clipped(self, scaled):
        return scaled

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
        offset, scale = (np.asarray(part).astype(X.dtype) for part in self._affine())
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

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        return Contract((Rows,), yields=lambda kind: Rows(), spends=True, weight=0.25)


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


class PrivateMinMaxScaler(ExtremesMixin, Scaler):
    """Map the columns to a range by minima and maxima that were released with noise.

    A private :class:`sklearn.preprocessing.MinMaxScaler`. One row decides about an extreme, so
    extremes cannot be told well: rows may lie outside the range (see ``clip``), or fill a part of
    it. :class:`PrivateRobustScaler` needs less.

    It takes no ``bounds``: a scaler between public bounds is public, and costs nothing as
    ``PublicFit(MinMaxScaler(), [low, high])``, see :class:`skdp.PublicFit`.

    Parameters
    ----------
    feature_range : tuple of (float, float), default=(0, 1)
    clip : bool, default=False
        Clip rows to the range.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Not used: with ``groups`` the minimum and the maximum of every group are read. The extremes
        of these are those of all rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    data_min_, data_max_ : ndarrays of shape (n_features,)
        The released extremes.
    data_range_ : ndarray of shape (n_features,)
        ``data_max_ - data_min_``.
    scale_, min_ : ndarrays of shape (n_features,)
        Rows are mapped by ``X * scale_ + min_``. Where the range was not found, for columns that
        are constant, nearly so, or too few rows, a range of 1 is taken, with a warning of class
        :class:`skdp.exceptions.LowAccuracyWarning`.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateRobustScaler : By quantiles, which are told better.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy of the fitted parameters for adding or
    removing one row, see :class:`skdp.PrivateMedian`. Not private: scaled rows, which are rows, and
    parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMinMaxScaler
    >>> X = np.random.default_rng(0).uniform(10, 20, size=(20000, 1))
    >>> scaled = PrivateMinMaxScaler(epsilon=4.0, clip=True).fit_transform(X)
    >>> bool(scaled.min() >= 0 and scaled.max() <= 1 and scaled.max() - scaled.min() > 0.5)
    True
    """

    _parameter_constraints: dict = {
        **Scaler._parameter_constraints,
        "feature_range": [tuple],
        "clip": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        feature_range=(0, 1),
        *,
        clip=False,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _check_public(self, n_features):
        ends = self.feature_range
        if len(ends) != 2 or not ends[0] < ends[1]:
            raise ValueError(f"feature_range must hold two numbers that rise. Got {ends!r}.")
        super()._check_public(n_features)

    def _without_rows(self, center):
        return [center, center + 1]

    def _fitted(self, values, sd, center):
        return self._scaled(values.min(axis=0), values.max(axis=0), True)

    def _weighed(self, fitted, sd, place, curator):
        ends = fitted["data_min_"], fitted["data_max_"]
        return self._scaled(*ends, doubt_extremes(*ends, place, curator))

    def _scaled(self, data_min, data_max, told):
        low, high = self.feature_range
        width = np.minimum(data_max - data_min, np.finfo(float).max)
        scale = (high - low) / np.where(told, usable(width, data_min), 1.0)
        return {
            "data_min_": data_min,
            "data_max_": data_max,
            "data_range_": width,
            "scale_": scale,
            "min_": np.nan_to_num(low - data_min * scale),
        }

    def _clipped(self, scaled):
        return np.clip(scaled, *self.feature_range) if self.clip else scaled

    def _row_map(self):
        return None if self.clip else self._map()

    def _affine(self):
        return -self.min_ / self.scale_, 1 / self.scale_


UNCLEAR = (
    "the scale of a column does not exceed the noise: it is not scaled. Use a larger epsilon, "
    "more rows or bounds"
)


class PrivateStandardScaler(WeightsMixin, Scaler):
    """Subtract means and divide by standard deviations that were released with noise.

    A private :class:`sklearn.preprocessing.StandardScaler`. Nothing needs to be known about the
    columns.

    Parameters
    ----------
    with_mean : bool, default=True
        Release and subtract means.
    with_std : bool, default=True
        Release variances and divide by their roots. What is not asked for saves its part of the
        budget.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    bounds : tuple (low, high), default=None
        Public: numbers, or one per column, that the entries lie between; others are clipped to
        them. One release tells means and variances. Rows without gaps that take up a small part of
        their bounds are looked for there, if ``delta > 0``, rows belong to nobody and the fit is no
        part of a larger one. Must not be computed from X.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``, nor without
        ``bounds``: then one row of every group is read, drawn at random.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,) or None
        The released means; None with ``with_mean=False``.
    var_ : ndarray of shape (n_features,) or None
        The released variances; None with ``with_std=False``.
    scale_ : ndarray of shape (n_features,) or None
        What rows are divided by: the root of the variance; 1.0 where the variance does not stand
        clear of its noise: for columns that are constant, or too few rows, with a warning of class
        :class:`skdp.exceptions.LowAccuracyWarning`. None with ``with_std=False``.
    bounds_, moments_, moments_covariance_ : ndarrays
        With ``bounds`` only: the bounds, and what was released, see :class:`skdp.columns.Moments`.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateRobustScaler : By quantiles; better with outliers.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy of the fitted parameters for adding or
    removing one row, see :class:`skdp.PrivateMedian`. Not private: scaled rows, which are rows, and
    parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateStandardScaler
    >>> X = np.random.default_rng(0).normal([5.0, -1e4], [0.1, 1e3], size=(20000, 2))
    >>> scaled = PrivateStandardScaler().fit_transform(X)
    >>> bool(np.abs(scaled.std(axis=0) - 1).max() < 0.2)
    True
    """

    _parameter_constraints: dict = {
        **Scaler._parameter_constraints,
        "bounds": ["array-like", None],
        "with_mean": ["boolean"],
        "with_std": ["boolean"],
    }
    _offset = "mean_"

    @stores_parameters
    def __init__(
        self,
        *,
        with_mean=True,
        with_std=True,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _check_public(self, n_features):
        if not (self.with_mean or self.with_std):
            raise ValueError(
                "with_mean=False and with_std=False leave nothing to release. Set one of them."
            )
        super()._check_public(n_features)

    def _statistics(self):
        return ["mean"] * bool(self.with_mean) + ["variance"] * bool(self.with_std)

    def _search(self, searcher):
        return searcher.squares(1 + bool(self.with_mean)) if self.with_std else searcher.means()

    def _without_rows(self, center):
        return [center] * bool(self.with_mean) + [np.ones(len(center))] * bool(self.with_std)

    def _degree(self):
        return 2 if self.with_std else 1

    def _fitted_between(self, columns, curator):
        fitted = {"mean_": columns.mean()[0] if self.with_mean else None}
        if not self.with_std:
            return {**fitted, "var_": None, "scale_": None}
        var, (scale, noise) = columns.variance()[0], columns.deviation()
        unclear = ~(scale > noise)
        curator.doubt(UNCLEAR, columns=unclear)
        return {**fitted, "var_": var, "scale_": np.where(unclear, 1.0, scale)}

    def _fitted(self, values, sd, center):
        fitted = {"mean_": values[0] if self.with_mean else None, "var_": None, "scale_": None}
        if self.with_std:
            fitted["var_"] = np.maximum(values[-1], 0.0)
            fitted["scale_"] = np.ones(len(center))
        return fitted

    def _weighed(self, fitted, sd, place, curator):
        if not self.with_std:
            return super()._weighed(fitted, sd, place, curator)
        told = doubt_variance(fitted["var_"], sd[-1], place, curator)
        with np.errstate(invalid="ignore"):
            fitted["scale_"] = np.where(told, np.sqrt(fitted["var_"]), 1.0)
        return fitted
