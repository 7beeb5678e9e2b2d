"""A sum over rows that count with weights, block by block."""

from functools import partial

import numpy as np

from skdp.chunks._rows import added
from skdp.chunks._statistics import Through

__all__ = ["each", "times", "weighed_part"]


def weighed_part(statistic, start, block, laid):
    """Return the statistic of a block: rows of one weight by themselves, times their weight."""
    weights, others = laid
    while isinstance(statistic, Through) and len(seen := statistic.mapped(block)) == len(block):
        statistic, block = statistic.statistic, seen
    if hasattr(statistic, "weighed"):
        return statistic.weighed(weights, start, block, *others)
    order = np.argsort(weights, kind="stable")
    values, firsts = np.unique(weights[order], return_index=True)
    block, *others = (_rows_at(one, order) for one in (block, *others))
    ends, total = [*firsts[1:], len(order)][: len(firsts)], None  # of no rows: none
    for weight, first, end in zip(values, firsts, ends, strict=True):
        rows = slice(first, end if weight else first)
        part = statistic(start, block[rows], *(other[rows] for other in others))
        part = each(part, partial(times, int(weight)))
        total = part if total is None else added(total, part)
    return statistic(start, block, *others) if total is None else total


def _rows_at(block, places):
    """Return rows of a block; faster than by an index."""
    return block.take(places, axis=0) if isinstance(block, np.ndarray) else block[places]


def times(weight, value):
    """Return integers times a weight, in 64 bits: narrow ones would wrap, and floats raise."""
    return np.multiply(value, weight, dtype=np.int64)


def each(value, function):
    """Apply a function to integers, or to each of a list or tuple of them."""
    if isinstance(value, list | tuple):
        return type(value)(each(part, function) for part in value)
    return function(value)
