"""Where the components begin: released centres, and how far the rows lie from them."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.kernel._clusters import Nearest, Reaches
from skdp.kernel._table import opened
from skdp.mixture._normal import quantile
from skdp.scales import LogBins

__all__ = ["Spread", "release_spread", "spread_step"]

BINS = LogBins(4, -12, 2)  # distances in units of the located radius, at most 4
SMALLEST = 1e-6  # of the located radius: least standard deviation


@dataclass(frozen=True)
class Spread:
    """``sd`` of round components around the centres and ``far``, the .95 quantile, in radii."""

    sd: float
    far: float


def spread_step(share):
    """Return the planned step of :func:`release_spread`."""
    return Step("spread", at_most=share, of=(Reaches,))


def release_spread(rows, curator, located, centers, *, share):
    """Release how far the rows lie from their nearest centres.

    Shapes: centers (k, d).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.Reaches`.
    """
    asked = Reaches(Nearest(located, centers), BINS, apart=False)
    release = opened(rows, curator).ask(asked, share=share, label="spread")
    counts = np.where(release.value > 2 * release.scale, release.value, 0).astype(np.float64)
    if not counts.any():
        return Spread(1.0, 2.0)
    d = centers.shape[1]
    sd = max(_quantile(counts, 0.5) / math.sqrt(quantile(d, 0.5)), SMALLEST)
    return Spread(sd, max(_quantile(counts, 0.95), sd))


def _quantile(counts, p):
    above = np.cumsum(counts) - p * counts.sum()
    i = int(np.argmax(above >= 0))
    return BINS.upper_edge(i) * 2.0 ** (-above[i] / counts[i] / BINS.per_octave)
