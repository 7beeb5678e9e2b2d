"""Rows with weights: kept in memory, or with weights by the norm of all rows of a person."""

from copy import copy

import numpy as np
from scipy.sparse import csr_array

from skdp.readers._persons import GRAIN, WeighedRows, _rounded_up, without_weights
from skdp.readers._rows import map_merge
from skdp.readers._sources import ArrayRows

# --- the rows of each person one after the other, without a sort


def order_by_group(codes, n):
    """Return the places of the rows of number 0, then of those of number 1, and so on.

    Shapes: codes (n_rows,); places (n_kept,); starts (n + 1,).
    """
    kept = np.flatnonzero(codes >= 0)
    table = (np.ones(len(kept), dtype=bool), codes[kept], np.arange(len(kept) + 1))
    columns = csr_array(table, shape=(len(kept), n)).tocsc()
    return kept[columns.indices], columns.indptr


FINE = 2**5  # parts of a row that norms are rounded up to
ROWS = 2**15  # of persons who are looked at together
TABLE = 2**18  # counts of some persons, dense
DENSE = 4  # counts per row up to which a dense table is faster than to sort


def weights_from_norms(rows, cells, norms):
    """Return rows whose weights are made of norms, in place of numbers of rows.

    Notes
    -----
    **Privacy** (add or remove one person). Let S be the sum over the rows of a person that are
    kept, at most ``GRAIN cap``; ``|S| <= r D``, where D bounds the norm of a row, and
    ``r <= GRAIN cap``, as r is at most the number of rows. With R >= 32 r the integer that is made
    of it by rounding up, each row weighs ``c = floor(32 GRAIN cap / max(32 cap, R))``, so
    ``c |S| <= c R D / 32 <= GRAIN cap D = unit D``: what :meth:`Persons.weights` promises for sums
    of any vectors holds for these. A person's c is a function of its rows and their keys alone.
    Rows with shares keep their weights: with different ones their sum may be longer than S.
    """
    plain, weighed = without_weights(rows)
    if weighed.shared:
        return rows
    persons = weighed.persons.of(weighed.weights > 0)
    parts = map_merge(plain, lambda start, block: [cells(block)], list.__add__)
    ratios = np.concatenate([norms(some) for some in _some(persons, np.concatenate(parts))])
    sizes, cap = persons.sizes(), weighed.cap
    scaled = np.ceil(np.minimum(ratios, sizes) * FINE).astype(np.int64)
    low, unit = FINE * cap, GRAIN * cap
    scaled = np.where(scaled > low, _rounded_up(scaled), scaled)
    each = FINE * unit // np.clip(scaled, low, FINE * unit)
    weights = np.append(each, 0)[persons.codes].astype(np.int16)
    return _with_weights(rows, weighed.with_weights(weights))


def _some(persons, cells):
    """Yield the CellsOfPersons of some persons after the other, of few rows: they fit a cache."""
    order, starts = order_by_group(persons.codes, persons.n)
    first = 0
    while first < persons.n or not first:
        stop = int(np.searchsorted(starts, starts[first] + ROWS, side="right")) - 1
        stop = min(max(stop, first + 1), persons.n)
        rows = order[starts[first] : starts[stop]]
        yield CellsOfPersons(persons.codes[rows] - first, stop - first, cells.take(rows, axis=0))
        first = max(stop, 1)


class CellsOfPersons:
    """Integers of the rows that belong to some persons, ordered by person."""

    def __init__(self, codes, n, cells):
        self.codes, self.n = codes, n
        self.columns = np.ascontiguousarray(cells.T)

    def numbers(self, chosen):
        """Return how many of the chosen rows every person has."""
        return np.bincount(self.codes[chosen], minlength=self.n)

    def squares(self, cell, size):
        """Return the sum over cells of the squared number of rows of every person in them."""
        at, outside = self.codes * size + cell, cell < 0
        return self.squares_at(at[~outside] if outside.any() else at, size)

    def squares_at(self, at, size):
        """Return the same of cells numbered through.

        ``codes * size + cell``, without rows in none.
        """
        if self.n * size > DENSE * len(at) + TABLE:
            return self._sorted(at, size)
        counts = np.bincount(at, minlength=self.n * size).reshape(self.n, size)
        return np.einsum("ij,ij->i", counts, counts)

    def _sorted(self, at, size):
        at = np.sort(at)
        first = np.flatnonzero(np.diff(at, prepend=-1))
        counts = np.diff(np.append(first, len(at)))
        total = np.zeros(self.n, dtype=np.int64)
        np.add.at(total, at[first] // size, counts * counts)
        return total


def _with_weights(rows, weighed):
    """Return rows, or a view, with other weights."""
    if isinstance(rows, WeighedRows):
        return weighed
    view = copy(rows)
    view._rows = _with_weights(rows._rows, weighed)
    return view


def array_of(rows):
    """Return rows of numbers as an array, with their weights if they have some."""
    plain, weights = without_weights(rows)
    array = ArrayRows(np.concatenate(map_merge(plain, _listed, list.__add__)))
    if weights is None:
        return array
    if len(array) != len(weights):
        raise ValueError("a view of fewer rows has no weights of its own.")
    return weights.with_rows(array)


def blocks_by_weight(rows):
    """Return what a view makes of the rows of each weight: {weight: [block, ...]}.

    A row is given its weight before the view sees it, so that the view may leave rows out.
    """
    plain, weights = without_weights(rows)

    def laid(start, stop):
        return weights.weights[start:stop]

    def statistic(start, block, c):
        return [(int(one), plain._mapped(block[c == one])) for one in np.unique(c[c > 0])]

    blocks = {}
    for weight, block in map_merge(plain._rows, statistic, list.__add__, laid):
        blocks.setdefault(weight, []).append(block)
    return blocks


def _listed(start, block):
    return [block]
