"""PrivateRobustScaler, the transformer."""

from numbers import Real

import numpy as np
from scipy.special import ndtri

from skdp.preprocessing._scaler import Scaler, usable
from skdp.sensitivity import Quantile

__all__ = ["PrivateRobustScaler"]

SLACK = 3.0  # rows lie less densely at the quartiles than at the median, where that was measured


class PrivateRobustScaler(Scaler):
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
        Per cent, 0 <= lower < upper <= 100.
    unit_variance : bool, default=False
        Scale so that normal columns have a variance of 1.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
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
        The released ranges, or their noise where that is larger; 1.0 for columns that are constant
        in the middle or too few rows. None with ``with_scaling=False``.
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
    removing one row, see :class:`skdp.PrivateMedian`. Not private: scaled rows, which are rows, and
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
        **Scaler._parameter_constraints,
        "with_centering": ["boolean"],
        "with_scaling": ["boolean"],
        "quantile_range": [tuple],
        "unit_variance": ["boolean"],
    }
    _reaches = False

    def __init__(
        self,
        *,
        with_centering=True,
        with_scaling=True,
        quantile_range=(25.0, 75.0),
        unit_variance=False,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        self.with_centering = with_centering
        self.with_scaling = with_scaling
        self.quantile_range = quantile_range
        self.unit_variance = unit_variance
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def _check_public(self, n_features):
        ends = self.quantile_range
        if len(ends) != 2 or not all(isinstance(q, Real) for q in ends):
            raise ValueError(f"quantile_range must hold two numbers. Got {ends!r}.")
        if not 0 <= ends[0] < ends[1] <= 100:
            raise ValueError(f"quantile_range must rise, within [0, 100]. Got {ends!r}.")
        if not (self.with_centering or self.with_scaling):
            raise ValueError(
                "with_centering=False and with_scaling=False leave nothing to release. Set one of "
                "them."
            )
        super()._check_public(n_features)

    def _quantiles(self):
        ends = [q / 100 for q in self.quantile_range]
        return [0.5] * bool(self.with_centering) + ends * bool(self.with_scaling)

    def _statistics(self):
        return ["median" if p == 0.5 else Quantile(p) for p in self._quantiles()]

    def _search(self, searcher):
        return searcher.around_the_median(self._quantiles(), SLACK)

    def _without_rows(self, center):
        ends = [center - 0.5, center + 0.5]
        return [center] * bool(self.with_centering) + ends * bool(self.with_scaling)

    def _fitted(self, values, sd, center):
        fitted = {"center_": values[0] if self.with_centering else None, "scale_": None}
        if self.with_scaling:
            floor = np.where(np.isfinite(sd[-1]), np.hypot(sd[-1], sd[-2]), 0.0)
            scale = usable(np.maximum(values[-1] - values[-2], floor), center)
            low, high = (q / 100 for q in self.quantile_range)
            unit = ndtri(high) - ndtri(low) if self.unit_variance and 0 < low < high < 1 else 1.0
            fitted["scale_"] = np.nan_to_num(scale / unit)
        return fitted

    def _affine(self):
        return (
            0.0 if self.center_ is None else self.center_,
            1.0 if self.scale_ is None else self.scale_,
        )
