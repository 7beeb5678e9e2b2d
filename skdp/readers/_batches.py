"""Rows that come in batches, from any iterable that can be read again."""

from functools import partial

from joblib import effective_n_jobs

from skdp.readers._raw import kept, no_rows, numbers, schema_of
from skdp.readers._rows import Source

__all__ = ["ONE_SHOT", "BatchRows"]

ONE_SHOT = (
    "X is an iterator or a stream, which can be read only once, and a fit reads its rows several "
    "times. Pass a list of batches, an object whose __iter__ starts anew each time, a Table of "
    "Arrow, the path of parquet files, or for other files polars.scan_csv(path) and the like."
)


class BatchRows(Source):
    """Rows of the batches of an iterable: arrays of two dimensions, or frames, of one schema."""

    def __init__(self, batches, first):
        schema = schema_of(first)
        super().__init__(len(schema))
        self.names, self._batches, self._head = schema.names, batches, no_rows(first)
        self.decode = partial(numbers, schema)

    def head(self):
        """Return no rows of the first batch."""
        return self._head

    def pieces(self):
        """Yield (number of rows, batch): a copy where batches wait for threads.

        Else an iterable that fills one array again and again, as readers do to save memory, would
        have its last rows counted several times.
        """
        threads = effective_n_jobs(None) > 1
        for batch in self._batches:
            yield self._checked(batch, threads)

    @staticmethod
    def _checked(batch, keep):
        schema_of(batch)  # a table
        return len(batch), kept(batch) if keep else batch
