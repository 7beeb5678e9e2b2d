"""PrivateMean, the estimator."""

import math
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget
from skdp.contracts import Core
from skdp.denoising._auto import DENOISER, check_denoiser, with_denoiser
from skdp.denoising._vector import VectorMixin
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.friendly._match import bounds_distance
from skdp.location._bounded_moments import BoundedColumns, bounded_rule, check_bounds
from skdp.location._bounded_search import between, bounded_mean_plan, release_bounded_mean
from skdp.location._column_strategies import asked_first, release_with_gaps, with_gaps
from skdp.location._friendly import (
    check_friendly,
    core_location,
    core_location_plan,
    friendly_location,
    friendly_location_plan,
)
from skdp.location._location import CentringMixin, accuracy_of
from skdp.location._mean import doubt_mean, mean_plan, private_mean
from skdp.location._release import MeanRelease
from skdp.readers._calendar import with_dates
from skdp.scales._column_noise import column_budget
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import column_vector, stores_parameters
from skdp.utils._renamed import Renamed


class PrivateMean(WeightsMixin, VectorMixin, CentringMixin, PrivateEstimator):
    """Mean of a table under differential privacy, without bounds on the data.

    The rows may lie anywhere and have any scale. Histograms over all floats tell where the entries
    of a column lie and how far they reach, its rare and its far ones too; the column is clipped
    where noise and bias balance, and one sum takes most of the budget. Columns of one kind are
    found together instead: by a ring of random differences and a soft core of rows with many
    friends; one or two clipped sums come closer before the last one.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows. With
        ``bounds`` it may be 0: pure differential privacy, by Laplace noise, which for up to about
        five columns is less noise.
    bounds : tuple (low, high), default=None
        Public: numbers, or one per column, that the entries lie between; others are clipped to
        them. Takes no other parameter about the rows. Rows that take up a small part of their
        bounds are looked for there, if ``delta > 0`` and rows belong to nobody. Must not be
        computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the rows. Saves the search for one. Must not be computed from X.
    radius : float, default=None
        A public radius: most rows lie within it from their mean, the others are clipped to it.
        Saves the search for a scale. For ``method="friendly"`` half of the ``diameter``. Must not
        be computed from X.
    method : {"auto", "friendly"}, default="auto"
        ``"friendly"`` is the averaging algorithm of FriendlyCore [1]_: a filter keeps rows that are
        friends of most others, and the core is averaged with noise in proportion to the diameter.
        ``"auto"`` needs fewer rows and adds about half of that noise.
    diameter : float, default=None
        A public diameter: most pairs of rows are at most this far apart. Saves the search for it.
        Needless beside ``center``. Must not be computed from X.
    trim : bool, default=False
        Leave rows out that lie far beyond the bulk, more than 6 clip radii. The result then is
        the mean of the bulk; recommended when outliers are errors. Needs ``method="auto"``: a core
        leaves such rows out anyway.
    scale : {"auto", "none"} or array-like of shape (n_features,), default="auto"
        Public scales of the columns, in which their accuracies should be alike. ``"auto"`` finds
        scales privately when that costs at most 8 % of the budget and none of ``center``,
        ``radius`` and ``diameter`` is given; ``"none"`` treats all columns alike.
    accuracy : {"alike", "total", "both"} or array-like of shape (n_features,), default="alike"
        What noise balances among columns of unlike scales that are found privately: ``"alike"``
        errors in standard deviations of each column, the ``"total"`` of the squared errors, or
        ``"both"``, which costs at most a factor of sqrt(3) of the best of either, in any table. An
        array is of public weights of the squared errors, > 0. Columns that are clipped one by one
        keep noise in proportion to their intervals.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released mean by the law of its noise: free post-processing, for many columns
        with means near one another or near zero. Its ``noise_scale`` and ``law`` are replaced.
        ``"auto"`` is :class:`skdp.AutoDenoiser`.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``.
        The mean is that of the means of the groups, with these weights, or with ``bounds`` of the
        rows; ``method="friendly"`` counts all groups alike.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released mean. Always finite.
    noisy_location_ : ndarray of shape (n_features,)
        The mean before a ``denoiser``; equal to ``location_`` without one, unless rows were looked
        for between ``bounds``: ``location_`` then leaves out what may well be noise alone, of rows
        far from the others, and ``noise_scale_``, ``risk_estimate_`` and intervals are those of
        ``noisy_location_``, with its whole noise.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``noisy_location_``; infinite where the rows
        were too few to find anything.
    sampling_noise_scale_ : ndarray of shape (n_features,)
        Upper estimate of the standard deviation of the noise and of the sampling error together, if
        the rows are drawn from a population. Infinite with ``method="friendly"``, which releases
        nothing that tells how far the rows are spread.
    clipping_bias_bound_ : ndarray of shape (2, n_features)
        Released estimates of how far clipping has moved the mean, at most as a rule: how far the
        mean of the rows may lie below ``noisy_location_``, and how far above. Infinite where
        nothing, or nothing but zeros, stands out of the noise; 0 with ``bounds`` and with a public
        ``radius``, which the caller vouches for, and with ``method="friendly"``, which clips
        nothing and takes the mean of the core.
    n_rows_ : float, or ndarray of shape (n_features,) where rows with gaps show
        Released number of rows, or of entries, that the mean was divided by, with ``trim`` of those
        kept. Not with ``method="friendly"``.
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
    skdp.PrivacyLedger : A budget for many fits.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. Every release is Gaussian, so the costs add up in mu^2 exactly, and three
    one-sided bounds may fail with a total probability that is part of delta. Not private:
    ``transform`` of the training rows, and parameters that were chosen by looking at the data.
    Proofs: user guide "Accounting" and "Private mean".

    The core is a relative of FriendlyCore [1]_ with a certificate of sensitivity one; noise is
    calibrated by the analytic Gaussian mechanism [2]_.

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.
    .. [2] Balle, Wang. "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising". ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> X = np.random.default_rng(0).normal(loc=[1e6, -3.0], scale=[1e3, 0.1], size=(5000, 2))
    >>> mean = PrivateMean(epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(abs(mean.location_[1] + 3) < 0.05)
    True
    """

    released_location_ = Renamed("noisy_location_")
    clipping_bound_ = Renamed("clipping_bias_bound_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "bounds": ["array-like", None],
        "center": [Real, "array-like", None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "method": [StrOptions({"auto", "friendly"})],
        "diameter": [Interval(Real, 0, None, closed="neither"), None],
        "trim": ["boolean"],
        "scale": [StrOptions({"auto", "none"}), "array-like"],
        "accuracy": [StrOptions({"alike", "total", "both"}), "array-like"],
        "denoiser": DENOISER,
    }

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        center=None,
        radius=None,
        method="auto",
        diameter=None,
        trim=False,
        scale="auto",
        accuracy="alike",
        denoiser=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    _weighs_groups = property(lambda self: self.method == "auto")
    _gaps = property(lambda self: self.bounds is not None or self._searches())
    _asked_first = asked_first
    _noun = "mean"

    # with bounds the spread is an estimate
    _spread_is_most = property(lambda self: self.bounds is None)

    def _spread(self):
        """Return upper bounds of the deviations of columns; infinite where nothing tells."""
        drawn = np.square(self.sampling_noise_scale_) - np.square(self.noise_scale_)
        return np.sqrt(np.fmax(drawn, 0.0) * getattr(self, "n_rows_", math.inf))

    def _group_rule(self, n_features):
        return super()._group_rule(n_features) if self.bounds is None else bounded_rule(n_features)

    def _made_of_groups(self):
        return "means" if self.bounds is None else None

    def _searches(self):
        """Whether nothing but the rows tells where they lie, so that columns may be apart."""
        given = self.bounds, self.center, self.radius, self.diameter, self.trim or None
        auto = self.method == "auto" and isinstance(self.scale, str) and self.scale == "auto"
        return auto and self.delta > 0 and all(one is None for one in given)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        if self.bounds is not None:
            return with_denoiser(bounded_mean_plan(self), self.denoiser)
        if self.delta == 0:
            raise ValueError(
                "delta=0 needs bounds: the search for what they tell needs 0 < delta < 1. Pass "
                "bounds=(low, high), or delta > 0."
            )
        plan = friendly_location_plan if self.method == "friendly" else mean_plan
        plan = core_location_plan if self._on_core() else plan
        plan = plan(self._budget(Budget.gaussian))
        return with_denoiser(with_gaps(plan) if self._searches() else plan, self.denoiser)

    def _on_core(self):
        """Whether a filter before, in a pipeline, hands its core on with what it knows of it."""
        return self.method == "friendly" and isinstance(self._given(), Core)

    def _release(self, table):
        more, shown = {}, None
        apart = release_with_gaps(table, private_mean) if self._searches() else None
        if apart:
            mean = MeanRelease.side_by_side(apart)
        elif self.bounds is not None:
            mean, more, shown = release_bounded_mean(table, self)
        elif self._on_core():
            mean = core_location(table, core=self.ledger.certificate)
        elif self.method == "friendly":
            mean = friendly_location(table, diameter=self._diameter())
        else:
            d, scaled = table.n_features, not isinstance(self.scale, str)
            mean = private_mean(
                table,
                center=column_vector("center", self.center, d),
                radius=self.radius,
                diameter=self._diameter(),
                trim=self.trim,
                scale=column_vector("scale", self.scale, d) if scaled else self.scale,
                accuracy=accuracy_of(self, d),
            )
        value, risk = self._denoised(mean.location, mean.noise_scale)
        value = value if shown is None or self.denoiser is not None else shown
        doubt_mean(mean, table)
        return {
            "location_": value,
            "noisy_location_": mean.location,
            "risk_estimate_": risk,
            "noise_scale_": mean.noise_scale,
            "sampling_noise_scale_": mean.sampling_noise_scale,
            "clipping_bias_bound_": mean.clipping_bound,
            **mean.counted(apart=bool(apart) or shown is not None),
            **more,
        }

    def _diameter(self):
        if self.diameter is None and self.radius is not None:
            return 2 * float(self.radius)
        return self.diameter

    def _check_public(self, n_features):
        check_denoiser(self.denoiser, n_features, self._law())
        if self.bounds is not None:
            names = ("center", "radius", "diameter")
            given = [name for name in names if getattr(self, name) is not None]
            given += ["trim"] if self.trim else []
            given += [] if isinstance(self.scale, str) and self.scale == "auto" else ["scale"]
            given += ["method"] if self.method != "auto" else []
            check_bounds(self.bounds, self._budget(column_budget), n_features, given)
        elif self.method == "friendly":
            check_friendly(self, self._diameter())
        elif self.center is not None and self.diameter is not None:
            raise ValueError(
                "diameter saves a search that center saves as well, and has no use beside it. Give "
                "center and radius, or diameter."
            )
        accuracy_of(self, n_features)
        column_vector("center", self.center, n_features)
        scaled = not isinstance(self.scale, str)
        if scaled and np.any(column_vector("scale", self.scale, n_features) <= 0):
            raise ValueError(
                "scale must be positive in every column. Give constant columns any positive scale."
            )

    @with_dates
    def interval(self, confidence=0.95, *, simultaneous=False, clipping=True, sampling=False):
        """Return intervals for the mean of these rows, with bounds: clipped to the bounds.

        With ``sampling`` they are for the mean of the population that the rows were drawn from.

        With ``bounds`` they hold wherever rows lie, lie between the bounds, and need not lie
        evenly around the mean. Without, they lie around ``noisy_location_``: a denoised value is
        no middle of an interval. They account for the privacy noise, whose law is known exactly,
        and for clipping, which may reach further to one side than to the other; they are infinite
        where nothing is known. Rows that are too few to be seen and far away may escape them: with
        fewer than some 3000 sqrt(n_features) / epsilon rows, columns that are mostly zeros do so,
        and a twentieth of the rows that lies far from all others, such as a code of 999, or a
        hundredth with fewer than 10,000 / epsilon; with more, some columns with a heavy tail (user
        guides "Private mean" and "Means of real columns"). ``bounds`` cure that.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.
        clipping : bool, default=True
            Widen the intervals by ``clipping_bias_bound_``. That is more than is needed where the
            rows lie evenly around their mean, above all with many columns; False covers the mean of
            the clipped rows, as a rate among which nothing but zeros stands out.
        sampling : bool, default=False
            Whether they are to cover the mean of the population, of which the rows are independent
            draws. The sampling error is bounded by released values, so they are wider than need be:
            with ``bounds`` by the variance of a 0/1 column of that mean, which is exact for rates
            (Wilson's interval, with the noise); without, by the sum of squared distances that the
            released histograms allow, a tenth to a half too much for a column by itself, up to
            sqrt(n_features) times the error for columns that are found together.

        Returns
        -------
        lower, upper : ndarrays of shape (n_features,)
        """
        check_is_fitted(self)
        columns = BoundedColumns.of(self)
        if columns is not None:
            return columns.mean_interval(confidence, simultaneous=simultaneous, sampling=sampling)
        half = self._half_width(confidence, simultaneous, sampling)
        below, above = self.clipping_bias_bound_ if clipping else np.zeros((2, len(half)))
        low, high = self.noisy_location_ - half - below, self.noisy_location_ + half + above
        return between(low, high, self)

    def __skdp_contract__(self):
        """Return what this step reads and yields: a released vector."""
        return replace(super().__skdp_contract__(), problem=self._wrong_core)

    def _wrong_core(self, kind):
        if self.method != "friendly" or not isinstance(kind, Core):
            return None
        near = kind.predicate
        if not bounds_distance(near):
            return (
                f"averages rows that are friends by distance, and the filter before it calls rows "
                f"friends by {type(near).__name__}: its core bounds no distance. Use a filter with "
                'a radius, or method="auto", which takes any rows.'
            )
        if self.radius is not None or self.diameter is not None:
            return (
                "takes the radius of the filter before it, under which its core is certified. "
                "Leave out radius and diameter, and give the filter a radius."
            )
        return None
