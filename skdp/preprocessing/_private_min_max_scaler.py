"""PrivateMinMaxScaler, the transformer."""

import numpy as np

from skdp.location._column_estimator import ExtremesMixin, doubt_extremes
from skdp.preprocessing._scaler import Scaler, usable
from skdp.table._batched import transforms_pieces
from skdp.utils._numbers import stores_parameters


@transforms_pieces
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

    def transform(self, X):
        """Map every row by the released parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_scaled : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        scaled = super().transform(X)
        return np.clip(scaled, *self.feature_range) if self.clip else scaled

    def _row_map(self):
        return None if self.clip else self._map()

    def _affine(self):
        return -self.min_ / self.scale_, 1 / self.scale_
