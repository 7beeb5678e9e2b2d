"""Rows that are drawn by secret keys of their own."""

import numpy as np

from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.readers._persons import SampledRows
from skdp.readers._rows import no_rows

MOST_ENTRIES = 2**22  # of rows that are kept in memory: 32 MB


def numbering_of(rows):
    """Return the rows whose order numbers those of a view: keys are drawn by these numbers."""
    while not hasattr(rows, "numbering") and hasattr(rows, "_rows"):
        rows = rows._rows
    return getattr(rows, "numbering", rows)


def keyed_rows(rows, coins, q, n, use):
    """Return the rows whose keys are below a limit, in memory where they are few.

    **Privacy**: couple the keys of neighbouring tables so that common rows share theirs: what is
    drawn is equal or neighbours. No amplification is claimed.
    """
    drawn = KeyedRows(rows, coins, q, use)
    if n * rows.n_features > MOST_ENTRIES or rows.unit != 1:
        return drawn
    table = ArrayRows(drawn.gathered())
    return table if rows.heads is None else SampledRows(table, rows.heads)


class KeyedRows:
    """The rows of :func:`keyed_rows`, read block by block: only sums of them are known."""

    random_access, fewer = False, True

    def __init__(self, rows, coins, q, use):
        self._rows, self._coins, self._use = rows, coins, use
        self._limit = limit_of(q)
        self.n_features, self.block_rows = rows.n_features, rows.block_rows
        self.heads, self.unit, self.cap = rows.heads, rows.unit, rows.cap

    def weighed_sum(self, statistic, beside=None):
        if beside is not None:
            raise TypeError("keys lie beside these rows already.")
        return weighed_sum(self._rows, OfChosen(statistic), self._chosen)

    def gathered(self):
        """Return the rows."""
        parts = map_merge(self._rows, OfChosen(listed), list.__add__, self._chosen)
        return np.concatenate(parts)

    def no_rows(self):
        """Return a block of no rows."""
        return no_rows(self._rows)

    def _chosen(self, start, stop):
        # a use that nobody else has, in whatever place of the plan
        return self._coins.keys(start, stop, use=f"thinned {self._use}") <= self._limit


class OfChosen:
    """A statistic of the rows of a block that are chosen beside it."""

    def __init__(self, statistic):
        self._statistic = statistic
        if hasattr(statistic, "weighed"):
            self.weighed = self._weighed

    def __call__(self, start, block, chosen):
        return self._statistic(start, block[chosen])

    def _weighed(self, weights, start, block, chosen):
        return self._statistic.weighed(weights[chosen], start, block[chosen])


def listed(start, block):
    """Return a block as a list: a statistic of rows that are kept in memory."""
    return [block]


def limit_of(q):
    """Return the number that a key of 64 bits is not above with probability q."""
    return np.uint64(min(int(q * 2.0**64), 2**64 - 1))
