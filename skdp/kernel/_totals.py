"""Exact sums over rows, and the sets of rows, by passes of picklable statistics."""

import json
from functools import partial

import numpy as np

from skdp.kernel._codec import encoded
from skdp.kernel._plain import own
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
    if len(statistics) == 1:
        (one,) = statistics
        return [one.over(rows) if hasattr(one, "over") else weighed_sum(rows, Total(one))]
    if any(hasattr(one, "over") for one in statistics):
        return [totals(rows, [one])[0] for one in statistics]
    return weighed_sum(rows, partial(_sums, statistics))


def levels_of(rows):
    """Return :class:`skdp.readers._levels.Levels` of rows, that pass over them when asked."""
    return Levels(partial(weighed_sum, rows))


def _name(statistic):
    return json.dumps(encoded(statistic))


def _sums(statistics, start, block):
    return [np.asarray(one.total(block)) for one in statistics]


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


def sets_of(rows, rule):
    """Return the set of every row of the whole table, in its order: as private as the rows."""
    return np.concatenate(map_merge(unweighted_rows(rows), partial(_sets, rule), list.__add__))


def _sets(rule, start, block):
    return [rule(block)]
