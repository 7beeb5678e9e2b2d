"""Quantiles by noisy ranks, as estimators release them: the plan, the release, the intervals."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.columns import find_quantiles, rank_steps
from skdp.columns._ranks_read import limits, two_sided
from skdp.location._column_noise import ColumnNoise, column_step
from skdp.location._places import NOTHING

__all__ = ["RankCurves", "rank_plan_steps", "release_quantiles"]

TENTH, SURE = 0.1, 2.0  # of the ranks; standard deviations of their noise
OPEN = "nothing clear beyond a quantile: too few rows on one of its sides"


@dataclass(frozen=True)
class RankCurves:
    """What a fit has released of ranks, quantile by quantile and column by column.

    Attributes
    ----------
    q : ndarray of shape (n_q,)
        Rising.
    points : list of d ndarrays of shape (m,)
        The cuts of a column between its two ends; rows are above the first and not above the last.
    excess, sd : list of d ndarrays of shape (n_q, m)
        How many ranks a point is above the quantile, and the standard deviation of that.
    """

    q: np.ndarray
    points: list
    excess: list
    sd: list

    @property
    def n_rows(self):
        """What the ranks of the ends tell of the number of rows, NaN where nothing was found."""
        told = [excess[0, -1] - excess[0, 0] for excess in self.excess if excess.size]
        return float(np.mean(told)) if told else np.nan

    @property
    def ends(self):
        """What no quantile is beyond: ndarrays of shape (d,), infinite without bounds."""
        ends = [(x[0], x[-1]) if len(x) else (-np.inf, np.inf) for x in self.points]
        return np.array(ends).T

    @property
    def spread(self):
        """Half of what surely lies between a tenth and nine tenths of the ranks: ndarray (d,)."""
        columns = zip(self.points, self.excess, self.sd, strict=True)
        return np.array([_spread(*column, self.q) for column in columns])

    def interval(self, value, confidence, law, sampling=False):
        """Return the nearest points around values (n_q, d) that are clear of the quantiles.

        With ``sampling`` of those of the population: q n of n draws are expected below its
        quantile, and their number has the variance n q (1 - q). The ranks of the ends are 0 and n.
        """
        z = two_sided(confidence, law)
        low, high = np.empty_like(value), np.empty_like(value)
        for i, j in np.ndindex(value.shape):
            excess, sd = self.excess[j][i], self.sd[j][i]
            if sampling and len(excess):
                n = max(excess[-1] - excess[0], 1.0)
                sd = np.sqrt(np.square(sd) + n * self.q[i] * (1 - self.q[i]))
            low[i, j], high[i, j] = limits(self.points[j], excess, sd, value[i, j], z)
        return low, high


def _spread(x, excess, sd, q):
    if not len(x):
        return 0.0
    n = excess[0, -1] - excess[0, 0]
    rank, error = excess + n * q[:, None], SURE * sd
    inner = x[
        (rank - error >= TENTH * n).all(axis=0) & (rank + error <= (1 - TENTH) * n).all(axis=0)
    ]
    return (inner[-1] - inner[0]) / 2 if len(inner) else 0.0


def rank_plan_steps(budget, bounds):
    """Return the planned steps of :func:`release_quantiles`."""
    step = partial(column_step, budget)
    return rank_steps(step, pure=budget.unit == "pure", bounded=bounds is not None)


def release_quantiles(rows, curator, q, bounds=None):
    """Release quantiles of all columns with all that is left of the budget.

    Parameters
    ----------
    rows : ArrayRows
    curator : Curator
    q : sequence of float
        In (0, 1), in any order.
    bounds : tuple of ndarrays of shape (d,), default=None
        Public.

    Returns
    -------
    location, noise_scale : ndarrays of shape (n_q, d)
        In the order of ``q``.
    curves : RankCurves

    Notes
    -----
    **Privacy**: see :func:`skdp.columns.find_quantiles`. What is doubted is told by releases.
    """
    q = np.asarray(q, dtype=np.float64)
    rising, place = np.unique(q, return_inverse=True)
    found = find_quantiles(rows, ColumnNoise(curator), rising, bounds)
    curator.doubt(NOTHING, ~found.found)
    curator.doubt(OPEN, found.found & np.isinf(found.noise_scale).any(axis=0))
    excess, sd = ([part[place] for part in parts] for parts in (found.excess, found.sd))
    curves = RankCurves(q, found.points, excess, sd)
    return found.location[place], found.noise_scale[place], curves
