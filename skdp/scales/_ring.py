"""Histograms of random differences for engines that hold a sample of rows."""

import numpy as np

from skdp.kernel.pairs._ring import RING_SQUARED, ring_blocks
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._weighed import of_persons

__all__ = ["RING_SENSITIVITY_SQUARED", "ring_blocks", "ring_columns"]

RING_SENSITIVITY_SQUARED = RING_SQUARED


def ring_columns(sample, curator, bins, *, share, label):
    """Release histograms of the sizes of ring differences of every column, shape (d, n_bins)."""
    d = sample.Z.shape[1]
    counts = np.zeros((d, bins.n_bins), dtype=np.int64)
    for differences in ring_blocks(sample.Z, sample.keys):
        counts += bins.column_counts(np.abs(differences))
    sensitivity = sqrt_up(RING_SENSITIVITY_SQUARED * d)
    counts = of_persons(counts)
    return curator.gaussian(counts, sensitivity=sensitivity, share=share, label=label)
