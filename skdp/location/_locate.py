"""Finding the rows: their scale from a ring, their centre from a soft core, without bounds."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri_exp

from skdp.chunks import map_merge
from skdp.chunks._persons import representatives_of
from skdp.friendly import DistancePredicate, h_index, soft_core_average
from skdp.location._schedule import geometry, locating_schedule
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._weighed import of_persons
from skdp.scales import LogBins, read_scale
from skdp.scales._ring import RING_SENSITIVITY_SQUARED, ring_columns, ring_norms

__all__ = [
    "Sample",
    "column_scales",
    "core_sample_size",
    "draw_sample",
    "ring_scale",
    "scale_sample_size",
    "soft_core_centre",
]


MOST_ENTRIES = 2**21  # of a sample in memory: 16 MB


@dataclass
class Sample:
    """Rows for locating: private, in memory for the time of one fit.

    ``q`` is the public probability with which a row was taken; ``n`` estimates their number.

    Notes
    -----
    **Privacy**: every row has an independent secret key. Couple the keys of neighbouring tables so
    that common rows share theirs: then the samples are equal or neighbours, and what is released
    from the sample costs what it would cost on the whole table. No amplification is claimed.
    """

    Z: np.ndarray
    keys: np.ndarray
    q: float
    n: float

    def scaled(self, scale):
        """Return the sample with its columns divided by public or released scales."""
        return self if np.all(scale == 1) else replace(self, Z=self.Z / scale)

    def thinned(self, size):
        """Return about ``size`` rows of the sample, by the same coins."""
        if self.n <= size:
            return self
        q = self.q * size / self.n
        keep = self.keys <= _limit(q)
        return Sample(self.Z[keep], self.keys[keep], q, size)


def draw_sample(rows, coins, n_rows, size):
    """Keep every row with the same probability; rows with NaN or infinity count as absent.

    Parameters
    ----------
    rows : ArrayRows
    coins : RowKeys
        Secret keys, one per row, independent of the data.
    n_rows : float
        Released number of rows.
    size : float
        Expected size of the sample.

    Returns
    -------
    sample : Sample
    """
    rows, coins = representatives_of(rows, coins)
    n_rows = n_rows if rows.heads is None else rows.heads.n
    q = min(1.0, size / n_rows)

    def drawn(start, stop):
        keys = coins.keys(start, stop)
        index = np.flatnonzero(keys <= _limit(q)) if q < 1 else slice(None)
        return index, keys[index]

    def chosen(start, block, drawn):
        index, keys = drawn
        Z = np.asarray(block[index], dtype=np.float64)
        finite = finite_rows(Z)
        return [(Z, keys) if finite.all() else (Z[finite], keys[finite])]

    parts = map_merge(rows, chosen, list.__add__, drawn)
    Z, keys = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return Sample(Z, keys, q, q * n_rows)


def scale_sample_size(mu, d):
    """Return how many rows suffice to find scales: about 8000 noise units, if memory allows."""
    return max(1000.0, min(8000 / mu, MOST_ENTRIES / d))


def core_sample_size(mu, d):
    """Return how many rows to count friends among: their pairs cost the time."""
    affordable = math.sqrt(2.5e9 / max(d, 25))
    return float(np.clip(1000 / mu, 1000, np.clip(affordable, 4000, 10000)))


def _limit(q):
    return np.uint64(min(int(q * 2.0**64), 2**64 - 1))


def ring_scale(sample, curator):
    """Release the typical distance of two rows, or None; costs one histogram."""
    d = sample.Z.shape[1]
    bins = LogBins(geometry(d).per_octave)
    counts = bins.counts(ring_norms(sample.Z, sample.keys))
    share = float(np.clip((62 / (sample.n * curator.budget.mu)) ** 2, 0.004, 0.12))
    release = curator.gaussian(
        of_persons(counts),
        sensitivity=sqrt_up(RING_SENSITIVITY_SQUARED),
        share=share,
        label="ring",
    )
    told = read_scale(release.value, release.scale, sample.n, bins)
    return None if told.nothing else told.scale


def column_scales(sample, curator, *, share, largest):
    """Release a scale for every column from the ring differences, or None; and those not seen.

    A constant column takes the smallest scale that was found; a column whose scale was not found
    takes the largest: dividing by a scale that is too small would let it drown all others.
    """
    bins = LogBins.around(largest, per_octave=1, below=126, above=1)
    release = ring_columns(sample, curator, bins, share=share, label="column scales")
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


def soft_core_centre(sample, curator, *, friend_radius, reach, n_rows, n_sd, spent):
    """Release the average of the soft core, or None where the rows are too few or too spread.

    Parameters
    ----------
    sample : Sample
    curator : Curator
    friend_radius : float
        Public or released: rows within this distance are friends.
    reach : float
        Released bound of most norms; it only keeps the integer grid wide enough.
    n_rows, n_sd : float
        Released number of rows, of persons if the sample has one row of each, and the standard
        deviation of its noise.
    spent : float
        Share that is spent or reserved.

    Returns
    -------
    found : tuple or None
        Centre, noise per coordinate, shares of the steps to come.
    """
    mu, d, sampled = curator.budget.mu, sample.Z.shape[1], sample.q < 1
    names = ("first count", "second count", "h-index")
    quantiles = {name: -float(ndtri_exp(curator.fails(name))) for name in names}
    schedule = locating_schedule(
        sample.n, n_rows, mu, d, quantile=max(quantiles.values()), spent=spent, sampled=sampled
    )
    if schedule is None:
        return None
    n_up = math.ceil(n_rows) + math.ceil(quantiles["first count"] * n_sd) + 1
    if schedule.count:
        count = curator.gaussian(
            of_persons([len(sample.Z)]), sensitivity=1, share=schedule.count, label="core count"
        )
        n_up = int(count.value[0]) + math.ceil(quantiles["second count"] * count.scale) + 1
    radius = min(max(friend_radius, reach * 2.0**-40, 2.0**-900), 2.0**1000)
    predicate = DistancePredicate(radius)
    friends = predicate.friends(sample.Z)
    h = curator.gaussian(
        of_persons([h_index(friends)]), sensitivity=1, share=schedule.h_index, label="h-index"
    )
    h_low = int(h.value[0]) - 1 - math.ceil(quantiles["h-index"] * h.scale)
    if n_up < 1 or h_low - n_up / 2 < 0.03 * n_up:
        return None
    core = soft_core_average(sample.Z, friends, n_up=n_up, h_low=h_low, radius=predicate.radius)
    release = curator.gaussian(
        of_persons(core.value),
        sensitivity=core.sensitivity,
        share=schedule.average,
        label="soft core",
    )
    return release.value * core.grid, release.scale * core.grid, schedule.steps
