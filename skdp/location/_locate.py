"""Finding the rows: their scale from a ring, their centre from a soft core, without bounds."""

import math

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
from skdp.kernel._sampled import Members
from skdp.location._schedule import geometry, locating_shares
from skdp.scales import LogBins, read_scale

__all__ = [
    "COLUMN_SCALES",
    "CORE_COUNT",
    "FRIENDS",
    "RING",
    "SOFT_CORE",
    "column_scales",
    "core_sample_size",
    "ring_scale",
    "scale_sample_size",
    "soft_core_centre",
]


RING = Step("ring", at_most=0.12, times=3, of=(Ring,))
COLUMN_SCALES = Step("column scales", at_most=0.08, of=(RingColumns,))
CORE_COUNT = Step("core count", at_most=0.3, of=(Members,))
FRIENDS = Step("h-index", at_most=0.3, of=(HIndex,))
SOFT_CORE = Step("soft core", at_most=0.2, of=(SoftCore,))
MOST_ENTRIES = 2**21  # of a sample in memory: 16 MB


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
    found = [read_scale(row, release.scale, sample.n, bins) for row in release.value]
    found = [None if told.nothing else told.scale for told in found]
    positive = [s for s in found if s is not None and s > bins.upper_edge(0)]
    missed = np.array([s is None for s in found])
    if not positive:
        return None, missed
    scales = [
        max(positive) if s is None else s if s > bins.upper_edge(0) else min(positive)
        for s in found
    ]
    return np.array(scales) / 2.5, missed


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
