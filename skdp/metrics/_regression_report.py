"""How good a regression is on private rows: losses, residuals, and coverage of its intervals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan, Step, part_of
from skdp.columns import rank_steps
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import JUDGED
from skdp.kernel._table import Table
from skdp.kernel._terms import ClassCounts
from skdp.kernel.applied._scores import LossColumn
from skdp.location._column_strategies import QuietTable
from skdp.location._mean import mean_plan, private_mean
from skdp.location._rank_release import release_quantiles
from skdp.metrics._rates import (
    ABSOLUTE,
    R2,
    SQUARED,
    Mean,
    MetricNumbers,
    has_tail,
    loss_rates,
    part_of_rows,
)
from skdp.metrics._reports import ByGroupMixin, as_scores, with_keys_of
from skdp.scales._column_noise import check_confidence, check_sampling
from skdp.utils._numbers import stores_parameters

MIDDLE, RESIDUALS, COVERED = "target median", "residuals", "covered"
SHARES = {MIDDLE: Fraction(1, 20), RESIDUALS: Fraction(3, 20), COVERED: Fraction(1, 20)}
METRICS = ABSOLUTE, SQUARED, R2
LENGTHS = {SQUARED: ABSOLUTE, "spread": "target"}  # whose tails are seen better than of squares
TENTH = 0.1


class PrivateRegressionReport(ByGroupMixin, MetricNumbers, PrivateEstimator):
    """How good predictions of numbers are on private rows, without bounds on targets.

    Mean absolute and squared error, quantile losses, R2, quantiles of residuals, and how many
    targets lie in intervals that a model has told. The mean absolute error is known best: R2 rests
    on two means of squares and is weak below some 10,000 rows. A loss with a tail that is heavy, or
    may be unseen, has an interval without an upper end.

    Parameters
    ----------
    metrics : list of str, default=("mean_absolute_error", "mean_squared_error", "r2")
        Those that the budget is divided among.
    quantiles : list of float, default=(0.1, 0.5, 0.9)
        Of the residuals ``y_true - y_pred``, each between 0 and 1.
    quantile_losses : list of float, default=()
        Levels of which the mean quantile (pinball) loss is released.
    with_interval : bool, default=False
        Whether predictions have three columns: the prediction, and the ends of an interval, whose
        coverage is released.
    by : str, int or list of one or two, default=None
        Columns of the predictions that tell the group of a row, by name or number: a report of each
        group, for the price of one (:class:`skdp.PrivateGroupBy`), in ``group_reports_`` alone.
    levels : list, default=None
        With ``by``: public groups, of two columns pairs; None finds them for a tenth of the budget.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    mean_absolute_error_ : float
        NaN where nothing is known of it, as for the attributes below.
    mean_squared_error_ : float
    r2_ : float
        One less the mean squared error over the variance of the targets.
    quantile_losses_ : ndarray of shape (n_losses,)
    residual_quantiles_ : ndarray of shape (n_quantiles,)
    coverage_ : float
        With ``with_interval``: the part of targets in their intervals; else NaN.
    metric_names_ : list of str
        Names of the numbers in ``scores_``, which ``results()`` lists.
    scores_ : ndarray of shape (n_metrics,)
    n_rows_ : float
        Released number of rows.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    group_reports_ : GroupReports
        With ``by``, in place of the attributes above: the report of each group, and differences
        between them.
    n_features_in_ : int
        Number of columns of predictions.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the predictions have names that are strings.

    See Also
    --------
    PrivateClassifierReport : Of classes.
    skdp.PrivateMean : What the losses are released by.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row of targets and
    predictions; the number of rows is private. With ``groups`` one row of each person is read, and
    persons are protected. Every loss is a function of one row, so its mean is that of a column:
    :class:`skdp.PrivateMean` and :class:`skdp.PrivateQuantile`, under shares of one budget.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import PrivateRegressionReport
    >>> rng = np.random.default_rng(0)
    >>> prediction = rng.normal(size=20000)
    >>> y = prediction + 0.5 * rng.normal(size=20000)
    >>> report = PrivateRegressionReport().fit(y, prediction)
    >>> abs(report.mean_absolute_error_ - 0.4) < 0.05
    True
    """

    _target = "number"

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        **ByGroupMixin._by_constraints,
        "metrics": ["array-like"],
        "quantiles": ["array-like"],
        "quantile_losses": ["array-like"],
        "with_interval": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        metrics=METRICS,
        quantiles=(0.1, 0.5, 0.9),
        quantile_losses=(),
        with_interval=False,
        by=None,
        levels=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def _levels(self, name):
        q = np.asarray(getattr(self, name), dtype=np.float64).reshape(-1)
        if not ((q > 0) & (q < 1)).all():
            raise ValueError(f"{name} must lie between 0 and 1, as in {name}=[0.1, 0.9].")
        return q

    def _means(self):
        """Return what means are released: (name, loss), by label of its step."""
        if not set(self.metrics) <= set(METRICS) or not self.metrics:
            raise ValueError(f"metrics must be some of {', '.join(map(repr, METRICS))}.")
        means, squared = {}, {SQUARED, R2} & set(self.metrics)
        if ABSOLUTE in self.metrics:
            means[ABSOLUTE] = LossColumn("absolute")
        if squared:
            means[SQUARED] = LossColumn("squared")
        for q in self._levels("quantile_losses"):
            means[f"quantile_loss of {q:g}"] = LossColumn("pinball", float(q))
        if R2 in self.metrics:
            means |= {"target": LossColumn("target"), "spread": LossColumn("target squared")}
        return means

    def _shares(self):
        shares = {name: share for name, share in SHARES.items() if self._asks(name)}
        means = self._means()
        each = (1 - sum(shares.values())) / len(means)
        return {**shares, **dict.fromkeys(means, each)}

    def _asks(self, name):
        asked = {
            MIDDLE: R2 in self.metrics,
            RESIDUALS: len(self._levels("quantiles")) > 0,
            COVERED: self.with_interval,
        }
        return asked[name]

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        if self.by is not None:
            return self._split().plan()
        budget, steps, events = self._budget(Budget.gaussian), [], []
        for name, share in self._shares().items():
            part = part_of(budget, share, "gdp")
            if name == COVERED:
                steps.append(Step(COVERED, at_most=share, of=(ClassCounts,)))
                continue
            if name in (MIDDLE, RESIDUALS):
                inner = Plan(part, rank_steps(part, bounded=False))
            else:
                inner = mean_plan(part)
            steps.append(Step(name, "child", at_most=share))
            steps += [replace(step, label=f"{name}/{step.label}") for step in inner.steps]
            events += [(f"{name}/{event}", p) for event, p in inner.failure_events]
        return Plan(budget, tuple(steps), tuple(events))

    def fit(self, y_true, y_pred=None, *, groups=None):
        """Release the metrics of predictions of private rows.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or str
            Targets; or the name of a column of ``y_pred``, which is then no prediction.
        y_pred : array-like of shape (n_samples,) or (n_samples, 3)
            Predictions; with ``with_interval`` beside the ends of their intervals, with ``by``
            beside the columns of groups.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is. With it one person, with all rows, is protected; one row of each
            is read.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            For predictions and targets that do not fit each other, before any charge.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        """
        if isinstance(y_true, Table):
            return super().fit(y_true)
        X, y = as_scores(y_true, y_pred)
        return self._fit_report(X, y, groups)

    @classmethod
    def from_estimator(cls, model, X, y, *, groups=None, **parameters):
        """Return a fitted report of a fitted model on private rows.

        Parameters
        ----------
        model : regressor
            With ``predict``.
        X, y : array-like
            Private rows and their targets, which the model was not fitted on; ``by`` names columns
            of X.
        groups : array-like of shape (n_samples,), default=None
        **parameters : dict
            Of the report, for instance ``epsilon``.

        Returns
        -------
        report : PrivateRegressionReport

        Notes
        -----
        **Privacy**: of the table of predictions. Many models predict all rows in one product of
        matrices, whose last bits may depend on the number of rows. Pass predictions that were made
        row by row where that matters.
        """
        told, by = with_keys_of(X, parameters.get("by"), np.asarray(model.predict(X)))
        return cls(**{**parameters, "by": by}).fit(y, told, groups=groups)

    def _check_public(self, n_features):
        self._levels("quantiles")
        wanted = 3 if self.with_interval else 1
        if n_features != wanted:
            raise ValueError(
                f"predictions have {wanted} columns here. Got {n_features}. Pass y_pred of one "
                "column, or with_interval=True and the columns prediction, low and high."
            )

    def _release(self, table):
        shares, covered = self._shares(), None
        budget = table.budget
        if self.with_interval:
            counts = table.map(LossColumn("covered")).ask(
                ClassCounts(2), share=shares[COVERED], label=COVERED
            )
            covered = part_of_rows(counts)
        paid = {
            name: table.child(name, share, budget=part_of(budget, share, "gdp"))
            for name, share in shares.items()
            if name != COVERED
        }
        middle = 0.0
        if MIDDLE in paid:
            target = QuietTable(paid[MIDDLE].map(LossColumn("target")))
            value, *_ = release_quantiles(target, [0.5])
            middle = float(value[0, 0])
        residuals = np.empty(0), None
        if RESIDUALS in paid:
            view = QuietTable(paid[RESIDUALS].map(LossColumn("residual")))
            value, _, curves = release_quantiles(view, self._levels("quantiles"))
            low, high = curves.interval(value, JUDGED, "gaussian")
            unknown = np.isinf(low) & np.isinf(high)
            residuals = np.where(unknown, np.nan, value)[:, 0], curves
        means, told = {}, {}
        for name, loss in self._means().items():
            loss = replace(loss, at=middle) if name in ("target", "spread") else loss
            mean = private_mean(QuietTable(paid[name].map(loss)))
            told[name] = mean
            heavy = has_tail(mean, told.get(LENGTHS.get(name), mean))
            means[name] = Mean.of(
                mean, signed=name == "target", squares=name in LENGTHS, heavy=heavy
            )
        fitted = {"means_": means, "covered_": covered, "residual_curves_": residuals[1]}
        fitted["residual_quantiles_"] = residuals[0]
        rates = loss_rates(fitted)
        fitted["n_rows_"] = float(np.mean([mean.n for mean in means.values()]))
        fitted["metric_names_"] = list(rates)
        fitted["scores_"] = np.array([rate.value for rate in rates.values()])
        for name in METRICS:
            fitted[f"{name}_"] = float(rates[name].value) if name in rates else np.nan
        fitted["coverage_"] = float(rates["coverage"].value) if self.with_interval else np.nan
        losses = [rate.value for name, rate in rates.items() if name.startswith("quantile_loss")]
        fitted["quantile_losses_"] = np.array(losses)
        return fitted

    def _rates(self):
        self._told()
        return loss_rates(vars(self))

    def residual_interval(self, confidence=0.95, *, sampling=False):
        """Return intervals of ``residual_quantiles_``.

        Parameters
        ----------
        confidence : float, default=0.95
            Of each quantile by itself.
        sampling : bool, default=False
            Whether they are to cover the population.

        Returns
        -------
        low, high : ndarrays of shape (n_quantiles,)
        """
        check_is_fitted(self)
        check_confidence(confidence)
        check_sampling(sampling)
        value = np.nan_to_num(self.residual_quantiles_)[:, None]
        if self.residual_curves_ is None:
            return np.empty(0), np.empty(0)
        ends = self.residual_curves_.interval(value, confidence, "gaussian", sampling)
        return tuple(end[:, 0] for end in ends)

    def _spread(self):
        """Return a tenth of each error, and of the way from no R2 to a perfect one."""
        known = {"r2": TENTH, "coverage": TENTH / 2}
        values = zip(self.metric_names_, np.nan_to_num(self.scores_), strict=True)
        return np.array([known.get(name, TENTH * abs(value)) for name, value in values])

    def _possible(self):
        least = [-np.inf if name == "r2" else 0.0 for name in self.metric_names_]
        most = [1.0 if name in ("r2", "coverage") else np.inf for name in self.metric_names_]
        return np.array(least), np.array(most)
