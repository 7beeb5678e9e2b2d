"""How far from its centre the rows of a cluster may pull: noise against clipping."""

import math

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._clusters import Nearest, Reaches
from skdp.scales._significance import KEPT_BIN, significant_tail

__all__ = ["radii_from_cells", "release_radii"]

BINS = LogBins(4, -8, 4)  # distances in units of the located radius
SYNOPSIS_LEAF = 3.0  # noise sds: lighter leaves, far away, would blow up the radius
CANDIDATES = 30
SKEW, BIAS = 0.3, 0.6  # part of the length clipped off that is taken for bias


def radii_from_cells(synopsis, centres, *, noise):
    """Read the radii of all clusters off released cells: post-processing.

    Of the candidates for the clip radius r, take that with the least sum of the squared mean of
    what is clipped off and of the noise ``r noise / N``.

    Shapes: centres (k, p); returns (k,).
    """
    squares = np.square(synopsis.centres[:, None] - centres).sum(axis=2)
    labels = squares.argmin(axis=1)
    k, p = centres.shape
    weights = np.bincount(labels, synopsis.weights, minlength=k)
    corner = np.sqrt(np.square(synopsis.halves).sum(axis=1) / 3)
    reach = np.sqrt(squares[np.arange(len(labels)), labels]) + corner
    solid = synopsis.weights > SYNOPSIS_LEAF * synopsis.sds
    radii = np.full(k, float(np.median(reach)))
    for j in range(k):
        mine = np.flatnonzero((labels == j) & solid)
        if not mine.size:
            mine = np.flatnonzero(labels == j)
        if mine.size:
            w = synopsis.weights[mine]
            v = synopsis.centres[mine] - centres[j]
            radii[j] = _best_radius(reach[mine], v, w, p * noise**2)
    return radii, np.maximum(weights, 1.0)


def _best_radius(reach, v, w, variance):
    total = max(w.sum(), 1.0)
    candidates = np.quantile(reach, np.linspace(0, 1, CANDIDATES))
    off = w * np.maximum(1 - candidates[:, None] / reach, 0) / total  # part clipped off
    length = np.sqrt(np.square(v).sum(axis=1))
    bias = np.sqrt(np.square(off @ v).sum(axis=1)) + SKEW * off @ length
    loss = np.square(bias) + variance * np.square(candidates / total)
    return float(candidates[np.argmin(loss)])


def release_radii(table, located, centres, step, *, noise, share):
    """Release how far the rows of every cluster lie from its centre; choose radii from that.

    Shapes: centres (k, d); radii (k,).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.Reaches`.
    """
    k, d = centres.shape
    question, units = Reaches(Nearest(located, centres), BINS), located.units(centres)
    release = table.ask(question, step, share=share)
    counts = release.value.reshape(k, -1).astype(np.float64)
    pooled = _significant_bins(counts.sum(axis=0) / k, release.scale / math.sqrt(k))
    variance = d * noise**2
    radii = np.empty(k)
    for j in range(k):
        clear = counts[j][counts[j] > 2.5 * release.scale].sum() > 12 * release.scale
        w = _significant_bins(counts[j], release.scale) if clear else pooled
        radii[j] = _balanced(w, variance)
    return radii * units


def _significant_bins(counts, sd):
    """Return the bins that stand out, up to the last that does so clearly; zeros elsewhere."""
    inside = np.arange(len(counts)) < significant_tail(counts, sd)
    return np.where((counts > KEPT_BIN * sd) & inside, counts, 0.0)


def _balanced(w, variance):
    """Return the upper edge of a bin that balances clipping and noise; 1 if nothing is seen."""
    edges = np.array([BINS.upper_edge(i) for i in range(BINS.n_bins)])
    middle = edges * 2.0 ** (-1 / 8)
    total = max(w.sum(), 1.0)
    excess = np.maximum(middle - edges[:, None], 0) @ w / total
    loss = np.square(BIAS * excess) + variance * np.square(edges / total)
    return float(edges[np.argmin(loss)]) if w.any() else 1.0
