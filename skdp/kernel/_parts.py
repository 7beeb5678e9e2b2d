"""Disjoint sets of rows, asked side by side: one pass, one release, one price."""

import json

import numpy as np

from skdp.kernel._codec import encoded
from skdp.kernel._plain import checked, refuse
from skdp.kernel._statistic import Rule
from skdp.kernel._table import Noisy
from skdp.readers import weighed_sum


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
