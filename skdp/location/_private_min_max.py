"""PrivateMinMax, the estimator."""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from skdp.location._column_estimator import ColumnEstimator, ExtremesMixin, doubt_extremes
from skdp.location._public import bounds_vectors
from skdp.readers._calendar import Dated
from skdp.table._batched import apply_batched
from skdp.table._schema import later_rows
from skdp.utils._numbers import stores_parameters


class PrivateMinMax(ExtremesMixin, OneToOneFeatureMixin, TransformerMixin, ColumnEstimator):
    """Minima and maxima of the columns under differential privacy, without bounds on the data.

    One row decides about an extreme, so it cannot be told well: the released ones are pulled
    inwards where the outermost rows are far apart, and noisy. Quantiles are told better, see
    :class:`PrivateQuantile`.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    bounds : tuple (low, high), default=None
        Public: numbers, or one per column, that the extremes lie between. They are looked for, and
        lie, inside. Takes the place of ``center`` and ``sensitivity``. Must not be computed from X.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move an extreme of a column by, about the distance of the outermost
        rows. Small ones pull extremes inwards. None finds one privately. Must not be computed from
        X.
    center : float or array-like of shape (n_features,), default=None
        A public point among the rows. With ``sensitivity``, saves the search for both; alone,
        starts it. Must not be computed from X.
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
    min_, max_ : ndarrays of shape (n_features,)
        The released extremes, finite, ``min_ <= max_``. The ``bounds``, if given, where the rows
        were too few to find anything.
    noise_scale_ : ndarray of shape (2, n_features)
        Standard deviations of the privacy noise in minima and maxima; infinite where the range was
        not found: for columns that are constant, nearly so, or too few rows.
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
    PrivateQuantile : Quantiles, which are told better.

    Notes
    -----
    **Privacy**: as for :class:`PrivateMedian`, for minima and maxima together. Not private:
    ``transform`` of the training rows, and parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMinMax
    >>> X = np.random.default_rng(0).uniform(size=(20000, 1))
    >>> ends = PrivateMinMax(epsilon=4.0, sensitivity=0.01, center=0.5).fit(X)
    >>> bool(abs(ends.max_[0] - 1) < 0.2)
    True
    """

    min_, max_ = Dated(), Dated()
    _parameter_constraints: dict = {
        **ColumnEstimator._parameter_constraints,
        "bounds": ["array-like", None],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        sensitivity=None,
        center=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _without_rows(self, center):
        ends = bounds_vectors(self.bounds, len(center))
        return [center, center] if ends is None else list(ends)

    def _fitted(self, values, sd, center):
        ends = bounds_vectors(self.bounds, len(center))
        if ends is not None:
            values = np.clip(values, *ends)
        return {"min_": values.min(axis=0), "max_": values.max(axis=0), "noise_scale_": sd}

    def _weighed(self, fitted, sd, place, table):
        told = doubt_extremes(fitted["min_"], fitted["max_"], place, table)
        return fitted | {"noise_scale_": np.where(told, sd, np.inf)}

    @apply_batched
    def transform(self, X):
        """Clip every row to the released extremes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_clipped : ndarray of shape (n_samples, n_features)
            A local view of the rows: as private as X itself.
        """
        X = later_rows(self, X)
        ends = (end.astype(X.dtype, copy=False) for end in (vars(self)["min_"], vars(self)["max_"]))
        return np.clip(X, *ends)
