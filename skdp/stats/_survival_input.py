"""What durations and events may be: the parameters and the reading of estimators of survival."""

from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np

from skdp.accounting import Budget, Plan
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import Table
from skdp.kernel.applied._scores import OfLevel
from skdp.stats._search import ROWS, search_steps
from skdp.stats._time_bins import find_edges, n_bins_of, release_rows
from skdp.table._supervised import OUTSIDE_CLASSES
from skdp.table._target import Selection, coded_classes, coded_columns
from skdp.utils._compat import Interval

__all__ = ["NOT_FOUND", "NO_NUMBERS", "OfTimes", "events_named", "joined"]

LEVELS = 0.05  # of the budget, for labels of groups that are not public
COLUMNS = (
    "X must have a column of durations, and maybe one of groups after it. Pass "
    "frame[['time', 'arm']], or durations and by."
)
GROUPS = (
    "groups that are compared are text, categories or truth values, or numbers whose levels are "
    "public. Pass levels=[...], or by as text."
)
NO_NUMBERS = (
    "durations must be a column of numbers. Pass for instance frame['months'], and of times "
    "frame['time'] / pandas.Timedelta(days=1); of dates subtract the first one before."
)
EVENTS = (
    "event_observed must be 1 or True for an event, 0 or False for a row that left before, for "
    "every row. If every row has had it, pass numpy.ones(len(durations))."
)
FRAME = "groups of text beside durations need pandas. Pass X as a table with both columns."
BINS = (
    "bins must be None, a number of bins from 2 to 512, or rising times from 0 on. Pass bins=24, "
    "or numpy.arange(0, 61, 6)."
)
MOST_BINS = 512
NOT_FOUND = (
    "no conclusion: the times of the rows were not found. Use a larger epsilon or more rows, or "
    "pass horizon=, if it is public"
)


class OfTimes(PrivateEstimator):
    """Base of estimators of durations, events and groups: columns 0, -1 and, if any, 1."""

    _target = "class"
    _mixed = True

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "horizon": [Interval(Real, 0, None, closed="neither"), None],
        "bins": [Interval(Integral, 2, MOST_BINS, closed="both"), "array-like", None],
        "levels": ["array-like", None],
    }
    _steps = ()

    @property
    def classes(self):
        """The labels of y: no event, and an event."""
        return [0, 1]

    @property
    def categories(self):
        """The public levels of the columns of X."""
        return None if self.levels is None else {1: list(self.levels)}

    def fit(self, durations, event_observed=None, by=None, *, groups=None):
        """Fit on private rows: durations, and whether the event was observed.

        Parameters
        ----------
        durations : array-like of shape (n_samples,) or (n_samples, 1 or 2)
            Times, >= 0, from a start of each row to its event, or to its last observation. A table
            or a source may have the column of groups as its second one.
        event_observed : array-like of shape (n_samples,) or str, default=None
            1 or True for an event, 0 or False for a row that left before; or the name of a column
            of durations. If every row has had it, pass ones.
        by : array-like of shape (n_samples,), default=None
            The group of every row, if it is no column of durations.
        groups : array-like of shape (n_samples,), default=None
            Privacy IDs: one row of each person, drawn at random, is read.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ValueError
            For a table of the wrong shape or type, before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the whole plan.
        """
        if isinstance(durations, Table):
            return super().fit(durations)
        if event_observed is None and hasattr(durations, "shape"):
            raise ValueError(EVENTS)
        return super().fit(joined(durations, by), event_observed, groups=groups)

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        steps = search_steps(budget, bounded=False) if self._searches() else (ROWS,)
        levels = Selection("levels", given=self.levels is not None)
        events = levels.events(budget)
        return Plan(budget, (*levels.steps(), *steps, *self._steps), tuple(events))

    def _searches(self):
        return self.horizon is None and (self.bins is None or np.ndim(self.bins) == 0)

    def _check_public(self, n_features):
        if n_features not in (1, 2):
            raise ValueError(COLUMNS)
        if self.bins is not None and np.ndim(self.bins):
            _edges(self.bins)

    def _read(self, X, y):
        with events_named():
            rows = super()._read(X, y)
        if (getattr(self, "calendars_in_", None) or (None,))[0] is not None:
            raise ValueError(NO_NUMBERS)
        levels = rows.about.get("levels") or (None,)
        if levels[0] is not None:
            raise ValueError(NO_NUMBERS)
        if len(levels) == 2 and levels[1] is None:
            raise ValueError(GROUPS)
        return rows

    def _grouped(self, table):
        """Return the labels of groups, their parts of the rows, and the rows in numbers."""
        _, table = coded_classes(table, self.classes)
        coding, table = coded_columns(table, share=LEVELS)
        if table.n_features == 2:
            return (), table.split(None, 1), table
        labels = tuple(coding.levels[1])
        rule = OfLevel(1, max(len(labels), 1))
        return labels, table.split(rule, rule.n_levels), table

    def _edges(self, table, n_groups, most_bins=MOST_BINS):
        """Return the edges of bins, None if they were not found."""
        n = release_rows(table)
        if self.bins is not None and np.ndim(self.bins):
            return _edges(self.bins)
        n_bins = (
            n_bins_of(n / max(n_groups, 1), table.budget.mu)
            if self.bins is None
            else (int(self.bins))
        )
        n_bins = min(n_bins, most_bins)
        if self.horizon is not None:
            return np.linspace(0.0, float(self.horizon), n_bins + 1)
        return find_edges(table, n, n_bins)

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


@contextmanager
def events_named():
    """Let an error about labels of a target speak of events."""
    try:
        yield
    except ValueError as refusal:
        raise (ValueError(EVENTS) if OUTSIDE_CLASSES in str(refusal) else refusal) from None


def joined(durations, by):
    """Return durations as a column, and groups as the one after it."""
    if by is None:
        one = (
            np.ndim(durations) == 1
            if isinstance(durations, list | tuple)
            else (getattr(durations, "ndim", 2) == 1 and not hasattr(durations, "dask"))
        )
        return np.asarray(durations)[:, None] if one else durations
    times, labels = (np.asarray(one).reshape(-1) for one in (durations, by))
    if labels.dtype.kind in "iuf":
        return np.column_stack([times, labels])
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError(FRAME) from None
    return DataFrame({"duration": times, "group": labels})


def _edges(bins):
    """Return public edges, or raise ValueError."""
    try:
        edges = np.unique(np.append(0.0, np.asarray(bins, dtype=np.float64)))
    except (TypeError, ValueError):
        edges = np.empty(0)
    fits = 3 <= len(edges) <= MOST_BINS + 1 and np.isfinite(edges).all() and edges[0] == 0
    if not fits or (np.diff(np.asarray(bins, dtype=np.float64)) <= 0).any():
        raise ValueError(BINS)
    return edges
