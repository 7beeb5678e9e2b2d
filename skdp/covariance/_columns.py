"""Scales of the columns from random differences, sparse columns included."""

import numpy as np

from skdp.mechanisms._exact import sqrt_up
from skdp.scales import (
    RING_SENSITIVITY_SQUARED,
    LogBins,
    clear_levels,
    highest_window,
    ring_blocks,
    top_scale,
)

__all__ = ["column_units"]

TYPICAL = 2.5  # upper edge of nine tenths of the differences, in standard deviations


def column_units(sample, curator, *, share, label):
    """Release a scale for every column, near its standard deviation.

    A column most of whose differences are zero is sparse, or constant. Of a sparse one the size of
    the other differences and their number tell the scale. A constant column takes the smallest
    scale that was found; a column that shows nothing takes the largest: dividing by a scale that
    is too small would let it drown all others.

    Parameters
    ----------
    sample : Sample
    curator : Curator
    share : float
    label : str

    Returns
    -------
    units : ndarray of shape (d,) or None
        None if no column has a scale.

    Notes
    -----
    **Privacy** (add or remove one row): d histograms of ring differences side by side have
    sensitivity sqrt(5 d), see :func:`skdp.scales.ring_differences`.
    """
    d, bins = sample.Z.shape[1], LogBins(1)
    counts = np.zeros((d, bins.n_bins), dtype=np.int64)
    for differences in ring_blocks(sample.Z, sample.keys):
        counts += bins.column_counts(np.abs(differences))
    sensitivity = sqrt_up(RING_SENSITIVITY_SQUARED * d)
    release = curator.gaussian(counts, sensitivity=sensitivity, share=share, label=label)
    found = [_scale(row.astype(float), release.scale, sample.n, bins) for row in release.value]
    positive = [scale for scale in found if scale]
    if not positive:
        return None
    smallest, largest = min(positive), max(positive)
    return np.array([largest if s is None else s or smallest for s in found])


def _scale(counts, sd, n, bins):
    """Return the scale of a column, 0.0 if it is constant, None if nothing stands out."""
    top = top_scale(counts, sd, n, bins)
    if top is None or top > 0:
        return None if top is None else max(top / TYPICAL, bins.upper_edge(1))
    # Differences that are not zero: the highest bin that stands out, and how many there are.
    at = highest_window(counts[1:], 1, clear_levels(bins, [1], sd)[0][1:])
    if at < 0:
        return 0.0
    part = float(np.clip((n - counts[0]) / n, sd / n, 1.0))
    return max(bins.upper_edge(at + 1) * np.sqrt(part) / TYPICAL, bins.upper_edge(1))
