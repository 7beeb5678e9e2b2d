"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.readers._array import ArrayRows
from skdp.readers._rows import map_merge, weighed_sum

__all__ = ["ArrayRows", "map_merge", "weighed_sum"]
