"""Bounds of the preprocessed value of an ordered statistic, from cells of a column."""

from dataclasses import dataclass

import numpy as np

from skdp.sensitivity._cells import FIRST, LAST, Wanted
from skdp.sensitivity._path import bisected

__all__ = ["Order", "told_by_bracket", "wanted_by_bracket"]

NEAR = 64  # ranks at either end of the knots that are looked at one by one
GROWTH = 1 / 256  # of the distance from the end, between two knots beyond
STEPS = 128  # of a path
MOST_INSIDE = 2**18  # entries: 2 MB


@dataclass(frozen=True)
class _Between:
    """Arrays of integers that are known to lie between two others."""

    low: np.ndarray
    high: np.ndarray
    __array_ufunc__ = None  # arrays leave products to __rmul__

    def __add__(self, other):
        return _Between(self.low + other.low, self.high + other.high)

    def __sub__(self, other):
        return _Between(self.low - other.high, self.high - other.low)

    def __rmul__(self, times):
        return _Between(times * self.low, times * self.high)  # times >= 0


class Order:
    """A sorted column ``s`` and its prefix sums ``P``, as far as cells tell: bounds of each.

    With ``inside``, a mask of the cells that were gathered, their entries are told exactly.

    In a cell of t entries between e and f with the sum S the x smallest are worth at least x e and
    S - (t - x) f, and at most x f and S - (t - x) e.
    """

    def __init__(self, cells, inside=None):
        held = np.flatnonzero(cells.counts)
        if inside is None:
            inside = np.zeros(len(cells.counts), dtype=bool)
        told, self.held = inside[held], held
        times = np.where(told, cells.counts[held], 1)  # a cell that is told falls apart
        at = np.repeat(np.arange(len(held)), times)
        told = told[at]
        self.low, self.high = FIRST[held][at], LAST[held][at]
        counts, sums = cells.counts[held][at], cells.sums[0, held][at]
        if told.any():
            counts[told] = 1
            self.low[told] = self.high[told] = sums[told] = cells.inside
        self.rank = np.concatenate([[0], np.cumsum(counts)])
        self.sum = np.concatenate([[0], np.cumsum(sums)])
        self.s, self.P = _Entries(self), _Sums(self)

    def at(self, rank):
        return np.searchsorted(self.rank, rank, side="right") - 1


class _Entries:
    def __init__(self, order):
        self._order, self.seen = order, []

    def __getitem__(self, i):
        order, at = self._order, self._order.at(i)
        self.seen.append(at)
        return _Between(order.low[at], order.high[at])


class _Sums:
    def __init__(self, order):
        self._order, self.seen = order, []

    def __getitem__(self, rank):
        order = self._order
        at = np.minimum(order.at(rank), len(order.low) - 1)
        x, left = rank - order.rank[at], order.rank[at + 1] - rank
        self.seen.append(at[(x > 0) & (left > 0)])
        below, above = order.sum[at], order.sum[at + 1]
        low, high = order.low[at], order.high[at]
        return _Between(
            np.maximum(below + x * low, above - left * high),
            np.minimum(below + x * high, above - left * low),
        )


def wanted_by_bracket(cells, statistic):
    """Return the entries that the value of the whole rests on, None if they are too many."""
    n, order = cells.n, Order(cells)
    size = np.arange(max(1, n - NEAR - STEPS), n + 1)
    statistic.total(order, 0 * size, size)
    statistic.total(order, n - size, n + 0 * size)
    at = np.unique(np.concatenate([*order.s.seen, *order.P.seen]))
    at = order.held[at[order.low[at] < order.high[at]]]
    if cells.counts[at].sum() > MOST_INSIDE:
        return None
    inside = np.zeros(len(cells.counts), dtype=bool)
    inside[at] = True
    return Wanted(cells=inside)


def told_by_bracket(cells, wanted, statistic, D, center):
    """Return the value of :func:`bounded_ordered` if bounds tell it, else None.

    Notes
    -----
    A path is followed as there, as long as bounds of the statistic tell its steps. It ends where
    bounds of the value on the window that is left decide.
    """
    order = Order(cells, wanted.cells)
    return _Path(order, cells.n, statistic, int(D), int(center)).value()


class _Path:
    def __init__(self, order, n, statistic, D, c):
        self.order, self.n, self.f, self.D, self.c = order, n, statistic, D, c

    def value(self):
        return bisected(*self.bracket(0, self.n), self.reaches)

    def bracket(self, i, j):
        """Return bounds of the value on the window of the m entries from i to j.

        With f_r the statistic of its r smallest, and f^r of its r largest, it is at least
        ``min_r max(f_r, c - r D) + (m - r) D`` and at most ``max_r min(f^r, c + r D) - (m - r) D``,
        as for :func:`bounded_ordered`. f_r grows with r and f^r falls: between two ranks q < q'
        they are no worse than at q, and the rest is no worse than with q' - 1. Knots are dense near
        r = m, where a statistic whose entries are worth less than D each is its own bound.
        """
        m, D, c = j - i, self.D, self.c
        r = _knots(m)
        longest = np.append(r[1:] - 1, m)
        weight = self.f.weight(r)
        prefix = self.f.total(self.order, i + 0 * r, i + r).low // weight
        suffix = self.f.total(self.order, j - r, j + 0 * r).high // weight
        low = int(np.min(np.maximum(prefix, c - longest * D) - longest * D)) + m * D
        high = int(np.max(np.minimum(suffix, c + longest * D) + longest * D)) - m * D
        return max(c - m * D, min(c + m * D, low)), min(c + m * D, max(c - m * D, high))

    def reaches(self, t):
        """Return whether the value is at least t, None if that is not told."""
        i, j, v, c, D = 0, self.n, t, self.c, self.D
        for step in range(STEPS):
            reach = (j - i) * D
            if v - c > reach:
                return False
            if c - v >= reach:
                return True
            if step & (step - 1) == 0 and step:
                low, high = self.bracket(i, j)
                if v <= low or v > high:
                    return v <= low
            total = self.f.total(self.order, np.array([i]), np.array([j]))
            bound = v * int(self.f.weight(j - i))
            if int(total.low[0]) >= bound:
                j, v = j - 1, v - D
            elif int(total.high[0]) < bound:
                i, v = i + 1, v + D
            else:
                return None
        return None


def _knots(n):
    """Return ranks from 1 to n, dense near n."""
    far = np.geomspace(NEAR, max(n, NEAR + 1), int(np.log(max(n, 2)) / GROWTH)).astype(np.int64)
    left_out = np.unique(np.concatenate([np.arange(NEAR), far, [n - 1]]))
    return n - left_out[left_out < n][::-1]
