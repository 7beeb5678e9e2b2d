"""A second look at columns whose places and units are known: what they hold, and how far."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.scales._noise_level import noise_sum_quantile
from skdp.scales._significance import RANGE, farthest_window

__all__ = ["COLUMN_RANGES", "release_column_ranges"]

RANGES = 0.003, 0.04  # least and largest share
COLUMN_RANGES = Step("column ranges", at_most=RANGES[1], of=(ColumnBins,))
OCTAVES = LogBins(1, low=-2, high=40)
WIDTHS = 1, 2, 4, 8
BEYOND = 4.0  # times the edge of the highest cell that stands out: tails go on
LEAST = 4.0  # units that a range reaches at least, on either side
FAR = 1.3  # units of root mean square above which a unit is too small
MIDDLE = 0.7  # of an octave, in root mean square, the upper edge is 1


def release_column_ranges(table, center, unit, *, n):
    """Release how far the columns reach, and units that are not too small.

    Rows beyond what is seen are few: they are to be clipped, column by column.
    """
    wanted = 60 * math.sqrt(table.n_features) / (n * table.budget.mu)
    share = float(np.clip(wanted**2, *RANGES))
    told = table.ask(ColumnBins(center, unit, OCTAVES), COLUMN_RANGES, share=share)
    tops, roots = np.transpose([_read(row, told.scale, n) for row in told.value])
    factor = np.where(roots > FAR, roots, 1.0)
    unit = unit * factor
    return np.maximum(BEYOND * tops / factor, LEAST) * unit, unit


def _read(counts, sd, n):
    """Return where the visible mass of a column ends, and its root mean square, in units."""
    counts = counts.astype(float)
    top = farthest_window(counts, {w: noise_sum_quantile(RANGE, w, scale=sd) for w in WIDTHS})
    edges = np.array([OCTAVES.upper_edge(i) for i in range(max(top, 0) + 1)])
    seen = np.where(counts[: len(edges)] > 2 * sd, counts[: len(edges)], 0.0)
    return edges[-1], math.sqrt(seen @ np.square(MIDDLE * edges) / n)
