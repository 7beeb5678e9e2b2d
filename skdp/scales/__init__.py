"""What stands in for bounds: scales, centres and clipped sums, found privately.

Engines: functions of rows, public parameters and a Curator.
"""

from skdp.kernel._bins import LogBins
from skdp.scales._log_histogram import (
    clipped_sum,
    count_rows,
    private_median,
    read_scale,
    ring_differences,
    top_scale,
)

__all__ = [
    "LogBins",
    "clipped_sum",
    "count_rows",
    "private_median",
    "read_scale",
    "ring_differences",
    "top_scale",
]
