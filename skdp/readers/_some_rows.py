"""Some of the rows of a source, which stay where they are."""

from functools import partial

import numpy as np

from skdp.readers._raw import library
from skdp.readers._rows import Source


class TableBlock:
    """An array or a frame, whose rows are found by their places."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return self.table.shape[0]

    def __getitem__(self, rows):
        """Return some rows, a slice or an array of their places."""
        if library(self.table) == "pyarrow" and not isinstance(rows, slice):
            return TableBlock(self.table.take(rows))
        return TableBlock(getattr(self.table, "iloc", self.table)[rows])

    def without(self, absent):
        """Return the same rows, of numbers, with NaN in those where ``absent`` is True."""
        return TableBlock(mask_rows(self.table, absent))


def mask_rows(table, absent):
    """Return an array or frame of floats with NaN in the rows that are absent."""
    if hasattr(table, "iloc"):
        table = table.astype(np.float64)
        table.loc[absent] = np.nan
        return table
    rows = np.array(table, dtype=np.float64, ndmin=2)
    rows[absent] = np.nan
    named = library(table) == "polars"
    return type(table)(rows, schema=table.columns, orient="row") if named else rows


class SomeRows(Source):
    """A view of the rows of a source at some places, numbered anew.

    Notes
    -----
    **Privacy**: which rows there are is private, and is laid beside the blocks.
    """

    def __init__(self, source, places):
        super().__init__(source.n_features, n_rows=len(places), block_rows=source.block_rows)
        self.names, self.decode = source.names, source.decode
        self._source, self._places = source, places

    def head(self):
        """Return raw rows of no rows."""
        return self._source.head()

    def no_rows(self):
        """Return a block of no rows."""
        return self._source.no_rows()

    def decoded_by(self, decode):
        """Return the same rows with another way to make rows of raw rows."""
        return SomeRows(self._source.decoded_by(decode), self._places)

    def pieces(self):
        """Yield (number of rows, raw rows)."""
        start = 0
        for n, raw in self._source.pieces():
            _, places = self._within(start, start + n)
            yield len(places), TableBlock(raw)[places].table
            start += n

    def blocks(self):
        """Yield (number of the first row, block of rows)."""
        for start, block in self._source.blocks():
            first, places = self._within(start, start + len(block))
            yield first, block[places]

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""

        def laid(start, stop):
            first, places = self._within(start, stop)
            others = () if beside is None else (beside(first, first + len(places)),)
            return first, places, others

        if not len(self._places):
            return None
        return self._source.map_merge(partial(_of_some, statistic), merge, laid)

    def _within(self, start, stop):
        """Return the number of the first of our rows in a block, and the places of all in it."""
        first, last = np.searchsorted(self._places, [start, stop])
        return int(first), self._places[first:last] - start


def _of_some(statistic, start, block, laid):
    first, places, others = laid
    return statistic(first, block[places], *others)


GATHERED_BYTES = 2**26


def takes(rows, groups):
    """Yield the rows of one group of indices after the other.

    A source that has to be read from its beginning gathers as many groups in one pass as fit into
    64 MB.
    """
    most = GATHERED_BYTES // (8 * max(1, rows.n_features))
    waiting, size = [], 0
    for group in groups:
        if waiting and (rows.random_access or size + len(group) > most):
            yield from _taken(rows, waiting)
            waiting, size = [], 0
        waiting.append(group)
        size += len(group)
    yield from _taken(rows, waiting)


def _taken(rows, groups):
    if groups:
        block = rows.take(np.concatenate(groups))
        yield from np.split(block, np.cumsum([len(group) for group in groups])[:-1])


BEYOND = 2**60  # numbers of no row


class PlacedKeys:
    """Keys of some rows of a table, which stay what they are in the whole table."""

    def __init__(self, coins, places, n_rows):
        self._coins, self.places, self._n_rows = coins, places, n_rows

    def among_all(self, chosen):
        """Return which rows of the whole table are the chosen ones of these."""
        mask = np.zeros(self._n_rows, dtype=bool)
        mask[self.places] = chosen
        return mask

    def keys(self, start, stop, use=""):
        """Return the keys of rows, as :meth:`skdp.mechanisms.RowKeys.keys`."""
        places, first = self.places[start:stop], max(start, len(self.places))
        keys = self._coins.keys(0, 0, use)
        if len(places):
            low = int(places[0])
            keys = self._coins.keys(low, int(places[-1]) + 1, use)[places - low]
        if first < stop:
            keys = np.append(keys, self._coins.keys(BEYOND + first, BEYOND + stop, use))
        return keys
