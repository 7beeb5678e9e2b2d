"""Columns without bounds: where their entries lie, how far they reach, and what ranks they have.

Engines: functions of rows, public parameters and noise.
"""

from skdp.columns._cells import OctaveCells, magnitude_cells
from skdp.columns._evidence import stands_out

__all__ = ["OctaveCells", "magnitude_cells", "stands_out"]
