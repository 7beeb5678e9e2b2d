"""What stands in for bounds: scales, centres and clipped sums, found privately.

Engines: functions of rows, public parameters and a Curator.
"""

from skdp.scales._bisection import private_median
from skdp.scales._clipped import clipped_sum, count_rows
from skdp.scales._grid_bits import grid_bits
from skdp.scales._log_histogram import (
    LogBins,
    Reading,
    clear_levels,
    highest_window,
    read_scale,
    top_scale,
)
from skdp.scales._noise_level import clear_of_noise, noise_level, rounded_level
from skdp.scales._ring import (
    RING_SENSITIVITY_SQUARED,
    ring_blocks,
    ring_differences,
    ring_norms,
)

__all__ = [
    "RING_SENSITIVITY_SQUARED",
    "LogBins",
    "Reading",
    "clear_levels",
    "clear_of_noise",
    "clipped_sum",
    "count_rows",
    "grid_bits",
    "highest_window",
    "noise_level",
    "private_median",
    "read_scale",
    "ring_blocks",
    "ring_differences",
    "ring_norms",
    "rounded_level",
    "top_scale",
]
