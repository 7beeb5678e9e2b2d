"""Exact statistics of one piece of a table after the other, on the threads that it is given."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice

import numpy as np
from joblib import effective_n_jobs

from skdp.mechanisms import finite_rows
from skdp.readers._raw import TableError
from skdp.utils._progress import counted
from skdp.utils._threads import at_rows, one_blas_thread, one_openmp_thread

CHANGED = "the table has another length than when it was first read."


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


@dataclass(frozen=True)
class ViewStatistic:
    """A statistic of what a view makes of a block."""

    mapped: object
    statistic: object

    def __call__(self, start, block, *beside):
        """Return the statistic of a block behind the view."""
        return self.statistic(start, self.mapped(block), *beside)


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


STRIP = 2**14  # rows: a column of them stays in the first levels of the cache


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
