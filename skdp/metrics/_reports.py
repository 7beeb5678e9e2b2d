"""What all reports read: scores and labels of rows, scores of a model, and groups for one price."""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.by_group import PrivateGroupBy
from skdp.by_group._private_group_by import SplitMixin
from skdp.estimator._results import long_format
from skdp.readers._persons import Persons
from skdp.readers._sources import source_of
from skdp.readers._tables import Tables, tables_of
from skdp.table._batched import with_current_config
from skdp.table._groups import read_groups
from skdp.table._levels import public_classes
from skdp.table._schema import NO_NUMBERS, require_type
from skdp.table._supervised import checked_target
from skdp.utils._compat import safe_indexing

NO_PROBABILITIES = (
    "the model has no predict_proba and classes_, so it has no probabilities. Wrap it in "
    "sklearn.calibration.CalibratedClassifierCV, or pass scores between 0 and 1 to fit."
)

OF_GROUPS = (
    "this report is one of groups, and of all rows together nothing was released. Ask "
    "report.group_reports_, or leave out by= in a fit of its own."
)
COLUMNS = "group", "against", "value", "low", "high", "differs"


def as_scores(y_true, y_score):
    """Return scores as a table of columns, and labels; both orders of arguments are understood."""
    if y_score is None:
        return y_true, None  # pairs of both, or what is refused
    X, y = y_score, y_true
    if _dimensions(y_true) > _dimensions(y_score):
        X, y = y_true, y_score
    if hasattr(X, "shape") and len(X.shape) == 1:
        X = X.to_frame("score") if hasattr(X, "to_frame") else np.asarray(X).reshape(-1, 1)
    elif isinstance(X, list) and X and np.ndim(X[0]) == 0 and not isinstance(X[0], str):
        require_type(X)
        X = [[x] for x in X]
    return X, y


def _dimensions(x):
    """Return how many dimensions a thing has, many if it is read in pieces; a name has none."""
    if hasattr(type(x), "__skdp_opened__"):  # a table that another process holds
        return math.inf
    if isinstance(x, str) or hasattr(x, "shape"):
        return len(getattr(x, "shape", ()))
    if isinstance(x, list | tuple):
        return 1 + (_dimensions(x[0]) if x else 0)
    return 0 if source_of(x) is None else math.inf


def scores_of(model, X, classes=None):
    """Return probabilities of classes, by default a model's, and these; of two the second's."""
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")):
        raise ValueError(NO_PROBABILITIES)
    known = model.classes_.tolist()
    labels = known if classes is None else public_classes(classes, in_order=True)
    scores = probabilities_of(model, labels, X)
    return scores[:, 1:] if len(labels) == 2 else scores, labels


def probabilities_of(model, labels, X):
    """Return probabilities of public labels, 0 of those that a model does not know."""
    told, known = np.asarray(model.predict_proba(X), dtype=float), model.classes_.tolist()
    scores = np.zeros((len(told), len(labels)))
    for k, label in enumerate(labels):
        if label in known:
            scores[:, k] = told[:, known.index(label)]
    return scores


def with_keys_of(X, by, scores):
    """Return scores beside the columns ``by`` of X, and the names of these; by None: scores."""
    if by is None:
        return scores, None
    names = list(by) if isinstance(by, list | tuple | np.ndarray) else [by]
    if hasattr(X, "columns"):
        names = [name if isinstance(name, str) else list(X.columns)[name] for name in names]
        return with_keys(X[names], scores, names)
    return with_keys(np.asarray(as_entries(X))[:, names], scores)


def as_entries(x):
    """Return labels as they are, those of a list as objects: one text would make texts of all."""
    require_type(x)
    return x if hasattr(x, "__array__") else np.array(x, dtype=object)


def with_keys(keys, scores, names=()):
    """Return a frame of keys and scores, and the names of the keys."""
    import pandas as pd

    require_type(scores)
    tables = [x if hasattr(x, "columns") else np.asarray(x) for x in (as_entries(keys), scores)]
    keys, scores = (pd.DataFrame(table).reset_index(drop=True) for table in tables)
    if len(keys) != len(scores):
        raise ValueError(
            "by and y_score must have one entry for each row. Got different numbers of entries. "
            "Pass both of the same rows."
        )
    keys.columns = list(names) or [f"key {j}" for j in range(keys.shape[1])]
    scores.columns = [f"score {j}" for j in range(scores.shape[1])]
    return pd.concat([keys, scores], axis=1), list(keys.columns)


def _of_list(X):
    """Return a list of rows of numbers as floats, one of texts as objects: no entry decides."""
    require_type(X)
    if all(isinstance(row, str) for row in X):
        return np.array(X, dtype=object)
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # which may quote an entry
        refusal = ValueError(NO_NUMBERS)
    raise refusal


@dataclass(frozen=True)
class LabelledRows:
    """Rows in memory or in pieces, their targets, and whose they are."""

    X: Any
    tables: Tables | None
    y: np.ndarray
    persons: Persons | None

    @classmethod
    def of(cls, X, y, report, groups):
        """Check what is told before anything is charged."""
        tables = tables_of(X)
        X = X if tables is not None or hasattr(X, "shape") else _of_list(X)
        n_rows = len(X if tables is None else tables)
        y = np.asarray(checked_target(report, y, n_rows))
        return cls(X, tables, y, None if groups is None else read_groups(groups, n_rows))

    @property
    def n_owners(self):
        """The number of rows, or of persons and nobody."""
        return len(self.y) if self.persons is None else self.persons.n + 1

    def folds(self, drawn):
        """Return the fold of every row from that of its owner."""
        return (drawn if self.persons is None else drawn[self.persons.codes]).astype(int)

    def some(self, numbers):
        """Return some of the rows, of pieces a view."""
        return safe_indexing(self.X, numbers) if self.tables is None else self.tables.only(numbers)

    def owners(self, numbers):
        """Return ``groups`` of some of the rows for a fit, a dict, empty without them."""
        return {} if self.persons is None else {"groups": self.persons.some(numbers)}

    def predicted(self, function, numbers, width):
        """Return what a function makes of some of the rows, shape (n, width)."""
        if len(numbers) == 0:
            return np.empty((0, width))
        if self.tables is None:
            return function(self.some(numbers))
        found = self.some(numbers).each(with_current_config(function))
        return np.concatenate([np.empty((0, width)), *(one for one in found if len(one))])


# --- reports of groups of rows, for the price of one, and the differences between them


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
