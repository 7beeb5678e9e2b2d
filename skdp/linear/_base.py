"""What linear regressions share: ranges, a line, intervals and predictions."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._estimator import PrivateEstimator
from skdp._groups import GroupRule
from skdp._pieces import by_pieces
from skdp.accounting import Budget
from skdp.linear._coefficients import coefficients
from skdp.linear._known import known_ranges
from skdp.linear._line import line_plan, private_line
from skdp.scales._noise_level import check_confidence, noise_quantile

__all__ = ["LinearModel", "rule_of_slopes"]

LARGEST = 1e300  # of a prediction
PERSONS = 150.0  # times mu, for each coefficient: below, lines are shrunk more than caps bend them
SHRUNK = (
    "slopes shrink towards 0 where the noise drowns them, and gradients far beyond the others are "
    "clipped: the line is that of the bulk of the rows"
)


def rule_of_slopes(K):
    """Return the GroupRule of K coefficients."""
    return GroupRule(noise=3.0 * math.sqrt(K), least=PERSONS * K)


class LinearModel(RegressorMixin, PrivateEstimator):
    """Base of linear regressions; ``alpha``, where it is a parameter, is a ridge penalty."""

    _target = "number"
    _weighs_groups = True
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "fit_intercept": ["boolean"],
        "extrapolate": ["boolean"],
        "target_range": ["array-like", tuple, None],
        "feature_range": ["array-like", tuple, None],
    }

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        plan = line_plan(self._budget(Budget.gaussian), fit_intercept=self.fit_intercept)
        return replace(plan, assumptions=(*plan.assumptions, SHRUNK))

    def _group_rule(self, n_features):
        return rule_of_slopes(n_features)

    def _check_public(self, n_features):
        known_ranges(self.feature_range, self.target_range, n_features)

    def _release(self, rows, curator):
        d = rows.n_features - 1
        line = private_line(
            rows,
            curator,
            known=known_ranges(self.feature_range, self.target_range, d),
            alpha=getattr(self, "alpha", 0.0),
            extrapolate=self.extrapolate,
            fit_intercept=self.fit_intercept,
        )
        values, noise, sampling = coefficients(line, d)
        return {
            "coef_": values[:-1],
            "intercept_": float(values[-1]) if self.fit_intercept else 0.0,
            "noise_scale_": noise[:-1],
            "intercept_noise_scale_": float(noise[-1]) if self.fit_intercept else 0.0,
            "sampling_noise_scale_": sampling[:-1],
            "intercept_sampling_noise_scale_": float(sampling[-1]) if self.fit_intercept else 0.0,
            "n_rows_": line.n_rows,
            "n_steps_": line.n_steps,
            "target_range_": tuple(np.nan_to_num([line.low, line.high]).tolist()),
            "feature_range_": np.nan_to_num(line.feature_range(d)),
        }

    @by_pieces
    def predict(self, X):
        """Return the prediction for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Local: as private as X. Unless ``extrapolate``, features are clipped to
            ``feature_range_`` and predictions to ``target_range_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if not self.extrapolate:
            X = np.clip(X, *self.feature_range_)
        with np.errstate(all="ignore"):
            y = np.clip(np.nan_to_num(X @ self.coef_ + self.intercept_), -LARGEST, LARGEST)
        return y if self.extrapolate else np.clip(y, *self.target_range_)

    def score(self, X, y, sample_weight=None):
        """Return R^2 of ``predict(X)``, the part of the variance of y that it explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        r2 : float
            Local: not private for the rows of X. On the training rows it must not be published.
        """
        from sklearn.metrics import r2_score

        return r2_score(gathered(y), gathered(self.predict(X)), sample_weight=sample_weight)

    def interval(self, confidence=0.95, *, sampling=False):
        """Return intervals for the coefficients and the intercept.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        sampling : bool, default=False
            Whether they are to cover the line of the law that the rows were drawn from, if its
            residuals vary alike everywhere, instead of that of these rows.

        Returns
        -------
        low, high : ndarray of shape (n_features + 1,)
            The intercept is last. Of ``coef_`` and ``intercept_`` and their ``noise_scale_``, or
            ``sampling_noise_scale_`` with ``sampling``: normal, centred, infinite where the line is
            flat. They do not know what less weight and clipping have done to rows far beyond the
            others: with heavy tails the line is another than least squares, by more than they tell.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        middle = np.append(self.coef_, self.intercept_)
        if sampling:
            scale = np.append(self.sampling_noise_scale_, self.intercept_sampling_noise_scale_)
        else:
            scale = np.append(self.noise_scale_, self.intercept_noise_scale_)
        half = noise_quantile(confidence, "gaussian") * scale
        return middle - half, middle + half

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        tags.regressor_tags.poor_score = True
        return tags


def gathered(values):
    """Return what a method has made of rows, or a target, as one array."""
    if hasattr(values, "compute"):
        values = values.compute()
    if hasattr(values, "__array__") or isinstance(values, list):
        return np.asarray(values)
    return np.concatenate([np.asarray(piece) for piece in values])
