"""What a table is to the house: rows of numbers that have an order, read block by block."""

from abc import ABC, abstractmethod
from functools import partial
from typing import Protocol

import numpy as np
from joblib import effective_n_jobs

from skdp.chunks._loop import CHANGED, merged, statistic_of, threaded
from skdp.chunks._raw import TableError

__all__ = ["MappedRows", "Rows", "Source", "map_merge", "rows_of", "take", "takes"]

BLOCK_BYTES = 2**24
GATHERED_BYTES = 2**26
SHARED_BYTES = 2**21  # where threads share the work: enough blocks for all of them


class Rows(Protocol):
    """Rows of numbers that have an order; ``n_features`` is the number of columns.

    ``block_rows`` is a public number of rows that are handled at once, ``random_access`` tells
    whether rows can be taken without reading all.
    """

    n_features: int
    block_rows: int
    random_access: bool

    def __len__(self):
        """Return the number of rows."""

    def blocks(self):
        """Yield (number of the first row, block of rows of float64 or float32)."""

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`map_merge` returns, None for no rows."""


class Source(ABC):
    """Rows in pieces, whose order and lengths are the same at every pass.

    Parameters
    ----------
    n_features : int
    n_rows : int, default=None
        None until it is counted.
    block_rows : int, default=None
        By default about 16 MB, a public function of the number of columns.

    Notes
    -----
    Statistics are computed where the rows are: what is pickled of a source holds none of them.
    """

    names = None  # of the columns, if they have some
    finite = False  # whether their types tell that there is neither NaN nor infinity
    random_access = False  # whether rows can be taken without reading all

    def __init__(self, n_features, *, n_rows=None, block_rows=None):
        self.n_features, self.n_rows = n_features, n_rows
        self.block_rows = block_rows or rows_of(BLOCK_BYTES, n_features)

    def __len__(self):
        return self.n_rows

    def __reduce__(self):
        return Elsewhere, (self.n_features, self.block_rows)

    @abstractmethod
    def pieces(self):
        """Yield (number of rows, raw rows)."""

    @abstractmethod
    def head(self):
        """Return raw rows of no rows, which have the columns and types of all."""

    def decoded_by(self, decode):
        """Return the same source with another way to make rows of raw rows."""
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"decode": decode}
        return other

    @staticmethod
    def decode(raw):
        """Return raw rows as an array of float64 or float32: each row by itself."""
        return raw

    def blocks(self):
        """Yield (number of the first row, block of rows of float64 or float32)."""
        start, decode = 0, self.decode
        for n, raw in self.pieces():
            rows = decode(raw)
            if len(rows) != n:
                raise RuntimeError(CHANGED)
            for first in range(0, n, self.block_rows):
                yield start + first, rows[first : first + self.block_rows]
            start += n

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array; reads the whole table once."""
        return take(self, indices)

    def later(self, function):
        """Return what a function makes of the pieces, as arrays, when they are asked for.

        Parameters
        ----------
        function : callable
            Maps an array of shape (n, n_features), of n > 0 rows, to one whose first dimension is
            n; each row by itself.

        Returns
        -------
        results : generator
        """
        decode = self.decode
        return (function(decode(raw)) for n, raw in self.pieces() if n)

    def look(self, *, entries):
        """Read the table once before a fit: count its rows, and check every piece.

        Parameters
        ----------
        entries : bool
            Whether to look at the entries too. If not, or if types tell that all are finite, a
            table whose length is known is not read.

        Returns
        -------
        nan, infinite : bool
            Whether there are such entries; False if they are not looked at.

        Raises
        ------
        TableError
        """
        if self.n_rows is not None and (self.finite or not entries):
            return False, False
        n, nan, infinite = self.map_merge(partial(seen, entries), _both) or (0, False, False)
        self.n_rows = n
        return nan, infinite

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`map_merge` returns, None for no rows."""
        return merged(threaded(self._tasks(statistic, merge, beside)), merge)

    def shared_rows(self):
        """Return the rows of a block, fewer where threads share them."""
        if effective_n_jobs(None) == 1:
            return self.block_rows
        return min(self.block_rows, rows_of(SHARED_BYTES, self.n_features))

    def _tasks(self, statistic, merge, beside):
        start, block_rows = 0, self.shared_rows()
        for n, raw in self.pieces():
            if n:
                cuts = cut(start, n, block_rows, beside)
                yield partial(statistic_of, statistic, merge, self.decode, start, raw, cuts)
            start += n
        if self.n_rows not in (None, start):
            raise TableError(CHANGED)


class Elsewhere:
    """What a worker sees of a table: no rows."""

    random_access = False

    def __init__(self, n_features, block_rows):
        self.n_features, self.block_rows = n_features, block_rows


class MappedRows:
    """A view of other rows through a map of each row by itself.

    A subclass writes ``_mapped(block)``: a new float64 array, whose rows are functions of those of
    the block, one by one; or fewer of them, if each decides for itself whether it is in the view.

    Parameters
    ----------
    rows : Rows

    Notes
    -----
    **Privacy**: a row of the view is a function of the same row behind it, so neighbours stay
    neighbours.
    """

    def __init__(self, rows):
        self._rows = rows
        self.n_features, self.block_rows = rows.n_features, rows.block_rows
        self.random_access = rows.random_access

    def __len__(self):
        return len(self._rows)

    def blocks(self):
        """Yield (number of the first row, block of rows), float64."""
        for start, block in self._rows.blocks():
            yield start, self._mapped(block)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return self._mapped(self._rows.take(indices))

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`map_merge` returns, None for no rows."""
        return self._rows.map_merge(partial(_through, self._mapped, statistic), merge, beside)


def map_merge(rows, statistic, merge, beside=None):
    """Apply ``statistic(start, block)`` to every block and merge the results.

    ``statistic`` is a pure function with exact (integer) results and ``merge`` is associative and
    leaves what it merges as it is, so the answer does not depend on how the rows are cut into
    blocks, nor on who computes it, where, or how often. A table without rows is one block of no
    rows.

    Parameters
    ----------
    rows : Rows
    statistic : callable
        It may run in a thread or process of its own, which has no random words: what it needs of
        them, as keys of rows, comes from ``beside``.
    merge : callable
        Of two results.
    beside : callable, default=None
        ``beside(start, stop)`` is computed here, for the rows of one block, and is given to
        ``statistic`` as its third argument.

    Returns
    -------
    result : object
        What ``merge`` makes of the results of all blocks.
    """
    result = rows.map_merge(statistic, merge, beside)
    if result is None:
        nobody = rows.take(np.arange(0))
        return statistic(0, nobody) if beside is None else statistic(0, nobody, beside(0, 0))
    return result


def takes(rows, groups):
    """Yield the rows of one group of indices after the other.

    A source that has to be read from its beginning gathers as many groups in one pass as fit into
    64 MB.

    Parameters
    ----------
    rows : Rows
    groups : iterable of arrays of int
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


def take(rows, indices):
    """Return the rows at ``indices`` as a float64 array, by one pass over them all."""
    wanted, place = np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
    if not len(wanted):
        return np.empty((0, rows.n_features))

    def chosen(start, block, index):
        return [np.asarray(block[index], dtype=np.float64)]

    def beside(start, stop):
        first, last = np.searchsorted(wanted, [start, stop])
        return wanted[first:last] - start

    return np.concatenate(rows.map_merge(chosen, list.__add__, beside))[place]


def cut(start, n, block_rows, beside=None):
    """Return the blocks of n rows from ``start`` on, and what lies beside each."""
    firsts = range(0, n, block_rows)
    cuts = [(first, min(first + block_rows, n)) for first in firsts]
    return cuts if beside is None else [(a, b, beside(start + a, start + b)) for a, b in cuts]


def seen(entries, start, block):
    """Return the number of rows, and whether there are NaN and infinity, if they are looked for."""
    if not entries or np.isfinite(block).all():
        return len(block), False, False
    return len(block), bool(np.isnan(block).any()), bool(np.isinf(block).any())


def _both(one, two):
    return one[0] + two[0], one[1] or two[1], one[2] or two[2]


def _through(mapped, statistic, start, block, *beside):
    return statistic(start, mapped(block), *beside)


def rows_of(n_bytes, n_features):
    """Return the number of rows of float64 that fit into n_bytes, one at least."""
    return max(1, n_bytes // (8 * max(1, n_features)))
