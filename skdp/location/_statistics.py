"""PrivateMedian and PrivateQuantile, the estimators."""

from numbers import Real

import numpy as np

from skdp._compat import Interval, StrOptions
from skdp.accounting import Plan
from skdp.location._choice import choice_step, choose_quantile
from skdp.location._column_noise import column_budget
from skdp.location._location import SLACK, Location
from skdp.location._places import place_steps
from skdp.sensitivity import Quantile

__all__ = ["PrivateMedian", "PrivateQuantile"]


class _Quantile(Location):
    """Base of quantiles, by noise on the bounded statistic or by the exponential mechanism."""

    _parameter_constraints: dict = {
        **Location._parameter_constraints,
        "method": [StrOptions({"bounded", "exponential"})],
    }
    _reaches = False

    def _statistics(self):
        p = self._p()
        return ["median" if p == 0.5 else Quantile(p)]

    def _search(self, searcher):
        return searcher.quantile(float(self._p()), SLACK)

    def _is_vector(self):
        return self.method == "bounded"

    def plan(self):
        """Return what a fit may release and what it costs, without any data.

        Returns
        -------
        plan : Plan
        """
        if self._is_vector():
            return super().plan()
        if self.denoiser is not None:
            raise ValueError(
                'method="exponential" takes no denoiser: it chooses a point near the quantile in '
                "rank, and how far that is from it follows no known law. Use "
                'method="bounded", or denoiser=None.'
            )
        if self._statistics()[0] != "median" and self._statistics()[0].p in (0, 1):
            raise ValueError(
                f'method="exponential" takes no extremes, and q={self.q!r} is one: all points '
                "beyond the rows are as good as the extreme itself, however far they lie. Use "
                'PrivateMinMax, method="bounded", or a q between.'
            )
        budget = self._budget(lambda epsilon, delta: column_budget(epsilon, delta, choice=True))
        steps = () if self._is_placed() else place_steps(budget)
        return Plan(budget, (*steps, choice_step("statistic")))

    def _draw(self, rows, curator, noise, place):
        if self.method == "bounded":
            return super()._draw(rows, curator, noise, place)
        found = [
            choose_quantile(
                rows,
                curator,
                j,
                self._p(),
                center=place.center[j],
                sensitivity=place.sensitivity[j],
                share=curator.remaining / (rows.n_features - j),
                label="statistic",
            )
            for j in range(rows.n_features)
        ]
        values, sd = zip(*found, strict=True)
        return np.array(values), np.array(sd)

    def interval(self, confidence=0.95, *, simultaneous=False):
        if self.method == "exponential":
            raise ValueError(
                'method="exponential" has no interval: its noise is not of a known law around the '
                'quantile. Use method="bounded", or noise_scale_ as a hint.'
            )
        return super().interval(confidence, simultaneous=simultaneous)

    interval.__doc__ = Location.interval.__doc__


class PrivateMedian(_Quantile):
    """Medians of the columns under differential privacy, without bounds on the data.

    The median is replaced by one that a single row moves by at most ``sensitivity``, and is the
    median itself where the rows lie no less densely around it [1]_.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise, which suits
        few columns. Otherwise noise is Gaussian; choose delta well below one over the number of
        rows.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the median of a column by. A good one is between one and two
        distances of neighbours in the middle, about 2.5 standard deviations over the number of
        rows; twice the distance between ``center`` and median over the number of rows is the least.
        None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the median. With ``sensitivity``, saves the search for both; alone,
        starts it. Must not be computed from X.
    method : {"bounded", "exponential"}, default="bounded"
        ``"bounded"`` adds noise to the bounded median. ``"exponential"`` chooses one of many points
        that are near it in rank [2]_: about as good where rows lie smoothly, better for a bad
        ``center``, worse where rows are alike.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released medians by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
        Needs ``method="bounded"``.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released medians. Always finite.
    released_location_ : ndarray of shape (n_features,)
        The medians before a ``denoiser``; equal to ``location_`` without one.
    sure_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``;
        for ``method="exponential"`` that of the estimate below.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``released_location_``, for
        ``method="exponential"`` an estimate; infinite where the rows were too few to find anything.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateQuantile : Any quantile.
    skdp.sensitivity.bounded_median : The bounded median as a function.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, pure with
    ``delta=0``; the number of rows is private. Without ``sensitivity`` and ``center`` a part of the
    budget that falls with the number of rows, at most half of it, finds them: a noisy count, noisy
    ranks of thresholds that close in on the median, and of distances from it. The time a fit takes
    is not protected. Not private: ``transform`` of the training rows, and parameters that were
    chosen by looking at the data. Proofs: :func:`skdp.sensitivity.bounded_statistic`, user guide
    "Bounded statistics".

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

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        sensitivity=None,
        center=None,
        method="bounded",
        denoiser=None,
        random_state=None,
        ledger=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.center = center
        self.method = method
        self.denoiser = denoiser
        self.random_state = random_state
        self.ledger = ledger

    def _p(self):
        return 0.5


class PrivateQuantile(_Quantile):
    """Quantiles of the columns under differential privacy, without bounds on the data.

    Parameters
    ----------
    q : float, default=0.5
        In [0, 1]. Quantiles interpolate linearly, as :func:`numpy.quantile` does. Quantiles with
        fewer than some 100 / epsilon rows beyond them are hardly found.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
    sensitivity : float or array-like of shape (n_features,), default=None
        Public: what one row may move the quantile of a column by; about twice the distance of
        neighbours there is good. None finds one privately. Must not be computed from X.
    center : float or array-like of shape (n_features,), default=None
        A public point near the quantile. With ``sensitivity``, saves the search for both; alone,
        starts it. Must not be computed from X.
    method : {"bounded", "exponential"}, default="bounded"
        As for :class:`PrivateMedian`. ``"exponential"`` takes no q of 0 or 1, and is no good for a
        q with less than some 30 / epsilon rows beyond: of points beyond all rows it knows no more
        than which are nearer to where the search, or ``center``, has told it to look.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released quantiles by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
        Needs ``method="bounded"``.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The released quantiles. Always finite.
    released_location_ : ndarray of shape (n_features,)
        The quantiles before a ``denoiser``; equal to ``location_`` without one.
    sure_ : float
        Unbiased estimate of the squared error that the noise has left in ``location_``;
        for ``method="exponential"`` that of the estimate below.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``released_location_``, for
        ``method="exponential"`` an estimate; infinite where the rows were too few to find anything.
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
    >>> upper = PrivateQuantile(0.9).fit(X)
    >>> bool(abs(upper.location_[0] - 1.28) < 0.2)
    True
    """

    _parameter_constraints: dict = {
        **_Quantile._parameter_constraints,
        "q": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        q=0.5,
        *,
        epsilon=1.0,
        delta=1e-6,
        sensitivity=None,
        center=None,
        method="bounded",
        denoiser=None,
        random_state=None,
        ledger=None,
    ):
        self.q = q
        self.epsilon = epsilon
        self.delta = delta
        self.sensitivity = sensitivity
        self.center = center
        self.method = method
        self.denoiser = denoiser
        self.random_state = random_state
        self.ledger = ledger

    def _p(self):
        return self.q
