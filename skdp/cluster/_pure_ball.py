"""Where the rows lie, with Laplace noise: for budgets without delta."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._locate import BINS, UNSEEN, read_scale
from skdp.kernel._places import DROP, LARGEST, SMALLEST, Located
from skdp.kernel._sums import BallSum, Count, Distances

__all__ = ["locate_pure", "locate_pure_steps"]

COUNT, SCALE, CENTRE = Fraction(1, 50), Fraction(1, 20), Fraction(3, 100)
ROUNDS = 3
TAILS = 3.1  # a Laplace scale has the tails of so many normal standard deviations, to 1e-8


def locate_pure_steps():
    """Return the planned steps of :func:`locate_pure`; their shares are at most .26."""
    return (
        Step("row count", "laplace", COUNT, of=(Count,)),
        Step("scale", "laplace", SCALE, ROUNDS, of=(Distances,)),
        Step("location", "laplace", CENTRE, ROUNDS, of=(BallSum,)),
    )


def locate_pure(table):
    """Find a ball that holds the bulk of the rows, as :func:`locate` does, with pure noise.

    Parameters
    ----------
    table : Table
        Of a pure budget, with the steps of :func:`locate_pure_steps`.

    Returns
    -------
    located : Located

    Notes
    -----
    **Privacy**: of the statistics, in l1.
    """
    table, d = table, table.n_features
    count = table.ask(Count(), share=COUNT, label="row count")
    n, center, radius, found = max(float(count.value[0]), 1.0), np.zeros(d), math.inf, False
    shift = 0.0
    for _ in range(ROUNDS):
        release = table.ask(Distances(center, BINS), share=SCALE, label="scale")
        reach, typical, seen = read_scale(release.value, TAILS * release.scale, n)
        if not seen and radius < math.inf:
            break
        shrunk, found = reach <= 0.6 * radius, seen
        radius = min(reach, radius + shift)  # the earlier ball, seen from the present centre
        if radius == 0 or not shrunk:
            break
        radius = min(max(radius, SMALLEST), LARGEST)
        question = BallSum(center, radius, drop=DROP)
        step = table.ask(question, share=CENTRE, label="location").real / n
        with np.errstate(over="ignore"):
            step = np.clip(step, -radius, radius)
            center = np.nan_to_num(center + step)
            shift = float(np.sqrt(np.square(step).sum()))
    if not found:
        table.doubt(UNSEEN)
    smallest = max(SMALLEST, 1e-9 * float(np.abs(center).max()))
    radius = min(max(radius, smallest if radius == 0 else SMALLEST), LARGEST)
    typical = min(max(typical, radius / 64), radius)
    return Located(n, count.scale * math.sqrt(2), center, radius, typical, found)
