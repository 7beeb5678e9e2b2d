"""How far a target is seen to reach, on either side of its centre."""

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import SomeColumns
from skdp.location._clip import joined
from skdp.scales._noise_level import noise_sum_quantile
from skdp.scales._significance import RANGE, farthest_window

__all__ = ["TARGET_RANGE", "release_target_range"]

TARGET = 0.005, 0.03  # least and largest share
TARGET_RANGE = Step("target range", at_most=TARGET[1], of=(ColumnBins,))
CELLS, PER_OCTAVE, FINE = LogBins(8, low=-5, high=40), 8, 57  # fine up to 4 units, then octaves
WIDTHS = 1, 2, 4, 8
BEYOND = 4.0  # times the edge of a cell of an octave: such tails go on
HIDDEN = 0.0005, 0.005  # parts of the rows that are to stand out, and that have to
CLEAR = 4.0  # standard deviations that stand out


def release_target_range(table, center, unit, *, n):
    """Release a range that holds what is visible of the target."""
    wanted = CLEAR / (HIDDEN[0] * n * table.budget.mu)
    share = float(np.clip(wanted**2, *TARGET))
    starts, edges = joined(CELLS, FINE, PER_OCTAVE)
    target = table.map(SomeColumns(np.array([table.n_features - 1])))
    question = ColumnBins(np.array([center]), np.array([unit]), CELLS, "apart", starts)
    told = target.ask(question, TARGET_RANGE, share=share)
    sides = told.value.reshape(2, -1)[:, :-1]
    below, above = (_top(row, edges, told.scale) for row in sides)
    if CLEAR * told.scale > HIDDEN[1] * n:  # too coarse to tell: leave room
        below, above = below + (below + above), above + (below + above)
    with np.errstate(over="ignore"):
        low, high = center - below * unit, center + above * unit
    return tuple(np.nan_to_num([low, high]).tolist())


def _top(counts, edges, sd):
    levels = {w: noise_sum_quantile(RANGE, w, scale=sd) for w in WIDTHS}
    top = farthest_window(counts.astype(float), levels)
    return float(edges[max(top, 0)]) * (1 if top < FINE else BEYOND)
