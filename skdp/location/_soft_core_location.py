"""The road of rows of one kind: their scale from a ring, their centre from a soft core."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._sampled import Sampled
from skdp.kernel._sums import Distances
from skdp.location._column_scales import (
    ScaleLaws,
    are_alike,
    laws_tell,
    release_scale_laws,
    scale_share,
    scales_are_dear,
)
from skdp.location._locate import (
    column_scales,
    core_sample_size,
    geometry,
    ring_scale,
    scale_sample_size,
    soft_core_centre,
)
from skdp.location._release import (
    LARGEST,
    LocationEstimate,
    bounded,
    noise_norm_quantile,
    release_refined_center,
)
from skdp.scales import LogBins, top_scale

NORMS = Step("norms", at_most=0.25, times=3, of=(Distances,))
# Of two typical rows, over what scales of columns make it; share of one more look at these.
FAR_OFF, MOST_AGAIN = 2.0, 0.15
SCATTERED = 90  # of the rows in noise units of a sum, what tells lengths of a few columns of many
COLUMNS = "columns were divided by scales that were found privately"


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
