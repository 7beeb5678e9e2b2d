"""Whose row each row is, the weights of rows that belong to one person, and one row for each."""

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from skdp.mechanisms._exact import weighed
from skdp.readers._loop import ViewStatistic, added
from skdp.readers._rows import MappedRows, map_merge, no_rows
from skdp.readers._some_rows import PlacedKeys, SomeRows
from skdp.readers._sources import ArrayRows

# --- a sum over rows that count with weights, block by block


def weighed_part(statistic, start, block, laid):
    """Return the statistic of a block: rows of one weight by themselves, times their weight."""
    weights, others = laid
    while isinstance(statistic, ViewStatistic) and len(seen := statistic.mapped(block)) == len(
        block
    ):
        statistic, block = statistic.statistic, seen
    if hasattr(statistic, "weighed"):
        return statistic.weighed(weights, start, block, *others)
    order = np.argsort(weights, kind="stable")
    values, firsts = np.unique(weights[order], return_index=True)
    block, *others = (_rows_at(one, order) for one in (block, *others))
    ends, total = [*firsts[1:], len(order)][: len(firsts)], None  # of no rows: none
    for weight, first, end in zip(values, firsts, ends, strict=True):
        rows = slice(first, end if weight else first)
        part = statistic(start, block[rows], *(other[rows] for other in others))
        part = each(part, partial(times, int(weight)))
        total = part if total is None else added(total, part)
    return statistic(start, block, *others) if total is None else total


def _rows_at(block, places):
    """Return rows of a block; faster than by an index."""
    return block.take(places, axis=0) if isinstance(block, np.ndarray) else block[places]


def times(weight, value):
    """Return integers times a weight, in 64 bits: narrow ones would wrap, and floats raise."""
    return np.multiply(value, weight, dtype=np.int64)


def each(value, function):
    """Apply a function to integers, or to each of a list or tuple of them."""
    if isinstance(value, list | tuple):
        return type(value)(each(part, function) for part in value)
    return function(value)


GRAIN = 2**10  # weight of a row whose person has no more rows than the cap
DIGITS = 5  # significant bits of the number of rows that a weight is made of
STEP = 2**20  # rows whose keys are looked at together

NO_SUM = (
    "rows of persons have weights, and only sums of rows are weighed: use weighed_sum, or one row "
    "of each person."
)


@dataclass(frozen=True, eq=False)
class Persons:
    """Whose row each row is. Private, for the time of one fit."""

    # shape (n_rows,): numbers of persons from 0 on, in any order; -1 for a row of nobody, which is
    # absent
    codes: np.ndarray
    n: int  # number of persons
    shares: np.ndarray | None = None  # shape (n_rows,): of rows that count less than 1, in [0, 1]

    def of(self, valid):
        """Return the persons of the rows where ``valid`` is True; the others are nobody's."""
        return self if valid.all() else replace(self, codes=np.where(valid, self.codes, -1))

    def drawn(self, coins):
        """Return the persons of one row each, drawn with its share as probability.

        **Privacy**: which row, and whether it is drawn, depends on those of the person and keys.
        """
        if self.shares is None:
            return self
        places, codes = self.first_by_key(coins, "representative"), np.full(len(self.codes), -1)
        keys = coins.keys(0, len(codes), use="row drawn by weight")[places]
        places = places[keys < self.shares[places] * 2.0**64]
        codes[places] = self.codes[places]
        return Persons(codes, self.n)

    def some(self, rows):
        """Return the persons of some of the rows: a slice, or an array of their places."""
        return Persons(self.codes[rows], self.n)

    def sizes(self):
        """Return the number of rows of every person."""
        return np.bincount(self.codes + 1, minlength=self.n + 1)[1:]

    def first_by_key(self, coins, use):
        """Return, for every person with a row, the place of that with the smallest key, rising."""
        least = np.full(self.n, np.iinfo(np.uint64).max)
        for _, codes, keys in self._keyed(coins, use):
            np.minimum.at(least, codes, keys)
        places = [rows[keys == least[codes]] for rows, codes, keys in self._keyed(coins, use)]
        places = np.concatenate(places) if places else np.arange(0)
        _, first = np.unique(self.codes[places], return_index=True)  # keys may be equal
        return np.sort(places[first])

    def weights(self, cap, coins):
        """Return an integer weight for every row, and the largest sum of weights of a person.

        Notes
        -----
        **Privacy.** A person with m rows, of which at most ``GRAIN cap`` are kept, gives each
        ``c = floor(GRAIN cap / max(cap, m'))``, m' >= m being m rounded up to 5 significant bits
        where m > cap, but at most ``GRAIN cap``. So ``c m <= GRAIN cap = unit``: integer vectors of
        norm at most D, a function of their rows, add up to ``|sum c q| <= c m D <= unit D`` in any
        norm, exactly. The weights of a person depend on the number and the keys of its own rows
        alone. A row with a share s weighs ``floor(c s + u)`` or c, the smaller one, with u in
        [0, 1) from its key: at most c, and ``c s`` on average.
        """
        sizes, most = self.sizes(), GRAIN * cap
        weights = np.append(_of_rows(np.minimum(sizes, most), cap), 0)[self.codes]  # nobody's: last
        weights[~self._kept(sizes, most, coins)] = 0
        if self.shares is not None:
            u = coins.keys(0, len(weights), use="rounded weight") / 2.0**64
            weights = np.minimum(np.floor(weights * self.shares + u), weights)
        return weights.astype(np.int16), most

    def mass(self, cap):
        """Return what the rows of each person weigh together, and the unit; see :meth:`weights`."""
        sizes = np.minimum(self.sizes(), GRAIN * cap)
        return sizes * _of_rows(sizes, cap), GRAIN * cap

    def _kept(self, sizes, most, coins):
        """Return which rows belong to nobody or are among the ``most`` of a person."""
        kept = np.ones(len(self.codes), dtype=bool)
        large = np.append(sizes > most, False)[self.codes]
        if large.any():
            rows = np.flatnonzero(large)
            keys = np.concatenate([keys for _, _, keys in self._keyed(coins, "kept", large)])
            order = np.lexsort((keys, self.codes[rows]))
            codes = self.codes[rows][order]
            rank = np.arange(len(rows)) - np.searchsorted(codes, codes)
            kept[rows[order[rank >= most]]] = False
        return kept

    def _keyed(self, coins, use, among=None):
        """Yield places, codes and keys of the rows that belong to somebody, in their order."""
        for start in range(0, len(self.codes), STEP):
            stop = min(start + STEP, len(self.codes))
            chosen = self.codes[start:stop] >= 0 if among is None else among[start:stop]
            rows = start + np.flatnonzero(chosen)
            keys = coins.keys(start, stop, use=f"{use} row of a person")
            yield rows, self.codes[rows], keys[rows - start]


class NoisyUnitCount(NamedTuple):
    """A released number of persons."""

    told: float  # as released
    sd: float  # standard deviation of its noise

    @property
    def n(self):
        """The number to divide by: it stands out of the noise."""
        return max(self.told, 4 * self.sd, 2.0)


class WeighedRows:
    """Rows that count with weights, which sum to ``unit`` at most over those of one person."""

    def __init__(self, rows, persons, weights, unit, heads, cap=1, shared=False):
        self._rows, self.persons, self.weights, self.unit = rows, persons, weights, unit
        self.heads, self.cap, self.shared, self._drawn = heads, cap, shared, None
        self.n_features, self.block_rows = rows.n_features, rows.block_rows
        self.random_access, self.fewer = rows.random_access, getattr(rows, "fewer", False)
        self.in_memory = getattr(rows, "in_memory", False)

    def __len__(self):
        return len(self._rows)

    def with_rows(self, rows):
        """Return other rows, as many, with these weights."""
        told = self.weights, self.unit, self.heads, self.cap, self.shared
        return WeighedRows(rows, self.persons, *told)

    def with_weights(self, weights):
        """Return the same rows with other weights of the same unit."""
        told = self.unit, self.heads, self.cap, self.shared
        return WeighedRows(self._rows, self.persons, weights, *told)

    def map_merge(self, statistic, merge, beside=None):
        """Raise TypeError: what is no sum needs one row of each person."""
        raise TypeError(NO_SUM)

    blocks = take = map_merge

    def no_rows(self):
        """Return a block of no rows."""
        return no_rows(self._rows)

    def weighed_sum(self, statistic, beside=None):
        """Return the sum of a statistic of rows, see :func:`weighed_sum`."""

        def laid(start, stop):
            others = () if beside is None else (beside(start, stop),)
            return self.weights[start:stop], others

        total = map_merge(self._rows, partial(weighed_part, statistic), added, laid)
        return each(total, lambda value: weighed(value, self.unit))

    def representatives(self, coins):
        """Return one row of each person, drawn by the keys of its rows, once."""
        if self._drawn is None:
            places = self.persons.first_by_key(coins, "representative")
            rows = self._rows
            here = isinstance(rows, ArrayRows)
            drawn = ArrayRows(rows.take(places)) if here else SomeRows(rows, places)
            keys = PlacedKeys(coins, places, len(rows))
            self._drawn = SampledRows(drawn, self.heads, keys, rows)
        return self._drawn


class SampledRows(MappedRows):
    """One row of each person, whose key is that of the row that it is.

    What neighbours differ in is one row, so all that is proved for rows holds for them; the
    integers made of them count persons.
    """

    unit = cap = 1

    def __init__(self, rows, heads=None, keys=None, behind=None):
        super().__init__(rows)
        self._heads, self.keys, self.behind = heads, keys, behind

    def among_all(self, chosen):
        """Return which rows of the whole table, of so many, are the chosen ones of these."""
        return self.keys.among_all(chosen)

    @property
    def heads(self):
        """The released number of persons."""
        return self._heads

    def _mapped(self, block):
        return block

    def weighed_sum(self, statistic, beside=None):
        """Return the sum of a statistic of rows, see :func:`weighed_sum`."""
        total = map_merge(self._rows, statistic, added, beside)
        return each(total, partial(weighed, unit=1))


def weighed_rows(rows, persons, cap, coins, heads, drawn=None):
    """Return rows that count with :meth:`Persons.weights`; one of a person is of those drawn."""
    if isinstance(rows, MappedRows):
        view = copy(rows)
        view._rows = weighed_rows(rows._rows, persons, cap, coins, heads, drawn)
        return view
    weights, shared = persons.weights(cap, coins), persons.shares is not None
    return WeighedRows(rows, persons if drawn is None else drawn, *weights, heads, cap, shared)


def representatives_of(rows, coins):
    """Return one row of each person, and their keys; rows that have no persons as they are."""
    if isinstance(rows, WeighedRows):
        rows = rows.representatives(coins)
        return rows, rows.keys
    if isinstance(rows, SampledRows):
        return rows, rows.keys
    if isinstance(rows, MappedRows):
        behind, coins = representatives_of(rows._rows, coins)
        rows = copy(rows)
        rows._rows, rows.random_access = behind, behind.random_access
    return rows, coins


def unweighted_rows(rows):
    """Return the rows behind those that have weights, or were drawn; others as they are."""
    if isinstance(rows, WeighedRows):
        return rows._rows
    if isinstance(rows, SampledRows):
        return rows.behind
    if isinstance(rows, MappedRows):
        view = copy(rows)
        view._rows = unweighted_rows(rows._rows)
        return view
    return rows


def means_of(rows, cap, coins):
    """Return the mean of the rows of each person, which counts as up to ``cap`` rows.

    Of a column it is that of the entries that there are, a gap without any.

    Notes
    -----
    **Privacy.** A mean is added up row by row, in the order of the table, so it depends on the rows
    of its person alone, however they are cut into blocks. The mean of m rows weighs
    ``min(m, cap)``, at most ``cap``, the unit.
    """
    (totals, entries), persons, places = _fold_per_unit(
        rows, coins, (np.add, 0.0, _filled), (np.add, 0.0, np.isfinite)
    )
    sizes = persons.sizes()[persons.codes[places]]
    means = np.divide(totals, entries, out=np.full_like(totals, np.nan), where=entries > 0)
    table, keys = ArrayRows(means), PlacedKeys(coins, places, len(rows))
    each = Persons(np.arange(len(places)), len(places))
    means = WeighedRows(table, each, np.minimum(sizes, cap), cap, rows.heads, cap)
    means._drawn = SampledRows(table, rows.heads, keys)
    return means


def sums_of(rows, coins):
    """Return the sum of the rows of each person; see :func:`means_of`."""
    (totals,), _, places = _fold_per_unit(rows, coins, (np.add, 0.0, np.asarray))
    return SampledRows(ArrayRows(totals), rows.heads, PlacedKeys(coins, places, len(rows)))


def extremes_of(rows, coins):
    """Return the minima of the columns over the rows of each person, and beside them the maxima.

    Notes
    -----
    **Privacy**: a row of the table is a function of the rows of its person alone.
    """
    folds = (np.fmin, np.inf, np.asarray), (np.fmax, -np.inf, np.asarray)
    ends, _, places = _fold_per_unit(rows, coins, *folds)
    table = ArrayRows(np.concatenate(ends, axis=1))
    return SampledRows(table, rows.heads, PlacedKeys(coins, places, len(rows)))


def _filled(column):
    return np.where(np.isfinite(column), column, 0.0)


def _fold_per_unit(rows, coins, *folds):
    """Return folds of the rows of every person that has some, the persons, and drawn rows.

    A fold is a function of two numbers, what it starts from, and what it takes of a column; it
    takes rows one by one, in the order of the table. Persons are in the order of the places of the
    rows that are drawn.
    """
    plain, weights = without_weights(rows)
    persons = weights.persons
    tables = [np.full((rows.n_features, persons.n), start) for _, start, _ in folds]
    for start, block in plain.blocks():
        codes = persons.codes[start : start + len(block)]
        somebody = codes >= 0
        for j, column in enumerate(np.asarray(block[somebody], dtype=np.float64).T):
            for (fold, _, of), table in zip(folds, tables, strict=True):
                fold.at(table[j], codes[somebody], of(column))
    places = persons.first_by_key(coins, "representative")
    codes = persons.codes[places]
    return [np.ascontiguousarray(table[:, codes].T) for table in tables], persons, places


def without_weights(rows):
    """Return rows without weights, and the WeighedRows behind them, or None."""
    if isinstance(rows, WeighedRows):
        return rows._rows, rows
    if isinstance(rows, SampledRows) or not isinstance(rows, MappedRows):
        return rows, None
    view = copy(rows)
    view._rows, weights = without_weights(rows._rows)
    return view, weights


def _of_rows(sizes, cap):
    """Return the weight of each row of persons with so many rows."""
    rounded = np.minimum(np.where(sizes > cap, _rounded_up(sizes), sizes), GRAIN * cap)
    return GRAIN * cap // np.maximum(rounded, cap)


def _rounded_up(sizes):
    """Return numbers rounded up to 5 significant bits."""
    bits = np.frexp(sizes.astype(np.float64))[1]
    grain = np.left_shift(1, np.maximum(bits - DIGITS, 0))
    return -(-sizes // grain) * grain
