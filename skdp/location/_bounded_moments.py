"""What released moments of columns between public bounds tell: means, variances, intervals."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Plan, Step
from skdp.accounting._plan import release_mechanism
from skdp.columns import bounded_moments
from skdp.columns._ranks_read import two_sided
from skdp.kernel._bounded import Bernstein, Powers
from skdp.location._release import MeanRelease
from skdp.scales._column_noise import check_sampling, check_strength, level_of_each, with_law
from skdp.table._groups import GroupRule
from skdp.utils._numbers import bounds_vectors

FEW = (
    "too few rows to be told from the noise: the results are little more than the bounds. Use a "
    "larger epsilon or more rows"
)
# Nine rows in ten are within a tenth of the range of a bound that the mean is this near (Markov).
AT_BOUND, NEAR, LARGEST_NEAR = 0.01, 3.0, 0.1  # of the range; noise deviations of t; the most of t
CLIPPED = (
    "nearly every row lies at or beyond the {} bound. Pass wider bounds, or none where none are "
    "needed"
)
MOMENTS = Step("moments", of=(Powers, Bernstein))
SPREAD_NOISES = 0.5  # deviations of its noise that a released variance of t is taken larger by
SPREAD_LEAST = 0.25  # the least variance of t beside the noise in it
MEAN_PART = 0.1  # of what intervals of variances may miss, for the mean that they rest on
GRID = 33  # values of that mean that are looked at


def bounded_rule(n_features):
    """Return the GroupRule of moments: noise is in proportion to bounds, a few deviations away."""
    return GroupRule(noise=4.0 * math.sqrt(n_features), least=60.0)


def moment_plan(budget):
    """Return the plan of :func:`release_columns`."""
    return Plan(budget, with_law(budget, MOMENTS))


def check_bounds(bounds, budget, n_features, given=()):
    """Raise ValueError for bounds that are none, or beside parameters that they make needless."""
    if given:
        raise ValueError(
            f"bounds say all that is asked about the columns, and have no use beside "
            f"{' and '.join(given)}. Leave out bounds, or the other."
        )
    bounds_vectors(bounds, n_features)
    check_strength(budget, n_features)


def release_columns(table, bounds, degree):
    """Release :class:`BoundedColumns` with all that is left of the budget."""
    low, high = bounds_vectors(bounds, table.n_features)
    moments = bounded_moments(
        table,
        low=low,
        high=high,
        degree=degree,
        share=table.remaining,
        label=MOMENTS.label,
    )
    columns = BoundedColumns(np.array([low, high]), moments.values, moments.covariance, moments.law)
    if columns.few.any():
        table.doubt(FEW, columns=None if columns.few.all() else columns.few)
    doubt_clipped(table, columns.bounds, columns.at_bounds() & ~columns.few)
    return columns


def doubt_clipped(table, bounds, at_bounds):
    """Doubt columns whose rows are nearly all at a bound; shapes: both (2, d).

    A lower bound of 0 is no doubt: most numbers that are never negative are often 0.
    """
    for end, name in enumerate(("lower", "upper")):
        table.doubt(CLIPPED.format(name), at_bounds[end] & ((bounds[end] != 0) | (end == 1)))


@dataclass(frozen=True)
class BoundedColumns:
    """Columns between public bounds, as far as a release tells.

    Everything is worked out for t, the entries mapped from the bounds to [-1, 1].
    """

    bounds: np.ndarray  # shape (2, d)
    moments: np.ndarray  # shape (2 or 3, d): released numbers of entries, sums of t and of t^2
    covariance: np.ndarray  # shape (2, 2) or (3, 3): of the noise in a column of `moments`
    law: str  # {"gaussian", "laplace"}

    @classmethod
    def of(cls, estimator):
        """Return the moments that an estimator has released between bounds, or None."""
        if getattr(estimator, "moments_", None) is None:
            return None
        law = release_mechanism(estimator.privacy_report_.budget)
        return cls(estimator.bounds_, estimator.moments_, estimator.moments_covariance_, law)

    def attributes(self):
        """Return the fitted attributes that hold the release."""
        return {
            "bounds_": self.bounds,
            "moments_": self.moments,
            "moments_covariance_": self.covariance,
        }

    @property
    def few(self):
        """Whether the numbers of entries do not stand clear of their noise, column by column."""
        return self.moments[0] < 4 * math.sqrt(self.covariance[0, 0])

    def at_bounds(self):
        """Return whether nearly all rows are at the lower, or the upper bound: shape (2, d).

        Not where rows are told at both ends and none between: there the mean is a rate.
        """
        t, noise = self._t, self._t_noise()
        near = np.fmax(2 * AT_BOUND, np.fmin(NEAR * noise, LARGEST_NEAR))
        rates = np.zeros(len(t), dtype=bool)
        if len(self.moments) > 2:
            v, v_noise = self._v(), NEAR * self._v_noise()
            rates = (v > v_noise) & (v >= 1 - np.square(t) - v_noise)
        return (np.array([1 + t, 1 - t]) <= near) & ~rates

    @property
    def n_rows(self):
        """The numbers of entries to divide by."""
        return np.maximum(self.moments[0], max(math.sqrt(2 * self.covariance[0, 0]), 1.0))

    @property
    def _half(self):
        return self.bounds[1] / 2 - self.bounds[0] / 2

    @property
    def _t(self):
        return np.clip(self.moments[1] / self.n_rows, -1, 1)

    def _t_noise(self):
        var_n, var_t = np.diag(self.covariance)[:2]
        return np.sqrt(var_t + np.square(self._t) * var_n) / self.n_rows

    def mean(self):
        """Return means (d,) between the bounds, and the standard deviations of their noise."""
        return self._entries(self._t), self._half * self._t_noise()

    def mean_release(self):
        """Return the :class:`MeanRelease` of the means."""
        deviation = self._half * np.sqrt(self._spread())
        clipping = np.zeros((2, self.bounds.shape[1]))
        return MeanRelease(*self.mean(), clipping, self.n_rows, deviation)

    def _spread(self):
        """Return variances of t to count on: at most those of a column at its ends.

        The released variance is taken larger by a part of its noise, and never next to nothing.
        """
        most = 1 - np.square(self._t)
        if len(self.moments) < 3:
            return most
        noise = self._v_noise()
        v = np.maximum(self._v() + SPREAD_NOISES * noise, SPREAD_LEAST * noise)
        return np.minimum(v, most)

    def _v(self):
        return np.clip(self.moments[2] / self.n_rows - np.square(self._t), 0, 1)

    def _v_noise(self):
        C, t = self.covariance, self._t
        w = np.square(t) - self._v()
        var = C[2, 2] + 4 * t * t * C[1, 1] + w * w * C[0, 0] + 2 * w * C[0, 2]
        return np.sqrt(var) / self.n_rows

    def variance(self):
        """Return variances (d,) and the standard deviations of their noise."""
        var = np.minimum(self._squares(self._v()), np.finfo(float).max)
        return var, self._squares(self._v_noise())

    def deviation(self):
        """Return the square roots of the variances, and of their noise."""
        return self._half * np.sqrt(self._v()), self._half * np.sqrt(self._v_noise())

    def mean_interval(self, confidence, *, simultaneous=False, sampling=False):
        """Return intervals for the means of the clipped entries.

        Notes
        -----
        If T is the mean of t, ``sum t - T n`` is 0, and its released value is noise of the known
        variance ``var_t + T^2 var_n``. The T for which it is less than z times its deviation are a
        set of confidence for any number of rows (Fieller 1954); where it is no interval there is
        nothing told. What is added so that no interval is empty only widens.

        With T that of the population, ``sum t - T n`` has the variance n Var(t) besides, which is
        at most ``n (1 - T^2)`` as t is in [-1, 1], and exactly that if t is at its ends, as in
        rates. The set is Wilson's interval then, with the noise. Where the released variance is
        smaller, ``n`` of it is added in its place.
        """
        check_sampling(sampling)
        low, high = self._t_interval(self._each(confidence, simultaneous), sampling)
        ends = self._entries(low), self._entries(high)  # whose order roundings may turn
        return np.minimum(*ends), np.maximum(*ends)

    def _t_interval(self, confidence, sampling):
        z = two_sided(confidence, self.law)
        n, t = self.moments[:2]
        drawn = sampling * self.n_rows
        var_n, var_t = np.diag(self.covariance)[:2]
        spread = self._spread()
        at_ends = spread >= 1 - np.square(t / self.n_rows).clip(0, 1)
        # n (1 - T^2) more, for every T, or n times the released variance
        var_n = var_n - np.where(at_ends, drawn, 0)
        var_t = var_t + drawn * np.where(at_ends, 1, spread)
        low, high = _between_roots(n * n - z * z * var_n, t * n, t * t - z * z * var_t)
        low, high = np.where(n > 0, low, -1), np.where(n > 0, high, 1)
        near = z * self._t_noise()
        return _within(low, high, self._t, near, -1)

    def variance_interval(self, confidence, *, simultaneous=False, sampling=False):
        """Return intervals for the variances of the clipped entries.

        Parameters are those of :meth:`mean_interval`.

        Notes
        -----
        With T and V the mean and the variance of t, ``sum t^2 - 2 T sum t + (T^2 - V) n`` is 0. As
        for the mean, the V that its released value allows are a set of confidence if T is known,
        and T itself is in an interval; it moves the set in second order only. With T and V those of
        the population, ``w = (t - T)^2`` is in [0, M], M = (1 + |T|)^2, and has the mean V, so a
        variance of at most ``V (M - V)``, of which n are added.
        """
        check_sampling(sampling)
        missed = 1 - self._each(confidence, simultaneous)
        low, high = self._t_interval(1 - MEAN_PART * missed, sampling)
        z = two_sided(1 - (1 - MEAN_PART) * missed, self.law)
        T = low + (high - low) * np.linspace(0, 1, GRID)[:, None]
        C, (n, t, s) = self.covariance, self.moments
        s = s - 2 * T * t
        drawn, most, square = sampling * self.n_rows, np.square(1 + np.abs(T)), T * T
        # of V - T^2 = v: n V (M - V) = n (T^2 (M - T^2) + (M - 2 T^2) v - v^2)
        var = C[2, 2] + 4 * square * C[1, 1] + drawn * square * (most - square)
        linear = C[0, 2] - drawn * (most - 2 * square) / 2
        lowest, highest = _between_roots(
            n * n - z * z * (C[0, 0] - drawn) + 0 * s, s * n - z * z * linear, s * s - z * z * var
        )
        told = n > 0
        lowest = np.where(told, np.fmin.reduce(lowest + T * T), 0)
        highest = np.where(told, np.fmax.reduce(highest + T * T), 1)
        near = z * self._v_noise()
        low, high = _within(lowest, highest, self._v(), near, 0)
        return self._squares(low), self._squares(high)

    def _each(self, confidence, simultaneous):
        """Return the confidence of every interval.

        At the true mean and variance of t what they allow are limits to noises of known variance,
        one or two a column, all of them linear in the noise of the moments.
        """
        return level_of_each(confidence, self.bounds.shape[1] if simultaneous else 1, self.law)

    def _entries(self, t):
        (low, high), w = self.bounds, (1 + t) / 2
        return np.clip(low * (1 - w) + high * w, low, high)

    def _squares(self, v):
        with np.errstate(over="ignore"):
            return np.square(self._half * np.sqrt(v))


def _between_roots(a, b, c):
    """Return where a x^2 - 2 b x + c <= 0: between two roots if a > 0, else anywhere."""
    with np.errstate(all="ignore"):
        root = np.sqrt(b * b - a * c)  # NaN for nowhere
        low, high = (b - root) / a, (b + root) / a
    return np.where(a > 0, low, -np.inf), np.where(a > 0, high, np.inf)


def _within(low, high, middle, near, least):
    """Return intervals widened to hold what is ``near`` to their middles, cut to [least, 1]."""
    low, high = np.fmin(low, middle - near), np.fmax(high, middle + near)
    return np.clip(low, least, 1), np.clip(high, least, 1)
