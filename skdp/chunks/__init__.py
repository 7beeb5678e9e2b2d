"""Where rows come from, and the one loop that turns them into exact statistics."""

from skdp.chunks._array import ArrayRows
from skdp.chunks._clipped_rows import ClippedRows
from skdp.chunks._raw import Schema, TableError, column_type, library, schema_of
from skdp.chunks._rows import MappedRows, Rows, Source, map_merge, take, takes
from skdp.chunks._sources import converted, source_of
from skdp.chunks._tables import Tables, tables_of

__all__ = [
    "ArrayRows",
    "ClippedRows",
    "MappedRows",
    "Rows",
    "Schema",
    "Source",
    "TableError",
    "Tables",
    "column_type",
    "converted",
    "library",
    "map_merge",
    "schema_of",
    "source_of",
    "tables_of",
    "take",
    "takes",
]
