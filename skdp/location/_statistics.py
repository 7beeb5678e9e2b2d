"""PrivateMedian, PrivateQuantile and PrivateMinMax, the estimators."""

from numbers import Real

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from skdp.location._column_estimator import ColumnEstimator, ExtremesMixin, doubt_extremes
from skdp.location._quantiles import QuantileEstimator
from skdp.readers._calendar import Dated
from skdp.table._batched import apply_batched
from skdp.table._schema import later_rows
from skdp.utils._compat import Interval
from skdp.utils._numbers import bounds_vectors, stores_parameters


class PrivateMedian(QuantileEstimator):
    """Medians of the columns under differential privacy, without bounds on the data.

    Noisy numbers of rows between points, of which one row changes one, by 1, close in on the median
    in a few rounds, on whatever kind of column: the result is near the median in rank.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise, which suits
        few columns. Otherwise noise is Gaussian; choose delta well below one over the number of
        rows.
    bounds : (low, high), default=None
        Public: each a number or one per column; entries beyond count as the nearer bound. Saves a
        part of the search, and keeps the result inside. For ``method="ranks"``. Must not be
        computed from X.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the median of a column by. A good one is between one and two
        distances of neighbours in the middle, about 2.5 standard deviations over the number of
        rows; twice the distance between ``center`` and median over the number of rows is the least.
        None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the median. With ``sensitivity``, saves the search for both; alone,
        starts it. Must not be computed from X.
    method : {"ranks", "bounded", "exponential"}, default="ranks"
        ``"ranks"`` closes in on the median by noisy ranks, whatever the column is like; a good
        choice on any column. ``"bounded"`` adds noise to a median that one row moves by at most
        ``sensitivity``, and which is the median itself where the rows lie no less densely around it
        [1]_: for smooth columns whose ``sensitivity`` and ``center`` are known, or a denoiser.
        ``"exponential"`` chooses one of many points that are near it in rank [2]_: for few rows
        with ``delta=0``, and a good ``center``.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released medians by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
        Needs ``method="bounded"``.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``.
        With ``method="bounded"`` one row of every group is read, drawn at random.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released medians. Always finite.
    noisy_location_ : ndarray of the shape of ``location_``
        The medians before a ``denoiser``; equal to ``location_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``; that of the
        estimates below unless ``method="bounded"``.
    noise_scale_ : ndarray of the shape of ``location_``
        Standard deviation of the privacy noise in ``noisy_location_``; an estimate, half the
        length of the interval of one deviation in rank, unless ``method="bounded"``. Infinite for
        a quantile that is not told: its interval is longer than the spread that was seen.
    rank_curves_ : RankCurves
        By ``method="ranks"``: every point whose rank was released, and how far it is from the
        quantiles in rank, which is what :meth:`interval` reads.
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
    PrivateQuantile : Any quantile.
    skdp.sensitivity.bounded_statistic : The bounded median as a function.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, pure with
    ``delta=0``; the number of rows is private. By ``method="ranks"`` every release is a histogram
    of cells that are public or made of releases, and which divide the line: one row is in one
    cell, whatever the number of quantiles; d columns move by sqrt(d) in l2 (user guide
    "Quantiles"). By the other methods, without ``sensitivity`` and ``center`` a part of the budget
    that falls with the number of rows, at most half of it, finds them: a noisy count, noisy ranks
    of thresholds that close in on the median, and of distances from it. The time a fit takes is not
    protected. Not private: ``transform`` of the training rows, and parameters that were chosen by
    looking at the data. Proofs: :func:`skdp.sensitivity.bounded_statistic`, user guide "Bounded
    statistics".

    References
    ----------
    .. [1] Cummings, Durfee. "Individual sensitivity preprocessing for data privacy". SODA 2020.
    .. [2] McSherry, Talwar. "Mechanism design via differential privacy". FOCS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMedian
    >>> X = np.random.default_rng(0).lognormal(10.6, 0.8, size=(2001, 1))
    >>> median = PrivateMedian(epsilon=1.0, delta=0.0).fit(X)
    >>> bool(abs(median.location_[0] / np.median(X) - 1) < 0.1)
    True
    """

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        sensitivity=None,
        center=None,
        method="ranks",
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _q(self):
        return 0.5


class PrivateQuantile(QuantileEstimator):
    """Quantiles of the columns under differential privacy, without bounds on the data.

    Parameters
    ----------
    q : float or sequence of float of shape (n_q,), default=0.5
        In (0, 1), and 0 and 1 for ``method="bounded"``. Any number of quantiles cost what one
        costs, with more noise in each: some 5 ranks for one and 10 for nine, over epsilon, at the
        default delta. Quantiles with fewer than 50 / epsilon rows beyond them are hardly found.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    bounds : (low, high), default=None
        Public: each a number or one per column; entries beyond count as the nearer bound. Saves a
        part of the search, and keeps the result inside. For ``method="ranks"``. Must not be
        computed from X.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the quantile of a column by; about twice the distance of
        neighbours there is good. None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the quantile. With ``sensitivity``, saves the search for both; alone,
        starts it. Must not be computed from X.
    method : {"ranks", "bounded", "exponential"}, default="ranks"
        As for :class:`PrivateMedian`; only ``"ranks"`` takes several quantiles. ``"bounded"`` takes
        q of 0 and 1 too. ``"exponential"`` is no good for a q with less than some 30 / epsilon rows
        beyond: of points beyond all rows it knows no more than which are nearer to where the
        search, or ``center``, has told it to look.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released quantiles by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
        Needs ``method="bounded"``.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``.
        With ``method="bounded"`` one row of every group is read, drawn at random.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,), or (n_q, n_features) if q is a sequence
        The released quantiles. Always finite; a greater q has no smaller one.
    noisy_location_ : ndarray of the shape of ``location_``
        The quantiles before a ``denoiser``; equal to ``location_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``; that of the
        estimates below unless ``method="bounded"``.
    noise_scale_ : ndarray of the shape of ``location_``
        Standard deviation of the privacy noise in ``noisy_location_``; an estimate, half the
        length of the interval of one deviation in rank, unless ``method="bounded"``. Infinite for
        a quantile that is not told: its interval is longer than the spread that was seen.
    rank_curves_ : RankCurves
        By ``method="ranks"``: every point whose rank was released, and how far it is from the
        quantiles in rank, which is what :meth:`interval` reads.
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
    PrivateMedian : The same in the middle, with the proofs.

    Notes
    -----
    **Privacy**: as for :class:`PrivateMedian`. Not private: ``transform`` of the training rows, and
    parameters that were chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateQuantile
    >>> X = np.random.default_rng(0).normal(size=(5000, 1))
    >>> quartiles = PrivateQuantile([0.25, 0.5, 0.75]).fit(X)
    >>> quartiles.location_.shape
    (3, 1)
    >>> bool(abs(quartiles.location_[:, 0] - [-0.67, 0.0, 0.67]).max() < 0.2)
    True
    """

    _parameter_constraints: dict = {
        **QuantileEstimator._parameter_constraints,
        "q": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    @stores_parameters
    def __init__(
        self,
        q=0.5,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        sensitivity=None,
        center=None,
        method="ranks",
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def _q(self):
        return self.q


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
