"""Scorers of reports and of targets, and which scorer a name stands for."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from sklearn.utils import get_tags

from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._curves import Curves
from skdp.metrics._rates import Mean
from skdp.metrics._regression_report import PrivateRegressionReport
from skdp.model_selection._scorers import (
    AccuracyScorer,
    DistanceScorer,
    LogDensityScorer,
    RowScorer,
    ScaledScorer,
    by_row,
)
from skdp.readers._target import column_of
from skdp.utils._numbers import plain_fields

OF_CLASSES = {"roc_auc": 1, "brier_score": -1, "log_loss": -1, "accuracy": 1}
OF_NUMBERS = {"mean_absolute_error": -1, "mean_squared_error": -1, "r2": 1}


@dataclass(frozen=True)
class ReportScorer:
    """A metric of a private report of the held-out rows; losses with a minus sign.

    Every run has a report of its own: a :class:`skdp.metrics.PrivateClassifierReport` of the
    probabilities that the model gives to the held-out rows, or of numbers a
    :class:`skdp.metrics.PrivateRegressionReport`. That of the winner is ``best_report_``. No
    reference and no range is needed.

    Parameters
    ----------
    metric : str, default="roc_auc"
        Of classes "roc_auc", "brier_score", "log_loss" or "accuracy"; of numbers
        "mean_absolute_error", "mean_squared_error" or "r2".

    See Also
    --------
    skdp.PrivateSearchCV, skdp.metrics.PrivateClassifierReport

    Notes
    -----
    **Privacy**: a report is a private fit to the held-out rows with the budget of a run. The model
    is asked about one row at a time, so a row of the report knows no other row. A row on which it
    fails counts as one that is predicted as badly as can be; a row of a class that the model does
    not know is left out, as is a row without a label.

    Examples
    --------
    >>> from skdp import PrivateLogisticRegression, PrivateSearchCV
    >>> from skdp.model_selection import ReportScorer
    >>> model = PrivateLogisticRegression(classes=[0, 1])
    >>> search = PrivateSearchCV(model, {"C": [0.1, 1.0]}, scoring=ReportScorer("log_loss"))
    >>> search.plan().problems
    ()
    """

    metric: str = "roc_auc"

    uses_target, needs_reference = True, False

    def __post_init__(self):
        plain_fields(self, "metric")
        known = (*OF_CLASSES, *OF_NUMBERS)
        if self.metric not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"metric must be one of {names}. Pass one of these names.")

    def prepare(self, reference, X, y, curator):
        """Return ``score(model)`` -> a pair of predictions of the rows, and classes or None."""

        def score(model):
            if self.metric in OF_NUMBERS:
                return by_row(partial(_prediction, model), X, y), None
            classes = np.asarray(model.classes_)
            told = by_row(partial(_probabilities, model), X, y, width=len(classes))
            return _worst_where_missing(told, column_of(y), classes), classes

        return score

    def released_report(self, model, released, budget, seed):
        """Return a report with what was released for it, None if that is nothing."""
        if not released:
            return None
        report = self.report((None, getattr(model, "classes_", None)), budget, seed)
        told = {**released, "metric_names_": list(released["metric_names_"])}
        if "curves_" in told:
            told["curves_"] = [Curves(**one) for one in told["curves_"]]
        else:
            told["means_"] = {name: Mean(**one) for name, one in told["means_"].items()}
        vars(report).update(told)
        return report

    def state(self, report):
        """Return what a fitted report has released as plain data, that of None is empty."""
        if report is None:
            return {}
        given = report.get_params(deep=False)
        told = {name: value for name, value in vars(report).items() if name not in given}
        if "curves_" in told:
            told["curves_"] = [asdict(one) for one in told["curves_"]]
        else:
            told["means_"] = {name: asdict(one) for name, one in told["means_"].items()}
        return told

    def report(self, told, budget, seed):
        """Return the unfitted report of what ``prepare`` has told, None if there is nothing."""
        given = {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
        given["random_state"] = seed
        if self.metric in OF_NUMBERS:
            return PrivateRegressionReport(metrics=[self.metric], quantiles=[], **given)
        classes = told[1].tolist()
        return PrivateClassifierReport(classes=classes, **given) if len(classes) > 1 else None

    def of(self, report):
        """Return the score that a fitted report tells, NaN for None."""
        if report is None:
            return np.nan
        sign = (OF_CLASSES | OF_NUMBERS)[self.metric]
        return sign * float(report._rate(self.metric).value)

    def value(self, score):
        """Return the score itself, NaN if nothing is known of it."""
        return score if math.isfinite(score) else math.nan


def _prediction(model, x, _):
    return float(model.predict(x)[0])


def _probabilities(model, x, _):
    return model.predict_proba(x)[0]


def _worst_where_missing(scores, y, classes):
    """Return probabilities, of rows that have none those that are worst for their label."""
    failed = np.isnan(scores).any(axis=1)
    others = y[failed, None] != classes
    scores[failed] = others / np.maximum(others.sum(axis=1, keepdims=True), 1)
    return scores


def _log_probability(model, x, y):
    (place,) = np.flatnonzero(model.classes_ == y)  # or ValueError: a class that it does not know
    return math.log(max(float(model.predict_proba(x)[0, place]), 1e-300))


@dataclass(frozen=True)
class LogLossScorer(RowScorer):
    """The mean log-probability of the true classes, minus the log-loss, each row at least -4.

    A :class:`RowScorer` whose ``function`` is the logarithm of what ``predict_proba`` gives the
    row's class, with ``high`` 0 and ``uses_target`` True. A class that the model does not know
    counts as ``low``.

    Parameters
    ----------
    low : float, default=-4.0
        Public clip: a row is never worth less. exp(-4) is about 2 %.

    See Also
    --------
    skdp.PrivateSearchCV, AccuracyScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp.model_selection import LogLossScorer
    >>> scorer = LogLossScorer()
    >>> scorer.low, scorer.high, scorer.uses_target
    (-4.0, 0.0, True)
    """

    function: Callable = _log_probability
    low: float = -4.0
    high: float = 0.0
    uses_target: bool = True


@dataclass(frozen=True)
class SquaredErrorScorer(ScaledScorer):
    """One minus the mean squared error of predictions, in units of ``scale``, each row up to 1.

    Parameters
    ----------
    scale : float, default=None
        Public error from which on a row counts as not predicted. By default the width of the
        estimator's ``target_range``; if it has none, the scale is found privately, once, before the
        runs: nine rows in ten are predicted better than that by a reference model, the first
        candidate.

    See Also
    --------
    skdp.PrivateSearchCV, RowScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp.model_selection import SquaredErrorScorer
    >>> SquaredErrorScorer().needs_reference, SquaredErrorScorer(scale=10.0).needs_reference
    (True, False)
    """

    uses_target = True

    def _errors(self, model, X, y):
        return by_row(partial(_error, model), X, y)


def with_public_scale(scorer, estimator):
    """Return the scorer, of squared errors with the scale that ``target_range`` implies."""
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    ends = getattr(last, "target_range", None)
    if not isinstance(scorer, SquaredErrorScorer) or scorer.scale is not None or ends is None:
        return scorer
    low, high = (float(end) for end in ends)
    return SquaredErrorScorer(high - low)


def _error(model, x, y):
    return abs(float(model.predict(x)[0]) - float(y))


SCORERS = {
    "accuracy": AccuracyScorer,
    "distance": DistanceScorer,
    "log_density": LogDensityScorer,
    "neg_log_loss": LogLossScorer,
    "neg_squared_error": SquaredErrorScorer,
    "r2": partial(ReportScorer, "r2"),
    "roc_auc": ReportScorer,
    "neg_brier_score": partial(ReportScorer, "brier_score"),
    "neg_mean_absolute_error": partial(ReportScorer, "mean_absolute_error"),
}
OWN = RowScorer, ScaledScorer, LogDensityScorer, ReportScorer
BY_TYPE = {"classifier": "accuracy", "regressor": "neg_squared_error"}


def own_scorer_notes(scoring):
    """Return what a plan says of a scorer that is not one of these, nor a RowScorer."""
    if scoring is None or isinstance(scoring, (str, *OWN)):
        return ()
    return (
        f"scoring {type(scoring).__name__}: on your promise that the score of a row depends on "
        "that row and the model alone; a RowScorer is given one row at a time",
    )


def scorer_of(scoring, estimator):
    """Return the scorer that a ``scoring`` parameter stands for."""
    if scoring is None:
        density = "log_density" if hasattr(estimator, "score_samples") else "distance"
        scoring = BY_TYPE.get(get_tags(estimator).estimator_type, density)
        if scoring == "accuracy" and hasattr(estimator, "predict_proba"):
            scoring = "roc_auc"
    scorer = SCORERS[scoring]() if isinstance(scoring, str) else scoring
    return with_public_scale(scorer, estimator)
