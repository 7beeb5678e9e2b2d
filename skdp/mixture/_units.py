"""Units of the columns: powers of two near their scales, found privately, or told by bounds."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._coordinates import LARGEST
from skdp.kernel._friends import RingColumns
from skdp.kernel._sums import Count
from skdp.kernel.pairs._ring import RING_SQUARED
from skdp.scales import LogBins, read_scale

__all__ = ["column_units", "rescaled", "unit_steps"]

ROWS = Step("rows", at_most=0.005, of=(Count,))
SHARES = 0.01, 0.05  # of the histograms of all columns
COLUMN_SCALES = Step("column scales", at_most=SHARES[1], of=(RingColumns,))
CLEAR = 26.0  # noise standard deviations that all rows together should have in a bin
FEWEST = 16.0  # below, too little would be seen
BINS = LogBins(1)
TAIL = 0.25  # part of the differences that may be larger than the scale
ALIKE = 4  # octaves between the units of columns that are left as they are
MOST_ENTRIES = 2**22  # of a sample in memory
UNLIKE = "columns of unlike scales were measured in units of their own"
SKIPPED = "too few rows to tell the units of columns: they are those of the bounds"
BLIND = (
    "too few rows to tell the units of columns: they count as alike. Divide columns by public "
    "scales, or pass bounds"
)
UNSEEN = (
    "the scale of columns does not exceed the noise: their units are guesses. Divide columns by"
    " public scales, or pass bounds"
)


def unit_steps():
    """Return the planned steps of :func:`column_units`."""
    return ROWS, COLUMN_SCALES


def column_units(table, *, box=None):
    """Release the units in which columns of unlike scales are alike.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingColumns`; the rest is post-processing.
    """
    d, mu = table.n_features, table.budget.mu
    count = table.ask(Count(), ROWS)
    n = max(float(count.value[0]), 1.0)
    ring = math.sqrt(RING_SQUARED * d) / mu
    size = max(1000.0, min(2500 * ring, MOST_ENTRIES / d))
    share = max((CLEAR * ring / min(n, size)) ** 2, SHARES[0])
    known = np.full(d, np.nan) if box is None else _width(*box)
    if share > SHARES[1] * (CLEAR / FEWEST) ** 2:
        if box is None:
            table.doubt(BLIND)
            return None
        table.decide(SKIPPED)
        return _unequal_scales(known, table)
    sample = table.sample(size, n)
    release = sample.ask(RingColumns(BINS, d), COLUMN_SCALES, share=min(share, SHARES[1]))
    found = [read_scale(row, release.scale, sample.n, BINS, tail=TAIL) for row in release.value]
    scales = np.array([np.nan if one.nothing else one.scale / 2 for one in found])
    if np.isnan(scales).all():
        return None if box is None else _unequal_scales(known, table)
    unseen = np.isnan(scales)
    if unseen.any():
        table.doubt(UNSEEN, unseen)
        scales[unseen] = known[unseen] if box is not None else np.nanmax(scales)
    return _unequal_scales(scales, table)


def _width(low, high):
    return high / 8 - low / 8


def _unequal_scales(scales, table):
    """Return powers of two for scales, 1 for a scale of 0; None if they are alike."""
    octaves = np.frexp(np.where(scales > 0, scales, 1.0))[1] - 1
    if np.ptp(octaves[scales > 0] if (scales > 0).any() else octaves) <= ALIKE:
        return None
    table.decide(UNLIKE)
    return np.ldexp(1.0, np.clip(octaves, -500, 500))


def rescaled(x, units):
    """Return entries divided by units, within 2^1000, float64."""
    with np.errstate(all="ignore"):
        y = np.divide(x, units, dtype=np.float64)
        return np.clip(y, -LARGEST, LARGEST, out=y)
