"""Scores of scikit-learn's names and order of arguments, told privately."""

import numpy as np

from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._confusion import PrivateConfusionMatrix
from skdp.metrics._regression_report import PrivateRegressionReport
from skdp.metrics._reports import scores_of, with_keys


class PrivateScore(float):
    """A released score: a float, with its interval and the report that it is of.

    Parameters
    ----------
    value : float
    report : object
        A fitted report.
    metric : str
        Its name there.

    Attributes
    ----------
    report : object
        The fitted report; ``report.privacy_report_`` is the bill.
    metric : str
    reliable : bool
        Whether ``report.results()`` calls it reliable.

    See Also
    --------
    private_roc_auc_score, PrivateClassifierReport

    Notes
    -----
    **Privacy**: that of the report, which paid for it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import private_accuracy_score
    >>> y = np.arange(10000) % 2
    >>> score = private_accuracy_score(y, y, epsilon=1.0)
    >>> low, high = score.interval(0.95)
    >>> low <= score <= high
    True
    """

    def __new__(cls, value, report, metric):
        """Return the score as a float that knows where it is from."""
        self = super().__new__(cls, value)
        self.report, self.metric = report, metric
        return self

    def __getnewargs__(self):
        """Return what a pickle makes it of."""
        return float(self), self.report, self.metric

    @property
    def reliable(self):
        """Whether the report calls it reliable."""
        place = self.report.metric_names_.index(self.metric)
        return bool(np.asarray(self.report.results()["reliable"])[place])

    def interval(self, confidence=0.95, *, sampling=False):
        """Return an interval of the score.

        Parameters
        ----------
        confidence : float, default=0.95
        sampling : bool, default=False
            Whether it is to cover the score of the population, instead of that of these rows.

        Returns
        -------
        low, high : float
        """
        return self.report.interval(self.metric, confidence=confidence, sampling=sampling)


TEXT = """Return {what}, told privately.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Private {labels}.
    {predicted}
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1).
    groups : array-like of shape (n_samples,), default=None
        Whose row each row is, to protect persons in place of rows.
    **parameters : dict
        Of :class:`{report}`, for instance {example}.

    Returns
    -------
    {returns}

    See Also
    --------
    {report} : All metrics for the same price.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row. Each call
    pays anew.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import {name}
    {code}
    """

SCORE = """score : PrivateScore
        A float; ``score.interval()`` is its interval, ``score.report`` all else."""
SCORES = """y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probabilities of the second class, or of all classes."""
LABELS = """y_pred : array-like of shape (n_samples,)
        Predicted labels."""
NUMBERS = """y_pred : array-like of shape (n_samples,)
        Predictions."""
OF_SCORES = """>>> y = np.arange(10000) % 2
    >>> score = {name}(y, 0.3 + 0.4 * y)
    >>> low, high = score.interval()
    >>> low <= score <= high
    True"""
OF_NUMBERS = """>>> y = np.random.default_rng(0).normal(size=20000)
    >>> score = {name}(y, y // 1)
    >>> low, high = score.interval()
    >>> low <= score <= high
    True"""


def _told(name, what, metric, report, kind, **fixed):
    """Return a function that fits a report for one metric."""
    regression = report is PrivateRegressionReport

    def function(y_true, y_pred, *, epsilon=1.0, delta=1e-6, groups=None, **parameters):
        given = {"epsilon": epsilon, "delta": delta, **fixed, **parameters}
        fitted = report(**given).fit(y_true, y_pred, groups=groups)
        return PrivateScore(fitted._rate(metric).value, fitted, metric)

    code = OF_NUMBERS if regression else OF_SCORES
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = TEXT.format(
        what=what,
        labels="targets" if regression else "labels",
        predicted=kind.replace("y_score", "y_pred"),
        report=report.__name__,
        example="``ledger``" if regression else "``classes``",
        returns=SCORE,
        name=name,
        code=code.format(name=name)
        if kind != LABELS
        else code.format(name=name).replace("0.3 + 0.4 * y", "y"),
    )
    return function


_classifier = (PrivateClassifierReport, SCORES)
_regression = (PrivateRegressionReport, NUMBERS)
private_roc_auc_score = _told(
    "private_roc_auc_score", "the area under the ROC curve", "roc_auc", *_classifier
)
private_log_loss = _told("private_log_loss", "the mean logarithmic loss", "log_loss", *_classifier)
private_brier_score_loss = _told(
    "private_brier_score_loss", "the mean squared loss of scores", "brier_score", *_classifier
)
private_accuracy_score = _told(
    "private_accuracy_score",
    "the part of labels that are predicted correctly",
    "accuracy",
    PrivateConfusionMatrix,
    LABELS,
)
private_mean_absolute_error = _told(
    "private_mean_absolute_error",
    "the mean absolute error",
    "mean_absolute_error",
    *_regression,
    metrics=("mean_absolute_error",),
    quantiles=(),
)
private_mean_squared_error = _told(
    "private_mean_squared_error",
    "the mean squared error",
    "mean_squared_error",
    *_regression,
    metrics=("mean_squared_error",),
    quantiles=(),
)
private_r2_score = _told(
    "private_r2_score", "R squared", "r2", *_regression, metrics=("r2",), quantiles=()
)


def private_confusion_matrix(y_true, y_pred, *, epsilon=1.0, delta=1e-6, groups=None, **parameters):
    """Return the numbers of rows by class and predicted class, told privately.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Private labels.
    y_pred : array-like of shape (n_samples,)
        Predicted labels.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1).
    groups : array-like of shape (n_samples,), default=None
        Whose row each row is, to protect persons in place of rows.
    **parameters : dict
        Of :class:`PrivateConfusionMatrix`, for instance ``classes``.

    Returns
    -------
    report : PrivateConfusionMatrix
        Fitted; ``report.confusion_`` is the matrix, and ``np.asarray(report)`` too.

    See Also
    --------
    PrivateClassifierReport : Of scores, at all thresholds.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row. Each call
    pays anew.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import private_confusion_matrix
    >>> y = np.arange(10000) % 2
    >>> bool(abs(np.asarray(private_confusion_matrix(y, y))[0, 0] - 5000) < 100)
    True
    """
    given = {"epsilon": epsilon, "delta": delta, **parameters}
    return PrivateConfusionMatrix(**given).fit(y_true, y_pred, groups=groups)


def private_report_by_group(
    y_true,
    y_score,
    by,
    *,
    levels=None,
    classes=(0, 1),
    n_bins=256,
    epsilon=1.0,
    delta=1e-6,
    random_state=None,
    ledger=None,
    groups=None,
):
    """Return the report of each group of rows: error, calibration and rates by sex, say.

    A row is in one group, so all groups together cost what one of them costs.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), or tuple
        Probabilities; or a pair of a fitted classifier and X, whose probabilities are taken.
    by : array-like of shape (n_samples,) or (n_samples, 2)
        The group of each row: text, numbers, truth values.
    levels : list, default=None
        Public groups, of two columns pairs; None finds them for a tenth of the budget.
    classes : array-like, default=(0, 1)
        All labels, public.
    n_bins : int, default=256
    epsilon : float, default=1.0
        Privacy parameter, > 0, of all groups together.
    delta : float, default=1e-6
        Privacy parameter in (0, 1).
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share.
    groups : array-like of shape (n_samples,), default=None
        Whose row each row is, to protect persons in place of rows.

    Returns
    -------
    reports : GroupReports

    See Also
    --------
    PrivateClassifierReport : Of all rows, or with ``by`` of groups by a column of the scores.
    skdp.PrivateGroupBy : Which it is fitted by.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, by parallel
    composition: that of :class:`skdp.PrivateGroupBy`. The group of a row is private, too.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import private_report_by_group
    >>> y, sex = np.arange(20000) % 2, np.where(np.arange(20000) < 10000, "f", "m")
    >>> score = np.where(sex == "f", 0.3 + 0.4 * y, 0.5)
    >>> reports = private_report_by_group(y, score, sex, levels=["f", "m"])
    >>> bool(reports.differences("accuracy")["differs"][0])
    True
    """
    if isinstance(y_score, tuple) and hasattr(y_score[0], "predict_proba"):
        y_score, classes = scores_of(*y_score)
    table, places = with_keys(by, y_score)
    report = PrivateClassifierReport(
        classes=classes,
        n_bins=n_bins,
        by=places,
        levels=levels,
        epsilon=epsilon,
        delta=delta,
        random_state=random_state,
        ledger=ledger,
    )
    return report.fit(y_true, table, groups=groups).group_reports_
