"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.chunks._array import ArrayRows
from skdp.chunks._rows import map_merge, weighed_sum

__all__ = ["ArrayRows", "map_merge", "weighed_sum"]
