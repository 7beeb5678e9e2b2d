"""The road of rows without a core: from far away, in clipped steps."""

import numpy as np

from skdp.location._core_road import release_norms
from skdp.location._release import bounded
from skdp.location._schedule import approach_schedule
from skdp.location._whereabouts import Whereabouts, come_closer
from skdp.scales import private_median, top_scale

__all__ = ["approach"]

NORMS = "no core found: approached the rows from the scale of their norms"
MEDIAN = "no core found: started from a private median of every column"
FAR = 0.05  # part of the rows that may lie beyond the distance that is taken for that of most


def approach(table, seen, *, center=None, radius=None):
    """Come closer to the rows in equal clipped steps, from a start of which no error is known.

    Parameters
    ----------
    table : CountedRows
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
        center, reach = _start(table, seen)
    if reach is None:
        at_most = min(0.25, table.left / 4)
        reach = top_scale(*release_norms(table, seen, center, at_most=at_most), tail=FAR)
    if reach is None:
        return Whereabouts(center, seen.scale)
    reach = bounded(reach)
    spread = bounded(min(radius or seen.spread or reach, reach))
    left = max(table.left - 0.05, table.left / 2)
    plan = approach_schedule(reach, spread, table.noise, left)
    where = Whereabouts(center, seen.scale, reach, spread)
    return come_closer(table, where, (plan.step,) * plan.n_steps)


def _start(table, seen):
    """Return a point to start from, and the distance of most rows from it where that is known."""
    if table.d <= 6 and seen.sample.n * table.mu > 40 * np.sqrt(table.d):
        table.curator.decide(MEDIAN)
        share = 0.35 * table.left
        return private_median(seen.sample, table.curator, share=share, label="median"), None
    table.curator.decide(NORMS)
    return np.zeros(table.d), top_scale(*seen.norms, tail=FAR)
