"""Reports of groups of rows, for the price of one, and the differences between them."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.by_group import PrivateGroupBy
from skdp.by_group._split_mixin import SplitMixin
from skdp.estimator._results import long_format

OF_GROUPS = (
    "this report is one of groups, and of all rows together nothing was released. Ask "
    "report.group_reports_, or leave out by= in a fit of its own."
)
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
            value, low, high = _known(report, metric, threshold, each, sampling)
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
            level: _known(report, metric, threshold, each, sampling)
            for level, report in self.reports.items()
        }
        lines = []
        for one, other in pairs:
            (a, a_low, a_high), (b, b_low, b_high) = known[one], known[other]
            value = a - b
            low = value - np.hypot(a - a_low, b_high - b)
            high = value + np.hypot(a_high - a, b - b_low)
            if not np.isfinite(value):
                low, high = -np.inf, np.inf
            differs = bool(low > 0 or high < 0)
            line = (one, other, value, float(low), float(high), differs)
            lines.append(dict(zip(COLUMNS, line, strict=True)))
        return long_format(lines, COLUMNS)


def _known(report, metric, threshold, confidence, sampling):
    """Return a metric of a report, and the ends of its interval."""
    given = {"confidence": confidence, "sampling": sampling}
    at = {"threshold": threshold} if hasattr(report, "rate") else {}
    return report._rate(metric, **at).value, *report.interval(metric, **given, **at)


class ByGroupMixin(SplitMixin):
    """Mixin of reports, which with ``by`` are those of groups."""

    def _fit_report(self, X, y, groups):
        """Fit the report of all rows, or of each group."""
        if self.by is None:
            super().fit(X, y, groups=groups)
            vars(self).pop("group_reports_", None)
            return self
        vars(self).update(group_reports_=GroupReports(self._fit_split(X, y, groups)))
        return self

    def _told(self):
        """Refuse a metric of all rows where those of groups were released."""
        check_is_fitted(self)
        if self.by is not None:
            raise ValueError(OF_GROUPS)
