"""What linear regressions share: ranges, a line, intervals and predictions."""

import math
from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Budget
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.estimator._results import ResultsMixin
from skdp.linear._front import coefficients, from_least_squares, spread
from skdp.linear._line import line_plan, private_line
from skdp.linear._newton import ends, named
from skdp.scales._column_noise import check_confidence, check_sampling, noise_quantile
from skdp.table._batched import ExplainedVarianceMixin, apply_batched
from skdp.table._groups import GroupRule
from skdp.table._schema import numbers_of_dates
from skdp.utils._numbers import known_ranges
from skdp.utils._renamed import Renamed

LARGEST = 1e300  # of a prediction
PERSONS = 150.0  # times mu, for each coefficient: below, lines are shrunk more than caps bend them
CONFIDENCE = 0.95  # of the intervals that doubts look at
SHRUNK = (
    "slopes shrink towards 0 where the noise drowns them, and gradients far beyond the others are "
    "clipped: the line is that of the bulk of the rows"
)
FEW = (
    "a handful of rows that nobody can see, far beyond all others, may move least squares out of "
    "the intervals"
)
# A correlation is at most 1: a slope of one column is at most the spread of the target over its own
WIDE = (
    "slopes are not known. Leave out columns that hardly vary or repeat others, pass "
    "feature_range if it is public, or use a larger epsilon"
)


def rule_of_slopes(K):
    """Return the GroupRule of K coefficients."""
    return GroupRule(noise=3.0 * math.sqrt(K), least=PERSONS * K)


class LinearModel(
    WeightsMixin, ResultsMixin, ExplainedVarianceMixin, RegressorMixin, PrivateEstimator
):
    """Base of linear regressions; ``alpha``, where it is a parameter, is a ridge penalty."""

    _target = "number"
    _weighs_groups = True
    n_steps_ = Renamed("n_iter_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "fit_intercept": ["boolean"],
        "extrapolate": ["boolean"],
        "target_range": ["array-like", tuple, None],
        "feature_range": ["array-like", tuple, None],
    }

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        plan = line_plan(
            self._budget(Budget.gaussian), fit_intercept=self.fit_intercept, robust=True
        )
        return replace(plan, assumptions=(*plan.assumptions, SHRUNK, FEW))

    def _doubt_numbers(self, curator):
        """Doubt no more: the release has named the slopes that are not reliable."""

    def _group_rule(self, n_features):
        return rule_of_slopes(n_features)

    def _check_public(self, n_features):
        known_ranges(self.feature_range, self.target_range, n_features)

    def _release(self, table):
        d = table.n_features - 1
        line = private_line(
            table,
            known=known_ranges(self.feature_range, self.target_range, d),
            alpha=getattr(self, "alpha", 0.0),
            extrapolate=self.extrapolate,
            fit_intercept=self.fit_intercept,
            robust=True,
        )
        values, noise, sampling = coefficients(line, d)
        away = self._away(line, d)
        if line.squares is not None:
            z = noise_quantile(CONFIDENCE, "gaussian")
            low, high = _ends(away, z) if line.squares.told else (-z * noise, z * noise)
            table.doubt(WIDE, columns=(high - low)[:-1] / 2 * spread(line) > 1)
        return {
            "coef_": values[:-1],
            "intercept_": float(values[-1]) if self.fit_intercept else 0.0,
            "noise_scale_": noise[:-1],
            "intercept_noise_scale_": float(noise[-1]) if self.fit_intercept else 0.0,
            "sampling_noise_scale_": sampling[:-1],
            "intercept_sampling_noise_scale_": float(sampling[-1]) if self.fit_intercept else 0.0,
            "n_rows_": line.n_rows,
            "n_iter_": line.n_steps,
            "target_range_": tuple(np.nan_to_num([line.low, line.high]).tolist()),
            "feature_range_": np.nan_to_num(line.feature_range(d)),
            **away,
        }

    def _away(self, line, d):
        """Return the attributes that tell how far least squares are."""
        told = np.array(from_least_squares(line, d))
        if not self.fit_intercept:
            told[:, -1] = 0.0
        return named(told, "least_squares")

    @apply_batched
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
        X = validate_data(self, numbers_of_dates(X), dtype=np.float64, reset=False)
        if not self.extrapolate:
            X = np.clip(X, *self.feature_range_)
        with np.errstate(all="ignore"):
            y = np.clip(np.nan_to_num(X @ self.coef_ + self.intercept_), -LARGEST, LARGEST)
        return y if self.extrapolate else np.clip(y, *self.target_range_)

    def interval(self, confidence=0.95, *, sampling=False):
        """Return intervals for the coefficients and the intercept of plain least squares.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        sampling : bool, default=False
            Whether they are to cover least squares of the population that the rows were drawn from,
            of any law, instead of those of these rows. With a penalty: a ridge.

        Returns
        -------
        low, high : ndarray of shape (n_features + 1,)
            The intercept is last. They reach from the coefficients to ``least_squares_shift_``
            beside them, and at either end further by ``least_squares_noise_scale_`` and 0.3 times
            ``least_squares_excess_``. With ``sampling`` by ``least_squares_scale_``, or
            ``sampling_noise_scale_`` where that is larger, and all of the excess. Infinite where
            nothing is told.

            They miss what a handful of rows make that nobody can see: one typing error that bends
            the line of a whole table, or a target that is one number in all but a few rows.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        z = noise_quantile(confidence, "gaussian")
        middle = np.append(self.coef_, self.intercept_)
        low, high = _ends(vars(self), z)
        if sampling:
            classical = np.append(self.sampling_noise_scale_, self.intercept_sampling_noise_scale_)
            half = z * self.least_squares_scale_ + self.least_squares_excess_
            half, shift = np.maximum(half, z * classical), self.least_squares_shift_
            low, high = np.minimum(shift, 0.0) - half, np.maximum(shift, 0.0) + half
        return middle + low, middle + high

    def noise_interval(self, confidence=0.95):
        """Return intervals for what the line would be without noise, narrower than ``interval``.

        Parameters
        ----------
        confidence : float, default=0.95

        Returns
        -------
        low, high : ndarray of shape (n_features + 1,)
            Of ``coef_`` and ``intercept_``, the last, and their ``noise_scale_``: normal, centred,
            infinite where the line is flat. The line of the bulk of the rows, not least squares:
            far rows have less weight in it, and long gradients are clipped.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        middle = np.append(self.coef_, self.intercept_)
        half = np.append(self.noise_scale_, self.intercept_noise_scale_)
        half *= noise_quantile(confidence, "gaussian")
        return middle - half, middle + half

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = False
        tags.regressor_tags.poor_score = True
        return tags


def _ends(away, z):
    """Return how far below and above a line least squares of its rows are."""
    return ends(z, *(away[f"least_squares_{name}_"] for name in ("shift", "noise_scale", "excess")))
