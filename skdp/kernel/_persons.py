"""Persons as the rows of a Table, and the rows that persons are read by."""

from typing import Annotated

import numpy as np

from skdp.kernel._plain import public, within
from skdp.kernel._statistic import OneCell, RowMap
from skdp.kernel._table import Table
from skdp.mechanisms import finite_rows
from skdp.mechanisms._weighed import weighed
from skdp.readers._persons import each, extremes_of, means_of, representatives_of, weighed_rows
from skdp.readers._rows import map_merge


@public
class PersonsWithMore(OneCell):
    """The number of persons with more than so many rows; with ``gaps`` of those who lost all, too.

    **Privacy** (add or remove one person): a person is in one cell, or in none.
    """

    more: int = 0
    gaps: bool = False
    kind, size = "persons", property(lambda self: 1 + self.gaps)

    def cells(self, block):
        return np.where(block[:, 0] > self.more, 0, np.where(self.gaps & (block[:, 0] < 0), 1, -1))


@public
class CappedPersons(RowMap):
    """Persons that count as many times as their rows weigh, at most ``cap`` times.

    **Privacy** (add or remove one person): by the weights of
    :meth:`skdp.readers._persons.Persons.weights`, which are at most the unit of these rows.
    """

    cap: Annotated[int, within(1, 2**40 - 1)]
    kind = "persons"

    def over(self, rows):
        return PersonRows(rows.persons, self.cap)


class PersonRows:
    """Persons as rows: of each the number of its rows, in one column; -1 if gaps lost them all."""

    kind, n_features = "persons", 1

    def __init__(self, persons, cap=None, lost=None):
        self.persons, sizes = persons, persons.sizes()
        self._sizes = sizes if lost is None else np.where(sizes == 0, -np.sign(lost.sizes()), sizes)
        self._weights, self.unit = (None, 1) if cap is None else persons.mass(cap)

    def weighed_sum(self, statistic, beside=None):
        block, own = self._sizes[:, None], self._weights
        total = statistic(0, block) if own is None else statistic.weighed(own, 0, block)
        return each(total, lambda value: weighed(value, self.unit))


def persons_table(persons, curator, lost=None):
    """Return the Table whose rows are persons; ``lost`` are those of rows with a gap."""
    return Table(PersonRows(persons, lost=lost), curator)


def drawn_persons(persons, curator):
    """Return the Persons of rows that are drawn by their weights."""
    return persons.drawn(curator.coins)


def rows_of_persons(rows, persons, curator, *, cap, heads, drawn, made=None, one_each=False):
    """Return the rows that a fit reads of persons.

    **Privacy** (add or remove one person with all rows). Of persons one row each is read, drawn by
    secret keys: given these, neighbouring tables of such rows differ in one row, and all that is
    proved for rows holds. Or rows are weighed, so that those of one person move every sum by at
    most a unit, see :meth:`skdp.readers._persons.Persons.weights`.
    """
    rows = weighed_rows(rows, persons, cap, curator.coins, heads, drawn)
    if made is not None:
        rows = MADE[made](rows, cap, curator.coins)
    if one_each:
        rows, curator.coins = representatives_of(rows, curator.coins)
        curator.one_row_each, curator.row_places = True, curator.coins.places
    return rows


def present_rows(rows, entries=False):
    """Return which rows are there, by ``entries`` which have one, an array of bool. Private."""
    finite = (lambda block: np.isfinite(block).any(axis=1)) if entries else finite_rows
    is_there = getattr(rows, "entered" if entries else "present", finite)
    rows = getattr(rows, "joined", rows)

    return np.concatenate(map_merge(rows, lambda start, block: [is_there(block)], list.__add__))


MADE = {"means": means_of, "extremes": lambda rows, cap, coins: extremes_of(rows, coins)}
