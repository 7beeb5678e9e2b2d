"""What is released of the gradients of single rows: how long they are, and their clipped sum."""

import math

import numpy as np

from skdp.chunks import weighed_sum
from skdp.kernel._grid_bits import grid_bits
from skdp.location._clip import Distances, joined
from skdp.mechanisms import ball_rows, row_norms
from skdp.scales import LogBins

__all__ = ["release_lengths", "release_total"]

BELOW, FINE, ABOVE = 5, 1, 13  # octaves of lengths: narrow cells up to FINE, whole octaves above


def release_lengths(rows, curator, parts, *, around, share, label, per_octave=8):
    """Release a histogram of the lengths of gradients.

    Parameters
    ----------
    rows : Rows
    curator : Curator
    parts : callable
        Yields the gradients of the rows of a block, in parts.
    around : float
        Released: a length near which cells are narrow.
    share : float
    label : str
    per_octave : int, default=8
        Narrow cells to an octave.

    Returns
    -------
    lengths : Distances

    Notes
    -----
    **Privacy** (add or remove one row): a row falls into at most one cell: sensitivity 1.
    """
    bins = LogBins.around(around, per_octave=per_octave, below=BELOW, above=FINE + ABOVE)
    fine = 1 + per_octave * (BELOW + FINE)
    starts, edges = joined(bins, fine, per_octave)

    def statistic(start, block):
        counts = np.zeros(bins.n_bins, dtype=np.int64)
        for g in parts(block):
            counts += bins.counts(row_norms(g))
        return counts

    counts = np.add.reduceat(weighed_sum(rows, statistic), starts)
    release = curator.gaussian(counts, sensitivity=1, share=share, label=label)
    *within, beyond = release.value.astype(float)
    return Distances(np.array(within), edges, release.scale, fine, beyond=beyond)


def release_total(rows, curator, parts, *, dims, radius, share, label):
    """Release the sum of gradients clipped to a ball, and the standard deviation of its noise.

    Parameters
    ----------
    rows, curator, parts, share, label
        As in :func:`release_lengths`.
    dims : int
    radius : float
        Of the ball, released.

    Returns
    -------
    total : ndarray of shape (dims,)
    sd : float

    Notes
    -----
    **Privacy** (add or remove one row): a gradient becomes an integer vector of Euclidean norm at
    most 2^bits, checked in integers, a function of its row and of releases: sensitivity 2^bits.
    """
    strength = curator.budget.mu * math.sqrt(float(share))
    bits = grid_bits(strength, noise_bits=45, most=15, unit=rows.unit)

    def statistic(start, block):
        total = np.zeros(dims, dtype=np.int64)
        for g in parts(block):
            q = ball_rows(g, center=0.0, radius=radius, bits=bits)
            total += (np.ones(len(q)) @ q).astype(np.int64)
        return total

    exact = weighed_sum(rows, statistic)
    release = curator.gaussian(exact, sensitivity=2**bits, share=share, label=label)
    unit = radius / 2**bits
    return release.value * unit, release.scale * unit
