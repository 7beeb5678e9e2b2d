"""PrivateStandardScaler, the transformer."""

import numpy as np

from skdp.estimator._weights_mixin import WeightsMixin
from skdp.location._column_estimator import doubt_variance
from skdp.preprocessing._scaler import Scaler
from skdp.utils._numbers import stores_parameters

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
