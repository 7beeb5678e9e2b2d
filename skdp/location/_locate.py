"""Finding the rows: their scale from a ring, their centre from a soft core, without bounds.

The budget is spread by public numbers: lengths are in units of the spread of the rows around their
mean, and ``c = sqrt(d) / (n mu)`` is the noise of a sum bought with the whole budget, in units of
the clip radius.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from skdp.accounting import Step
from skdp.kernel._friends import (
    FIRST_COUNT,
    H_INDEX,
    SECOND_COUNT,
    HIndex,
    Ring,
    RingColumns,
    SoftCore,
)
from skdp.kernel._sampled import Members, Sampled
from skdp.kernel._sums import Distances
from skdp.location._column_scales import (
    ScaleLaws,
    are_alike,
    laws_tell,
    release_scale_laws,
    scale_share,
    scales_are_dear,
)
from skdp.location._release import (
    LARGEST,
    LocationEstimate,
    bounded,
    noise_norm_quantile,
    release_refined_center,
)
from skdp.scales import LogBins, read_scale, top_scale

MARGINS = np.arange(4, 24, 2) / 100
SHARES = 0.006 * math.sqrt(2) ** np.arange(11)
TYPICAL_H = 0.94  # part of the rows that a core can count on as friends of one another

RING = Step("ring", at_most=0.12, times=3, of=(Ring,))
COLUMN_SCALES = Step("column scales", at_most=0.08, of=(RingColumns,))
CORE_COUNT = Step("core count", at_most=0.3, of=(Members,))
FRIENDS = Step("h-index", at_most=0.3, of=(HIndex,))
SOFT_CORE = Step("soft core", at_most=0.2, of=(SoftCore,))
# A length is TOP deviations of a normal column. UPPER of its differences are longer than QUARTILE
# deviations: sqrt(2) times the normal quantile of 1 - UPPER / 2.
TOP, UPPER, QUARTILE = 2.5, 0.25, 1.627
MOST_ENTRIES = 2**21  # of a sample in memory: 16 MB

NORMS = Step("norms", at_most=0.25, times=3, of=(Distances,))
# Of two typical rows, over what scales of columns make it; share of one more look at these.
FAR_OFF, MOST_AGAIN = 2.0, 0.15
SCATTERED = 90  # of the rows in noise units of a sum, what tells lengths of a few columns of many
COLUMNS = "columns were divided by scales that were found privately"


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


def scale_sample_size(mu, d):
    """Return how many rows suffice to find scales: about 8000 noise units, if memory allows."""
    return max(1000.0, min(8000 / mu, MOST_ENTRIES / d))


def core_sample_size(mu, d):
    """Return how many rows to count friends among: their pairs cost the time."""
    affordable = math.sqrt(2.5e9 / max(d, 25))
    return float(np.clip(1000 / mu, 1000, np.clip(affordable, 4000, 10000)))


def ring_scale(sample, *, sure=62):
    """Release the typical distance of two rows of a Sampled table, or None: one histogram."""
    bins = LogBins(geometry(sample.n_features).per_octave)
    share = float(np.clip((sure / (sample.n * sample.budget.mu)) ** 2, 0.004, 0.12))
    release = sample.ask(Ring(bins), RING, share=share)
    told = read_scale(release.value, release.scale, sample.n, bins)
    if told.nothing and bins.per_octave > 1:  # of lengths that scatter whole octaves may tell
        low, *within, high = release.value
        octaves = np.reshape(within, (-1, bins.per_octave)).sum(axis=1)
        sd = release.scale * math.sqrt(bins.per_octave)
        told = read_scale(np.concatenate([[low], octaves, [high]]), sd, sample.n, LogBins(1))
    return None if told.nothing else told.scale


def column_scales(sample, *, share, largest):
    """Release a scale for every column from the ring differences, or None; and those not seen.

    A constant column takes the smallest scale that was found; a column whose scale was not found
    takes the largest: dividing by a scale that is too small would let it drown all others.
    """
    bins = LogBins.around(largest, per_octave=1, below=126, above=1)
    question = RingColumns(bins, sample.n_features)
    release = sample.ask(question, COLUMN_SCALES, share=share)
    found = [_column_scale(row, release.scale, sample.n, bins) for row in release.value]
    positive = [s for s in found if s is not None and s > bins.upper_edge(0)]
    missed = np.array([s is None for s in found])
    if not positive:
        return None, missed
    scales = [
        max(positive) if s is None else s if s > bins.upper_edge(0) else min(positive)
        for s in found
    ]
    return np.array(scales) / TOP, missed


def _column_scale(counts, sd, n, bins):
    """Return a length that a tail of the differences of a column exceeds, or None; 0 if alike.

    :func:`read_scale` tells an octave. Of columns with equal deviations one would get twice the
    noise of another, so the length follows the upper quartile, interpolated, by up to an octave.
    """
    told = read_scale(counts, sd, n, bins)
    if told.nothing or told.scale <= bins.upper_edge(0):
        return None if told.nothing else told.scale
    octave = round(math.log2(told.scale)) - bins.low
    start = min(octave + 2, len(counts) - 1)
    mass = np.cumsum(counts[start::-1]) / n
    at = int(np.argmax(mass > UPPER))
    if not mass[at] > UPPER:
        return told.scale
    rows = counts[start - at] / n
    quartile = bins.upper_edge(start - at) * 2.0 ** ((mass[at] - UPPER) / rows - 1)
    factor = float(np.clip(TOP / QUARTILE * (quartile / told.scale), 0.5, 1.25))
    return min(factor * told.scale, LARGEST)


def soft_core_centre(sample, count, *, friend_radius, reach, n_rows, spent):
    """Release the average of the soft core, or None where the rows are too few or too spread."""
    mu, d = sample.budget.mu, sample.n_features
    quantile = sample.fails(FIRST_COUNT, SECOND_COUNT, H_INDEX)
    schedule = locating_shares(
        sample.n, n_rows, mu, d, quantile=quantile, spent=spent, sampled=sample.q < 1
    )
    if schedule is None:
        return None
    if schedule.count:
        count = sample.ask(Members(), CORE_COUNT, share=schedule.count).ticket
    radius = min(max(friend_radius, reach * 2.0**-40, 2.0**-900), 2.0**1000)
    h = sample.ask(HIndex(radius), FRIENDS, share=schedule.h_index).ticket
    question = SoftCore(radius, count, h)
    if sample.bounds(question) is None:
        return None
    core = sample.ask(question, SOFT_CORE, share=schedule.average)
    return core.real, core.sd, schedule.steps


# --- the road of rows of one kind: their scale from a ring, their centre from a soft core


@dataclass(frozen=True)
class SampleScale:
    """What is known of the rows before their place: their scales, and a sample to look at."""

    sample: Sampled  # in units of `scale`
    scale: np.ndarray  # shape (d,): public or released
    distance: float = None  # of two typical rows, None where it is not seen; in units of `scale`
    norms: tuple = None  # what `release_norm_histogram` has told of the distances from zero
    # shape (d,) or: columns whose scale was looked for and not seen, so that it may be far too
    # large
    missed: np.ndarray = None
    laws: ScaleLaws = None  # of the columns, where few rows tell of them
    odd: bool = False  # whether laws of normal columns are not theirs

    @property
    def thin(self):
        """Whether rows, or a column of theirs, are spread too thinly to show a distance."""
        return self.distance is None or (self.missed is not None and bool(self.missed.any()))

    @property
    def spread(self):
        """How far a typical row is from the mean of all, None where that is not seen."""
        d = len(self.scale)
        return self.distance / geometry(d).distances if self.distance else None


def sample_scale(counted, scale):
    """Return the SampleScale of a sample that has told nothing yet."""
    size = scale_sample_size(counted.mu, counted.d)
    sample = counted.table.sample(size, counted.n)
    return SampleScale(sample.scaled(scale), scale)


def release_row_scale(counted, scale, *, diameter, find_scales):
    """Release how far apart two rows are, and how far from zero all of them."""
    seen = sample_scale(counted, scale)
    if diameter:
        seen = replace(seen, distance=bounded(diameter))
    else:
        units = seen.sample.n * counted.mu
        unlike = find_scales and laws_tell(units, counted.d) and scales_are_dear(units, counted.d)
        sure = {"sure": SCATTERED} if unlike and counted.d >= 20 else {}
        seen = replace(seen, distance=ring_scale(seen.sample, **sure))
        if seen.distance and find_scales:
            seen = _rescaled(counted, seen)
    return replace(
        seen, norms=release_norm_histogram(counted, seen, np.zeros(counted.d), at_most=0.03)
    )


def _rescaled(counted, seen):
    """Return the SampleScale with columns divided by released scales, where these are cheap."""
    units = seen.sample.n * counted.mu
    if counted.d == 1:
        return seen
    if scales_are_dear(units, counted.d):
        return _rescaled_by_laws(counted, seen) if laws_tell(units, counted.d) else seen
    share = max(scale_share(units, counted.d), 0.002)
    scales, missed = column_scales(seen.sample, share=share, largest=seen.distance)
    if scales is None:
        return replace(seen, missed=missed)
    counted.table.decide(COLUMNS)
    sample = seen.sample.scaled(scales)
    return SampleScale(sample, scales, ring_scale(sample), missed=missed)


def _rescaled_by_laws(counted, seen):
    """Return the same where few rows tell, unless columns are alike or of a law of their own."""
    if are_alike(seen.sample):
        return seen
    laws = release_scale_laws(seen.sample, seen.distance)
    for again in (False, True):
        if again:
            laws.look(seen.sample, most=MOST_AGAIN)
        if laws.odd:
            return replace(seen, odd=True)
        scales = laws.scales()
        sample = seen.sample.scaled(scales)
        distance = ring_scale(sample)
        if distance and distance < FAR_OFF * geometry(counted.d).distances * math.sqrt(counted.d):
            break
    counted.table.decide(COLUMNS)
    return SampleScale(sample, scales, distance, laws=laws)


def release_norm_histogram(counted, seen, origin, *, at_most):
    """Release the histogram of the distances from ``origin`` over all floats."""
    bins, n = LogBins(2 if counted.d >= 20 else 1), seen.sample.n
    origin = np.nan_to_num(origin, posinf=LARGEST, neginf=-LARGEST)
    share = min(max((30 / (n * counted.mu)) ** 2, 0.002), at_most)
    release = seen.sample.ask(Distances(origin, bins), NORMS, share=share)
    return release.value, release.scale, n, bins


def release_soft_core_center(counted, seen, *, radius, diameter, trim):
    """Release where the rows of a soft core lie, and come closer."""
    if seen.distance is None:
        return None
    found = soft_core_centre(
        seen.sample.fewer(core_sample_size(counted.mu, counted.d)),
        counted.heads_ticket,
        friend_radius=seen.distance * (1 if diameter else geometry(counted.d).friends),
        reach=top_scale(*seen.norms) or 0.0,
        n_rows=counted.heads.n,
        spent=1 - counted.left + 0.02 + 0.01 * trim + 0.03 * (seen.laws is not None),
    )
    if found is None:
        return None
    center, noise, steps = found
    spread = bounded(radius or seen.spread or 0.0)
    where = LocationEstimate(
        center, seen.scale, noise_norm_quantile(noise, counted.d), spread, noise
    )
    return release_refined_center(counted, where, steps)
