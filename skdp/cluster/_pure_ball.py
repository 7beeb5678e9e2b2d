"""Where the rows lie, with Laplace noise: for budgets without delta."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._locate import BINS, UNSEEN, read_scale
from skdp.kernel._ball_cover import DROP, LARGEST, SMALLEST, LocatedBall
from skdp.kernel._sums import BallSum, Count, Distances

__all__ = ["LOCATE_PURE_STEPS", "locate_pure"]

ROUNDS = 3
ROW_COUNT = Step("row count", "laplace", Fraction(1, 50), of=(Count,))
SCALE = Step("scale", "laplace", Fraction(1, 20), ROUNDS, of=(Distances,))
LOCATION = Step("location", "laplace", Fraction(3, 100), ROUNDS, of=(BallSum,))
LOCATE_PURE_STEPS = ROW_COUNT, SCALE, LOCATION  # shares of at most .26 together
TAILS = 3.1  # a Laplace scale has the tails of so many normal standard deviations, to 1e-8


def locate_pure(table):
    """Find a ball that holds the bulk of the rows, as :func:`locate` does, with pure noise.

    Notes
    -----
    **Privacy**: of the statistics, in l1.
    """
    table, d = table, table.n_features
    count = table.ask(Count(), ROW_COUNT)
    n, center, radius, found = max(float(count.value[0]), 1.0), np.zeros(d), math.inf, False
    shift = 0.0
    for _ in range(ROUNDS):
        release = table.ask(Distances(center, BINS), SCALE)
        reach, typical, seen = read_scale(release.value, TAILS * release.scale, n)
        if not seen and radius < math.inf:
            break
        shrunk, found = reach <= 0.6 * radius, seen
        radius = min(reach, radius + shift)  # the earlier ball, seen from the present centre
        if radius == 0 or not shrunk:
            break
        radius = min(max(radius, SMALLEST), LARGEST)
        question = BallSum(center, radius, drop=DROP)
        step = table.ask(question, LOCATION).real / n
        with np.errstate(over="ignore"):
            step = np.clip(step, -radius, radius)
            center = np.nan_to_num(center + step)
            shift = float(np.sqrt(np.square(step).sum()))
    if not found:
        table.doubt(UNSEEN)
    smallest = max(SMALLEST, 1e-9 * float(np.abs(center).max()))
    radius = min(max(radius, smallest if radius == 0 else SMALLEST), LARGEST)
    typical = min(max(typical, radius / 64), radius)
    return LocatedBall(n, count.scale * math.sqrt(2), center, radius, typical, found)
