"""Rows of parts whose lengths are known: files, their row groups, fragments, a query."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np

from skdp.readers._loop import CHANGED
from skdp.readers._raw import TableError, numbers, schema_of
from skdp.readers._rows import Source, rows_of, take

__all__ = ["Part", "PartRows", "call_library"]

BLOCK_BYTES = 2**22  # batches are there twice: as they are read, and as an array


@dataclass(frozen=True)
class Part:
    """Rows that are read in batches."""

    n_rows: int
    # `read(batch_rows)` gives an iterable of batches, the same at every pass, of about that many
    # rows at most
    read: Callable
    name: str  # public: of a file, or of the kind of table
    only: Callable | None = None  # `only(names)` gives what reads the columns of these names alone

    def batches(self, batch_rows):
        """Yield the batches."""
        n_rows, batches = 0, iter(call_library(self.name, self.read, batch_rows))
        while (batch := call_library(self.name, next, batches, None)) is not None:
            n_rows += len(batch)
            yield batch
        if n_rows != self.n_rows:
            raise TableError(CHANGED)


class PartRows(Source):
    """Rows of parts of known lengths, one part after the other."""

    def __init__(self, head, parts):
        schema = schema_of(head)
        n_rows, block_rows = sum(part.n_rows for part in parts), rows_of(BLOCK_BYTES, len(schema))
        super().__init__(len(schema), n_rows=n_rows, block_rows=block_rows)
        self.names, self.decode = schema.names, partial(numbers, schema)
        self._head, self._parts = head, parts

    def head(self):
        """Return a table of no rows."""
        return self._head

    def columns(self, places):
        """Return the rows of some columns, None if a part is read as a whole."""
        names = [self.names[j] for j in places]
        if len(set(self.names)) < len(self.names) or not all(part.only for part in self._parts):
            return None
        parts = [replace(part, read=part.only(names), only=None) for part in self._parts]
        return PartRows(self._head.select(names), parts)

    def pieces(self):
        """Yield (number of rows, batch)."""
        for part in self._parts:
            for batch in part.batches(self.shared_rows()):
                yield len(batch), batch

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array; reads only the parts they are in."""
        indices = np.asarray(indices, dtype=np.intp)
        stops = np.fromiter(accumulate(part.n_rows for part in self._parts), np.intp)
        part = np.searchsorted(stops, indices, side="right")
        used, place = np.unique(part, return_inverse=True)
        few = PartRows(self._head, [self._parts[i] for i in used])
        few.decode = self.decode
        lengths = np.array([part.n_rows for part in few._parts], dtype=np.intp)
        behind = (stops[used] - np.cumsum(lengths))[place]
        return take(few, indices - behind)


def call_library(name, function, *args):
    """Return what a function of a library returns; what it raises says ``name`` and no more."""
    try:
        return function(*args)
    except TableError as error:
        failure = TableError(*error.args)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # panics of polars are no Exceptions
        failure = TableError(
            f"{name} could not be read: is it there, whole, and a table of numbers, with the same "
            "columns throughout?"
        )
    raise failure
