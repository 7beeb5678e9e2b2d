"""The road of rows without a core: from far away, in clipped steps."""

import numpy as np

from skdp.accounting import Step
from skdp.kernel._ranks import Balance
from skdp.location._core_road import release_norms
from skdp.location._release import bounded
from skdp.location._schedule import approach_schedule
from skdp.location._whereabouts import Whereabouts, come_closer
from skdp.scales import private_median, top_scale
from skdp.scales._bisection import LEVELS

__all__ = ["MEDIAN", "approach"]

REACH = "no core found: approached the rows from the scale of their norms"
START = "no core found: started from a private median of every column"
MEDIAN = Step("median", at_most=0.01, times=LEVELS, of=(Balance,))
FAR = 0.05  # part of the rows that may lie beyond the distance that is taken for that of most


def approach(counted, seen, *, center=None, radius=None):
    """Come closer to the rows in equal clipped steps, from a start of which no error is known.

    Parameters
    ----------
    counted : CountedTable
    seen : Glimpse
    center : ndarray of shape (d,), default=None
        A public start. None takes a private median, or zero.
    radius : float or None
        Public.

    Returns
    -------
    where : Whereabouts
        Not found, and around the start, if even the norms show nothing.
    """
    reach = None
    if center is None:
        center, reach = _start(counted, seen)
    if reach is None:
        at_most = min(0.25, counted.left / 4)
        reach = top_scale(*release_norms(counted, seen, center, at_most=at_most), tail=FAR)
    if reach is None:
        return Whereabouts(center, seen.scale)
    reach = bounded(reach)
    spread = bounded(min(radius or seen.spread or reach, reach))
    left = max(counted.left - 0.05, counted.left / 2)
    plan = approach_schedule(reach, spread, counted.noise, left)
    where = Whereabouts(center, seen.scale, reach, spread)
    return come_closer(counted, where, (plan.step,) * plan.n_steps)


def _start(counted, seen):
    """Return a point to start from, and the distance of most rows from it where that is known."""
    if counted.d <= 6 and seen.sample.n * counted.mu > 40 * np.sqrt(counted.d):
        counted.table.decide(START)
        share = 0.35 * counted.left
        return private_median(seen.sample, share=share, label=MEDIAN.label), None
    counted.table.decide(REACH)
    return np.zeros(counted.d), top_scale(*seen.norms, tail=FAR)
