"""PrivateRobustScaler and PrivateKBinsDiscretizer: steps of released quantiles."""

from numbers import Integral, Real

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Plan
from skdp.accounting._plan import release_mechanism
from skdp.columns import rank_steps
from skdp.estimator._mixins import WeightsMixin
from skdp.location._quantiles import rank_rule
from skdp.location._rank_release import release_quantiles
from skdp.preprocessing._scalers import Scaler
from skdp.readers._calendar import Dated, calendars_of, in_dates
from skdp.scales._column_noise import check_strength, column_budget
from skdp.table._batched import transforms_pieces
from skdp.table._schema import later_rows
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import bounds_vectors, stores_parameters

LARGEST = float(np.finfo(np.float64).max)
FINEST, SMALLEST = 2.0**-40, 2.0**-1000  # of a scale, per location; of all
SURE = 0.8  # that the upper quantile is above the lower one
EQUAL = (
    "quartiles are equal within the noise, or not known: the scale is 1. Use a larger epsilon "
    "or more rows"
)


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


UNTOLD = "the edges of the bins are not known: all rows are in the first. Use a larger epsilon"


@transforms_pieces
class PrivateKBinsDiscretizer(WeightsMixin, RankScaler):
    """Cut columns of numbers into bins of about equally many rows, at released quantiles.

    A private :class:`sklearn.preprocessing.KBinsDiscretizer` with ``strategy="quantile"``. Nothing
    needs to be known about the columns. Equal bins between public ends cost nothing: use
    :class:`skdp.RowMap`.

    Parameters
    ----------
    n_bins : int, default=5
        Number of bins of each column, >= 2.
    encode : {"onehot-dense", "ordinal"}, default="onehot-dense"
        Columns of 0 and 1, one for each bin, or the number of the bin.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1).
    bounds : (float, float), (array, array) or None, default=None
        Public ends of the columns, if known.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number.
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
    bin_edges_ : ndarray of shape (n_bins - 1, n_features)
        Where a bin ends and the next one begins, rising; the outer bins have no other end.
    bin_medians_ : ndarray of shape (n_bins, n_features)
        Released median of the rows in each bin.
    rows_per_group_ : int
        After a fit with ``groups``: as how many rows a group counts at most.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateQuantile : The quantiles themselves, with intervals.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, with
    ``groups`` one person: that of :class:`skdp.PrivateQuantile` for 2 n_bins - 1 quantiles, which
    are released at the price of one. An entry that is missing is in no bin.
    Not private: ``n_bins``, ``bounds``, and what ``transform`` returns for the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateKBinsDiscretizer
    >>> X = np.random.default_rng(0).normal(size=(5000, 1))
    >>> bins = PrivateKBinsDiscretizer(4, encode="ordinal").fit(X)
    >>> bins.transform([[-9.0], [9.0]]).tolist()
    [[0.0], [3.0]]
    >>> bins.inverse_transform([[0.0], [3.0]]).shape
    (2, 1)
    """

    _parameter_constraints: dict = {
        **RankScaler._parameter_constraints,
        "n_bins": [Interval(Integral, 2, 1000, closed="both")],
        "encode": [StrOptions({"onehot-dense", "ordinal"})],
    }
    bin_edges_, bin_medians_ = Dated(), Dated()

    @stores_parameters
    def __init__(
        self,
        n_bins=5,
        *,
        encode="onehot-dense",
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _release(self, table):
        q = np.arange(1, 2 * self.n_bins) / (2 * self.n_bins)
        value, _, _ = release_quantiles(table, q, bounds_vectors(self.bounds, table.n_features))
        table.doubt(UNTOLD, np.isnan(value).any(axis=0))
        known = np.maximum.accumulate(np.where(np.isnan(value), np.inf, value), axis=0)
        medians = np.where(np.isfinite(known[::2]), known[::2], np.nan)
        return {"bin_edges_": known[1::2], "bin_medians_": medians}

    def transform(self, X):
        """Return the bins of the entries.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        binned : ndarray of shape (n_samples, n_columns)
            Numbers of bins, NaN for missing entries; or n_bins columns of 0 and 1 for each column.
            A local view of the rows: as private as X itself.
        """
        X = later_rows(self, X, least=0)
        bins = np.empty(X.shape)
        for j, edges in enumerate(vars(self)["bin_edges_"].T):
            bins[:, j] = np.searchsorted(edges, X[:, j], side="right")
        bins[np.isnan(X)] = np.nan
        if self.encode == "ordinal":
            return bins
        return (
            (bins[:, :, None] == np.arange(self.n_bins))
            .astype(np.float64)
            .reshape(len(X), X.shape[1] * self.n_bins)
        )

    def inverse_transform(self, X):
        """Return the released medians of bins.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            As ``transform`` returns it.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            NaN for what is in no bin.
        """
        check_is_fitted(self)
        bins = np.asarray(X, dtype=np.float64)
        if self.encode != "ordinal":
            hot = bins.reshape(len(bins), -1, self.n_bins)
            bins = np.where(hot.max(axis=2) > 0, hot.argmax(axis=2), np.nan)
        inside = (bins >= 0) & (bins < self.n_bins)
        places = np.where(inside, bins, 0).astype(np.intp)
        found = vars(self)["bin_medians_"][places, np.arange(self.n_features_in_)]
        return in_dates(np.where(inside, found, np.nan), calendars_of(self))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None

        Returns
        -------
        names : ndarray of str
        """
        names = super().get_feature_names_out(input_features)
        if self.encode == "ordinal":
            return names
        bins = range(self.n_bins)
        return np.array([f"{name}_{b}" for name in names for b in bins], dtype=object)

    def _row_map(self):
        return None

    def _spread(self):
        return None
