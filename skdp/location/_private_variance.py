"""PrivateVariance and PrivateTrimmedMean, the estimators."""

import math
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.denoising._auto import DENOISER
from skdp.denoising._vector import VectorMixin
from skdp.estimator._mixins import WeightsMixin
from skdp.location._bounded_moments import BoundedColumns
from skdp.location._column_estimator import (
    CLEAR,
    UNTOLD,
    ColumnEstimator,
    doubt_variance,
    hidden_variance,
)
from skdp.location._location import SLACK, Location
from skdp.sensitivity import TrimmedMean
from skdp.utils._compat import Interval
from skdp.utils._numbers import stores_parameters
from skdp.utils._renamed import Renamed


class PrivateVariance(WeightsMixin, VectorMixin, ColumnEstimator):
    """Variances of the columns under differential privacy, without bounds on the data.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
        With ``bounds`` that is less noise for up to about five columns.
    bounds : tuple (low, high), default=None
        Public: numbers, or one per column, that the entries lie between; others are clipped to
        them. One release tells the variances, with intervals that hold for any number of rows.
        Rows without gaps that take up a small part of their bounds are looked for there, if
        ``delta > 0``, rows belong to nobody and the fit is no part of a larger one; intervals then
        reach up to what unseen rows at a bound make. Must not be computed from X.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the variance of a column by; the bounded variance of
        :class:`SensitivityPreprocessor` is released then. Twice the square of the largest usual
        distance from the median, over the number of rows, is good; half of that loses columns with
        many rows at both ends a quarter. None clips rows to an interval that is found privately.
        Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the rows, which need not be near their mean. With ``sensitivity``, saves
        the search for both; alone, starts it. Must not be computed from X.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released variances by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`. It knows that variances have a sign.
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
    var_ : ndarray of shape (n_features,)
        The released variances, with 1/n as in :func:`numpy.var`; not negative, finite. 1.0 where
        the rows were too few to find anything. With ``bounds`` at most what they allow, the square
        of half of their distance.
    scale_ : ndarray of shape (n_features,)
        Their square roots.
    noisy_var_ : ndarray of shape (n_features,)
        The variances as released, before a ``denoiser`` and, without ``bounds``, possibly negative.
    risk_estimate_ : float
        Unbiased estimate of the squared error of the variances, before negative ones are put to
        zero, which only lowers it.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``noisy_var_``; infinite where the rows were
        too few.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Upper estimate of the standard deviation of the noise and of the sampling error together, if
        the rows are drawn from a population. Not with ``bounds``.
    clipping_bias_bound_ : ndarray of shape (n_features,)
        Released estimate of the most that the variance of the clipped rows lacks of that of the
        rows: what far rows lose, and what rows that nobody can see may hold.
        Infinite where no two different entries were seen, where a tail may well have no variance,
        and with so few rows that a tail may hide; 0 with a public ``sensitivity`` or
        ``bounds``, which the caller vouches for, but for rows that were looked for there: it is
        then what as many rows as no cell shows make at the farther bound.
    sampling_clipping_bias_bound_ : ndarray of shape (n_features,)
        The same of the variance of a population: infinite besides where a good part of the rows,
        a fifth, may lie farther away than rows were seen, as in heavy tails with few rows.
    n_rows_ : float, or ndarray of shape (n_features,) where rows with gaps show
        Released number of rows, or of entries, where a search has counted them.
    bounds_, moments_, moments_covariance_ : ndarrays
        With ``bounds`` only: the bounds, and what was released, see :class:`skdp.columns.Moments`;
        None of rows that were looked for.
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
    PrivateTrimmedMean : Locations.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, pure with
    ``delta=0``; the number of rows is private. A search finds an interval for every column, by
    histograms of which a row moves one cell. Sums of clipped entries and of their squares are
    released, vectors of known length. Proof: ``skdp.kernel._bounded.BoxedSquares``. With ``bounds``
    these are those of :func:`skdp.columns.bounded_moments`. With ``sensitivity`` the bounded
    variance, the least of the variances of all middle parts of the column plus the sensitivity for
    every entry left out, is released: ``skdp/sensitivity/_bounded.py``.

    Not private: parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateVariance
    >>> X = np.random.default_rng(0).normal(scale=3.0, size=(10000, 1))
    >>> bool(abs(PrivateVariance().fit(X).scale_[0] - 3) < 0.5)
    True
    """

    clipping_bound_ = Renamed("clipping_bias_bound_")
    sampling_clipping_bound_ = Renamed("sampling_clipping_bias_bound_")
    released_var_ = Renamed("noisy_var_")
    _parameter_constraints: dict = {
        **ColumnEstimator._parameter_constraints,
        "bounds": ["array-like", None],
        "denoiser": DENOISER,
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
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    _vector = "noisy_var_"
    _noun = "variance"

    def _spread(self):
        return self.interval()[0]  # a variance is a spread, at least as large as this

    def _possible(self):
        low, high = getattr(self, "bounds_", (0.0, math.inf))
        return 0.0, self._most(low, high)

    def _statistics(self):
        return ["variance"]

    def _search(self, searcher):
        return searcher.squares(1)

    def _without_rows(self, center):
        return [np.ones(len(center))]

    def _degree(self):
        return 2

    def _fitted_between(self, columns, table):
        var, sd = columns.variance()
        table.doubt(UNTOLD, columns=~(var > CLEAR * sd))
        fitted = self._fitted([var], [sd], None)
        if self.denoiser is None:
            return {**fitted, "scale_": columns.deviation()[0]}
        return fitted

    def _fitted(self, values, sd, center):
        var, risk = self._denoised(values[0], sd[0], support="nonnegative")
        var = np.maximum(var, 0.0)
        bound = np.where(np.isfinite(sd[0]), 0.0, math.inf)
        return {
            "var_": var,
            "scale_": np.sqrt(var),
            "noisy_var_": values[0],
            "risk_estimate_": risk,
            "noise_scale_": sd[0],
            "clipping_bias_bound_": bound,
            "sampling_clipping_bias_bound_": bound.copy(),
        }

    def _weighed(self, fitted, sd, place, table):
        told = doubt_variance(fitted["noisy_var_"], sd[0], place, table)
        bound = fitted["clipping_bias_bound_"] + place.excess
        if self.sensitivity is None:
            bound = np.where(told & (not place.hidden), bound, math.inf)
            fitted["clipping_bias_bound_"] = bound
            fitted["sampling_clipping_bias_bound_"] = np.where(place.thin, math.inf, bound)
        return fitted

    def _inside(self, fitted, place, ends, table):
        fitted, most = super()._inside(fitted, place, ends, table), self._most(*ends)
        for name in ("clipping_bias_bound_", "sampling_clipping_bias_bound_"):
            hidden = np.maximum(fitted[name], hidden_variance(place, ends))
            fitted[name] = np.minimum(hidden, most)
        for name in ("var_", "noisy_var_"):
            fitted[name] = np.minimum(fitted[name], most)
        return {**fitted, "scale_": np.sqrt(fitted["var_"])}

    @staticmethod
    def _most(low, high):
        return np.square(high / 2 - low / 2)

    def _drawn(self, fitted, sd, place, n):
        """Return noise and sampling together.

        Squared distances from the mean are clipped at n sensitivities, so their variance is at most
        ``variance * n sensitivity``, and that of their mean ``variance * sensitivity``.
        """
        if place is None:
            return np.full(len(sd), math.inf)
        upper = np.maximum(fitted["noisy_var_"], 0.0) + sd
        return np.hypot(sd, np.sqrt(upper) * np.sqrt(place.sensitivity))

    def interval(self, confidence=0.95, *, simultaneous=False, sampling=False):
        """Return intervals for the variance of the rows, column by column.

        They lie around ``noisy_var_``: a denoised value is no middle of an interval. They
        account for the privacy noise, whose law is known exactly, and above for
        ``clipping_bias_bound_``, or ``sampling_clipping_bias_bound_``: clipping never makes a
        variance more.
        They cover the variance of this table, with 1/n, or that of the population. With ``bounds``
        it is that of the rows clipped to them; intervals then hold for any number of rows, and need
        not lie evenly.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.
        sampling : bool, default=False
            Whether they are to cover the variance of the population that the rows were drawn from.
            The sampling error is bounded by the largest square that counts, and by the variance:
            more than it is, unless the rows lie near their mean or at the ends. Infinite above
            where too much may lie beyond all that was seen: ``accuracy_warnings_`` then say so.

        Returns
        -------
        lower, upper : ndarrays of shape (n_features,)
            Not negative; 0 and infinity where nothing is known.
        """
        check_is_fitted(self)
        columns = BoundedColumns.of(self)
        if columns is not None:
            return columns.variance_interval(
                confidence, simultaneous=simultaneous, sampling=sampling
            )
        half = self._half_width(confidence, simultaneous, sampling)
        lower = self.noisy_var_ - half
        beyond = self.sampling_clipping_bias_bound_ if sampling else self.clipping_bias_bound_
        upper = self.noisy_var_ + half + beyond
        return np.clip(lower, *self._possible()), np.clip(upper, *self._possible())


class PrivateTrimmedMean(Location):
    """Trimmed means of the columns under differential privacy, without bounds on the data.

    Of every column the ``floor(alpha n)`` smallest and as many largest entries are left out. With
    ``alpha=0`` it is the mean, a bounded one: with a public ``sensitivity`` and ``center`` it needs
    neither the number of rows nor a range, and it offers pure differential privacy. It takes no
    ``bounds``: what lies far out is left out anyway; where bounds are known, the mean between them,
    :class:`PrivateMean` with ``bounds``, has less noise.

    Parameters
    ----------
    alpha : float, default=0.1
        Part of the rows that is left out at either end, in [0, 1/2).
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the statistic of a column by. The range of the rows over their
        number is good; the result lies at most the number of rows times the sensitivity away from
        ``center``. None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the rows. With ``sensitivity``, saves the search for both; alone, starts
        it. Must not be computed from X.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released means by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Not used: with ``groups`` the trimmed mean is that of the means of the groups, which all
        count alike.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released trimmed means. Always finite.
    noisy_location_ : ndarray of shape (n_features,)
        The trimmed means before a ``denoiser``; equal to ``location_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``noisy_location_``; infinite where the rows
        were too few to find anything.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Upper estimate of the standard deviation of the noise and of the sampling error together, if
        the rows are drawn from a population; infinite if ``sensitivity`` and ``center``
        were given, as no number of rows is released then.
    n_rows_ : float
        That number.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.PrivateMean : Mean of a table with many columns; better there, with delta > 0.

    Notes
    -----
    **Privacy**: as for :class:`PrivateMedian`; what a row is worth is found from a noisy histogram
    of the distances from the median.

    Not private: ``transform`` of the training rows, and parameters that were chosen by looking at
    the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateTrimmedMean
    >>> X = np.random.default_rng(0).normal(loc=50.0, size=(5000, 2))
    >>> X[:100] = 1e9
    >>> mean = PrivateTrimmedMean(0.1).fit(X)
    >>> bool(abs(mean.location_ - 50).max() < 0.5)
    True
    """

    _parameter_constraints: dict = {
        **Location._parameter_constraints,
        "alpha": [Interval(Real, 0, 0.5, closed="left")],
    }

    @stores_parameters
    def __init__(
        self,
        alpha=0.1,
        *,
        epsilon=1.0,
        delta=1e-6,
        sensitivity=None,
        center=None,
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _made_of_groups(self):
        return "means"

    def _statistics(self):
        return [TrimmedMean(self.alpha) if self.alpha else "mean"]

    def _search(self, searcher):
        alpha = float(self.alpha)
        return searcher.trimmed_mean(alpha, SLACK) if alpha else searcher.means()
