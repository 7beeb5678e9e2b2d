"""Bounded statistics of long columns, told by two passes over a table, if these tell them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.sensitivity._cells import FIRST, LAST, Job, Wanted, counted_cells, with_entries
from skdp.sensitivity._closed import (
    End,
    Sums,
    exact_sums,
    max_of_largest,
    most_left_out,
    products,
    rows_of_max,
    window_of_ends,
)
from skdp.sensitivity._path import Outline, bisected, mean_of_ends
from skdp.sensitivity._windows import NAMED, Quantile, TrimmedMean

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


def told_by_bracket(cells, wanted, statistic, D):
    """Return the value of :func:`bounded_ordered` if bounds tell it, else None.

    Notes
    -----
    A path is followed as there, as long as bounds of the statistic tell its steps. It ends where
    bounds of the value on the window that is left decide.
    """
    order = Order(cells, wanted.cells)
    return _Path(order, cells.n, statistic, int(D), 0).value()


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


MOST = 2**16  # entries at either end: half a megabyte
PART = 4, 64  # at most a fourth of all, for a mean a 64th
KNOTS = 2**10  # ranks between, besides those where cells end
LARGEST_SUM = 2**61


def streaming_method(name, statistic):
    """Return how a statistic is told by two passes, None if it is not."""
    if name in ("min", "max"):
        return _Extreme(1 if name == "max" else -1)
    if name == "mean":
        return _Mean()
    if name == "median":
        return _Ordered(Quantile(Fraction(1, 2)))
    known = type(statistic) in NAMED and isinstance(statistic, Quantile | TrimmedMean)
    return _Ordered(statistic) if known else None


def streamed(rows, asked):
    """Return values of bounded statistics, None where two passes do not tell.

    Notes
    -----
    **Privacy** (add or remove one row): a value is that of the function which has all entries,
    :func:`skdp.sensitivity.bounded_statistic`, to the last digit.
    """
    jobs = [Job(column, grid, way.products) for column, grid, way, _ in asked]
    once = list(dict.fromkeys(jobs))  # a minimum and a maximum look at the same cells
    known = dict(zip(once, counted_cells(rows, once), strict=True))
    cells = [known[job] for job in jobs]
    fits = [of_job.n > 0 and of_job.n * of_job.largest < LARGEST_SUM for of_job in cells]
    pairs = list(zip(cells, asked, fits, strict=True))
    wanted = [way.wanted(c, D) if fit else None for c, (*_, way, D), fit in pairs]
    hopeful = [i for i, it in enumerate(wanted) if it is not None]
    values = [None] * len(asked)
    if hopeful:
        some = ([of_all[i] for i in hopeful] for of_all in (jobs, cells, wanted))
        for i, whole in zip(hopeful, with_entries(rows, *some), strict=True):
            *_, way, D = asked[i]
            values[i] = way.told(whole, wanted[i], D)
    return values


class _Extreme:
    """The maximum, by the largest entries, or minus that of mirrored ones."""

    products = staticmethod(lambda k: [])

    def __init__(self, side):
        self._side = side

    def wanted(self, cells, D):
        enough = rows_of_max(cells.n, cells.width, D)
        return Wanted(ends=min(MOST, cells.n // PART[0], enough))

    def told(self, cells, wanted, D):
        low, high = cells.lowest, cells.highest
        if not len(low):
            return None
        y = high if self._side > 0 else -low[::-1]
        if rows_of_max(cells.n, int(high[-1]) - int(low[0]), D) > len(y):
            return None
        return self._side * max_of_largest(y, cells.n, D, 0)


class _Mean:
    """The mean, by a path that stays in the ends."""

    products = staticmethod(lambda k: [k])

    def wanted(self, cells, D):
        return Wanted(ends=min(MOST, cells.n // PART[1]))

    def told(self, cells, wanted, D):
        n, k, order = cells.n, len(cells.lowest), Order(cells)
        if not k:
            return None
        far = np.geomspace(k, n - k, KNOTS).astype(np.int64)  # from either end
        rank = np.concatenate([order.rank, far, n - far])
        rank = np.unique(np.append(rank[(k < rank) & (rank < n - k)], k))
        least = order.P[rank].low
        least[0] = cells.lowest.sum()
        outline = Outline(n, cells.lowest, cells.highest, int(order.sum[-1]), rank, least)
        return mean_of_ends(outline, D, 0)


@dataclass(frozen=True)
class _Ordered:
    """A statistic that rests on some ranks, by bounds that meet."""

    statistic: object
    products = staticmethod(lambda k: [k])

    def wanted(self, cells, D):
        return wanted_by_bracket(cells, self.statistic)

    def told(self, cells, wanted, D):
        return told_by_bracket(cells, wanted, self.statistic, D)


@dataclass(frozen=True)
class Spread:
    """Variance and the like, by the windows between two ends."""

    statistic: object
    products = staticmethod(products)

    def wanted(self, cells, D):
        most = most_left_out(cells.n, D, self._best(cells, D))
        return Wanted(ends=min(MOST, cells.n // PART[0], most))

    def told(self, cells, wanted, D):
        if not (best := self._best(cells, D)):
            return best
        n, whole = cells.n, cells.sums.sum(axis=1)
        upto, sums = cells.upto, cells.sums_upto
        low = _end(cells.lowest, upto, sums)
        high = _end(cells.highest[::-1], n - upto[::-1], whole[:, None] - sums[:, ::-1])
        return window_of_ends(Sums(n, whole, low, high), self.statistic, D, best)

    def _best(self, cells, D):
        return min(cells.n * D, self.statistic.floor(*exact_sums(cells.n, cells.sums.sum(axis=1))))


def _end(entries, upto, sums):
    """Return the End of some outermost entries, and of the cells beyond these."""
    near = [np.concatenate([[0], np.cumsum(p)]) for p in products(entries)]
    held = np.append(True, np.diff(upto) > 0) & (upto > len(entries))
    out = np.append(np.arange(len(entries) + 1), upto[held])
    return End(out, np.concatenate([near, sums[:, held]], axis=1))
