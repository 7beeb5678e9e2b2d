"""Exact statistics of one piece of a table after the other, on threads; many levels by one pass."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice

import numpy as np
from joblib import effective_n_jobs

from skdp.mechanisms import _compiled, finite_rows
from skdp.mechanisms._exact import unit_of, weighed
from skdp.readers._raw import TableError
from skdp.utils._progress import counted
from skdp.utils._threads import at_rows, one_blas_thread, one_openmp_thread

CHANGED = "the table has another length than when it was first read."

STRIP = 2**14  # rows: a column of them stays in the first levels of the cache

WIDTH, TOP = 12, 52  # a window has 2^12 cells; the first one those of all signs and exponents
MOST_WINDOWS = 2**8  # of a pass: 8 MB
_SIGN = np.uint64(1 << 63)


def statistic_of(statistic, merge, decode, start, raw, cuts):
    """Return the statistic of a piece of a table, block by block, where its rows are."""
    with at_rows(), np.errstate(all="ignore"):  # a warning that rows decide on would tell of them
        rows = decode(raw)
        if len(rows) != cuts[-1][1]:
            raise TableError(CHANGED)
        parts = (statistic(start + a, rows[a:b], *beside) for a, b, *beside in cuts)
        return reduce(merge, parts)


def threaded(tasks):
    """Yield the results of tasks, functions without arguments, in their order.

    They run on as many threads as ``n_jobs`` or :func:`joblib.parallel_config` asks for, one alone
    on this thread; at most two for each thread wait, so that memory does not grow with the table.
    Contexts go along: configuration and silence.
    """
    n_threads, tasks = effective_n_jobs(None), iter(tasks)
    first = [*islice(tasks, min(2, n_threads))]
    tasks = chain(first, tasks)
    if len(first) < 2:
        yield from (task() for task in tasks)
        return
    with one_blas_thread, ThreadPoolExecutor(n_threads, initializer=one_openmp_thread) as pool:
        waiting = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(copy_context().run, task))
                if len(waiting) == 2 * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()


def merged(results, merge):
    """Return what ``merge`` makes of all results in their order, None of none."""
    with closing(counted(results)) as results:
        first = next(results, None)
        return first if first is None else reduce(merge, results, first)


def count_invalid(entries, start, block):
    """Return the number of rows, and whether there are NaN and infinity, if they are looked for."""
    if not entries:
        return len(block), 0, 0
    if not isinstance(block, np.ndarray):
        return len(block), *block.faults()
    if finite_rows(block).all():
        return len(block), 0, 0
    return len(block), int(np.isnan(block).any()), int(np.isinf(block).any())


def one_look(entries, first, start, block):
    """Return what :func:`count_invalid` finds, and sums by name."""
    return count_invalid(entries, start, block), {k: one(start, block) for k, one in first.items()}


def both_looks(one, two):
    """Return what two looks at rows have found."""
    (n, nan, infinite), (more, also_nan, also_infinite) = one[0], two[0]
    seen = n + more, nan | also_nan, infinite | also_infinite
    return seen, both_sums(one[1], two[1])


def both_sums(one, two):
    """Return the sums of two dicts of sums."""
    return {name: one[name] + two[name] for name in one}


def added(one, two):
    """Return the sum of two integers or arrays, or of those in two lists or tuples."""
    if isinstance(one, list | tuple):
        return type(one)(added(a, b) for a, b in zip(one, two, strict=True))
    return one + two


@dataclass(frozen=True)
class ViewStatistic:
    """A statistic of what a view makes of a block."""

    mapped: object
    statistic: object
    n_rows: int | None = None  # of parts whose sums are added up, public; None: all at once

    def __call__(self, start, block, *beside):
        """Return the statistic of a block behind the view."""
        if self.n_rows is None or beside or len(block) <= self.n_rows:
            return self.statistic(start, self.mapped(block), *beside)
        firsts = range(0, len(block), self.n_rows)
        parts = ((start + i, block[i : i + self.n_rows]) for i in firsts)
        return reduce(added, (self.statistic(i, self.mapped(part)) for i, part in parts))


@dataclass(frozen=True)
class Counts:
    """A statistic for :func:`weighed_sum`: how many rows lie in each of ``size`` cells.

    Notes
    -----
    Rows with weights are counted in one pass: sums of integers below 2^53 are exact in float64.
    """

    # maps a block to the cells of its rows, -1 for a row in none: an integer for each row, which
    # depends on that row alone
    cells: object
    size: int

    def __call__(self, start, block, *beside):
        """Return the counts of the rows of a block."""
        return self.weighed(None, start, block)

    def weighed(self, weights, start, block, *beside):
        """Return the sums of the weights of the rows in each cell."""
        at = self.cells(block)
        counts = np.bincount(at + 1, weights, minlength=self.size + 1)[1:]
        return counts.astype(np.int64, copy=False)


def strips(block, columns=None, entries=False):
    """Yield the entries of finite rows column by column, strip by strip; or all, gaps as NaN.

    Notes
    -----
    **Privacy**: a row that holds NaN or infinity, in whatever column, is in no strip; with
    ``entries`` every row is in one, and its entries are finite or NaN, each by itself. What is
    computed entry by entry, or counted, does not depend on how rows are cut into strips.
    """
    for start in range(0, len(block), STRIP):
        part = block[start : start + STRIP]
        if not entries:
            finite = finite_rows(part)
            part = part if finite.all() else part[finite]
        part = part if columns is None else part[:, columns]
        strip = np.ascontiguousarray(part.T, dtype=np.float64)
        yield np.where(np.isfinite(strip), strip, np.nan) if entries else strip


# --- ranks of thresholds that close in on something: one pass counts for many levels of a search


def order_of_floats(x):
    """Map floats to integers of the same order (the sign bit flipped, negatives reversed)."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    return bits ^ ((bits.view(np.int64) >> 63).view(np.uint64) | _SIGN)


def places(x, closed):
    """Map floats to the order of all floats, with one zero.

    ``closed``: from zero on one less, so that powers of two are the last of a cell, on both sides.
    """
    order = order_of_floats(x + 0.0)
    return order - (order >> np.uint64(63)) if closed else order


@dataclass(frozen=True)
class Windows:
    """How many entries of finite rows are in each cell of windows, and outside: picklable.

    ``asked``: of each window (column, centre, unit), the number of its first cell, and the shift: a
    cell is 2^shift places of differences from the centre, or, given a unit, of distances in it.
    """

    asked: tuple
    closed: bool

    def __call__(self, start, block):
        names, first, shift = zip(*self.asked, strict=True)
        columns, center, unit = zip(*names, strict=True)
        first, shift = (np.array(of, dtype=np.uint64) for of in (first, shift))
        counts = np.zeros((len(names), 2**WIDTH + 1), dtype=np.int64)
        if _compiled.loops is not None:
            unit = np.array([one or 0.0 for one in unit])
            of = (
                np.array(columns),
                first.view(np.int64),
                shift.view(np.int64),
                np.array(center, dtype=float),
            )
            for _, x in _compiled.plain_parts(block):
                _compiled.loops.cells(x, *of, unit, counts, x.shape[1], self.closed)
            return counts
        for strip in strips(block, list(columns)):
            for j, x in enumerate(strip):
                y = x - center[j] if unit[j] is None else np.abs(x - center[j]) / unit[j]
                at = (places(y, self.closed) >> shift[j]) - first[j]
                at = np.minimum(at, np.uint64(2**WIDTH)).astype(np.int64)
                counts[j] += np.bincount(at, minlength=2**WIDTH + 1)
        return counts


class Levels:
    """The ranks of thresholds in some rows, from what has been counted of these in a fit.

    ``total``: sums a statistic over the rows, by their weights.

    **Privacy**: they are the integers that a pass for each question counts, to the last bit, so an
    answer does not tell what was counted before. What was is private, and never leaves. Its time
    tells whether there was a pass, and cells counted ahead are those of exact ranks. Where others
    hold the clock, ``counts_ahead`` is False: then passes are a function of thresholds alone.
    """

    counts_ahead = True  # of all tables of a process

    def __init__(self, total):
        self._total, self._known, self._unit = total, {}, None

    def ranks(self, names, thresholds, parts, *, closed):
        """Return how many entries are up to thresholds, places of a column each, and all rows.

        ``parts`` of all rows, in thousandths, are searched for: there cells are counted ahead.
        """
        while True:
            tops = [(name, 0, TOP, closed) for name in names]
            found = [self._rank(*of) for of in zip(tops, thresholds, strict=True)]
            wanted = {one for one in found if isinstance(one, tuple)}
            if not wanted:
                result = np.array(found, dtype=np.int64), self._known[tops[0]][-1]
                return result if self._unit is None else [weighed(x, self._unit) for x in result]
            if self.counts_ahead and wanted.isdisjoint(tops):
                wanted |= {self._ahead(*of) for of in zip(tops, parts, strict=True)}
            wanted = list(wanted - self._known.keys())
            for first in range(0, len(wanted), MOST_WINDOWS):
                self._count(wanted[first : first + MOST_WINDOWS], closed)

    def _rank(self, window, threshold):
        """Return the rank of a threshold, or the window that tells it."""
        while window in self._known:
            name, first, shift, closed = window
            if not (threshold + 1) % 2**shift:
                return int(self._known[window][(threshold >> shift) - first + 1])
            window = _window(name, threshold >> shift, shift, closed)
        return window

    def _ahead(self, top, part):
        """Return the window of the cell with a part of all rows."""
        ranks = self._known[top]
        cell = int(np.searchsorted(ranks, part * ranks[-1] / 1000))
        return _window(top[0], max(cell - 1, 0), TOP, top[-1])

    def _count(self, windows, closed):
        """Count what is in windows: cells of known ones, or the first of their columns."""
        counts = self._total(Windows(tuple(of[:3] for of in windows), closed))
        self._unit = unit_of(counts)
        for window, of_cells in zip(windows, np.asarray(counts), strict=True):
            name, first, shift, _ = window
            # counts end at places that are known
            below = self._rank((name, 0, TOP, closed), (first << shift) - 1) if first else 0
            self._known[window] = np.append(below, below + np.cumsum(of_cells[:-1]))


def _window(name, cell, shift, closed):
    """Return the window of a cell of another one."""
    finer = max(shift - WIDTH, 0)
    return name, cell << (shift - finer), finer, closed
