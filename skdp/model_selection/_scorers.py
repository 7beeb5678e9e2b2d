"""Scores of held-out rows, each row by itself and bounded: what a private mean can be taken of."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.utils import check_array

from skdp.accounting import Plan, Step
from skdp.exceptions import PlanError
from skdp.kernel._columns import ColumnBins
from skdp.kernel._sums import table_of_numbers
from skdp.mechanisms import row_norms
from skdp.readers._tables import Tables
from skdp.rowwise._map import each_row
from skdp.scales import LogBins, read_scale
from skdp.scales._column_noise import with_law
from skdp.table._batched import with_current_config
from skdp.utils._config import get_config
from skdp.utils._numbers import plain_fields

NAMES = ("covariance_type", "means_", "precisions_cholesky_", "weights_")


def mixture_log_density(model, X):
    """Return the log-density of every row, an array of shape (n,).

    Notes
    -----
    **Privacy**: products and sums are elementwise, in an order fixed by the model; exp and log are
    taken number by number. So a row's result has the same bits whatever the other rows are, which
    a product of matrices does not promise.
    """
    X = as_numbers(X)
    k, d = model.means_.shape
    logs = np.empty((k, len(X)))
    with np.errstate(all="ignore"):
        for j in range(k):
            root = _root(model, j, d)
            weight = model.weights_[j]
            constant = math.log(weight) if weight > 0 else -math.inf
            constant -= d / 2 * math.log(2 * math.pi)
            constant += math.fsum(math.log(x) for x in np.diag(root))
            logs[j] = constant - _squares(X - model.means_[j], root) / 2
        top = logs.max(axis=0)
        total = np.zeros(len(X))
        for j in range(k):
            total += np.fromiter(map(math.exp, logs[j] - top), dtype=np.float64, count=len(X))
    return top + np.fromiter(map(math.log, total), dtype=np.float64, count=len(X))


def _root(model, j, d):
    roots = model.precisions_cholesky_
    if model.covariance_type == "full":
        return roots[j]
    return {"tied": lambda: roots, "diag": lambda: np.diag(roots[j])}.get(
        model.covariance_type, lambda: np.eye(d) * roots[j]
    )()


def _squares(gaps, root):
    """Return ``|gap @ root|^2`` of every row; ``root`` is triangular, or diagonal."""
    total = np.zeros(len(gaps))
    for j in range(len(root)):
        entry = np.zeros(len(gaps))
        for i in np.flatnonzero(root[:, j]):
            entry += gaps[:, i] * root[i, j]
        total += np.square(entry)
    return total


BINS = LogBins(2)
DISTANCES = Step("distances", of=(ColumnBins,))
OF_ENTRIES = (ValueError, ArithmeticError)  # what entries of a row may bring about


@dataclass(frozen=True)
class RowScorer:
    """The mean of a function of a model and one row.

    Parameters
    ----------
    function : callable
        ``function(model, x, y)`` -> float, large for a good model; ``x`` is a table of one row, a
        DataFrame if ``fit`` was given one, ``y`` is the row's target or None.
    low, high : float
        Public range; what lies outside is clipped. NaN, and a row on which the function raises an
        exception, count as ``low``.
    uses_target : bool, default=False
        Whether ``fit`` needs y.

    See Also
    --------
    skdp.PrivateSearchCV, AccuracyScorer

    Notes
    -----
    **Privacy**: the function gets one row at a time, so its value cannot depend on other rows, and
    it is clipped and rounded to a grid: whatever it computes, adding or removing a row moves the
    sum by at most the range. Assumed: it has no memory of earlier calls, does not reach for data
    by another way, publishes nothing (it is called in every run: one line printed per call tells
    the number of runs, and of held-out rows), and works alike in every call.

    Examples
    --------
    >>> from skdp import PrivateMean, PrivateSearchCV
    >>> from skdp.model_selection import RowScorer
    >>> near = RowScorer(lambda model, x, y: -abs(x - model.location_).max(), low=-3.0, high=0.0)
    >>> search = PrivateSearchCV(PrivateMean(), {"method": ["auto", "friendly"]}, scoring=near)
    >>> search.plan().problems
    ()
    """

    function: Callable
    low: float
    high: float
    uses_target: bool = False

    needs_reference = False

    def __post_init__(self):
        plain_fields(self, "low", "high", "uses_target")
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(
                f"a score needs a public range low < high. Got {self.low!r} and {self.high!r}."
            )

    def prepare(self, reference, X, y, curator):
        """Return ``score(model)`` -> array of shape (n,), the scores of the rows in [0, 1]."""

        def score(model):
            raw = by_row(partial(self.function, model), X, y)
            return (np.clip(raw, self.low, self.high) - self.low) / (self.high - self.low)

        return score

    def value(self, mean):
        """Return a mean of scores in [0, 1] in the units of this scorer."""
        return self.low + mean * (self.high - self.low)


def _correct(model, x, y):
    return float(model.predict(x)[0] == y)


@dataclass(frozen=True)
class AccuracyScorer(RowScorer):
    """The part of the rows whose target is predicted.

    A :class:`RowScorer` whose ``function`` compares prediction and target, with ``low`` 0,
    ``high`` 1 and ``uses_target`` True.

    Parameters
    ----------
    function : callable
        Compares prediction and target: 1 where they are equal, else 0.
    low, high : float, default=0.0, 1.0
        Public bounds of what a row is worth.
    uses_target : bool, default=True
        It needs the true classes.

    See Also
    --------
    skdp.PrivateSearchCV, LogLossScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp.model_selection import AccuracyScorer
    >>> scorer = AccuracyScorer()
    >>> scorer.low, scorer.high, scorer.uses_target
    (0.0, 1.0, True)
    """

    function: Callable = _correct
    low: float = 0.0
    high: float = 1.0
    uses_target: bool = True


@dataclass(frozen=True)
class ScaledScorer:
    """Base of scores of a distance or an error of each row: see ``_errors(model, X, y)``."""

    scale: float | None = None

    def __post_init__(self):
        plain_fields(self, "scale")
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise ValueError(f"scale must be positive, or None. Got {self.scale!r} instead.")

    @property
    def needs_reference(self):
        """Whether a reference model is fitted before the runs."""
        return self.scale is None

    def prepare(self, reference, X, y, curator):
        """Return ``score(model)``; the scale is released if it is not public."""
        scale = self.scale
        if scale is None:
            scale = released_scale(self._errors(reference, X, y), curator)

        def score(model):
            return 1 - np.square(np.minimum(self._errors(model, X, y) / scale, 1))

        return score

    def value(self, mean):
        """Return the mean itself."""
        return mean


@dataclass(frozen=True)
class DistanceScorer(ScaledScorer):
    """One minus the mean squared distance to the nearest centre, in units of ``scale``, up to 1.

    For models with ``cluster_centers_``, or ``location_`` for one centre. As inertia does, it
    prefers more clusters to fewer: compare methods, not numbers of clusters, which
    :class:`skdp.FriendlyCoreKMeans` chooses itself with ``n_clusters="auto"``.

    Parameters
    ----------
    scale : float, default=None
        Public distance from which on a row counts as not represented. By default it is found
        privately, once, before the runs: nine rows in ten are nearer to a centre of a reference
        model, the first candidate.

    See Also
    --------
    skdp.PrivateSearchCV, LogDensityScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp import FriendlyCoreKMeans, PrivateSearchCV
    >>> from skdp.model_selection import DistanceScorer
    >>> search = PrivateSearchCV(
    ...     FriendlyCoreKMeans(n_clusters=2), {"n_init": [1, 2]}, scoring=DistanceScorer(scale=5.0)
    ... )
    >>> search.plan().problems
    ()
    """

    uses_target = False

    def _errors(self, model, X, y):
        return _distances(model, X)


@dataclass(frozen=True)
class LogDensityScorer:
    """The mean log-density of the rows beyond that of a reference model, in nats.

    For models with ``score_samples``. Differences of log-densities have no unit, so that a range
    for them can be public. The reference is the first candidate, fitted once before the runs.

    Parameters
    ----------
    span : float, default=5.0
        The log-density of a row counts from ``-span`` to ``span`` beyond that of the reference.

    See Also
    --------
    skdp.PrivateSearchCV, DistanceScorer

    Notes
    -----
    **Privacy**: as for :class:`RowScorer`.

    Examples
    --------
    >>> from skdp import PrivateGMM, PrivateSearchCV
    >>> from skdp.model_selection import LogDensityScorer
    >>> scorer = LogDensityScorer(span=3.0)
    >>> search = PrivateSearchCV(PrivateGMM(), {"n_components": [1, 2]}, scoring=scorer)
    >>> search.plan().problems
    ()
    """

    span: float = 5.0

    uses_target = False
    needs_reference = True

    def __post_init__(self):
        plain_fields(self, "span")
        if not 0 < self.span < math.inf:
            raise ValueError(f"span must be positive. Got {self.span!r} instead.")

    def prepare(self, reference, X, y, curator):
        """Return ``score(model)``; the reference is released, what it says of rows is not."""

        def log_density(model):
            if all(hasattr(model, name) for name in NAMES):
                return of_rows(partial(mixture_log_density, model), X)
            return by_row(partial(_log_density, model), X, None)

        usual = log_density(reference)

        def score(model):
            return np.clip((log_density(model) - usual) / (2 * self.span) + 0.5, 0, 1)

        return score

    def value(self, mean):
        """Return a mean of scores in [0, 1] in nats beyond the reference."""
        return (2 * mean - 1) * self.span


def scale_plan(budget):
    """Return the plan of what a scorer may release before the runs."""
    return Plan(budget, with_law(budget, DISTANCES))


def by_row(function, X, y, width=None):
    """Return ``function(x, target)`` of every row alone: a row's result knows no other row.

    A row on which it fails has NaN, and decides on nothing else. A call with many rows would not
    do: the last bits of a matrix product depend on its shape. With a ``width`` the function returns
    so many numbers.
    """
    return of_rows(partial(_by_row, function, width), X, y, width)


def of_rows(function, X, y=None, width=None):
    """Return ``function(X)``, or ``function(X, y)``: a number for each row; of Tables by pieces."""
    targets = () if y is None else (y,)
    if not isinstance(X, Tables):
        return function(X, *targets)
    beside = None if y is None else lambda start, stop: y[start:stop]
    nothing = np.empty(0 if width is None else (0, width))
    return np.concatenate([nothing, *X.each(with_current_config(function), beside)])


def _by_row(function, width, X, y=None):
    failures = []
    targets = np.full(X.shape[0], None) if y is None else y
    values = each_row(function, X, targets, failures=failures, width=width)
    faults = [error for error in failures if not isinstance(error, OF_ENTRIES)]
    if get_config()["debug"] and 0 < len(values) == len(faults):
        raise faults[0]
    return values


def as_numbers(X):
    """Return a table of numbers, a frame or an array, as an array of float64."""
    return check_array(X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)


def released_scale(distances, curator):
    """Release the distance below which nine in ten lie; 1 if nothing stands out of the noise.

    **Privacy**: a distance is a function of its row; see :class:`skdp.kernel._columns.ColumnBins`.
    """
    table = table_of_numbers(distances, curator)
    release = table.ask(ColumnBins(np.zeros(1), np.ones(1), BINS), DISTANCES)
    counts = release.value[0]
    seen = counts[counts > 3 * release.scale]
    told = read_scale(counts, release.scale, max(float(seen.sum()), 1.0), BINS)
    return 1.0 if told.nothing else min(max(told.scale, 2.0**-1000), 2.0**1000)


def _distances(model, X):
    """Return the distance of every row from the nearest centre, each row by itself."""
    last = model.steps_[-1][1] if hasattr(model, "steps_") else model
    if last is not model and hasattr(last, "cluster_centers_"):
        return by_row(partial(_nearest, model), X, None)
    centers = getattr(model, "cluster_centers_", getattr(model, "location_", None))
    if centers is None or last is not model:
        raise PlanError(
            'scoring="distance" needs a model with cluster_centers_ or location_. Pass another '
            "scoring, for instance a RowScorer."
        )
    return of_rows(partial(_from_centers, np.atleast_2d(centers)), X)


def _nearest(model, x, _):
    return np.min(np.asarray(model.transform(x)))


def _log_density(model, x, _):
    return model.score_samples(x)[0]


def _from_centers(centers, X):
    X = as_numbers(X)
    nearest = np.full(len(X), np.inf)
    for center in centers:
        np.minimum(nearest, row_norms(X, center=center), out=nearest)
    return nearest
