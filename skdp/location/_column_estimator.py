"""What the estimators of bounded statistics have in common."""

import math
from dataclasses import replace
from numbers import Real

import numpy as np

from skdp.accounting import Plan, Step
from skdp.denoising._auto import check_denoiser, with_denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._bounded import BoxedSquares
from skdp.kernel._lattice import Boxed, InBox
from skdp.kernel._table import annex
from skdp.location._bounded_moments import (
    AT_BOUND,
    bounded_rule,
    check_bounds,
    doubt_clipped,
    moment_plan,
    release_columns,
)
from skdp.location._bounded_search import NARROW_STEPS, are_narrow, looks_inside
from skdp.location._column_strategies import asked_first, release_with_gaps, with_gaps
from skdp.location._places import TOO_WIDE, ColumnSearch, StatisticScale, place_steps
from skdp.location._rank_release import LARGEST, NOTHING
from skdp.scales._column_noise import (
    ColumnNoise,
    check_strength,
    column_budget,
    with_law,
)
from skdp.sensitivity import release_bounded
from skdp.sensitivity._bounded import bounded_columns
from skdp.utils._compat import Interval
from skdp.utils._numbers import bounds_vectors, column_vector

ALIKE = "no two values were told apart in a column: all are taken to lie within 1 of a point"
UNTOLD = "the scale of a column was not found: it is no larger than what noise or unseen rows make"
THIN = "a column is spread so thinly that its scale may be many times larger"
TAIL = (
    "a column has a tail of which too little is seen: its variance may be more than "
    "twice as large; pass bounds=(low, high) near the rows if known"
)
UNSEEN = (
    "rows at a bound, too few to be seen, may make a variance more than twice as large; pass "
    "bounds=(low, high) near the rows if known"
)
HIDDEN = (
    "so few rows for this epsilon that a tail which carries most of a variance may stay unseen: it "
    "is that of the rows that are seen; pass bounds=(low, high) near the rows if known"
)
RANGE = "the range of a column was not found: nothing was seen besides one value, or nothing clear"
MEMORY = (
    "memory: 64 MB as a rule; where two passes do not tell a column, a few numbers for each row"
)
STATISTIC = Step("statistic", of=(BoxedSquares,))  # or a bounded statistic of many rows
LOOSE = 1  # times a variance: what it may lack, so that it is no less than half of the truth
CLEAR = 2  # standard deviations that a variance is told from its noise by


class ColumnEstimator(PrivateEstimator):
    """Base of estimators of bounded statistics, one or several per column.

    A subclass writes

    ``_statistics()``
        the statistics, as :func:`skdp.sensitivity._bounded.bounded_columns` takes them;
    ``_search(searcher)``
        where they are: a StatisticScale with as many entries as there are statistics and columns,
        or None for nowhere;
    ``_fitted(values, sd, center)``
        the fitted attributes, from released values and the standard deviations of their noise, both
        of shape (number of statistics, d), and points near the columns;
    ``_without_rows(center)``
        the values (number of statistics, d) where nothing is found.

    It may write

    ``_weighed(fitted, sd, place, table)``
        the fitted attributes once more, after a look at the StatisticScale, with doubts told to the
        table;
    ``_drawn(fitted, sd, place, n)``
        standard deviations of noise and sampling together, (d,), from a released number of rows n,
        None where it is not known; None is not told.

    One whose ``bounds`` need no search has a ``_degree()`` of moments, and writes
    ``_fitted_between(columns, table)``, the fitted attributes, from :class:`BoundedColumns`.
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "sensitivity": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "center": [Real, "array-like", None],
    }
    _weighs_groups = property(lambda self: self._tells_moments())
    _gaps = property(lambda self: self._tells_moments() or self._searches())
    _reaches = True
    denoiser = bounds = None  # parameters of some

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(column_budget)
        if self._tells_moments():
            plan = moment_plan(budget)
            if self._looks_inside():
                steps = (*NARROW_STEPS, *place_steps(budget, reach=True), STATISTIC, *plan.steps)
                plan = replace(plan, steps=steps)
            return with_denoiser(plan, self.denoiser)
        steps = () if self._is_placed() else place_steps(budget, reach=self._reaches)
        steps = (*steps, *with_law(budget, STATISTIC))
        plan = Plan(budget, steps, assumptions=(MEMORY,))
        return with_denoiser(with_gaps(plan) if self._searches() else plan, self.denoiser)

    def _group_rule(self, n_features):
        return bounded_rule(n_features)

    def _degree(self):
        return None

    def _tells_moments(self):
        return self.bounds is not None and self._degree() is not None

    def _looks_inside(self):
        """Whether rows that take up a small part of their bounds are looked for there."""
        return self._degree() == 2 and looks_inside(self)

    def _searches(self):
        """Whether nothing but the rows tells where they lie, so that columns may be apart."""
        given = self.bounds, self.sensitivity, self.center, self.denoiser
        return all(one is None for one in given)

    _asked_first = asked_first

    def _is_placed(self):
        return self.sensitivity is not None and self.center is not None

    def _check_public(self, n_features):
        self._column_vectors(n_features)
        if self.denoiser is not None:
            check_denoiser(self.denoiser, n_features, self._law())
        if self.bounds is not None:
            names = ("center", "sensitivity")
            given = [name for name in names if getattr(self, name) is not None]
            check_bounds(self.bounds, self._budget(column_budget), n_features, given)
        check_strength(self._budget(column_budget), n_features * len(self._statistics()))

    def _column_vectors(self, n_features):
        return (
            column_vector("center", self.center, n_features),
            column_vector("sensitivity", self.sensitivity, n_features, positive=True),
        )

    def _release(self, table):
        d = self.n_features_in_
        if self._searches() and table.n_features == d:  # of persons it may have other columns
            apart = release_with_gaps(table, lambda column: self._release_of(column, 1))
            if apart:
                return {name: _joined(name, [one[name] for one in apart]) for name in apart[0]}
        return self._release_of(table, d)

    def _release_of(self, table, d):
        if self._tells_moments():
            ends = bounds_vectors(self.bounds, d)
            if not (self._looks_inside() and are_narrow(table, *ends)):
                return self._of_moments(table)
            table = table.map(InBox(*ends))
        center, sensitivity = self._column_vectors(d)
        reach = LARGEST
        if self.bounds is not None:
            low, high = bounds_vectors(self.bounds, d)
            center, reach = low / 2 + high / 2, high / 2 - low / 2
        times, place, lost, n = len(self._statistics()), None, False, None
        if self._is_placed():
            place = StatisticScale(np.tile(center, times), np.tile(sensitivity, times))
        else:
            searcher = ColumnSearch(table, center, reach, d=d)
            n = searcher.n
            if not searcher.few:
                place = self._search(searcher)
            if place is not None and sensitivity is not None:
                place = StatisticScale(place.center, np.tile(sensitivity, times))
            elif place is not None:
                lost = place.lost
        if place is None and self._tells_moments():
            return self._of_moments(table)
        if place is None:
            table.doubt(NOTHING)
            start = np.zeros(d) if center is None else center
            values = np.asarray(self._without_rows(start))
            sd = np.full(values.shape, math.inf)
            return self._and_drawn(self._fitted(values, sd, start), sd, None, n)
        values, sd = self._draw(table, place)
        if np.any(lost):
            table.doubt(TOO_WIDE, columns=np.reshape(lost, (times, d)).any(axis=0))
        values = np.nan_to_num(values).reshape(times, d)
        sd = np.where(lost | place.nothing, math.inf, sd)
        sd = sd.reshape(times, d)
        fitted = self._fitted(values, sd, place.center[:d])
        fitted = self._weighed(fitted, sd, place, table)
        fitted = self._and_drawn(fitted, sd, place, n)
        return self._inside(fitted, place, ends, table) if self._tells_moments() else fitted

    def _of_moments(self, table):
        columns = release_columns(table, self.bounds, self._degree())
        return {**self._fitted_between(columns, table), **columns.attributes()}

    def _inside(self, fitted, place, ends, table):
        """Return the fitted attributes of rows that were found inside their bounds."""
        table.doubt(UNSEEN, columns=hidden_variance(place, ends) > LOOSE * fitted["var_"])
        (low, high), d = ends, len(ends[0])
        near, center = AT_BOUND * (high - low), place.center[-d:]
        at_bounds = np.array([center - low <= near, high - center <= near])
        doubt_clipped(table, np.array(ends), at_bounds & ~place.found[-d:])
        return {**fitted, "bounds_": np.array(ends), "moments_": None, "moments_covariance_": None}

    def _and_drawn(self, fitted, sd, place, n):
        drawn = self._drawn(fitted, sd[0], place, n)
        if drawn is None:
            return fitted
        counted = {} if n is None else {"n_rows_": float(n)}
        return {**fitted, "sampling_noise_scale_": drawn, **counted}

    def _drawn(self, fitted, sd, place, n):
        return None

    def _weighed(self, fitted, sd, place, table):
        table.doubt(ALIKE, columns=~place.found.reshape(len(self._statistics()), -1)[0])
        return fitted

    def _draw(self, table, place):
        """Release the statistics; return values and the standard deviations of their noise."""
        statistics = self._statistics()
        if place.box is not None and self.sensitivity is None:
            return _draw_squares(table, place, means=len(statistics) > 1)
        d, k = len(place.center) // len(statistics), len(place.center)
        rows, curator = annex(table)  # a bounded statistic is a function of many rows together
        bounded = bounded_columns(
            rows,
            [i % rows.n_features for i in range(k)],
            [statistic for statistic in statistics for _ in range(d)],
            sensitivity=place.sensitivity,
            center=place.center,
        )
        release = release_bounded(bounded, curator, share=table.remaining, label=STATISTIC.label)
        deviation = ColumnNoise(table.budget).deviation
        return release.values, np.array([deviation(scale) for scale in release.scales])


def hidden_variance(place, ends):
    """Return the variances that as many rows as no cell shows make at the farther bounds."""
    (low, high), center = ends, place.center[-len(ends[0]) :]
    unseen = np.full(len(low), math.inf) if place.far is None else place.far
    return unseen * np.square(np.maximum(center - low, high - center)) / place.n_rows


def _joined(name, parts):
    """Return an attribute of columns that were released by themselves: arrays, counts, a sum."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=-1)
    if parts[0] is None:
        return None
    return np.array(parts) if name == "n_rows_" else float(np.sum(parts))


def _draw_squares(table, place, *, means):
    """Release variances, and means before them if asked, and the deviations of their noise."""
    offset, var, offset_sd, var_sd = release_squares(
        table,
        place.box,
        n_rows=place.n_rows,
        count_sd=place.count_sd,
        means=means,
    )
    center, radius = (np.array([getattr(c, k) for c in place.box]) for k in ("center", "radius"))
    values, sd = radius * radius * var, radius * radius * var_sd
    place.excess *= np.tile(1 + np.abs(np.clip(offset, -1, 1)), 1 + means)
    if means:
        values = np.append(np.nan_to_num(center + radius * offset), values)
        sd = np.append(radius * offset_sd, sd)
    return values, sd


def doubt_variance(var, sd, place, table):
    """Return which variances are told from their noise, and from what unseen rows make.

    One row moves a bounded variance by at most its sensitivity. So many rows that hide far beyond
    an interval with all that was seen in it make a variance in units of that interval.
    """
    hidden = (place.unseen * place.sensitivity)[-len(var) :]
    told = var > CLEAR * sd + hidden
    found = told & place.found[-len(var) :]
    table.doubt(UNTOLD, columns=~found)
    thin, loose = place.thin[-len(var) :], place.excess[-len(var) :] > LOOSE * var
    table.doubt(THIN, columns=found & thin)
    table.doubt(TAIL, columns=found & loose & ~thin)
    if place.hidden:
        table.doubt(HIDDEN, columns=found & ~loose & ~thin)
    return told


class ExtremesMixin:
    """Mixin of estimators of the minimum and the maximum of every column.

    Of groups they read a table with the minima of every group in the first half of its columns, and
    the maxima in the second: the extremes of it are those of all rows.
    """

    _reaches = False

    def _statistics(self):
        return ["min", "max"]

    def _search(self, searcher):
        return searcher.extremes()

    def _made_of_groups(self):
        return "extremes"


def doubt_extremes(low, high, place, table):
    """Return where a range was found."""
    told = place.found[: len(low)] & (low < high)
    table.doubt(RANGE, columns=~told)
    return told


def release_squares(table, box, *, n_rows, count_sd, means):
    """Release variances of clipped columns with all that is left of the budget."""
    d = len(box)
    center, radius = (np.array([getattr(one, k) for one in box]) for k in ("center", "radius"))
    asked = BoxedSquares(np.array([one.level for one in box]), means)
    boxed = table.map(Boxed(center, radius))
    release = boxed.ask(asked, STATISTIC, share=table.remaining)
    asked = replace(asked, pure=release.law == "laplace", bits=release.bits)
    a, b, grid, count = asked.level, asked.weight, asked.grid, asked.constant
    sd = release.scale * (math.sqrt(2) if asked.pure else 1) / grid
    first, second = release.value[:-1].reshape(2, d) / grid
    own_sd = sd * grid / count
    weight = count_sd**2 / (count_sd**2 + own_sd**2)
    n = max(weight * float(release.value[-1]) / count + (1 - weight) * n_rows, 1.0)
    n_sd = math.sqrt(weight) * own_sd
    offset, mean_sd = first / b / n, sd / b / n
    part = second / n
    var = part + a - np.square(offset) + mean_sd**2
    slope = (2 * np.square(offset) - part) * n_sd / n
    var_sd = np.sqrt((sd / n) ** 2 + np.square(2 * offset * mean_sd) + slope**2 + 2 * mean_sd**4)
    return offset, var, np.hypot(mean_sd, offset * n_sd / n), var_sd
