"""LaplaceMechanism and GaussianMechanism: steps that release bounded statistics."""

from dataclasses import replace

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.contracts import BoundedStatistic
from skdp.denoising._auto import DENOISER, check_denoiser, denoised, with_denoiser
from skdp.denoising._axes import TOO_LOUD, is_too_loud
from skdp.denoising._vector import VectorMixin
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import Table, annex
from skdp.preprocessing._sensitivity_preprocessor import BoundedValues
from skdp.sensitivity import release_bounded
from skdp.table._groups import FIT
from skdp.utils._numbers import stores_parameters
from skdp.utils._renamed import Renamed


class Mechanism(VectorMixin, PrivateEstimator):
    """Base of mechanisms: noise on bounded statistics, in proportion to their sensitivities."""

    released_value_ = Renamed("noisy_value_")
    _vector, _consumes = "noisy_value_", (BoundedStatistic,)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = Budget.pure(self.epsilon) if self._law() == "laplace" else None
        budget = budget or Budget.gaussian(self.epsilon, self.delta)
        budget = budget if self.ledger is None else self.ledger.admit(budget)
        return with_denoiser(Plan(budget, (Step("statistic", self._law()),)), self.denoiser)

    def fit(self, bounded, y=None):
        """Release bounded statistics.

        Parameters
        ----------
        bounded : BoundedValues
            What :meth:`SensitivityPreprocessor.bounded_values` returns; of a fit with groups they
            protect groups. Rows are refused: nothing is known about how much one of them matters.
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted mechanism; ``privacy_report_`` is the bill.
        """
        if not isinstance(bounded, BoundedValues | Table):
            raise TypeError(
                f"{type(self).__name__} releases bounded statistics, and was given a "
                f"{type(bounded).__name__}: rows that a preprocessor has mapped carry no bound "
                "through a plain pipeline. Call fit(preprocessor.bounded_values()), or use "
                "PrivateMedian, PrivateTrimmedMean or PrivateVariance, which do both steps."
            )
        return super().fit(bounded)

    def _plan_of(self, bounded, groups):
        plan = super()._plan_of(bounded, groups)
        if not self._is_granted():  # a pipeline has told it
            plan = replace(plan, assumptions=(*plan.assumptions, *bounded.promises))
        return plan if groups is not None else replace(plan, privacy_unit=bounded.privacy_unit)

    def _persons(self, groups, bounded):
        return groups

    def _of_persons(self, persons, given, curator):
        inner = curator.child(FIT, curator.remaining)
        inner.one_row_each = True  # a pipeline has drawn them before they were bounded
        return given, inner, {"rows_per_group_": 1}

    def _read(self, bounded, y):
        self._check_public(len(bounded.values))
        k, D = len(bounded.values), max(value.sensitivity for value in bounded.values)
        if is_too_loud(self.plan().budget, self._law(), k * D, k * D**2):
            raise ValueError(TOO_LOUD)
        return bounded

    def _check_public(self, n_features):
        check_denoiser(self.denoiser, n_features, self._law())

    def _rehearse_within(self, view):
        self._read(annex(view)[0].X, None)

    def _release(self, table):
        """Return the bounded values with noise: there are no rows to ask."""
        given, curator = annex(table)
        self._read(given, None)
        share = curator.remaining
        curator.one_row_each |= given.privacy_unit == "group"
        release = release_bounded(given.values, curator, share=share, label="statistic")
        sd = release.scales * (np.sqrt(2) if self._law() == "laplace" else 1)
        raw = np.nan_to_num(release.values)
        value, risk = denoised(raw, release.scales, self.denoiser, law=self._law())
        fitted = {"value_": value, "noisy_value_": raw, "risk_estimate_": risk, "noise_scale_": sd}
        columns = {"n_features_in_": len(given.values)}
        if given.names is not None:
            columns["feature_names_in_"] = given.names
        return {**columns, **fitted}


class LaplaceMechanism(Mechanism):
    """Release bounded statistics with Laplace noise: pure differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0, of the statistics of all columns together.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released statistics by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share.

    Attributes
    ----------
    value_ : ndarray of shape (n_features,)
        The released statistics.
    noisy_value_ : ndarray of shape (n_features,)
        The statistics before a ``denoiser``; equal to ``value_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``value_``.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the noise in ``noisy_value_``.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if they had some.

    See Also
    --------
    SensitivityPreprocessor : Yields what this mechanism takes.

    Notes
    -----
    **Privacy**: epsilon-differential privacy for adding or removing one row; in units in which all
    sensitivities are one integer D, d statistics move by at most d D in l1
    (:func:`skdp.sensitivity.release_bounded`). Not private: parameters of the preprocessor that
    were chosen by looking at the data.

    Examples
    --------
    >>> from skdp.preprocessing import LaplaceMechanism, SensitivityPreprocessor
    >>> step = SensitivityPreprocessor("median", sensitivity=1.0, center=50.0)
    >>> ages = [[31.0], [44.0], [52.0], [27.0], [61.0]]
    >>> LaplaceMechanism().fit(step.fit(ages).bounded_values()).value_.shape
    (1,)
    """

    _parameter_constraints: dict = {
        name: PrivateEstimator._parameter_constraints[name]
        for name in ("epsilon", "random_state", "ledger")
    } | {"denoiser": DENOISER}

    def _law(self):
        return "laplace"

    @stores_parameters
    def __init__(self, *, epsilon=1.0, denoiser=None, random_state=None, ledger=None): ...


class GaussianMechanism(Mechanism):
    """Release bounded statistics with Gaussian noise, analytically calibrated.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0, of the statistics of all columns together.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    denoiser : Denoiser, "auto" or None, default=None
        Shrinks the released statistics by the law of their noise: free post-processing, for many
        columns of one unit. Its ``noise_scale`` and ``law`` are replaced. ``"auto"`` is
        :class:`skdp.AutoDenoiser`.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share.

    Attributes
    ----------
    value_ : ndarray of shape (n_features,)
        The released statistics.
    noisy_value_ : ndarray of shape (n_features,)
        The statistics before a ``denoiser``; equal to ``value_`` without one.
    risk_estimate_ : float
        Unbiased estimate of the squared error that the noise has left in ``value_``.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the noise in ``noisy_value_``.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if they had some.

    See Also
    --------
    SensitivityPreprocessor : Yields what this mechanism takes.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; in units in
    which all sensitivities are one integer D, d statistics move by at most sqrt(d) D in l2
    (:func:`skdp.sensitivity.release_bounded`). Not private: parameters of the preprocessor that
    were chosen by looking at the data.

    Examples
    --------
    >>> from skdp.preprocessing import GaussianMechanism, SensitivityPreprocessor
    >>> step = SensitivityPreprocessor("mean", sensitivity=5.0, center=50.0)
    >>> ages = [[31.0], [44.0], [52.0], [27.0], [61.0]]
    >>> GaussianMechanism().fit(step.fit(ages).bounded_values()).value_.shape
    (1,)
    """

    _parameter_constraints: dict = {**PrivateEstimator._parameter_constraints, "denoiser": DENOISER}

    def _law(self):
        return "gaussian"

    @stores_parameters
    def __init__(
        self, *, epsilon=1.0, delta=1e-6, denoiser=None, random_state=None, ledger=None
    ): ...
