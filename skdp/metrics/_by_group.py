"""Reports of groups of rows, for the price of one, and the differences between them."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skdp.by_group import PrivateGroupBy
from skdp.estimator._results import long_format
from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._scores import scores_of

__all__ = ["GroupReports", "private_report_by_group"]

COLUMNS = "group", "against", "value", "low", "high", "differs"


@dataclass(frozen=True, eq=False)
class GroupReports:
    """Reports of groups of rows, see :func:`private_report_by_group`.

    Parameters
    ----------
    fitted : PrivateGroupBy
        Of reports.

    Attributes
    ----------
    fitted : PrivateGroupBy
        ``fitted.privacy_report_`` is the bill of all groups.

    See Also
    --------
    private_report_by_group, skdp.PrivateGroupBy

    Notes
    -----
    **Privacy**: computes from released numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.metrics import private_report_by_group
    >>> y, sex = np.arange(20000) % 2, np.arange(20000) // 10000
    >>> reports = private_report_by_group(y, 0.3 + 0.4 * y, sex, levels=[0, 1])
    >>> len(reports.differences("accuracy")["value"])
    1
    """

    fitted: PrivateGroupBy

    @property
    def reports(self):
        """The report of each group: a dict by level."""
        return self.fitted.estimators_

    def results(self, confidence=0.95, *, simultaneous=False, sampling=False):
        """Return all metrics of all groups, as one table.

        Parameters
        ----------
        confidence : float, default=0.95
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.
        sampling : bool, default=False
            Whether they are to cover the population.

        Returns
        -------
        frame : DataFrame
            See :meth:`skdp.PrivateGroupBy.results`.
        """
        more = {"simultaneous": simultaneous, "sampling": sampling}
        return self.fitted.results(confidence, **more)

    def rates(self, metric, threshold=0.5, *, confidence=0.95, sampling=False):
        """Return a metric of all groups, with intervals that hold together.

        Parameters
        ----------
        metric : str
            One that :meth:`PrivateClassifierReport.interval` knows.
        threshold : float, default=0.5
        confidence : float, default=0.95
            Of all intervals together: with g groups each covers with ``confidence^(1/g)``, as their
            noise, and their rows, are independent.
        sampling : bool, default=False
            Whether they are to cover the population.

        Returns
        -------
        frame : DataFrame
            A row for each group: ``group``, ``value``, ``low``, ``high``.
        """
        each = confidence ** (1 / max(len(self.reports), 1))
        lines = []
        for level, report in self.reports.items():
            low, high = _interval(report, metric, threshold, each, sampling)
            value = report.rate(metric, threshold)
            lines.append({"group": level, "value": value, "low": low, "high": high})
        return long_format(lines, ("group", "value", "low", "high"))

    def differences(self, metric, threshold=0.5, *, confidence=0.95, sampling=False):
        """Return the differences of a metric between all pairs of groups.

        Parameters
        ----------
        metric : str
            One that :meth:`PrivateClassifierReport.interval` knows.
        threshold : float, default=0.5
        confidence : float, default=0.95
            Of all intervals together: with m pairs each covers with ``1 - (1 - confidence) / m``.
        sampling : bool, default=False
            Whether they are to cover the population.

        Returns
        -------
        frame : DataFrame
            A row for each pair: ``group``, ``against``, ``value`` (of the first less that of the
            second), ``low``, ``high``, and ``differs``: whether the interval is clear of 0. Ends
            are those of Zou and Donner (2008) for a difference of independent numbers.
        """
        pairs = list(combinations(self.reports, 2))
        each = 1 - (1 - confidence) / max(len(pairs), 1)
        known = {
            level: (
                report.rate(metric, threshold),
                *_interval(report, metric, threshold, each, sampling),
            )
            for level, report in self.reports.items()
        }
        lines = []
        for one, other in pairs:
            (a, a_low, a_high), (b, b_low, b_high) = known[one], known[other]
            value = a - b
            low = value - np.hypot(a - a_low, b_high - b)
            high = value + np.hypot(a_high - a, b - b_low)
            if not np.isfinite([value, low, high]).all():
                low, high = -np.inf, np.inf
            differs = bool(low > 0 or high < 0)
            line = (one, other, value, float(low), float(high), differs)
            lines.append(dict(zip(COLUMNS, line, strict=True)))
        return long_format(lines, COLUMNS)


def _interval(report, metric, threshold, confidence, sampling):
    given = {"confidence": confidence, "sampling": sampling, "threshold": threshold}
    return report.interval(metric, **given)


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

    Returns
    -------
    reports : GroupReports

    See Also
    --------
    PrivateClassifierReport : Of all rows.
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
    report = PrivateClassifierReport(classes=classes, n_bins=n_bins)
    table, places = _table(by, y_score)
    fitted = PrivateGroupBy(
        report,
        by=places,
        levels=levels,
        epsilon=epsilon,
        delta=delta,
        random_state=random_state,
        ledger=ledger,
    )
    return GroupReports(fitted.fit(table, y_true))


def _table(by, scores):
    """Return a frame of keys and scores, and the names of the keys."""
    import pandas as pd

    tables = [x if hasattr(x, "columns") else np.asarray(x) for x in (by, scores)]
    keys, scores = map(pd.DataFrame, tables)
    keys.columns = [f"key {j}" for j in range(keys.shape[1])]
    scores.columns = [f"score {j}" for j in range(scores.shape[1])]
    table = pd.concat([keys.reset_index(drop=True), scores.reset_index(drop=True)], axis=1)
    names = list(keys.columns)
    return table, names[0] if len(names) == 1 else names
