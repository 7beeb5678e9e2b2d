"""Differences of neighbours in a random cyclic order: the diameter without pairs."""

from functools import partial

import numpy as np

RING_SQUARED = 5  # bound of the squared length by which one row moves a histogram of differences
CELLS = 2**16  # of a block that stays in the cache


def ring_order(keys):
    """Return the numbers of the rows in the order of their keys: of equal ones in their own."""
    return np.argsort(keys, kind="stable")


def ring_blocks(Z, order, function):
    """Yield tasks: a function of the differences of a ring, by blocks that stay in the cache."""
    if len(Z) < 2:
        return
    ring, step = np.append(order[-1:], order), max(1, CELLS // Z.shape[1])
    for start in range(0, len(order), step):
        yield partial(_of_differences, function, Z, ring[start : start + step + 1])


def _of_differences(function, Z, places):
    return function(np.diff(Z.take(places, axis=0), axis=0))
