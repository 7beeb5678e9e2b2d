"""How good a classifier is on private rows: all metrics of one release of its scores by class."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import ResultsMixin
from skdp.kernel._table import Table
from skdp.kernel.applied._scores import ConfusionCells
from skdp.metrics._curves import CELLS, PLACES, release_curves
from skdp.metrics._rates import RATES, Rate, area, calibration, loss, rate_at
from skdp.metrics._scores import as_scores, scores_of
from skdp.metrics._strategy import logit_edges
from skdp.scales._noise_level import check_confidence, check_sampling
from skdp.table._levels import public_classes
from skdp.table._target import coded_classes
from skdp.utils._compat import Interval

__all__ = ["PrivateClassifierReport"]

CONFUSED = Step("confusion", at_most=0.1, of=(ConfusionCells,))
ATTRIBUTES = "roc_auc", "brier_score", "log_loss"
AT_HALF = "accuracy", "precision", "recall", "f1", "prevalence"
TENTH = 0.1  # of the way from a model that knows nothing to a perfect one
FEW = (
    "too few rows of one class for this epsilon: nothing is said of the scores. Use a larger "
    "epsilon or more rows of that class."
)
NO_PROBABILITIES = (
    "scores that are no probabilities have neither a calibration nor a log loss. Pass the output "
    "of predict_proba."
)


class PrivateClassifierReport(ResultsMixin, PrivateEstimator):
    """How good a classifier is, from the scores that it gives to private rows.

    One release of the scores by class gives all metrics, each with an interval: the ROC curve and
    the area under it, precision and recall, confusion matrices, calibration, squared and
    logarithmic loss. They come from the same released curves, so they agree with one another. The
    model may be any: fitted by skdp, by another library, or a rule.

    Parameters
    ----------
    classes : array-like, default=(0, 1)
        All labels that y may have, public. Of two the second is the positive class. Of more,
        metrics are those of each class against the rest.
    n_bins : int, default=256
        Bins of scores, in equal steps of the logit from -10 to 10, which determine the resolution
        of thresholds.
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
        Mean logarithmic loss of the probabilities, whose logits are cut at -10 and 10.
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
    n_features_in_ : int
        Number of columns of scores.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the scores have names that are strings.

    See Also
    --------
    PrivateRegressionReport : Of numbers.
    private_roc_auc_score : One number.
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
    >>> report = PrivateClassifierReport(random_state=0).fit(y, score)
    >>> low, high = report.interval("roc_auc")
    >>> bool(low < report.roc_auc_ < high), round(report.roc_auc_, 1)
    (True, 0.9)
    """

    _target = "class"
    _noun = "metric"

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "classes": ["array-like"],
        "n_bins": [Interval(Integral, 4, 4096, closed="both")],
    }

    def __init__(
        self,
        *,
        classes=(0, 1),
        n_bins=256,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ):
        self.classes = classes
        self.n_bins = n_bins
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        steps = (CELLS, PLACES) if self._is_binary() else (CONFUSED, CELLS, PLACES)
        return Plan(self._budget(Budget.gaussian), steps)

    def fit(self, y_true, y_score=None, *, groups=None):
        """Release the metrics of the scores of private rows.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or str
            Labels; or the name of a column of ``y_score``, which is then no score.
        y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities of the positive class, or of all classes in the order of ``classes``:
            an array, a frame, or what is read in pieces. The order (scores, labels) of estimators
            is understood where the scores have two dimensions.
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
        return super().fit(X, y, groups=groups)

    @classmethod
    def from_estimator(cls, model, X, y, *, groups=None, **parameters):
        """Return a fitted report of a fitted model on private rows.

        Parameters
        ----------
        model : classifier
            With ``predict_proba`` and ``classes_``.
        X, y : array-like
            Private rows and their labels, which the model was not fitted on.
        groups : array-like of shape (n_samples,), default=None
        **parameters : dict
            Of the report, for instance ``epsilon``.

        Returns
        -------
        report : PrivateClassifierReport
        """
        scores, classes = scores_of(model, X)
        return cls(**{"classes": classes, **parameters}).fit(y, scores, groups=groups)

    def _is_binary(self):
        return len(public_classes(self.classes)) <= 2

    def _check_public(self, n_features):
        k = len(public_classes(self.classes))
        if k < 2 or n_features not in ((1, 2) if k == 2 else (k,)):
            raise ValueError(
                f"scores have one column for each of the {k} classes, or one alone for two classes: "
                f"that of the second. Got {n_features} columns. Pass classes=[...] with all labels, "
                "in the order of the columns."
            )

    def _release(self, table):
        m = table.n_features - 1
        classes, table = coded_classes(table, self.classes)
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
        if not all(one.told for one in curves):
            table.doubt(FEW)
        fitted["curves_"] = curves
        fitted["n_rows_"] = float(np.mean([one.upto[:, -1].sum() for one in curves]))
        rates = all_rates(curves, fitted["confusion_"], fitted["confusion_sd_"], classes)
        fitted["metric_names_"] = list(rates)
        fitted["scores_"] = np.array([rate.value for rate in rates.values()])
        fitted.update({f"{name}_": float(rates[name].value) for name in ATTRIBUTES})
        return fitted

    def _rates(self):
        check_is_fitted(self)
        return all_rates(self.curves_, self.confusion_, self.confusion_sd_, self.classes_)

    def _rate(self, metric, threshold=0.5):
        rates = self._rates()
        if metric in RATES and len(self.curves_) == 1:
            return rate_at(self.curves_[0], metric, threshold)
        if metric not in rates:
            names = sorted({*rates, *(RATES if len(self.curves_) == 1 else ())})
            raise ValueError(
                f"metric must be one of {', '.join(map(repr, names))}. Got {metric!r} instead."
            )
        return rates[metric]

    def interval(self, metric=None, *, confidence=0.95, sampling=False, threshold=0.5):
        """Return an interval of a metric.

        Parameters
        ----------
        metric : str, default=None
            One of ``metric_names_``, or of two classes a rate: "accuracy", "recall", "precision",
            "specificity", "false_positive_rate", "false_negative_rate", "selection_rate",
            "prevalence" or "f1". None returns those of all ``metric_names_``.
        confidence : float, default=0.95
            Of each metric by itself.
        sampling : bool, default=False
            Whether it is to cover the metric of the population that the rows are drawn from,
            instead of that of these rows.
        threshold : float, default=0.5
            Of a rate: rows with at least this score are called positive.

        Returns
        -------
        low, high : floats, or ndarrays of shape (n_metrics,)
            Infinite where nothing is known.
        """
        check_confidence(confidence)
        check_sampling(sampling)
        if metric is not None:
            return self._rate(metric, threshold).interval(confidence, sampling)
        ends = [rate.interval(confidence, sampling) for rate in self._rates().values()]
        return tuple(np.array(ends, dtype=float).T)

    def _spread(self):
        """Return a tenth of the way from a model that knows nothing to a perfect one."""
        known = {"brier_score": np.nan, "log_loss": np.nan}
        parts = np.array([max(one.upto[1, -1], 0) for one in self.curves_])
        parts = parts / max(self.n_rows_, 1.0)
        parts = np.clip(np.array([1 - parts[0], parts[0]]) if len(parts) == 1 else parts, 1e-9, 1)
        known["brier_score"] = float((parts * (1 - parts)).sum()) / (len(self.curves_) == 1 or 1)
        known["log_loss"] = float(-(parts * np.log(parts)).sum())
        if len(self.curves_) == 1:
            known["brier_score"] /= 2
        return TENTH * np.array([known.get(name, 0.5) for name in self.metric_names_])

    def _possible(self):
        most = [np.inf if name == "log_loss" else 1.0 for name in self.metric_names_]
        if len(self.curves_) > 1:
            most = [2.0 if n == "brier_score" else x for n, x in zip(self.metric_names_, most)]
        return np.zeros(len(most)), np.array(most)

    def rate(self, metric, threshold=0.5):
        """Return a rate at a threshold, of two classes.

        Parameters
        ----------
        metric : str
            A name that :meth:`interval` knows.
        threshold : float, default=0.5

        Returns
        -------
        value : float
            NaN where too few rows are seen.
        """
        return float(self._rate(metric, threshold).value)

    def accuracy(self, threshold=0.5):
        """Return the part of rows that are classified correctly.

        Parameters
        ----------
        threshold : float, default=0.5
            Of two classes; of more the class with the largest score counts.

        Returns
        -------
        accuracy : float
        """
        return self.rate("accuracy", threshold)

    def confusion_matrix(self, threshold=0.5):
        """Return released numbers of rows by class and predicted class.

        Parameters
        ----------
        threshold : float, default=0.5
            Of two classes; of more the class with the largest score is predicted.

        Returns
        -------
        matrix : ndarray of float of shape (n_classes, n_classes)
            Rows are true classes, as in scikit-learn.
        """
        check_is_fitted(self)
        if self.confusion_ is not None:
            return self.confusion_.copy()
        curves = self.curves_[0]
        below = np.array([np.interp(threshold, curves.edges, upto) for upto in curves.upto])
        return np.stack([below, curves.upto[:, -1] - below], axis=1)

    def roc_curve(self, label=None):
        """Return the ROC curve, in the manner of :func:`sklearn.metrics.roc_curve`.

        Parameters
        ----------
        label : label, default=None
            Of more than two classes: the class that is positive.

        Returns
        -------
        fpr, tpr, thresholds : ndarrays
            With falling thresholds, the edges of bins; the first is infinite. The area under the
            curve is ``roc_auc_``.
        """
        curves = self._curves_of(label)
        fpr, tpr = (1 - curves.below)[:, ::-1]
        return fpr, tpr, np.append(np.inf, curves.edges[-2::-1])

    def precision_recall_curve(self, label=None):
        """Return precision and recall, in the manner of scikit-learn.

        Parameters
        ----------
        label : label, default=None
            Of more than two classes: the class that is positive.

        Returns
        -------
        precision, recall, thresholds : ndarrays
            With rising thresholds; the last of precision and recall are 1 and 0.
        """
        curves = self._curves_of(label)
        over = curves.upto[:, -1:] - curves.upto[:, :-1]
        total = over.sum(axis=0)
        precision = np.divide(over[1], total, out=np.ones_like(total), where=total > 0)
        return np.append(precision, 1.0), np.append(over[1] / curves.n[1], 0.0), curves.edges[:-1]

    def calibration_curve(self, n_bins=10, label=None):
        """Return the part of positives by score, in the manner of scikit-learn.

        Parameters
        ----------
        n_bins : int, default=10
            Bins with about equal numbers of rows.
        label : label, default=None
            Of more than two classes: the class that is positive.

        Returns
        -------
        prob_true, prob_pred : ndarrays
            Of each bin the part of positives and the mean score; see
            :meth:`calibration_interval`. Bins of which nothing is known are left out.
        """
        prob_pred, rates = self._calibration(n_bins, label)
        return np.array([rate.value for rate in rates]), prob_pred

    def calibration_interval(self, n_bins=10, label=None, *, confidence=0.95, sampling=False):
        """Return intervals of ``prob_true`` of :meth:`calibration_curve`.

        Parameters
        ----------
        n_bins : int, default=10
        label : label, default=None
        confidence : float, default=0.95
            Of each bin by itself.
        sampling : bool, default=False
            Whether they are to cover the population.

        Returns
        -------
        low, high : ndarrays
        """
        check_confidence(confidence)
        check_sampling(sampling)
        _, rates = self._calibration(n_bins, label)
        ends = [rate.interval(confidence, sampling) for rate in rates]
        return tuple(np.array(ends, dtype=float).reshape(-1, 2).T)

    def _calibration(self, n_bins, label):
        from skdp.metrics._curves import middles

        curves = self._curves_of(label)
        total = curves.upto.sum(axis=0)
        goals = total[-1] * np.arange(1, n_bins) / n_bins
        cuts = np.unique(np.concatenate([[0], np.searchsorted(total, goals), [len(total) - 1]]))
        rates, at = calibration(curves, cuts), middles(curves.edges)
        h = np.diff(total)
        mean = [
            float(at[a:b] @ h[a:b] / h[a:b].sum()) if h[a:b].sum() > 0 else np.nan
            for a, b in zip(cuts[:-1], cuts[1:], strict=True)
        ]
        kept = [i for i, rate in enumerate(rates) if np.isfinite(rate.value)]
        return np.array([mean[i] for i in kept]), [rates[i] for i in kept]

    def _curves_of(self, label):
        check_is_fitted(self)
        if len(self.curves_) == 1:
            return self.curves_[0]
        found = np.flatnonzero(self.classes_ == label) if label is not None else []
        if len(found) != 1:
            raise ValueError(
                "label must be one of classes_: a curve is that of one class against the rest. "
                f"Got {type(label).__name__}."
            )
        return self.curves_[found[0]]


def all_rates(curves, confusion, sd, classes):
    """Return the metrics that a report lists: a dict of Rates."""
    if len(curves) == 1:
        [one] = curves
        rates = {"roc_auc": area(one), "brier_score": loss(one, 0), "log_loss": loss(one, 1)}
        return rates | {name: rate_at(one, name, 0.5) for name in AT_HALF}
    areas = [area(one) for one in curves]
    sizes = np.array([one.n[1] for one in curves])
    rates = {
        "roc_auc": _mean_of(areas, np.full(len(curves), 1 / len(curves))),
        "roc_auc_weighted": _weighted(areas, sizes, curves),
        "brier_score": _sum_of([loss(one, 0) for one in curves], 2.0),
        "log_loss": _sum_of([loss(one, 1) for one in curves], np.inf),
        "accuracy": _of_confusion(confusion, sd),
    }
    named = zip(classes.tolist(), areas, strict=True)
    return rates | {f"roc_auc of {label}": one for label, one in named}


def _mean_of(rates, weights, more=0.0):
    values, sds, stds = (
        np.array([f(rate) for rate in rates])
        for f in (lambda r: r.value, lambda r: r.sd, lambda r: np.sqrt(r.var))
    )
    var = (weights @ stds) ** 2  # whatever the correlation
    sd = float(np.sqrt(np.square(weights * sds).sum() + more))
    return Rate(float(weights @ values), sd, float(var), n=min(rate.n for rate in rates))


def _weighted(rates, sizes, curves):
    weights, values = sizes / sizes.sum(), np.array([rate.value for rate in rates])
    sds = np.array([np.sqrt(one.cov[1, -1, -1]) for one in curves])
    more = np.square((values - weights @ values) * sds / sizes.sum()).sum()
    return _mean_of(rates, weights, more)


def _sum_of(rates, most):
    one = _mean_of(rates, np.ones(len(rates)))
    return Rate(one.value, one.sd, one.var, most=most, n=one.n)


def _of_confusion(confusion, sd):
    n, k = confusion.sum(), len(confusion)
    if not n > 3 * sd * k:
        return Rate(np.nan, np.inf, np.inf)
    p = float(np.clip(np.trace(confusion) / n, 0, 1))
    noise = sd * np.sqrt(k * (1 - p) ** 2 + (k * k - k) * p**2) / n
    return Rate(p, float(noise), p * (1 - p) / n, n=float(n))
