"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.chunks._array import ArrayRows
from skdp.chunks._clipped_rows import ClippedRows
from skdp.chunks._raw import TableError
from skdp.chunks._rows import MappedRows, Rows, Source, map_merge
from skdp.chunks._sources import source_of

__all__ = [
    "ArrayRows",
    "ClippedRows",
    "MappedRows",
    "Rows",
    "Source",
    "TableError",
    "map_merge",
    "source_of",
]
