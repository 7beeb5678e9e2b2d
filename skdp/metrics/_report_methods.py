"""What a report of a classifier answers, and its pictures: rates, curves, intervals, matrices."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.metrics._curves import middles
from skdp.metrics._rates import (
    RATES,
    MetricNumbers,
    all_rates,
    calibration,
    is_cut,
    is_tied,
    rate_at,
)
from skdp.scales._column_noise import check_confidence, check_sampling
from skdp.show._display import Display

TENTH = 0.1  # of the way from a model that knows nothing to a perfect one
CUT = (
    "rows have scores beyond a logit of 10 on the wrong side, where their loss is cut at 10: "
    "without the cut it is larger, or infinite. Calibrate the model, or clip its scores"
)
TIES = (
    "so many scores lie close together that they count as ties. If they differ, the area is "
    "another one: pass scores that are farther apart"
)

KINDS = "roc", "calibration", "confusion"


class ReportMethods(MetricNumbers):
    """Methods of a report, which has ``curves_``, ``confusion_`` and ``classes_``."""

    def _doubts(self):
        told = [one for one in self.curves_ if one.told]
        if any(is_cut(one, len(self.curves_) > 1) for one in told):
            yield CUT, "log_loss"
        if any(map(is_tied, told)):
            yield TIES, "roc_auc"

    def _rates(self):
        self._told()
        return all_rates(self.curves_, self.confusion_, self.confusion_sd_, self.classes_)

    def _rate(self, metric, threshold=0.5):
        self._told()
        if metric in RATES and len(self.curves_) == 1:
            return rate_at(self.curves_[0], metric, threshold)
        return super()._rate(metric)

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
        if metric is None:
            return super().interval(confidence=confidence, sampling=sampling)
        check_confidence(confidence)
        check_sampling(sampling)
        return tuple(map(float, self._rate(metric, threshold).interval(confidence, sampling)))

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
            most[self.metric_names_.index("brier_score")] = 2.0
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
        self._told()
        if self.confusion_ is not None:
            return self.confusion_.copy()
        curves = self.curves_[0]
        below = np.array([np.interp(threshold, curves.edges, upto) for upto in curves.sums])
        return np.stack([below, curves.sums[:, -1] - below], axis=1)

    def roc_curve(self, label=None):
        """Return the ROC curve, in the manner of :func:`sklearn.metrics.roc_curve`.

        Parameters
        ----------
        label : label, default=None
            Of more than two classes: the class that is positive.

        Returns
        -------
        fpr, tpr, thresholds : ndarrays
            With falling thresholds, the edges of bins; the first is infinite. ``roc_auc_`` is
            released by itself and nearer to the truth than the area under these points.
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
        curves = self._curves_of(label)
        total = curves.upto.sum(axis=0)
        goals = total[-1] * np.arange(1, n_bins) / n_bins
        cuts = np.unique(np.concatenate([[0], np.searchsorted(total, goals), [len(total) - 1]]))
        rates, at = calibration(curves, cuts), middles(curves.edges)
        h = np.diff(total)
        mean = [
            float(at[a:b] @ h[a:b] / h[a:b].sum()) if h[a:b].sum() > 0 else np.nan
            for a, b in pairwise(cuts)
        ]
        kept = [i for i, rate in enumerate(rates) if np.isfinite(rate.value)]
        return np.array([mean[i] for i in kept]), [rates[i] for i in kept]

    def _curves_of(self, label):
        self._told()
        if len(self.curves_) == 1:
            return self.curves_[0]
        found = np.flatnonzero(self.classes_ == label) if label is not None else []
        if len(found) != 1:
            raise ValueError(
                "label must be one of classes_: a curve is that of one class against the rest. "
                f"Got {type(label).__name__}."
            )
        return self.curves_[found[0]]


# --- pictures of reports: ROC curve, calibration, and confusion matrix, with their bands


@dataclass(frozen=True, repr=False)
class PrivateClassifierDisplay(Display):
    """Picture of a :class:`PrivateClassifierReport`: ROC curve, calibration or confusion matrix.

    Parameters
    ----------
    report : PrivateClassifierReport
        Fitted.
    kind : {"roc", "calibration", "confusion"}, default="roc"
    label : label, default=None
        Of more than two classes: the class that is positive.
    threshold : float, default=0.5
        Of a confusion matrix.
    confidence : float, default=0.95
        Of bands and bars, at each point by itself.
    sampling : bool, default=False
        Whether they are to cover the population.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PrivateClassifierReport

    Notes
    -----
    **Privacy**: draws released numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import PrivateClassifierDisplay, PrivateClassifierReport
    >>> y = np.arange(20000) % 2
    >>> report = PrivateClassifierReport().fit(y, 0.3 + 0.4 * y)
    >>> display = PrivateClassifierDisplay.from_report(report)
    >>> display.ax_.get_xlabel()
    'False positive rate'
    """

    report: Any
    kind: str = "roc"
    label: Any = None
    threshold: float = 0.5
    confidence: float = 0.95
    sampling: bool = False

    @classmethod
    def from_report(cls, report, kind="roc", *, ax=None, **parameters):
        """Draw a fitted report.

        Parameters
        ----------
        report : PrivateClassifierReport
        kind : {"roc", "calibration", "confusion"}, default="roc"
        ax : matplotlib Axes, default=None
        **parameters : dict
            More of the display, for instance ``sampling=True``.

        Returns
        -------
        display : PrivateClassifierDisplay
        """
        return cls(report, kind, **parameters).plot(ax)

    def _draw(self, ax):
        check_is_fitted(self.report)
        check_confidence(self.confidence)
        check_sampling(self.sampling)
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}.")
        {"roc": self._roc, "calibration": self._calibration, "confusion": self._confusion}[
            self.kind
        ](ax)

    def _roc(self, ax):
        """Draw the curve; its band joins the corners of intervals of both rates at thresholds."""
        report = self.report
        fpr, tpr, _ = report.roc_curve(self.label)
        curves = report._curves_of(self.label)
        name = "roc_auc" if len(report.curves_) == 1 else f"roc_auc of {self.label}"
        given = {"confidence": self.confidence, "sampling": self.sampling}
        low, high = report.interval(name, **given)
        value = report.rate(name)
        label = report.classes_[1] if len(report.curves_) == 1 else self.label
        text = f"area {value:.3f} [{low:.3f}, {high:.3f}]" if np.isfinite(value) else "not known"
        ends = [self._corners(curves, edge) for edge in curves.edges]
        x_low, x_high, y_low, y_high = np.array(ends, dtype=float).reshape(-1, 4)[::-1].T
        ax.plot([0, 1], [0, 1], color="0.7", linestyle=":")
        if np.isfinite(value):
            grid = np.linspace(0, 1, 201)
            upper = np.interp(grid, *_rising(x_low, y_high))
            lower = np.interp(grid, *_rising(x_high, y_low))
            ax.fill_between(grid, lower, upper, alpha=0.25, linewidth=0)
            ax.plot(fpr, tpr, label=f"{label}: {text}")
        else:
            ax.plot([], [], label=f"{label}: {text}")
        ax.set(xlabel="False positive rate", ylabel="True positive rate", aspect="equal")
        ax.legend(loc="lower right")

    def _corners(self, curves, edge):
        ends = []
        for name in ("false_positive_rate", "recall"):
            rate = rate_at(curves, name, edge)
            ends += rate.interval(self.confidence, self.sampling)
        return np.clip(ends, 0, 1)

    def _calibration(self, ax):
        given = {"confidence": self.confidence, "sampling": self.sampling}
        true, predicted = self.report.calibration_curve(label=self.label)
        low, high = self.report.calibration_interval(label=self.label, **given)
        ax.plot([0, 1], [0, 1], color="0.7", linestyle=":")
        bars = np.maximum([true - low, high - true], 0) if len(true) else None
        ax.errorbar(predicted, true, yerr=bars, fmt="o-", capsize=3)
        ax.set(xlabel="Mean score", ylabel="Part of positives", aspect="equal")
        ax.set(xlim=(0, 1), ylim=(0, 1))

    def _confusion(self, ax):
        matrix = self.report.confusion_matrix(self.threshold)
        labels = [str(label) for label in self.report.classes_]
        ax.imshow(np.maximum(matrix, 0), cmap="Blues")
        top = max(matrix.max(), 1.0)
        for (i, j), count in np.ndenumerate(matrix):
            color = "white" if count > top / 2 else "black"
            ax.text(j, i, f"{count:,.0f}", ha="center", va="center", color=color)
        ax.set(xticks=range(len(labels)), yticks=range(len(labels)))
        ax.set_xticklabels(labels)
        ax.set_yticklabels(labels)
        ax.set(xlabel="Predicted class", ylabel="Class")


def _rising(x, y):
    """Return points of a curve that does not fall, in order."""
    order = np.lexsort((y, x))
    return x[order], np.maximum.accumulate(y[order])
