"""What is released of the gradients of single rows: how long they are, and their clipped sum."""

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._sums import BallTotal
from skdp.kernel._sums import Distances as DistanceCells
from skdp.kernel._table import opened
from skdp.location._clip import Distances, joined

__all__ = ["release_lengths", "release_total"]

BELOW, FINE, ABOVE = 5, 1, 13  # octaves of lengths: narrow cells up to FINE, whole octaves above


def release_lengths(rows, curator, gradients, *, around, share, label, per_octave=8):
    """Release a histogram of the lengths of gradients."""
    bins = LogBins.around(around, per_octave=per_octave, below=BELOW, above=FINE + ABOVE)
    fine = 1 + per_octave * (BELOW + FINE)
    starts, edges = joined(bins, fine, per_octave)
    question = DistanceCells(np.zeros(gradients.dims), bins, starts=starts)
    told = opened(rows, curator).map(gradients).ask(question, share=share, label=label)
    *within, beyond = told.value.astype(float)
    return Distances(np.array(within), edges, told.scale, fine, beyond=beyond)


def release_total(rows, curator, gradients, *, radius, share, label):
    """Release the sum of gradients clipped to a ball, and the standard deviation of its noise."""
    told = opened(rows, curator).map(gradients).ask(BallTotal(radius), share=share, label=label)
    return told.real, told.sd
