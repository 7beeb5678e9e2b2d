"""Bounded statistics of long columns, told by two passes over a table, if these tell them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.sensitivity._bracket import Order, told_by_bracket, wanted_by_bracket
from skdp.sensitivity._cells import Job, Wanted, counted_cells, with_entries
from skdp.sensitivity._closed import max_of_largest, rows_of_max
from skdp.sensitivity._mean import Outline, mean_of_ends
from skdp.sensitivity._search import (
    End,
    Sums,
    exact_sums,
    most_left_out,
    products,
    window_of_ends,
)
from skdp.sensitivity._windows import NAMED, Quantile, TrimmedMean

__all__ = ["streamed", "streaming_method"]

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
        return told_by_bracket(cells, wanted, self.statistic, D, 0)


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
