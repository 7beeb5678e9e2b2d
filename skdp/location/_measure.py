"""The last sum: a clip radius, and the mean of the rows around a centre that is known by then."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._sums import BallSum, KeptRows
from skdp.location._clip import DISTANCES, Clip, LawfulTail, Tail, release_distances
from skdp.location._column_strategies import FINAL_SUM
from skdp.location._counted import RowCount
from skdp.location._location_estimate import ball_around
from skdp.location._release import MeanRelease, bounded

__all__ = ["DISTANCES", "ROWS_KEPT", "find_clip", "release_clipped_mean"]

ROWS_KEPT = Step("rows kept", at_most=0.01, of=(KeptRows,))
TRIMMED = 6.0  # clip radii, beyond which rows are left out


def release_clipped_mean(counted, where, clip, *, trim=False):
    """Sum the rows around the centre with everything that is left."""
    share = counted.table.remaining - (Fraction(ROWS_KEPT.at_most) if trim else 0)
    asked = ball_around(where, clip.radius, drop=TRIMMED if trim else None)
    questions = [(BallSum(**asked), share, FINAL_SUM.label)]
    if trim:
        questions.append((KeptRows(**asked), ROWS_KEPT.at_most, ROWS_KEPT.label))
    told, *kept = counted.table.ask_all(*questions)
    total, sd = told.real, told.sd
    for release in kept:
        counted = replace(counted, count=RowCount(float(release.value[0]), release.scale))
    n, noise = counted.n, sd / counted.n
    ratio = np.nan_to_num(np.divide(noise, where.noise))  # both releases estimate the centre
    weight = float(1 / (1 + ratio * ratio))
    step = weight * total / n
    # the step is off by the relative error of the count as well
    noise = np.hypot(noise * math.sqrt(weight), step * counted.count.sd / n) * where.scale
    excess = np.tile(clip.excess * where.scale, (2, 1))
    location = replace(where, center=where.center + step).origin
    deviation = clip.spread * where.scale
    typical = deviation / math.sqrt(counted.d)
    release = MeanRelease(location, noise, excess, n, deviation, typical, hidden=clip.hidden)
    return counted.checked(release, clip.radius * where.scale)


def find_clip(counted, where, *, radius=None, trim=False, longest=math.inf):
    """Return the Clip, and the LocationEstimate with what clipping may have moved the centre by."""
    if radius:
        return Clip(radius + where.error, 0.0, radius + where.error), where
    around, d = bounded(where.reach), counted.d
    low, high = (0.02, 0.02) if d >= 20 else (0.05, 0.1)
    share = float(np.clip((120 / (counted.n * counted.mu)) ** 2, low, high))
    distances = release_distances(
        counted.table,
        center=where.origin,
        scale=where.scale,
        around=around,
        share=min(share, counted.left / 4),
    )
    distances = distances.up_to(longest + float(np.linalg.norm(where.center)))
    n = counted.n
    tail = Tail(distances, n, near=True) if trim else LawfulTail(distances, n, around)
    if tail.empty:
        return Clip(around, math.inf, math.inf, True), where
    # what is clipped off points half-way (in logarithms) between one direction and all of
    # them, but at least as much in one direction as the rows themselves
    alignment = max((where.columns or d) ** -0.25, min(2 * where.error / around, 1.0))
    # the centre is off by what its own clipping has moved it as well
    bias = alignment * float(tail.excess(where.clipped)[0]) if where.clipped else math.inf
    noise = math.hypot(where.noise, bias / math.sqrt(d))
    clip = tail.best(counted.noise / math.sqrt(counted.left), alignment)
    return clip, replace(where, noise=noise)
