"""How far a target is seen to reach, on either side of its centre."""

import numpy as np

from skdp.chunks import weighed_sum
from skdp.location._clip import joined
from skdp.mechanisms import finite_rows
from skdp.scales import LogBins
from skdp.scales._log_histogram import highest_window
from skdp.scales._noise_level import clear_of_noise

__all__ = ["TARGET", "visible_target"]

TARGET = 0.005, 0.03  # least and largest share
CELLS, PER_OCTAVE, FINE = LogBins(8, low=-5, high=40), 8, 57  # fine up to 4 units, then octaves
WIDTHS = 1, 2, 4, 8
FALSE = 1e-7  # probability that noise alone passes for rows in a window
BEYOND = 4.0  # times the edge of a cell of an octave: such tails go on
HIDDEN = 0.0005, 0.005  # parts of the rows that are to stand out, and that have to
CLEAR = 4.0  # standard deviations that stand out


def visible_target(rows, curator, center, unit, *, n):
    """Release a range that holds what is visible of the target.

    Parameters
    ----------
    rows : Rows
        The target is the last column.
    curator : Curator
    center, unit : float
        Released.
    n : float
        Released number of rows.

    Returns
    -------
    low, high : float

    Notes
    -----
    **Privacy** (add or remove one row): one histogram of the distances above the centre and below;
    a row falls into at most one cell of both: sensitivity 1.
    """
    wanted = CLEAR / (HIDDEN[0] * n * curator.budget.mu)
    share = float(np.clip(wanted**2, *TARGET))
    starts, edges = joined(CELLS, FINE, PER_OCTAVE)

    def statistic(start, block):
        with np.errstate(over="ignore"):
            z = (block[finite_rows(block), -1] - center) / unit
        return np.stack([CELLS.counts(-z[z < 0]), CELLS.counts(z[z >= 0])])

    counts = np.add.reduceat(weighed_sum(rows, statistic), starts, axis=1)
    release = curator.gaussian(counts, sensitivity=1, share=share, label="target range")
    below, above = (_top(row[:-1], edges, release.scale) for row in release.value)
    if CLEAR * release.scale > HIDDEN[1] * n:  # too coarse to tell: leave room
        below, above = below + (below + above), above + (below + above)
    with np.errstate(over="ignore"):
        low, high = center - below * unit, center + above * unit
    return tuple(np.nan_to_num([low, high]).tolist())


def _top(counts, edges, sd):
    levels = {w: clear_of_noise(FALSE, w, scale=sd) for w in WIDTHS}
    counts = counts.astype(float)
    top = max(highest_window(counts, w, level) for w, level in levels.items())
    return float(edges[max(top, 0)]) * (1 if top < FINE else BEYOND)
