"""Where to clip a column whose variance is asked: both tails, read from two sides of a point."""

import math
from typing import NamedTuple

import numpy as np

from skdp.columns._tail import HIDDEN
from skdp.location._reach import FINER

__all__ = ["SquareClip", "best_squares"]

CELL = 4 / 3  # the least ratio of the edges of a cell
SMALLEST, LARGEST = 2.0**-500, 2.0**400  # radii with squares among the floats


class SquareClip(NamedTuple):
    """An interval ``center`` +- ``radius``, and what clipping to it takes from the variance.

    ``level`` is a guess of the mean of ((x - center) / radius)^2, in [0, 1]. ``excess`` is what the
    variance loses, as a rule at most: infinite where a tail may well have no variance.
    """

    center: float
    radius: float
    level: float = 0.0
    excess: float = math.inf
    thin: bool = True


def best_squares(sides, center, noise):
    """Return the SquareClip at which noise and bias of a variance balance.

    Notes
    -----
    The interval lies around a guess of the mean, so that the squares of clipped entries are as
    small as can be. Clipping moves no two entries apart, so it lowers the variance, which is the
    mean of half of the squared differences of two rows.

    The mean square of (x - m) loses the mean of ((x - m)^2 - r^2)_+, for x above m + r at most
    ``(m + r - m) / (m + r - c)`` times that of ((x - c)^2 - (m + r - c)^2)_+, if that is above 1:
    (x - m)^2 - r^2 is the product of x - (m + r) and x + r - m, whose ratio to x - c + m + r - c
    falls in x where m < c.
    """
    scale = max(one.reading.scale for one in sides)
    if not scale:
        return SquareClip(center, 1.0)
    below, above = (_Side(one, scale) if one.reading.scale else None for one in sides)
    seen = [side for side in (below, above) if side]
    n = seen[0].n
    offset = ((above.moment(1) if above else 0.0) - (below.moment(1) if below else 0.0)) / n
    lowest, highest = -below.top if below else 0.0, above.top if above else 0.0
    offset = float(np.clip(offset, lowest, highest))
    square = max(sum(side.moment(2) for side in seen) / n - offset * offset, 0.0)
    ends = [side.radii + sign * offset for side, sign in ((below, 1), (above, -1)) if side]
    radii = np.concatenate(ends)
    radii = radii[radii > 0] if (radii > 0).any() else np.ones(1)
    lost = [side.risk(radii + sign * offset) for side, sign in ((below, -1), (above, 1)) if side]
    bias = np.sum(lost, axis=0) / n
    worth = np.maximum(np.square(radii) - square, np.minimum(square, np.square(radii)))
    best = float(radii[np.argmin(np.square(noise * worth) + np.square(bias))])
    expected = most = hidden = 0.0
    for side, sign in ((below, -1), (above, 1)):
        reach = best + sign * offset
        if side is None:
            more = HIDDEN * seen[0].sd * best * best
        else:
            stretch = max(best / reach, 1.0) if reach > 0 else math.inf
            likely = float(side.lost("expected", reach)) * stretch
            more = float(side.lost("most", reach)) * stretch - likely
            expected += likely
            hidden = max(hidden, side.hidden() * stretch)
        most = math.hypot(most, more)
    with np.errstate(over="ignore"):
        excess = float((expected + most + hidden) / n * np.float64(scale) ** 2)
        unknown = any(side.heavy for side in seen) or any(one.ends_early for one in sides)
        excess = math.inf if unknown else excess
        radius = float(np.clip(best * scale, SMALLEST, LARGEST))
    reach = [CELL * max(radius + sign * offset * scale, 0.0) for sign in (-1, 1)]
    near = sum(one.near(r) for one, r in zip(sides, reach, strict=True)) - sides[0].at_centre
    return SquareClip(
        float(np.nan_to_num(center + offset * scale)),
        radius,
        level=min(square / (best * best), 1.0),
        excess=excess,
        thin=sides[0].is_thin(near),
    )


class _Side:
    """One side in units of the larger one."""

    def __init__(self, reach, unit):
        self._tail, self._unit = reach.tail(2), reach.reading.scale / unit
        self._reach, self.n, self.sd = reach, reach.n_rows, reach.sd
        self.top = math.sqrt(self._tail.top) * self._unit
        self.heavy = self._tail.heavy
        steps = np.arange((len(self._tail.cuts) - 1) * FINER + 1) / FINER
        squares = np.interp(steps, np.arange(len(self._tail.cuts)), self._tail.cuts)
        self.radii = np.sqrt(squares[1:]) * self._unit

    def moment(self, power):
        return self._reach.moment(power, math.sqrt(self._tail.top)) * self._unit**power

    def risk(self, distances):
        """Return what is likely lost: entries are often equal and at the end of a cell."""
        at = np.searchsorted(self.radii, distances * (1 + 1e-9), side="right") - 1
        return np.where(at >= 0, self.lost("likely", self.radii)[at], self.lost("likely", 0.0))

    def lost(self, what, distances):
        squares = np.square(np.maximum(distances, 0.0) / self._unit)
        return self._tail.at(what, squares) * self._unit**2

    def hidden(self):
        apart = self._reach.apart(math.sqrt(self._tail.top))
        return max(self._reach.hidden(self._tail, 2), apart) * self._unit**2
