"""What a table is to the house: rows of numbers that have an order, read block by block."""

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Protocol

import numpy as np
from joblib import effective_n_jobs

from skdp.readers._loop import (
    CHANGED,
    ViewStatistic,
    added,
    both_looks,
    merged,
    one_look,
    statistic_of,
    threaded,
)
from skdp.readers._raw import TableError

BLOCK_BYTES = 2**24
VIEW_BYTES = 2**22  # of a part that a view copies: 0.17 s, not 0.25, for a first mean with bounds
SHARED_BYTES = 2**21  # of a block that threads share, at least: to start them takes 0.3 ms


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

    Notes
    -----
    Statistics are computed where the rows are: what is pickled of a source holds none of them.
    """

    heads = None  # of rows that belong to persons: how many persons
    unit = cap = 1  # and how much their integers move with one, who counts as up to cap rows
    names = None  # of the columns, if they have some
    finite = False  # whether their types tell that there is neither NaN nor infinity
    random_access = False  # whether rows can be taken without reading all
    in_memory = False  # whether the table is held by this process, or mapped into it
    known = None  # exact and private: sums over all rows that :meth:`look` has made, by name
    text = False  # whether entries are text, so that one alone may make the table unreadable

    def __init__(self, n_features, *, n_rows=None, block_rows=None):
        self.n_features, self.n_rows = n_features, n_rows
        self.block_rows = block_rows or rows_of(BLOCK_BYTES, n_features)

    def __len__(self):
        return self.n_rows

    def __reduce__(self):
        return WorkerTable, (self.n_features, self.block_rows)

    @abstractmethod
    def pieces(self):
        """Yield (number of rows, raw rows)."""

    @abstractmethod
    def head(self):
        """Return raw rows of no rows, which have the columns and types of all."""

    def heads_of_pieces(self):
        """Return raw rows of no rows, one of each type that pieces are known to have."""
        return [self.head()]

    def decoded_by(self, decode):
        """Return the same source with another way to make rows of raw rows."""
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"decode": decode, "known": None}
        return other

    @staticmethod
    def decode(raw):
        """Return raw rows as an array of float64 or float32: each row by itself."""
        return raw

    def columns(self, places):
        """Return a source that reads some columns alone, None where it would have to read all."""
        return None

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

    def no_rows(self):
        """Return a block of no rows, of the kind that all blocks are of."""
        return self.decode(self.head())

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array; reads the whole table once."""
        return take(self, indices)

    def later(self, function, made=None):
        """Return what a function makes of the pieces, when they are asked for.

        Parameters
        ----------
        function : callable
            Maps what ``decode`` makes of n > 0 raw rows to an array or a frame of n rows, each row
            by itself.
        made : array or frame, default=None
            Of no rows, of the kind that it makes; needed where ``decode`` makes no arrays, for
            sources that answer with a lazy collection. None: what it makes of ones.

        Returns
        -------
        results : LazyBatches, or a collection like that which is the source
        """
        return LazyBatches(self, function)

    def look(self, *, entries, first=None):
        """Read the table once before a fit: count its rows, and check every piece.

        Parameters
        ----------
        entries : bool
            Whether to look at the entries too. If not, or if types tell that all are finite, a
            table whose length is known is not read.
        first : dict, default=None
            Sums that a fit asks first, by name: statistics as for :func:`weighed_sum`. If the table
            is read, they are computed in the same pass and kept as ``known``.

        Returns
        -------
        nan, infinite : int
            Whether there are such entries; 0 if they are not looked at. Blocks of other kinds than
            arrays tell by their method ``faults`` what is wrong, as bits.

        Raises
        ------
        TableError
        """
        if self.n_rows is not None and (self.finite or not entries):
            return 0, 0
        found = self.map_merge(partial(one_look, entries, first or {}), both_looks)
        (self.n_rows, nan, infinite), self.known = found or ((0, 0, 0), None)
        return nan, infinite

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`map_merge` returns, None for no rows."""
        return merged(threaded(self._tasks(statistic, merge, beside)), merge)

    def shared_rows(self):
        """Return the rows of a block, fewer where threads share them: all blocks fit into one."""
        n_threads = effective_n_jobs(None)
        share = min(self.block_rows, self.n_rows or math.inf) / n_threads
        least = 1 if n_threads == 1 else rows_of(SHARED_BYTES, self.n_features)
        return min(self.block_rows, max(math.ceil(share), least))

    def _tasks(self, statistic, merge, beside):
        start, block_rows = 0, self.shared_rows()
        for n, raw in self.pieces():
            if n:
                cuts = cut(start, n, block_rows, beside)
                yield partial(statistic_of, statistic, merge, self.decode, start, raw, cuts)
            else:
                self.decode(raw)  # refused for its types, whether it has a row or none
            start += n
        if self.n_rows not in (None, start):
            raise TableError(CHANGED)


class LazyBatches:
    """What a function makes of the pieces of a source: mapped anew whenever they are read."""

    def __init__(self, source, function):
        self._source, self._function = source, function

    def __iter__(self):
        function, decode = self._function, self._source.decode
        return (function(decode(raw)) for n, raw in self._source.pieces() if n)

    def __reduce__(self):
        raise TypeError("results that are made when they are read have no pickle: read them first.")


class WorkerTable:
    """What a worker sees of a table: no rows."""

    random_access = False

    def __init__(self, n_features, block_rows):
        self.n_features, self.block_rows = n_features, block_rows


class MappedRows:
    """A view of other rows through a map of each row by itself.

    A subclass writes ``_mapped(block)``: a new float64 array, whose rows are functions of those of
    the block, one by one; or fewer of them, if each decides for itself whether it is in the view.

    Notes
    -----
    **Privacy**: a row of the view is a function of the same row behind it, so neighbours stay
    neighbours.
    """

    leaves_out = False  # whether some rows behind may be none of the view

    def __init__(self, rows):
        self._rows = rows
        self.fewer = self.leaves_out or getattr(rows, "fewer", False)
        self.n_features, self.block_rows = rows.n_features, rows.block_rows
        self.random_access, self.in_memory = rows.random_access, getattr(rows, "in_memory", False)

    def __len__(self):
        return len(self._rows)

    @property
    def heads(self):
        """The released number of persons whose rows these are, None if they have none."""
        return self._rows.heads

    @property
    def unit(self):
        """How many times more than a row a person moves what is summed."""
        return self._rows.unit

    @property
    def cap(self):
        """As how many rows a person counts at most."""
        return self._rows.cap

    def blocks(self):
        """Yield (number of the first row, block of rows), float64."""
        for start, block in self._rows.blocks():
            yield start, self._mapped(block)

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array."""
        return self._mapped(self._rows.take(indices))

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`map_merge` returns."""
        return self._rows.map_merge(ViewStatistic(self._mapped, statistic), merge, beside)

    def weighed_sum(self, statistic, beside=None):
        """Return what :func:`weighed_sum` returns."""
        seen = ViewStatistic(self._mapped, statistic, rows_of(VIEW_BYTES, self.n_features))
        return weighed_sum(self._rows, seen, beside)

    def no_rows(self):
        """Return a block of no rows."""
        return self._mapped(no_rows(self._rows))


def map_merge(rows, statistic, merge, beside=None):
    """Apply ``statistic(start, block)`` to every block and merge the results.

    ``statistic`` is a pure function with exact (integer) results and ``merge`` is associative and
    leaves what it merges as it is, so the answer does not depend on how the rows are cut into
    blocks, nor on who computes it, where, or how often. A table without rows is one block of no
    rows. **Privacy**: exact and private; what is computed is released through a Curator.

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

    See Also
    --------
    weighed_sum, ArrayRows

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows, map_merge
    >>> map_merge(ArrayRows(np.ones((5, 2))), lambda start, block: len(block), int.__add__)
    5
    """
    result = rows.map_merge(statistic, merge, beside)
    if result is None:
        nobody = no_rows(rows)
        return statistic(0, nobody) if beside is None else statistic(0, nobody, beside(0, 0))
    return result


def no_rows(rows):
    """Return a block of no rows, of the kind that all blocks are of."""
    return rows.no_rows() if hasattr(rows, "no_rows") else rows.take(np.arange(0))


def weighed_sum(rows, statistic, beside=None):
    """Return the sum of an integer statistic over rows, each times its weight.

    **Privacy**: exact and private; what is computed is released through a Curator.

    Parameters
    ----------
    rows : Rows
    statistic : callable
        As for :func:`map_merge`: a sum over the rows that it is given, each by itself,
        in integers: an array, or a list or tuple of arrays. ``start`` is to be ignored. Where it
        has a method ``weighed(weights, start, block, *beside)``, that is asked for the sum of
        integers times weights; else rows of one weight are summed by themselves.
    beside : callable, default=None
        As there; it returns an array with one entry per row.

    Returns
    -------
    total : object
        Of rows that belong to persons: :class:`skdp.mechanisms._exact.Weighed`.

    See Also
    --------
    map_merge
    """
    own = getattr(rows, "weighed_sum", None)
    return map_merge(rows, statistic, added, beside) if own is None else own(statistic, beside)


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


def without_weights_of(function, n_features):
    """Return what a function of arrays makes of a row, without the row."""
    return function(np.ones((1, n_features)))[:0]


def cut(start, n, block_rows, beside=None):
    """Return the blocks of n rows from ``start`` on, and what lies beside each."""
    firsts = range(0, n, block_rows)
    cuts = [(first, min(first + block_rows, n)) for first in firsts]
    return cuts if beside is None else [(a, b, beside(start + a, start + b)) for a, b in cuts]


def rows_of(n_bytes, n_features):
    """Return the number of rows of float64 that fit into n_bytes, one at least."""
    return max(1, n_bytes // (8 * max(1, n_features)))
