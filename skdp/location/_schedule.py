"""How to spread a budget over locating, approaching and measuring: from public numbers only.

All lengths are in units of the spread of the rows around their mean, and ``c = sqrt(d) / (n mu)``
is the noise of a sum bought with the whole budget, in units of the clip radius. That one number
decides everything.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

__all__ = ["Approach", "Locating", "approach_schedule", "geometry", "locating_shares"]

MARGINS = np.arange(4, 24, 2) / 100
SHARES = 0.006 * math.sqrt(2) ** np.arange(11)
TYPICAL_H = 0.94  # part of the rows that a core can count on as friends of one another


@dataclass(frozen=True)
class Locating:
    """Shares of the soft-core road; ``count`` is 0 if the first row count will do."""

    count: float
    h_index: float
    average: float
    steps: tuple


@dataclass(frozen=True)
class Approach:
    """Equal shares of the steps from a radius to the spread."""

    step: float
    n_steps: int


class Geometry(NamedTuple):
    """What the number of columns tells about distances: they concentrate as it grows.

    ``per_octave``: bins in which the typical distance of two rows is released; ``friends``: the
    friend radius in units of that distance; ``distances``: that distance in units of the spread.
    """

    per_octave: int
    friends: float
    distances: float


def geometry(d):
    """Return the factors for ``d`` columns."""
    if d < 20:
        return Geometry(1, 2.0, 1.7)
    return Geometry(4, math.sqrt(2), 1.6) if d < 200 else Geometry(8, 2**0.25, 1.5)


def locating_shares(n_core, n_rows, mu, d, *, quantile, spent, sampled):
    """Return the shares that minimise the predicted noise of the final sum."""
    grid = [2 ** (math.floor(4 * math.log2(x)) / 4) for x in (n_core * mu, n_rows * mu)]
    return _locating(*grid, d, round(quantile, 2), round(spent, 3), sampled)


@lru_cache(maxsize=256)
def _locating(core, whole, d, quantile, spent, sampled):
    best, choice = math.inf, None
    kf, shape = 1 + 2 / math.sqrt(d), geometry(d)
    c_core, c = math.sqrt(d) / core, math.sqrt(d) / whole
    for v in MARGINS:
        s_h = max((quantile / (v * core)) ** 2, 0.002)
        s_count = s_h if sampled or s_h > 0.012 else 0.0
        n_up = 1 + quantile / (core * math.sqrt(s_count or 0.01))
        h = TYPICAL_H - v
        if s_h > 0.3 or h - n_up / 2 < 0.04 + 3.5 * v / quantile:
            continue
        half = n_up / 2
        reach = (1 + (n_up - h) / (h - half)) * (1 + min(1, half / h)) / h
        start = kf * c_core * reach * shape.friends * shape.distances / np.sqrt(SHARES)
        error, used = start, SHARES
        for n_steps in range(4):
            if n_steps:
                step = SHARES.reshape((1,) * n_steps + (-1,))
                error = 1.05 * kf * c * np.sqrt(1.2 + error[..., None] ** 2) / np.sqrt(step)
                used = used[..., None] + step
            left = 1 - spent - s_h - s_count - used
            with np.errstate(invalid="ignore", divide="ignore"):
                loss = np.where(left > 0.05, np.sqrt((1 + error**2) / left), math.inf)
            at = np.unravel_index(np.argmin(loss), loss.shape)
            if loss[at] < best:
                best = loss[at]
                average, *steps = (float(SHARES[i]) for i in at)
                choice = Locating(s_count, s_h, average, tuple(steps))
    return choice


def approach_schedule(radius, spread, c, left):
    """Return equal clipped steps from a known radius to the spread of the rows.

    One step of share s takes the error e to ``1.1 c hypot(spread, e) / sqrt(s)``.
    """
    best, choice = math.hypot(spread, radius) / math.sqrt(left), Approach(left, 0)
    for n_steps, part in product(range(1, 13), SHARES / 2):
        step = float(part) * left
        rest = left - n_steps * step
        if rest < 0.3 * left:
            continue
        error = radius
        for _ in range(n_steps):
            error = min(error, 1.1 * c * math.hypot(spread, error) / math.sqrt(step))
        loss = math.hypot(spread, error) / math.sqrt(rest)
        if loss < best:
            best, choice = loss, Approach(step, n_steps)
    return choice
