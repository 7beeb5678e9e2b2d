"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.readers._rows import map_merge, weighed_sum
from skdp.readers._sources import ArrayRows

__all__ = ["ArrayRows", "map_merge", "weighed_sum"]
