"""Exact statistics of one piece of a table after the other, on the threads that it is given."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from functools import reduce
from itertools import chain, islice

import numpy as np
from joblib import effective_n_jobs

from skdp.readers._raw import TableError
from skdp.utils._progress import counted
from skdp.utils._threads import at_rows, one_blas_thread, one_openmp_thread

__all__ = ["CHANGED", "merged", "statistic_of", "threaded"]

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
