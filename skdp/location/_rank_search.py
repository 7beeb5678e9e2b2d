"""Quantiles without bounds: noisy ranks of thresholds that close in on them."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.kernel._ranks import PARTS, Thresholds
from skdp.scales._column_noise import ColumnNoise

__all__ = [
    "LARGEST",
    "MOST_LEVELS",
    "TYPICAL_LEVELS",
    "Brackets",
    "View",
    "divide",
    "release_quantile_intervals",
]

LARGEST = float(np.finfo(np.float64).max)
MOST_LEVELS, TYPICAL_LEVELS = 80, 12
LOWEST, HIGHEST = -1075, 1024  # octaves; that of zero is the lowest


@dataclass(frozen=True)
class View:
    """What is looked at: k columns from a centre, or their distances from it, in a unit."""

    columns: np.ndarray  # shape (k,)
    center: np.ndarray  # shape (k,): public or released
    # shape (k,): public or released; given it, distances are looked at
    unit: np.ndarray | None = None

    def ranks(self, active, thresholds, parts):
        """Return the question for the ranks of thresholds of some of the columns."""
        unit = None if self.unit is None else self.unit[active]
        return Thresholds(self.columns[active], thresholds, parts, self.center[active], unit)


@dataclass
class Brackets:
    """Intervals that hold quantiles, one per target. Everything is released."""

    # low, high: shape (k,): ends of the intervals
    low: np.ndarray
    high: np.ndarray
    # rank_low, rank_high: shape (k,): estimated number of rows at or below the ends, minus the one
    # searched for
    rank_low: np.ndarray
    rank_high: np.ndarray
    noise: float  # scale of the noise in these ranks

    @property
    def middle(self):
        """The middles of the intervals."""
        return self.low / 2 + self.high / 2

    @property
    def inside(self):
        """Estimated numbers of rows in the intervals."""
        return self.rank_high - self.rank_low


def release_quantile_intervals(table, view, p, *, low, high, small, n_rows, accuracy, share, step):
    """Find intervals around quantiles.

    Thresholds divide the intervals: first zero, then powers of two, ordinary sizes before
    extraordinary ones, then middles. The noisy rank of a threshold tells on which side to go on. A
    wrong turn costs no more than a noisy rank: both sides are then near the quantile.

    Notes
    -----
    **Privacy**: the thresholds are made of what was released before. Which targets are still
    searched for is told by released ranks.
    """
    noise = ColumnNoise(table.budget)
    num = np.clip(np.rint(PARTS * np.asarray(p, dtype=np.float64)), 1, PARTS - 1).astype(np.int64)
    k, most = len(num), int(max(num.max(), PARTS - num.min()))
    unit = most / PARTS  # ranks per unit of noise
    scale = max(accuracy / unit, noise.scale(share / TYPICAL_LEVELS, k))
    ranks = -num / PARTS * n_rows, (1 - num / PARTS) * n_rows
    low, high = (np.full(k, end, dtype=np.float64) for end in (low, high))
    found = Brackets(low, high, *ranks, scale * unit)
    for _ in range(MOST_LEVELS):
        t = np.array([divide(*ends) for ends in zip(found.low, found.high, strict=True)])
        active = np.flatnonzero((found.low < t) & (t < found.high) & ~small(found))
        part = noise.share(scale, max(1, len(active)))
        if not len(active) or part > share:
            break
        share, t = share - part, t[active]
        asked = view.ranks(active, t, num[active])
        rank = table.ask(asked, step, share=part).value / PARTS
        up = rank < 0
        found.low[active[up]], found.rank_low[active[up]] = t[up], rank[up]
        found.high[active[~up]], found.rank_high[active[~up]] = t[~up], rank[~up]
    return found


def divide(low, high):
    """Return where to divide an interval of floats: between signs, then octaves, then in two."""
    if low < 0 < high:
        return 0.0
    if high <= 0:
        return -divide(-high, -low)
    a, b = _octave(low), _octave(high)
    if b - a <= 1:
        return low + (high - low) / 2
    return math.ldexp(1.0, min(max(round(_unwarp((_warp(a) + _warp(b)) / 2)), a + 1), b - 1))


def _octave(x):
    return LOWEST if x == 0 else HIGHEST if x == LARGEST else math.frexp(x)[1] - 1


def _warp(octave):
    return math.copysign(math.log2(1 + abs(octave)), octave)


def _unwarp(w):
    return math.copysign(2 ** abs(w) - 1, w)
