"""Tables of a table: disjoint sets of rows side by side, and persons as rows."""

import json
from typing import Annotated

import numpy as np

from skdp.kernel._plain import checked, public, refuse, within
from skdp.kernel._statistic import OneCell, RowMap, Rule
from skdp.kernel._table import Noisy, Table
from skdp.kernel._totals import encoded
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import weighed
from skdp.readers import weighed_sum
from skdp.readers._persons import each, extremes_of, means_of, representatives_of, weighed_rows
from skdp.readers._rows import map_merge


class Parts:
    """Sets of rows of a Table: a row decides by itself, from released numbers, in which it is.

    Notes
    -----
    **Privacy** (add or remove one row). A row moves the integers of one set alone, by the bound of
    the statistic of that set: side by side they move by the largest of the bounds, whatever the
    number of sets.
    """

    def __init__(self, table, rule, n_parts):
        refuse(type(n_parts) is not int or n_parts < 1, "a number of sets is a positive integer")
        refuse(rule is None and n_parts != 1, "without a rule all rows are one set")
        if rule is not None:
            rule = checked(rule, Rule, table.shape, "only registered rules")
        self._table, self._rule, self._n_parts, self._known = table, rule, n_parts, {}

    def ask(self, statistics, *, share, label):
        """Return {number of a set: Noisy} for {number: Statistic}: one release."""
        table, asked = self._table, {}
        refuse(not statistics, "no question")
        for i, one in statistics.items():
            known = isinstance(i, int | np.integer) and 0 <= i < self._n_parts
            refuse(not known or int(i) in asked, "no such set, or twice")
            asked[int(i)] = table._checked(one, label)
        pure = table.budget.measure == "pure"
        table._curator.afford(label, "laplace" if pure else "gaussian", share)
        asked = {i: one.at(table._offer(share)) for i, one in asked.items()}
        refuse(pure and any(one.l1 is None for one in asked.values()), "no bound for a pure budget")
        with table._lock:
            exact = dict(zip(asked, self._totals(list(asked.items())), strict=True))
            bound = max(one.l1 if pure else one.l2 for one in asked.values())
            flat = np.concatenate([one.ravel() for one in exact.values()])
            draw = table._curator.laplace if pure else table._curator.gaussian
            told = draw(flat, sensitivity=bound, share=share, label=label)
        value, cuts = np.asarray(told.value), np.cumsum([one.size for one in exact.values()])
        return {
            i: Noisy(part.reshape(exact[i].shape), told.scale, told.law, one.step, bits=one.bits)
            for (i, one), part in zip(asked.items(), np.split(value, cuts[:-1]), strict=True)
        }

    def _totals(self, asked):
        """Return the exact sums of (set, statistic) pairs by one pass, or by none.

        A histogram that is a union of cells of a ``finer`` one is added up from that, which is
        known for the time of the fit.
        """
        found, wanted = {}, {}
        for k, (i, one) in enumerate(asked):
            fine = getattr(one, "finer", None)
            key = k if fine is None else json.dumps([i, encoded(fine)])
            if key in self._known:
                found[k] = one.pooled(self._known[key])
            else:
                wanted[k] = key, i, fine or one
        if wanted:
            pairs = [(i, one) for _, i, one in wanted.values()]
            sums = weighed_sum(self._table._rows, OfSets(pairs, self._rule))
            for (k, (key, _, _)), exact in zip(wanted.items(), sums, strict=True):
                one = asked[k][1]
                if getattr(one, "finer", None) is not None:
                    self._known[key], exact = exact, one.pooled(exact)
                found[k] = exact
        return [found[k] for k in range(len(asked))]


class OfSets:
    """The sums of statistics of disjoint sets of rows, a list: picklable, no closure."""

    def __init__(self, pairs, rule):
        self._pairs, self._rule = pairs, rule
        if all(hasattr(one, "weighed_total") for _, one in pairs):
            self.weighed = self._weighed

    def __call__(self, start, block):
        return self._sums(block, lambda one, rows, at: np.asarray(one.total(rows)))

    def _weighed(self, weights, start, block):
        return self._sums(block, lambda one, rows, at: one.weighed_total(rows, weights[at]))

    def _sums(self, block, total):
        sets = None if self._rule is None else self._rule(block)
        at = {i: slice(None) if sets is None else sets == i for i, _ in self._pairs}
        return [total(one, block[at[i]], at[i]) for i, one in self._pairs]


# --- persons as the rows of a Table, and the rows that persons are read by


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
