"""PrivateRobustScaler, the transformer."""

from numbers import Real

import numpy as np
from scipy.special import ndtri

from skdp.accounting._plan import release_mechanism
from skdp.location._public import bounds_vectors
from skdp.location._rank_release import release_quantiles
from skdp.preprocessing._scaler import RankScaler
from skdp.utils._numbers import stores_parameters

LARGEST = float(np.finfo(np.float64).max)
FINEST, SMALLEST = 2.0**-40, 2.0**-1000  # of a scale, per location; of all
SURE = 0.8  # that the upper quantile is above the lower one
EQUAL = (
    "quartiles are equal within the noise, or not known: the scale is 1. Use a larger epsilon "
    "or more rows"
)


class PrivateRobustScaler(RankScaler):
    """Subtract medians and divide by ranges of quantiles that were released with noise.

    A private :class:`sklearn.preprocessing.RobustScaler`. Nothing needs to be known about the
    columns, and outliers do not matter.

    Parameters
    ----------
    with_centering : bool, default=True
        Release and subtract medians.
    with_scaling : bool, default=True
        Release two quantiles and divide by their difference. What is not asked for saves its part
        of the budget.
    quantile_range : tuple of (float, float), default=(25.0, 75.0)
        Per cent, 0 < lower < upper < 100.
    unit_variance : bool, default=False
        Scale so that normal columns have a variance of 1.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    bounds : (low, high), default=None
        Public: each a number or one per column; entries beyond count as the nearer bound, and
        quantiles are inside. Must not be computed from X.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,) or None
        The released medians; None with ``with_centering=False``.
    scale_ : ndarray of shape (n_features,) or None
        The released ranges; 1.0, and a :class:`skdp.exceptions.LowAccuracyWarning`, where both
        quantiles are one value that many rows share, or too near each other for the noise. None
        with ``with_scaling=False``.
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
    PrivateStandardScaler : By means and standard deviations.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy of the fitted parameters for adding or
    removing one row: all quantiles by noisy ranks in one search, see :class:`skdp.PrivateQuantile`.
    Not private: scaled rows, which are rows, and
    parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateRobustScaler
    >>> X = np.random.default_rng(0).standard_cauchy(size=(20000, 1)) + 40
    >>> scaler = PrivateRobustScaler().fit(X)
    >>> bool(abs(scaler.center_[0] - 40) < 0.2), bool(abs(scaler.scale_[0] - 2) < 0.4)
    (True, True)
    """

    _parameter_constraints: dict = {
        **RankScaler._parameter_constraints,
        "with_centering": ["boolean"],
        "with_scaling": ["boolean"],
        "quantile_range": [tuple],
        "unit_variance": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        with_centering=True,
        with_scaling=True,
        quantile_range=(25.0, 75.0),
        unit_variance=False,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _check_public(self, n_features):
        ends = self.quantile_range
        if len(ends) != 2 or not all(isinstance(q, Real) for q in ends):
            raise ValueError(f"quantile_range must hold two numbers. Got {ends!r}.")
        if not 0 < ends[0] < ends[1] < 100:
            raise ValueError(
                f"quantile_range must rise, between 0 and 100. Got {ends!r}. For minimum and "
                "maximum use PrivateMinMaxScaler."
            )
        if not (self.with_centering or self.with_scaling):
            raise ValueError(
                "with_centering=False and with_scaling=False leave nothing to release. Set one of "
                "them."
            )
        super()._check_public(n_features)

    def _release(self, table):
        ends = [q / 100 for q in self.quantile_range]
        q = ends * bool(self.with_scaling) + [0.5] * bool(self.with_centering)
        bounds = bounds_vectors(self.bounds, table.n_features)
        value, _, curves = release_quantiles(table, q, bounds)
        fitted = {"center_": value[-1] if self.with_centering else None, "scale_": None}
        if self.with_scaling:
            low, high = curves.interval(value, SURE, release_mechanism(table.budget))
            told = (low[1] > high[0]) & np.isfinite(high[1] - low[0])
            unit = ndtri(ends[1]) - ndtri(ends[0]) if self.unit_variance else 1.0
            scale = np.minimum((value[1] / 2 - value[0] / 2) / unit, LARGEST / 2) * 2
            told &= scale > np.maximum(np.abs(value[-1]) * FINEST, SMALLEST)
            table.doubt(EQUAL, ~told)
            fitted["scale_"] = np.where(told, scale, 1.0)
        return fitted
