"""How good a classifier is on private rows: all metrics of one release of its scores by class."""

from numbers import Integral

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import Table
from skdp.kernel.applied._scores import ConfusionCells
from skdp.metrics._curves import (
    CELLS,
    FINER,
    PLACES,
    bytes_of_a_column,
    logit_edges,
    release_curves,
)
from skdp.metrics._rates import all_rates
from skdp.metrics._report_methods import ReportMethods
from skdp.metrics._reports import ByGroupMixin, as_scores, scores_of, with_keys_of
from skdp.table._levels import coded_classes, public_classes
from skdp.utils._compat import Interval
from skdp.utils._numbers import stores_parameters

CONFUSED = Step("confusion", at_most=0.1, of=(ConfusionCells,))
ATTRIBUTES = "roc_auc", "brier_score", "log_loss"
OUTSIDE = (
    "scores are below 0 or above 1, so they are no probabilities, and nothing is said of them. "
    "Pass predict_proba, or scipy.special.expit(model.decision_function(X))."
)
FEW = (
    "too few rows of one class for this epsilon: nothing is said of the scores. Use a larger "
    "epsilon or more rows of that class."
)

TEXTS = "str", "string", "String"  # types of pandas and polars
LABELS = (
    "scores are probabilities, and these are text. Pass model.predict_proba(X), or labels to "
    "PrivateConfusionMatrix."
)


def _is_text(X):
    """Return whether a table has columns of text, by its types: no entry is looked at."""
    types = getattr(X, "dtypes", [getattr(X, "dtype", None)])
    return any(getattr(one, "kind", "") in tuple("UST") or str(one) in TEXTS for one in types)


class PrivateClassifierReport(ByGroupMixin, ReportMethods, PrivateEstimator):
    """How good a classifier is, from the scores that it gives to private rows.

    One release of the scores by class gives all metrics, each with an interval: the ROC curve and
    the area under it, precision and recall, confusion matrices, calibration, squared and
    logarithmic loss. Rates, curves and matrices come from the same released numbers and agree with
    one another. The model may be any: fitted by skdp, by another library, or a rule.

    Parameters
    ----------
    classes : array-like, default=(0, 1)
        All labels that y may have, public. Of two the second is the positive class. Of more,
        metrics are those of each class against the rest.
    n_bins : int, default=256
        Bins of scores, in equal steps of the logit from -10 to 10, which determine the resolution
        of thresholds.
    by : str, int or list of one or two, default=None
        Columns of the scores that tell the group of a row, by name or number: a report of each
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
    roc_auc_ : float
        Area under the ROC curve; of more than two classes the mean over classes against the rest.
        NaN where too few rows of a class are seen, as for the attributes below.
    brier_score_ : float
        Mean squared loss of the probabilities; of more than two classes its sum over classes.
    log_loss_ : float
        Mean logarithmic loss of the probabilities, whose logits are cut at -10 and 10; doubted
        where rows are seen beyond these on the wrong side.
    metric_names_ : list of str
        Names of the numbers in ``scores_``, which ``results()`` lists.
    scores_ : ndarray of shape (n_metrics,)
        Released metrics; those of a threshold at 0.5, or of the largest score of several classes.
    curves_ : list of Curves
        What was released of the scores, for each class against the rest; one for two classes.
    confusion_ : ndarray of shape (n_classes, n_classes) or None
        Of more than two classes: released numbers of rows by class and class of the largest score.
    classes_ : ndarray of shape (n_classes,)
    n_rows_ : float
        Released number of rows.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    group_reports_ : GroupReports
        With ``by``, in place of the attributes above: the report of each group, and differences
        between them.
    n_features_in_ : int
        Number of columns of scores.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the scores have names that are strings.

    See Also
    --------
    skdp.PrivateSearchCV : Choose among models.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row of labels and
    scores; the number of rows is private. With ``groups`` one row of each person is read, and
    persons are protected. The model is public, or its own fit has paid for its rows. Two Gaussian
    releases: numbers of rows by bin and class, in which prefix sums are least off, and sums of
    placements that the first tells to matter. Rows of two classes are disjoint, so both classes
    have one price. Of more than two classes one row counts in the curves of each, and those of K
    have ``sqrt(K)`` times the noise. Proof: user guide "Is my model good?".

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import PrivateClassifierReport
    >>> rng = np.random.default_rng(0)
    >>> logit = rng.normal(size=20000) * 2 - 1
    >>> y, score = rng.logistic(size=20000) < logit, 1 / (1 + np.exp(-logit))
    >>> report = PrivateClassifierReport().fit(y, score)
    >>> low, high = report.interval("roc_auc")
    >>> bool(low < report.roc_auc_ < high), abs(report.roc_auc_ - 0.865) < 0.01
    (True, True)
    """

    _target = "class"

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        **ByGroupMixin._by_constraints,
        "classes": ["array-like"],
        "n_bins": [Interval(Integral, 4, 4096, closed="both")],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        classes=(0, 1),
        n_bins=256,
        by=None,
        levels=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        if self.by is not None:
            return self._split().plan()
        steps = (CELLS, FINER, PLACES)
        steps = steps if self._is_binary() else (CONFUSED, *steps)
        return Plan(self._budget(Budget.gaussian), steps)

    def fit(self, y_true, y_score=None, *, groups=None):
        """Release the metrics of the scores of private rows.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or str
            Labels; or the name of a column of ``y_score``, which is then no score.
        y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities of the positive class, or of all classes in the order of ``classes``:
            an array, a frame, or what is read in pieces; with ``by`` the columns of groups too. The
            order (scores, labels) of estimators is understood where the scores have two dimensions.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is. With it one person, with all rows, is protected; one row of each
            is read.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            For scores and labels that do not fit ``classes`` or each other, before any charge.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        """
        if isinstance(y_true, Table):
            return super().fit(y_true)
        X, y = as_scores(y_true, y_score)
        if self.by is None and hasattr(X, "shape") and _is_text(X):  # queries tell at a cost
            raise ValueError(LABELS)
        return self._fit_report(X, y, groups)

    @classmethod
    def from_estimator(cls, model, X, y, *, groups=None, **parameters):
        """Return a fitted report of a fitted model on private rows.

        Parameters
        ----------
        model : classifier
            With ``predict_proba`` and ``classes_``.
        X, y : array-like
            Private rows and their labels, which the model was not fitted on; ``by`` names columns
            of X.
        groups : array-like of shape (n_samples,), default=None
        **parameters : dict
            Of the report, for instance ``epsilon``.

        Returns
        -------
        report : PrivateClassifierReport

        Notes
        -----
        **Privacy**: of the table of predictions. Many models predict all rows in one product of
        matrices, whose last bits may depend on the number of rows. Pass predictions that were made
        row by row where that matters.
        """
        scores, classes = scores_of(model, X, parameters.get("classes"))
        scores, by = with_keys_of(X, parameters.get("by"), scores)
        return cls(**{"classes": classes, **parameters, "by": by}).fit(y, scores, groups=groups)

    def _is_binary(self):
        return len(public_classes(self.classes)) <= 2

    def _check_public(self, n_features):
        k = len(public_classes(self.classes))
        if k < 2 or n_features not in ((1, 2) if k == 2 else (k,)):
            raise ValueError(
                f"scores have one column for each of the {k} classes, or one alone for two "
                f"classes: that of the second. Got {n_features} columns. Pass classes=[...] with "
                "all labels, in the order of the columns."
            )

    def _longest(self, n_features):
        """Return the bytes of arrays in the longest question, for who limits messages."""
        return n_features * bytes_of_a_column(self.n_bins)

    def _release(self, table):
        m = table.n_features - 1
        classes, table = coded_classes(table, self.classes, in_order=True)
        edges = np.tile(logit_edges(self.n_bins), (m, 1))
        fitted = {"classes_": classes, "confusion_": None, "confusion_sd_": 0.0}
        if self._is_binary():
            positives, used = (1,) * m, [m - 1]
        else:
            positives, used = tuple(range(m)), list(range(m))
            told = table.ask(ConfusionCells(m), CONFUSED)
            fitted["confusion_"] = told.real.reshape(m, m)
            fitted["confusion_sd_"] = float(np.max(told.sd))
        curves = release_curves(
            table, edges, positives, used, second=table.remaining - CELLS.at_most, one_sided=m > 2
        )
        if any(one.outside for one in curves):
            table.doubt(OUTSIDE)
        elif not all(one.told for one in curves):
            table.doubt(FEW)
        fitted["curves_"] = curves
        fitted["n_rows_"] = float(np.mean([one.upto[:, -1].sum() for one in curves]))
        rates = all_rates(curves, fitted["confusion_"], fitted["confusion_sd_"], classes)
        fitted["metric_names_"] = list(rates)
        fitted["scores_"] = np.array([rate.value for rate in rates.values()])
        fitted.update({f"{name}_": float(rates[name].value) for name in ATTRIBUTES})
        return fitted
