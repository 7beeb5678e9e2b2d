"""Places and units of columns of a small table: one histogram of octaves around zero."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import SomeColumns
from skdp.linear._front import FeaturePreprocessing
from skdp.scales._significance import COARSE

__all__ = ["COARSE_SCALES", "is_small", "release_coarse_preprocessing"]

COARSE_SCALES = Step("octaves", at_most=0.25, of=(ColumnBins,))
RING = 20.0  # standard deviations of a histogram of differences that a table must have in rows
RING_SHARE = 0.12
OCTAVES = LogBins(1, low=-60, high=60)
WIDTHS = 1, 2, 3, 4, 6, 8
MOST = 0.75  # part of the rows that a column shows
REACH = 4.0  # units to which rows are clipped


def is_small(d, n, mu):
    """Return whether n rows of d columns are too few to look for their scales by differences."""
    return RING * math.sqrt(5 * d / RING_SHARE) / mu > n


def release_coarse_preprocessing(table, *, count):
    """Release where the columns lie, within a factor of about two of their size.

    A table that is too small for random differences of its rows still shows in which octaves the
    entries are. Columns far from zero and narrow are taken for wider than they are.
    """
    d = table.n_features - 1
    features = table.map(SomeColumns(np.arange(d)))
    asked = ColumnBins(np.zeros(d), np.ones(d), OCTAVES, "in line")
    told = features.ask(asked, COARSE_SCALES)
    pairs = [_read(row, told.scale, count.n) for row in told.value.astype(float)]
    center, unit = np.transpose(pairs)
    seen = unit > 0
    reach = REACH * unit
    return FeaturePreprocessing(
        count,
        center - reach,
        center + reach,
        np.append(center, 0.0),
        np.append(np.where(seen, unit, 1.0), 1.0),
        bool(seen.any()),
    )


def _read(counts, sd, n):
    """Return a place and a unit of one column, both 0 where nothing but zeros shows."""
    m = OCTAVES.n_bins
    tops = np.array([OCTAVES.upper_edge(i) for i in range(m - 1)] + [2.0**OCTAVES.high])
    low, high = np.append(0.0, tops[:-1]), tops
    low, high = np.append(-high[:0:-1], low), np.append(-low[:0:-1], high)
    zeros, others = max(counts[m - 1], 0.0), counts.copy()
    others[m - 1] = -math.inf
    for width in WIDTHS:
        windows = np.convolve(np.maximum(others, -1e300), np.ones(width), "valid")
        at = int(np.argmax(windows))
        noise = sd * math.sqrt(width)
        if windows[at] > COARSE * noise and windows[at] + zeros > MOST * n - noise:
            chosen = np.append(np.arange(at, at + width), m - 1)
            weights = np.maximum(counts[chosen], 0.0) / np.maximum(counts[chosen], 0.0).sum()
            middle = (low[chosen] + high[chosen]) / 2
            center = weights @ middle
            wide = np.square(high[chosen] - low[chosen]) / 12
            return center, math.sqrt(weights @ (np.square(middle - center) + wide))
    return 0.0, 0.0
