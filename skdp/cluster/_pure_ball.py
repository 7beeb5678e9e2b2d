"""Where the rows lie, with Laplace noise: for budgets without delta."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.chunks import weighed_sum
from skdp.cluster._locate import BINS, DROP, LARGEST, SMALLEST, UNSEEN, Located, read_scale
from skdp.kernel._grid_bits import unit_bits
from skdp.mechanisms import ball_sum, row_norms
from skdp.mechanisms._exact import sqrt_up
from skdp.scales import count_rows

__all__ = ["locate_pure", "locate_pure_steps"]

COUNT, SCALE, CENTRE = Fraction(1, 50), Fraction(1, 20), Fraction(3, 100)
ROUNDS = 3
BITS = 16
TAILS = 3.1  # a Laplace scale has the tails of so many normal standard deviations, to 1e-8


def locate_pure_steps():
    """Return the planned steps of :func:`locate_pure`; their shares are at most .26."""
    return (
        Step("row count", "laplace", COUNT),
        Step("scale", "laplace", SCALE, ROUNDS),
        Step("location", "laplace", CENTRE, ROUNDS),
    )


def locate_pure(rows, curator):
    """Find a ball that holds the bulk of the rows, as :func:`locate` does, with pure noise.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        Of a pure budget, with the steps of :func:`locate_pure_steps`.

    Returns
    -------
    located : Located

    Notes
    -----
    **Privacy** (add or remove one row), in l1: the count moves by 1; a row falls into one bin of
    its distance from a released centre, so the histogram moves by 1; a clipped row is an integer
    vector of length at most 2^bits, so of l1 norm at most sqrt(d) 2^bits.
    """
    d = rows.n_features
    count = curator.laplace([count_rows(rows)], sensitivity=1, share=COUNT, label="row count")
    n, center, radius, found = max(float(count.value[0]), 1.0), np.zeros(d), math.inf, False
    shift = 0.0
    for _ in range(ROUNDS):
        counts = weighed_sum(rows, _distances(center))
        release = curator.laplace(counts, sensitivity=1, share=SCALE, label="scale")
        reach, typical, seen = read_scale(release.value, TAILS * release.scale, n)
        if not seen and radius < math.inf:
            break
        shrunk, found = reach <= 0.6 * radius, seen
        radius = min(reach, radius + shift)  # the earlier ball, seen from the present centre
        if radius == 0 or not shrunk:
            break
        radius = min(max(radius, SMALLEST), LARGEST)
        step = _mean_step(rows, curator, center, radius) / n
        with np.errstate(over="ignore"):
            step = np.clip(step, -radius, radius)
            center = np.nan_to_num(center + step)
            shift = float(np.sqrt(np.square(step).sum()))
    if not found:
        curator.doubt(UNSEEN)
    smallest = max(SMALLEST, 1e-9 * float(np.abs(center).max()))
    radius = min(max(radius, smallest if radius == 0 else SMALLEST), LARGEST)
    typical = min(max(typical, radius / 64), radius)
    return Located(n, count.scale * math.sqrt(2), center, radius, typical, found)


def _distances(center):
    return lambda start, block: BINS.counts(row_norms(block, center=center))


def _mean_step(rows, curator, center, radius):
    d = rows.n_features
    noise = math.sqrt(d) / float(curator.budget.amount * CENTRE)
    room = 40 + min(0, 20 - unit_bits(rows.unit))
    bits = min(BITS, max(1, room - math.ceil(math.log2(noise))))

    def statistic(start, block):
        return ball_sum(block, center=center, radius=radius, bits=bits, drop=DROP)[0]

    release = curator.laplace(
        weighed_sum(rows, statistic),
        sensitivity=Fraction(sqrt_up(Fraction(d))) * 2**bits,
        share=CENTRE,
        label="location",
    )
    return release.value * (radius / 2**bits)
