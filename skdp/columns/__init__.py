"""Columns without bounds: where their entries lie, how far they reach, and what ranks they have.

Engines: functions of rows, public parameters and noise.
"""

from skdp.columns._boxed import BoxedRows
from skdp.columns._cells import OctaveCells, magnitude_cells
from skdp.columns._clipping import Clipping, best_clipping
from skdp.columns._evidence import stands_out
from skdp.columns._locate import Located, locate_columns, locating_steps, survey_share
from skdp.columns._survey import CELLS, Survey, column_counts, survey_columns
from skdp.columns._tail import Tail, read_tail
from skdp.columns._zoom import Bulk, zoom_columns

__all__ = [
    "CELLS",
    "BoxedRows",
    "Bulk",
    "Clipping",
    "Located",
    "OctaveCells",
    "Survey",
    "Tail",
    "best_clipping",
    "column_counts",
    "locate_columns",
    "locating_steps",
    "magnitude_cells",
    "read_tail",
    "stands_out",
    "survey_columns",
    "survey_share",
    "zoom_columns",
]
