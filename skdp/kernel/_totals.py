"""Exact sums over rows, and the sets of rows, by passes of picklable statistics."""

import json
from functools import partial

import numpy as np

from skdp.kernel._codec import encoded
from skdp.kernel._statistic import own
from skdp.readers import map_merge, weighed_sum
from skdp.readers._levels import Levels
from skdp.readers._persons import unweighted_rows


def asked_first(statistics):
    """Return the sums of a look at rows that answer these statistics, by name."""
    return {_name(one): Total(one) for one in map(own, statistics)}


def totals(rows, statistics):
    """Return the exact sums of several statistics by one pass, or by none if they are known.

    **Privacy**: what a source knows are the same sums over the same rows; views know none.
    """
    if known := getattr(rows, "known", None):
        names = [_name(one) for one in statistics]
        if all(name in known for name in names):
            return [known[name].copy() for name in names]
    if any(hasattr(one, "over") for one in statistics):
        return [total for one in statistics for total in _totals(rows, one)]
    if len(statistics) == 1:
        return [weighed_sum(rows, Total(statistics[0]))]
    return weighed_sum(rows, Totals(tuple(statistics)))


def levels_of(rows):
    """Return :class:`skdp.readers._levels.Levels` of rows, that pass over them when asked."""
    return Levels(partial(weighed_sum, rows))


def _name(statistic):
    return json.dumps(encoded(statistic))


def _totals(rows, one):
    return [one.over(rows)] if hasattr(one, "over") else totals(rows, [one])


class Total:
    """A statistic as pieces of rows are asked for it: picklable, no closure."""

    def __init__(self, statistic):
        self._statistic = statistic
        if hasattr(statistic, "weighed_total"):
            self.weighed = self._weighed

    def __call__(self, start, block):
        return np.asarray(self._statistic.total(block))

    def _weighed(self, weights, start, block):
        return np.asarray(self._statistic.weighed_total(block, weights))


class Totals:
    """Several statistics of the same pieces."""

    def __init__(self, statistics):
        self._statistics = statistics

    def __call__(self, start, block):
        return [np.asarray(one.total(block)) for one in self._statistics]


def sets_of(rows, rule):
    """Return the set of every row of the whole table, in its order: as private as the rows."""
    return np.concatenate(map_merge(unweighted_rows(rows), SetsOf(rule), list.__add__))


class SetsOf:
    """The sets of the rows of a piece, a list: picklable, no closure."""

    def __init__(self, rule):
        self._rule = rule

    def __call__(self, start, block):
        return [self._rule(block)]
