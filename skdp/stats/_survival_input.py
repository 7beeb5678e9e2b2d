"""What durations and events may be: the parameters and the reading of estimators of survival."""

import math
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.columns import find_quantiles
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import MixedColumns
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._sums import Count
from skdp.kernel._table import Table
from skdp.kernel.applied._scores import OfLevel, ScoreCells
from skdp.metrics._curves import prefix_strategy
from skdp.stats._search import LEVEL_NOISE, ROWS, SEARCH, as_array, search_steps
from skdp.table._levels import Selection, coded_classes, coded_columns
from skdp.table._supervised import OUTSIDE_CLASSES
from skdp.utils._compat import Interval

COUNTS = Step("events", of=(ScoreCells,))
FOUND = 0.15  # of the budget, for the place of the bins
KNOTS = (0.25, 0.5)  # quantiles of all times, between which bins have one width
LEVEL = 0.02, 0.25  # of the last one, from above
FEWEST, MOST = 12, 64  # bins
ROWS_OF_BIN = 4.0  # noises of a count: rows of a group for each bin
FARTHEST = 1.7e308
APART = 2.0**-40  # of the horizon: no two edges are closer


def release_rows(table):
    """Return the released number of rows."""
    return max(float(table.ask(Count(), ROWS).value[0]), 2.0)


def n_bins_of(n, mu):
    """Return how many bins a curve of n rows has: more rows, more bins, else these bias it."""
    return int(np.clip(n * mu / ROWS_OF_BIN, FEWEST, MOST))


def find_edges(table, n_rows, n_bins):
    """Return edges of bins that fit the times of all rows, None if these were not found.

    Equal steps between a few quantiles; from the last one as far as a constant hazard would take
    to where a part LEVEL[0] of the rows is left.
    """
    mu = table.budget.mu * math.sqrt(FOUND)
    level = float(np.clip(LEVEL_NOISE / mu / n_rows, *LEVEL))
    times = table.child(SEARCH.label, FOUND).map(SomeColumns(np.array([0])))
    seen = find_quantiles(times, [*KNOTS, 1 - level], None)
    at = np.nan_to_num(seen.location[:, 0])
    far = at[-1] * math.log(LEVEL[0]) / math.log(level)
    if not (seen.found[0] and at[-1] > 0 and np.isfinite(far)):
        return None
    knots = np.unique([0.0, *np.maximum(at, 0.0), far])
    knots = knots[np.append(True, np.diff(knots) > APART * far)]
    parts = np.linspace(0, len(knots) - 1, n_bins + 1)
    return np.interp(parts, np.arange(len(knots)), knots)


@dataclass(frozen=True)
class Counts:
    """Released numbers of events and of others by group and bin, the last of others beyond all."""

    edges: np.ndarray  # (L + 1,)
    events: np.ndarray  # (k, L)
    others: np.ndarray  # (k, L + 1)
    event_noise: np.ndarray  # (L, L): what multiplies standard normal numbers in them
    other_noise: np.ndarray  # (L + 1, L + 1)

    @property
    def n_rows(self):
        """The number of rows of every group."""
        return self.events.sum(axis=1) + self.others.sum(axis=1)


def cells_of_times(edges, event, other, beyond, n_columns):
    """Return the question for sums of q integers of every row, by its time and whether it is one.

    ``event`` and ``other``: pairs of (q, L), at the left and the right end of bins; ``beyond``:
    (q,), of rows that are later than all bins, or leave at their end without an event. An event at
    an edge is in the bin that ends there.
    """
    q, bins = event[0].shape
    ends = np.zeros((2, n_columns, q, 2, bins + 2), dtype=np.int64)
    for out, of_event, of_other in zip(ends, event, other, strict=True):
        out[0, :, 1, :bins], out[0, :, 0, :bins] = of_event, of_other
        out[0, :, 1, bins], out[0, :, 0, bins] = event[1][:, -1], beyond
        out[0, :, :, bins + 1] = beyond[:, None]
    last = edges[-1]
    inner = np.nextafter(edges[1:-1], np.inf)
    fine = np.concatenate([edges[:1], inner, [last, np.nextafter(last, np.inf), FARTHEST]])
    return ScoreCells(np.tile(fine, (n_columns, 1)), (1,) * n_columns, *ends)


def release_counts(parts, n_groups, edges, n_columns, step, share):
    """Return the :class:`Counts` of disjoint groups: one release, whose prefix sums are least off.

    **Privacy** (add or remove one row): it is in one group, and a :class:`ScoreCells` bounds what
    it adds there: a column of one of two integer matrices, of length GAIN.
    """
    bins = len(edges) - 1
    (C, inverse), (C_other, inverse_other) = prefix_strategy(bins), prefix_strategy(bins + 1)
    event, other = np.zeros((2, 2 * bins + 1, bins), dtype=np.int64)
    event[:bins], other[bins:] = C, C_other[:, :-1]
    beyond = np.concatenate([np.zeros(bins, dtype=np.int64), C_other[:, -1]])
    asked = cells_of_times(edges, (event, event), (other, other), beyond, n_columns)
    told = parts.ask(dict.fromkeys(range(n_groups), asked), share=share, label=step.label)
    y = np.array([told[g].real[: 2 * bins + 1] for g in range(n_groups)])
    sd = float(told[0].sd)
    return Counts(
        edges,
        y[:, :bins] @ inverse.T,
        y[:, bins:] @ inverse_other.T,
        sd * inverse,
        sd * inverse_other,
    )


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


class OfTimes(MixedColumns, PrivateEstimator):
    """Base of estimators of durations, events and groups: columns 0, -1 and, if any, 1."""

    _target = "class"

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
        return as_array(durations)[:, None] if one else durations
    times, labels = as_array(durations).reshape(-1), as_array(by, labels=True).reshape(-1)
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
