"""Balls of rows that one centre has to serve: computed from released numbers alone."""

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from skdp.kernel._ball_cover import LARGEST, LocatedBall

__all__ = ["joining_cost", "merged", "whole"]


def whole(located):
    """Return one ball around all places."""
    return reduce(merged, located.balls)


def merged(one, two):
    """Return a ball around two: for groups that one centre has to serve."""
    n = one.n_rows + two.n_rows
    center = one.center + (two.center - one.center) * (two.n_rows / n)
    radius = min(max(_distance(center, ball) + ball.radius for ball in (one, two)), LARGEST)
    return replace(
        one, n_rows=n, n_sd=math.hypot(one.n_sd, two.n_sd), center=center, radius=radius,
        typical=radius / 2, seen=True, reach=1.0,
    )  # fmt: skip


def _distance(point, ball):
    with np.errstate(over="ignore"):
        return min(math.hypot(*(point / 4 - ball.center / 4)), LARGEST / 4) * 4


def joining_cost(one: LocatedBall, two: LocatedBall):
    """Return how much the sum of squares grows where one centre serves two balls (Ward)."""
    parts = one.n_rows * two.n_rows / (one.n_rows + two.n_rows)
    return float(np.square(_distance(one.center, two) / 2.0**501) * parts)
