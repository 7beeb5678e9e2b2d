"""Reports of groups of rows that an array tells."""

from skdp.metrics._classifier_report import PrivateClassifierReport
from skdp.metrics._scores import scores_of, with_keys

__all__ = ["private_report_by_group"]


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
