"""What the estimators of bounded statistics have in common."""

import math
from numbers import Real

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp._compat import Interval
from skdp._estimator import PrivateEstimator
from skdp.accounting import Plan
from skdp.denoising._parameter import check_denoiser, denoised, with_denoiser
from skdp.denoising._vector import fitted_law
from skdp.location._bounded_moments import check_bounds, moment_plan, release_columns
from skdp.location._column_noise import (
    ColumnNoise,
    check_strength,
    column_budget,
    column_step,
    noise_quantile,
)
from skdp.location._descent import LARGEST
from skdp.location._places import NOTHING, TOO_WIDE, Place, Searcher, place_steps
from skdp.location._public import bounds_vectors, column_vector
from skdp.sensitivity import bounded_column, release_bounded

__all__ = ["ColumnEstimator"]


class ColumnEstimator(PrivateEstimator):
    """Base of estimators of bounded statistics, one or several per column.

    A subclass writes

    ``_statistics()``
        the statistics, as :func:`skdp.sensitivity.bounded_column` takes them;
    ``_search(searcher)``
        where they are: a Place with as many entries as there are statistics and columns;
    ``_fitted(values, sd, center)``
        the fitted attributes, from released values and the standard deviations of their noise, both
        of shape (number of statistics, d), and points near the columns;
    ``_without_rows(center)``
        the values (number of statistics, d) where nothing is found.

    One whose ``bounds`` need no search has a ``_degree()`` of moments, and writes
    ``_fitted_between(columns, curator)``, the fitted attributes, from :class:`BoundedColumns`.
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "sensitivity": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "center": [Real, "array-like", None],
    }
    _reaches = True
    denoiser = bounds = None  # parameters of some

    def plan(self):
        """Return what a fit may release and what it costs, without any data.

        Returns
        -------
        plan : Plan
        """
        budget = self._budget(column_budget)
        if self._tells_moments():
            return with_denoiser(moment_plan(budget), self.denoiser)
        steps = () if self._is_placed() else place_steps(budget, reach=self._reaches)
        plan = Plan(budget, (*steps, column_step(budget, "statistic")))
        return with_denoiser(plan, self.denoiser)

    def _degree(self):
        return None

    def _tells_moments(self):
        return self.bounds is not None and self._degree() is not None

    def _is_placed(self):
        return self.sensitivity is not None and self.center is not None

    def _check_public(self, n_features):
        self._column_vectors(n_features)
        check_denoiser(self.denoiser, n_features, self._law())
        if self.bounds is not None:
            check_bounds(
                self.bounds,
                self._budget(column_budget),
                n_features,
                center=self.center is not None,
                sensitivity=self.sensitivity is not None,
            )
        check_strength(self._budget(column_budget), n_features * len(self._statistics()))

    def _law(self):
        return "laplace" if self.delta == 0 else "gaussian"

    def _denoised(self, value, sd, support=None):
        """Return a released vector after the denoiser, and its estimated squared error."""
        law = self._law()
        scale = sd if law == "gaussian" else sd / math.sqrt(2)
        return denoised(value, scale, self.denoiser, law=law, support=support)

    def _column_vectors(self, n_features):
        return (
            column_vector("center", self.center, n_features),
            column_vector("sensitivity", self.sensitivity, n_features, positive=True),
        )

    def _release(self, rows, curator):
        if self._tells_moments():
            columns = release_columns(rows, curator, self.bounds, self._degree())
            return {**self._fitted_between(columns, curator), **columns.attributes()}
        noise, d = ColumnNoise(curator), rows.n_features
        center, sensitivity = self._column_vectors(d)
        reach = LARGEST
        if self.bounds is not None:
            low, high = bounds_vectors(self.bounds, d)
            center, reach = low / 2 + high / 2, high / 2 - low / 2
        times, place, lost = len(self._statistics()), None, False
        if self._is_placed():
            place = Place(np.tile(center, times), np.tile(sensitivity, times))
        else:
            searcher = Searcher(rows, noise, center, reach)
            if not searcher.few:
                place = self._search(searcher)
                lost = place.lost & (sensitivity is None)
                if sensitivity is not None:
                    place.sensitivity = np.tile(sensitivity, times)
        if place is None:
            curator.doubt(NOTHING)
            start = np.zeros(d) if center is None else center
            values = np.asarray(self._without_rows(start))
            return self._fitted(values, np.full(values.shape, math.inf), start)
        values, sd = self._draw(rows, curator, noise, place)
        if np.any(lost):
            curator.doubt(TOO_WIDE)
        values, sd = np.nan_to_num(values).reshape(times, d), np.where(lost, math.inf, sd)
        return self._fitted(values, sd.reshape(times, d), place.center[:d])

    def _draw(self, rows, curator, noise, place):
        """Release the statistics; return values and the standard deviations of their noise."""
        d = rows.n_features
        bounded = [
            bounded_column(
                rows,
                i % d,
                self._statistics()[i // d],
                sensitivity=place.sensitivity[i],
                center=place.center[i],
            )
            for i in range(len(place.center))
        ]
        release = release_bounded(bounded, curator, share=curator.remaining, label="statistic")
        return release.values, np.array([noise.deviation(scale) for scale in release.scales])

    def _half_width(self, sd, confidence, simultaneous):
        """Return half the length of intervals for noise of standard deviations ``sd``."""
        check_is_fitted(self)
        columns = sd.size if simultaneous else 1
        return sd * noise_quantile(confidence, fitted_law(self), columns)
