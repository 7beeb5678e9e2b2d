"""Cross-validation under one total: fits on all folds but one, reports on the fold left out."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.accounting import Budget, Plan, Step, part_of
from skdp.accounting._ledger import ledger_within
from skdp.by_group import PrivateGroupBy
from skdp.estimator._results import lines_of
from skdp.mechanisms import make_entropy
from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._regression_report import METRICS, PrivateRegressionReport
from skdp.metrics._reports import LabelledRows, probabilities_of
from skdp.rowwise._map import each_row
from skdp.table._groups import without_groups
from skdp.table._levels import public_classes
from skdp.table._split_target import split_target
from skdp.utils._config import config_context
from skdp.utils._warnings import untold, warn_together

ALL, ALONE = "models and scores", "scores alone"
PIECES = (
    "rows that are read in pieces go to a private model, which reads them as they are. Pass a "
    "private model, or a table in memory."
)
NO_NUMBERS = (
    "the model gives NaN or infinity to rows that it has not seen. Let it tell a number for every "
    "row, as by an imputer before it."
)
ROUNDING = Fraction(1, 10**6)  # of a share: parts of a budget are rounded
OF_CLASSES = "roc_auc", "brier_score", "log_loss", "accuracy", "precision", "recall", "f1"


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of the folds of :func:`private_cross_val_score`.

    Parameters
    ----------
    metric : str
    fitted : PrivateGroupBy
        Of the report of each fold.
    plan : Plan
        How the budget was divided.
    protects : {"models and scores", "scores alone"}
        What the guarantee covers: of an ordinary model that sees rows, its scores alone.
    models : list
        The fitted models.

    See Also
    --------
    private_cross_val_score

    Notes
    -----
    **Privacy**: scores are released numbers; models are if they are private.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skdp.metrics import private_cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(9000, 2))
    >>> result = private_cross_val_score(LogisticRegression(), X, X[:, 0] > 0, cv=3)
    >>> result.scores.shape, result.protects
    ((3,), 'scores alone')
    """

    metric: str
    fitted: PrivateGroupBy = field(repr=False)
    plan: Plan = field(repr=False)
    protects: str
    models: list = field(repr=False)

    def __str__(self):
        low, high = self.interval()
        folds = ", ".join(f"{score:.4g}" for score in self.scores)
        return (
            f"{self.metric} {self.mean:.4g} ({low:.4g} to {high:.4g}, 95 %), the mean of "
            f"{len(self.scores)} folds: {folds}\n{self.protects} are protected"
        )

    @property
    def scores(self):
        """The score of each fold, an ndarray of shape (cv,); NaN where nothing is known."""
        return np.array([report._rate(self.metric).value for report in self._reports])

    @property
    def mean(self):
        """The mean of the scores of the folds: float."""
        return float(self.scores.mean())

    @property
    def accuracy_warnings_(self):
        """What has low accuracy, why, and what helps: tuple of str, empty if nothing has."""
        folds: dict[str, list[int]] = {}
        for k, model in enumerate(self.models):
            for text in getattr(model, "accuracy_warnings_", ()):
                folds.setdefault(text, []).append(k)
        told = [f"fitted without {_listed(which)}: {text}" for text, which in folds.items()]
        lines = [line for report in self._reports for line in lines_of(report, 0.95, {})]
        if not all(line["reliable"] for line in lines if line["variable"] == self.metric):
            low, high = self.interval()
            told.append(
                f"the mean of {self.metric} is known only to lie between {low:.3g} and {high:.3g}. "
                "Use a larger epsilon or more rows"
            )
        return tuple(told)

    @property
    def _reports(self):
        return list(self.fitted.estimators_.values())

    def interval(self, confidence=0.95, *, sampling=False):
        """Return an interval of the mean over folds.

        Parameters
        ----------
        confidence : float, default=0.95
        sampling : bool, default=False
            Whether it is to cover the mean of the scores that the fitted models have in the
            population, instead of those on these rows.

        Returns
        -------
        low, high : float
            The distances of ends of folds, whose noise is independent, add up in squares.
        """
        given = {"confidence": confidence, "sampling": sampling}
        ends = np.array([report.interval(self.metric, **given) for report in self._reports])
        value = self.scores
        if not np.isfinite(value).all():
            return -np.inf, np.inf
        below, above = np.linalg.norm([value - ends[:, 0], ends[:, 1] - value], axis=1) / len(value)
        return float(self.mean - below), float(self.mean + above)


def cross_val_plan(model, *, cv=5, epsilon=1.0, delta=1e-6, fit_share=0.8):
    """Return how a cross-validation divides its budget, without any data.

    Parameters
    ----------
    model : estimator
        Private, with a parameter ``ledger``, or an ordinary one.
    cv : int, default=5
    epsilon : float, default=1.0
    delta : float, default=1e-6
    fit_share : float, default=0.8
        Part of the budget of all fits together, of a private model; scores have the rest.

    Returns
    -------
    plan : Plan
        Fits add up, as a row is in most of them; the reports of disjoint folds cost what one costs.

    See Also
    --------
    private_cross_val_score

    Notes
    -----
    **Privacy**: reads no rows.

    Examples
    --------
    >>> from skdp import PrivateLogisticRegression
    >>> from skdp.metrics import cross_val_plan
    >>> plan = cross_val_plan(PrivateLogisticRegression(), cv=4)
    >>> [(step.label, float(step.at_most), step.times) for step in plan.steps]
    [('fit', 0.2, 4), ('reports', 0.2, 1)]
    """
    if not (isinstance(cv, int | np.integer) and cv >= 2):
        raise ValueError("cv must be a whole number of folds, 2 at least, as in cv=5.")
    if not 0 < fit_share < 1:
        raise ValueError("fit_share must lie between 0 and 1, as in fit_share=0.8.")
    budget = Budget.gaussian(epsilon, delta)
    if not _is_private(model):
        return Plan(budget, (Step("reports", "child"),))
    share = Fraction(str(fit_share))
    fits = Step("fit", "child", at_most=share / cv, times=cv)
    return Plan(budget, (fits, Step("reports", "child", at_most=1 - share)))


def private_cross_val_score(
    model,
    X,
    y,
    *,
    cv=5,
    scoring="roc_auc",
    classes=(0, 1),
    fit_share=0.8,
    epsilon=1.0,
    delta=1e-6,
    random_state=None,
    ledger=None,
    groups=None,
):
    """Return the scores of a model by cross-validation, under one total budget.

    Parameters
    ----------
    model : estimator
        Private, or an ordinary one: then scores alone are protected, and the result says so.
    X : array-like of shape (n_samples, n_features)
        An array or a frame; for a private model also what is read in pieces, as for its ``fit``.
    y : array-like of shape (n_samples,) or str
        Or the name of a column of X.
    cv : int, default=5
        Number of folds. Every row draws its fold by itself, with ``groups`` every person: a fold by
        its place would move with each row before it.
    scoring : str, default="roc_auc"
        Of classifiers "roc_auc", "brier_score", "log_loss", "accuracy", "precision", "recall" or
        "f1"; of regressors "mean_absolute_error", "mean_squared_error" or "r2".
    classes : array-like, default=(0, 1)
        All labels of a classifier, public.
    fit_share : float, default=0.8
        Part of the budget of all fits of a private model together.
    epsilon : float, default=1.0
        Privacy parameter, > 0, of all fits and scores together.
    delta : float, default=1e-6
        Privacy parameter in (0, 1).
    random_state : int, default=None
        None draws noise and folds from the operating system. An integer makes the result
        reproducible and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that the whole is charged to before the rows are read.
    groups : array-like of shape (n_samples,) or str, default=None
        Whose row each row is. With it one person, with all rows, is protected, and is in one fold
        with all rows; one row of each is scored.

    Returns
    -------
    result : CrossValidation
        ``result.scores``, ``result.mean``, ``result.interval()``, ``result.plan``.

    See Also
    --------
    cross_val_plan : How the budget is divided.
    PrivateClassifierReport : Of one model and one set of rows.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, of private
    models. Folds are drawn by row, independent of all other rows, so neighboring tables have
    neighboring folds. Fits compose one after the other; the reports of disjoint folds are parallel.
    A private model is asked about one row at a time, so a score knows no other row.
    With ``groups`` the same holds for persons. An ordinary model is fitted before the charge, so
    what it refuses costs nothing; it tells of its training rows whatever it tells: only what the
    scores say of the fold that is left out is protected.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateLogisticRegression
    >>> from skdp.metrics import private_cross_val_score
    >>> X = np.random.default_rng(0).normal(size=(6000, 2))
    >>> model = PrivateLogisticRegression(classes=[False, True])
    >>> result = private_cross_val_score(model, X, X[:, 0] > 0, cv=2, epsilon=4.0)
    >>> bool(result.mean > 0.9), result.protects
    (True, 'models and scores')
    """
    plan = cross_val_plan(model, cv=cv, epsilon=epsilon, delta=delta, fit_share=fit_share)
    report, private = _report_of(scoring, classes), _is_private(model)
    X, groups = without_groups(X, groups)
    X, y = split_target(X, y)
    rows = LabelledRows.of(X, y, report, groups)
    if private and hasattr(model, "_look"):
        clone(model)._look(X, y)
    elif rows.tables is not None:
        raise ValueError(PIECES)
    folds = rows.folds(make_entropy(random_state).words(rows.n_owners) % np.uint64(cv))
    parts = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(cv)]
    scores = np.zeros((len(rows.y), 1 if scoring in METRICS else _columns(classes)))
    models = [] if private else _ordinary(model, rows, parts, scoring, classes, scores)
    budget, unit = plan.budget, "row" if groups is None else "group"
    if ledger is not None:
        budget = ledger.admit(budget)
    total = ledger_within(budget, unit)
    if private:  # a model without a price is refused before the charge
        total.affords(_granted(clone(model), plan, total, random_state, 0).plan().budget, unit)
    if ledger is not None:
        seeded = random_state is not None
        ledger.charge(budget, "private_cross_val_score", seeded=seeded, unit=unit)
    for k, (inside, left_out) in enumerate(parts if private else ()):
        one = _granted(clone(model), plan, total, random_state, k)
        with untold(), config_context(invalid_rows="ignore"):  # a fold may be empty
            models.append(one.fit(rows.some(inside), rows.y[inside], **rows.owners(inside)))
        scores[left_out] = _predicted(one, rows, left_out, scoring, classes)
    part = _part(plan, "reports")
    reports = PrivateGroupBy(
        report,
        by=0,
        levels=list(range(cv)),
        epsilon=float(part.epsilon),
        delta=float(part.delta),
        ledger=total,
        random_state=random_state,
    )
    everybody = np.arange(len(rows.y))
    with untold():
        fitted = reports.fit(np.column_stack([folds, scores]), rows.y, **rows.owners(everybody))
    result = CrossValidation(scoring, fitted, plan, ALL if private else ALONE, models)
    warn_together("private_cross_val_score", result.accuracy_warnings_)
    return result


def _listed(folds):
    return f"fold{'s' if len(folds) > 1 else ''} {', '.join(map(str, folds))}"


def _ordinary(model, rows, parts, scoring, classes, scores):
    """Return fitted ordinary models, and fill their scores: what fails, fails before a charge."""
    models = []
    for inside, left_out in parts:
        models.append(clone(model).fit(rows.some(inside), rows.y[inside]))
        scores[left_out] = _predicted(models[-1], rows, left_out, scoring, classes)
    if not np.isfinite(scores).all():
        raise ValueError(NO_NUMBERS)
    return models


def _columns(classes):
    k = len(public_classes(classes))
    return 1 if k == 2 else k


def _is_private(model):
    return hasattr(model, "get_params") and "ledger" in model.get_params(deep=False)


def _report_of(scoring, classes):
    if scoring in METRICS:
        return PrivateRegressionReport(metrics=[scoring], quantiles=[])
    if scoring not in OF_CLASSES:
        names = ", ".join(map(repr, (*OF_CLASSES, *METRICS)))
        raise ValueError(f"scoring must be one of {names}. Pass one of these names.")
    return PrivateClassifierReport(classes=classes)


def _part(plan, label):
    """Return the budget of one of the steps of a plan, a little less for rounding."""
    [step] = [step for step in plan.steps if step.label == label]
    return part_of(plan.budget, Fraction(step.at_most) * (1 - ROUNDING), "gdp")


def _granted(model, plan, ledger, random_state, k):
    """Return a private model with its part of the budget."""
    part = _part(plan, "fit")
    given: dict[str, Any] = {"epsilon": float(part.epsilon), "ledger": ledger}
    parameters = model.get_params(deep=False)
    if "delta" in parameters:
        given["delta"] = float(part.delta)
    if random_state is not None and "random_state" in parameters:
        given["random_state"] = random_state + k + 1
    return model.set_params(**given)


def _predicted(model, rows, numbers, scoring, classes):
    """Return scores of rows that a model has not seen, a column for each class: local."""
    labels = [0] if scoring in METRICS else public_classes(classes, in_order=True)
    told = partial(_predictions if scoring in METRICS else probabilities_of, model, labels)
    told = partial(_each_alone, told, len(labels)) if _is_private(model) else told
    scores = rows.predicted(told, numbers, len(labels))
    return scores[:, 1:] if len(labels) == 2 else scores


def _each_alone(function, width, X):
    """Return what a function makes of every row: last bits of a product depend on its shape."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    return each_row(lambda row: function(row)[0], X, width=width)


def _predictions(model, _, X):
    return np.asarray(model.predict(X), dtype=float).reshape(-1, 1)
