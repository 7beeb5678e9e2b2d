"""Columns: where their entries lie without bounds, how far they reach, and moments between bounds.

Engines: functions of rows, public parameters and noise.
"""

from skdp.columns._boxed import BoxedRows
from skdp.columns._cells import OctaveCells, magnitude_cells
from skdp.columns._clipping import Clipping, best_clipping
from skdp.columns._evidence import stands_out
from skdp.columns._locate import Located, locate_columns, locating_steps, survey_share
from skdp.columns._pair import Moments, bounded_moments, bounded_sums
from skdp.columns._ranks_read import limits, two_sided
from skdp.columns._ranks_search import find_quantiles, rank_steps
from skdp.columns._survey import CELLS, Survey, column_counts, survey_columns
from skdp.columns._tail import Tail, read_tail
from skdp.columns._zoom import Bulk, zoom_columns

__all__ = [
    "CELLS",
    "BoxedRows",
    "Bulk",
    "Clipping",
    "Located",
    "Moments",
    "OctaveCells",
    "Survey",
    "Tail",
    "best_clipping",
    "bounded_moments",
    "bounded_sums",
    "column_counts",
    "find_quantiles",
    "limits",
    "locate_columns",
    "locating_steps",
    "magnitude_cells",
    "rank_steps",
    "read_tail",
    "stands_out",
    "survey_columns",
    "survey_share",
    "two_sided",
    "zoom_columns",
]
