"""Pictures of reports: ROC curve, calibration, and confusion matrix, with their bands."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.metrics._rates import rate_at
from skdp.scales._column_noise import check_confidence, check_sampling
from skdp.show._display import Display

KINDS = "roc", "calibration", "confusion"


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
