"""What linear regressions share: ranges, a line, intervals and predictions."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._compat import StrOptions
from skdp._estimator import PrivateEstimator
from skdp._groups import GroupRule
from skdp._pieces import by_pieces
from skdp.accounting import Budget
from skdp.linear._coefficients import coefficients, from_least_squares
from skdp.linear._known import known_ranges
from skdp.linear._line import line_plan, private_line
from skdp.scales._noise_level import check_confidence, check_sampling, noise_quantile

__all__ = ["LinearModel", "rule_of_slopes"]

LARGEST = 1e300  # of a prediction
PERSONS = 150.0  # times mu, for each coefficient: below, lines are shrunk more than caps bend them
SHRUNK = (
    "slopes shrink towards 0 where the noise drowns them, and gradients far beyond the others are "
    "clipped: the line is that of the bulk of the rows"
)
STRAIGHT = (
    "intervals of slopes for a population suppose a straight line with errors alike everywhere; "
    'sampling="robust" asks for neither'
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
        "sampling": [StrOptions({"classical", "robust"})],
        "target_range": ["array-like", tuple, None],
        "feature_range": ["array-like", tuple, None],
    }

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        robust = self.sampling == "robust"
        plan = line_plan(
            self._budget(Budget.gaussian), fit_intercept=self.fit_intercept, robust=robust
        )
        told = (SHRUNK,) if robust else (SHRUNK, STRAIGHT)
        return replace(plan, assumptions=(*plan.assumptions, *told))

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
            robust=self.sampling == "robust",
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
            **(self._away(line, d) if self.sampling == "robust" else {}),
        }

    def _away(self, line, d):
        """Return the attributes that tell how far least squares are."""
        told = np.array(from_least_squares(line, d))
        if not self.fit_intercept:
            told[:, -1] = 0.0
        names = "least_squares_shift_", "least_squares_scale_", "least_squares_excess_"
        return dict(zip(names, told, strict=True))

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
            Whether they are to cover the line of the law that the rows were drawn from instead of
            that of these rows: with ``sampling="classical"`` if it has one and its residuals vary
            alike everywhere, with ``"robust"`` plain least squares of any law, with a penalty that
            of a ridge.

        Returns
        -------
        low, high : ndarray of shape (n_features + 1,)
            The intercept is last. Of ``coef_`` and ``intercept_`` and their ``noise_scale_``, or
            ``sampling_noise_scale_`` with ``sampling``: normal, centred, infinite where the line is
            flat. They do not know what less weight and clipping have done to rows far beyond the
            others: with heavy tails the line is another than least squares, by more than they tell.

            With ``"robust"`` and ``sampling`` they do: they reach from the coefficients to
            ``least_squares_shift_`` beside them, and at either end further by
            ``least_squares_scale_``, or ``sampling_noise_scale_`` where that is larger, and
            ``least_squares_excess_``; never less than without. Infinite where nothing is told.
            They miss what a handful of rows make that nobody can see: one typing error that bends
            the line of the whole population, or a target that is one number in all but a few rows.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        middle = np.append(self.coef_, self.intercept_)
        if sampling:
            scale = np.append(self.sampling_noise_scale_, self.intercept_sampling_noise_scale_)
        else:
            scale = np.append(self.noise_scale_, self.intercept_noise_scale_)
        z = noise_quantile(confidence, "gaussian")
        half, low, high = z * scale, middle, middle
        if sampling and self.sampling == "robust":
            half = np.maximum(half, z * self.least_squares_scale_ + self.least_squares_excess_)
            low = middle + np.minimum(self.least_squares_shift_, 0.0)
            high = middle + np.maximum(self.least_squares_shift_, 0.0)
        return low - half, high + half

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
