"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.chunks._clipped_rows import ClippedRows
from skdp.chunks._rows import ArrayRows, MappedRows, map_merge

__all__ = ["ArrayRows", "ClippedRows", "MappedRows", "map_merge"]
