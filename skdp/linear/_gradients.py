"""What is released of the gradients of single rows: how long they are, and their clipped sum."""

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._sums import BallTotal
from skdp.kernel._sums import Distances as DistanceCells
from skdp.location._clip import Distances, joined

__all__ = ["release_lengths", "release_total"]

BELOW, FINE, ABOVE = 5, 1, 13  # octaves of lengths: narrow cells up to FINE, whole octaves above


def release_lengths(table, gradients, *, around, share, step, per_octave=8):
    """Release a histogram of the lengths of gradients."""
    bins = LogBins.around(around, per_octave=per_octave, below=BELOW, above=FINE + ABOVE)
    fine = 1 + per_octave * (BELOW + FINE)
    starts, edges = joined(bins, fine, per_octave)
    question = DistanceCells(np.zeros(gradients.dims), bins, starts=starts)
    told = table.map(gradients).ask(question, step, share=share)
    *within, beyond = told.value.astype(float)
    return Distances(np.array(within), edges, told.scale, fine, beyond=beyond)


def release_total(table, gradients, *, radius, share, step):
    """Release the sum of gradients clipped to a ball, and the standard deviation of its noise."""
    told = table.map(gradients).ask(BallTotal(radius), step, share=share)
    return told.real, told.sd
