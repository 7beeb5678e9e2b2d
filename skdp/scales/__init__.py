"""What stands in for bounds: scales, centres and clipped sums, found privately.

Engines: functions of rows, public parameters and a Curator.
"""

from skdp.scales._bisection import private_median
from skdp.scales._clipped import clipped_sum, count_rows
from skdp.scales._log_histogram import LogBins, read_scale, top_scale
from skdp.scales._ring import ring_differences

__all__ = [
    "LogBins",
    "clipped_sum",
    "count_rows",
    "private_median",
    "read_scale",
    "ring_differences",
    "top_scale",
]
