"""Common parts of the estimators of quantiles: by ranks, bounded, or by a choice."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Plan, Step
from skdp.columns import rank_steps
from skdp.columns._magnitude_histogram import first_ranks
from skdp.denoising._vector import fitted_law
from skdp.kernel._ranks import RankScores
from skdp.location._location import SLACK, Location
from skdp.location._places import place_steps
from skdp.location._rank_release import release_quantiles
from skdp.readers._calendar import with_dates
from skdp.scales._column_noise import check_sampling, check_strength, column_budget, level_of_each
from skdp.sensitivity import Quantile
from skdp.table._batched import transforms_pieces
from skdp.table._groups import GroupRule
from skdp.utils._compat import StrOptions
from skdp.utils._numbers import bounds_vectors

LINEAR, PER_OCTAVE, OCTAVES = 256, 64, 20
MOST_COLUMNS = 2**16
CHOICE = Step("statistic", "select", 1, MOST_COLUMNS, of=(RankScores,))
STEPS = 8  # of the grid, per distance that the noise moves a rank by
FALL = 2.0  # of the prior weight of an octave of far candidates, from one to the next


def choose_quantile(table, column, p, place, *, share):
    """Choose a point near a quantile of a column.

    Notes
    -----
    **Privacy**: see :class:`skdp.kernel._ranks.RankScores`. The candidates do not depend on rows.
    The far octaves have half the prior weight of the ones before them, so where no rank tells
    candidates apart, as beyond the outermost row, none is chosen for being far away. Which pure
    epsilon a share buys is told by :meth:`Curator.select`.
    """
    amount = float(table.budget.amount * share)
    epsilon = amount if table.budget.measure == "pure" else np.sqrt(8 * amount)
    center, sensitivity = place.center[column], place.sensitivity[column]
    grid = _grid(center, sensitivity / STEPS / max(1.0, epsilon))
    asked = RankScores(column, *Quantile(p).p.as_integer_ratio(), grid, _nats())
    index = table.choose(asked, share=share, label=CHOICE.label)
    return float(grid[index]), float(np.sqrt(8) * sensitivity / epsilon)


def _grid(center, step):
    """Return points that lie evenly near the centre and logarithmically far from it."""
    near = np.arange(1, LINEAR + 1)
    far = LINEAR * np.exp2(np.arange(1, PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)
    away = np.concatenate([near, far]) * step
    return np.nan_to_num(np.concatenate([center - away[::-1], [center], center + away]))


def _nats():
    """Return by how many factors of e the candidates are less likely from the start."""
    octaves = np.arange(1, PER_OCTAVE * OCTAVES + 1) // PER_OCTAVE
    away = np.concatenate([np.zeros(LINEAR), octaves * np.log(FALL)])
    return np.concatenate([away[::-1], [0.0], away])


def rank_rule(n_features):
    """Return the GroupRule of quantiles, for those in the middle of columns."""
    return GroupRule(noise=3.0 * math.sqrt(n_features), least=60.0)


@transforms_pieces
class QuantileEstimator(Location):
    """Base of quantiles. A subclass writes ``_q()``, the quantile or the quantiles as given."""

    _parameter_constraints: dict = {
        **Location._parameter_constraints,
        "bounds": ["array-like", None],
        "method": [StrOptions({"ranks", "bounded", "exponential"})],
    }
    _weighs_groups = property(lambda self: self.method != "bounded")
    _gaps = property(lambda self: self.method == "ranks")

    def _searches(self):
        return False

    def _asked_first(self, n_features):
        if self.method != "ranks":
            return super()._asked_first(n_features)
        return first_ranks(n_features, bounded=self.bounds is not None)

    _reaches = False
    _noun = "quantile"

    def _axes(self):
        return {"q": self._levels()}

    def _spread(self):
        found = hasattr(self, "rank_curves_")
        return self.rank_curves_.spread(fitted_law(self)) if found else None

    def _possible(self):
        return self.rank_curves_.ends if hasattr(self, "rank_curves_") else super()._possible()

    def _group_rule(self, n_features):
        return rank_rule(n_features)

    def _levels(self):
        """Return the quantiles as an array of shape () or (n_q,)."""
        try:
            q = np.asarray(self._q(), dtype=np.float64)
        except (TypeError, ValueError):
            q = np.empty((0, 0))
        inside = (q >= 0) & (q <= 1)
        if q.ndim > 1 or not q.size or not inside.all():
            raise ValueError("q must be a number, or a sequence of numbers, in [0, 1].")
        return q

    def _statistics(self):
        p = self._q()
        return ["median" if p == 0.5 else Quantile(p)]

    def _search(self, searcher):
        return searcher.quantile(float(self._q()), SLACK)

    def _is_vector(self):
        return self.method == "bounded"

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        q = self._levels()
        self._check_method(q)
        if self._is_vector():
            return super().plan()
        if self.denoiser is not None:
            raise ValueError(
                f"method={self.method!r} takes no denoiser: its result is near the quantile in "
                "rank, and how far that is from it follows no known law. Use "
                'method="bounded", or denoiser=None.'
            )
        if np.any((q == 0) | (q == 1)) or (self.method == "exponential" and self._is_extreme()):
            raise ValueError(
                f"method={self.method!r} takes no extremes: all points beyond the rows are as good "
                "as the extreme itself, however far they lie. Use PrivateMinMax, "
                'method="bounded", or a q between 0 and 1.'
            )
        if self.method == "ranks":
            budget = self._budget(column_budget)
            return Plan(budget, rank_steps(budget, bounded=self.bounds is not None))
        budget = self._budget(lambda epsilon, delta: column_budget(epsilon, delta, choice=True))
        steps = () if self._is_placed() else place_steps(budget)
        return Plan(budget, (*steps, CHOICE))

    def _is_extreme(self):
        statistic = self._statistics()[0]
        return statistic != "median" and statistic.p in (0, 1)

    def _check_method(self, q):
        """Raise ValueError for parameters that the method has no use for."""
        if self.method == "ranks":
            if self.sensitivity is not None or self.center is not None:
                raise ValueError(
                    'method="ranks" takes neither sensitivity nor center: it counts rows between '
                    "points that it finds, and nothing moves them by more than one row. Leave them "
                    'out, give bounds=(low, high) if you know them, or use method="bounded".'
                )
            return
        if self.bounds is not None:
            raise ValueError(
                f"method={self.method!r} takes no bounds: it works from center and sensitivity. "
                'Leave bounds out, or use method="ranks".'
            )
        if q.ndim:
            raise ValueError(
                f'method={self.method!r} takes one q, a number. Use method="ranks", which '
                "releases any number of quantiles at the price of one, or one fit for each."
            )

    def _check_public(self, n_features):
        if self.method != "ranks":
            return super()._check_public(n_features)
        bounds_vectors(self.bounds, n_features)
        return check_strength(self._budget(column_budget), n_features)

    def _release(self, table):
        if self.method != "ranks":
            return super()._release(table)
        q, bounds = self._levels(), bounds_vectors(self.bounds, table.n_features)
        value, sd, curves = release_quantiles(table, np.atleast_1d(q), bounds)
        if not q.ndim:
            value, sd = value[0], sd[0]
        return {
            "location_": value,
            "noisy_location_": value,
            "risk_estimate_": float(np.sum(np.square(sd))),
            "noise_scale_": sd,
            "rank_curves_": curves,
        }

    def _draw(self, table, place):
        if self.method == "bounded":
            return super()._draw(table, place)
        found = [
            choose_quantile(
                table,
                j,
                self._q(),
                place,
                share=table.remaining / (table.n_features - j),
            )
            for j in range(table.n_features)
        ]
        values, sd = zip(*found, strict=True)
        return np.array(values), np.array(sd)

    def _drawn(self, fitted, sd, place, n):
        return super()._drawn(fitted, sd, place, n) if self._is_vector() else None

    @with_dates
    def interval(self, confidence=0.95, *, simultaneous=False, sampling=False):
        """Return intervals for the quantiles of the rows, or of the population behind them.

        By ``method="ranks"`` the ends are points whose noisy ranks are clear of the quantile: it
        lies above the lower one, and not above the upper one. A value that many rows share is
        within. Where no point is clear the end is infinite, or the bound. With
        ``method="bounded"`` they are intervals for the bounded quantile, that of the table where no
        row is worth more than the sensitivity, around ``noisy_location_``. They account for the
        privacy noise.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.
        sampling : bool, default=False
            Whether they are to cover the quantiles of the population that the rows were drawn from.
            By ``method="ranks"`` nothing is assumed of it: of n rows a binomial number is below its
            quantile, of the variance n q (1 - q), which adds to that of a noisy rank. With
            ``method="bounded"`` see :meth:`PrivateTrimmedMean.interval`.

        Returns
        -------
        lower, upper : ndarrays of the shape of ``location_``

        Raises
        ------
        ValueError
            For ``method="exponential"``, whose noise has no known law around the quantile.
        """
        check_is_fitted(self)
        if hasattr(self, "rank_curves_"):
            return self._rank_interval(confidence, simultaneous, sampling)
        if self.method == "exponential":
            raise ValueError(
                'method="exponential" has no interval: its noise is not of a known law around the '
                'quantile. Use method="ranks", or noise_scale_ as a hint.'
            )
        return super().interval(confidence, simultaneous=simultaneous, sampling=sampling)

    def _rank_interval(self, confidence, simultaneous, sampling):
        check_sampling(sampling)
        value = self.location_
        confidence = level_of_each(confidence, value.size if simultaneous else 1)
        table = np.atleast_2d(value)
        ends = self.rank_curves_.interval(table, confidence, fitted_law(self), sampling)
        return tuple(end.reshape(value.shape) for end in ends)

    def _check_vector(self):
        if hasattr(self, "rank_curves_") or self.method == "exponential":
            raise ValueError(
                "quantiles by ranks or by a choice have no noise of a known law, which a denoiser "
                'needs. Fit with method="bounded".'
            )
