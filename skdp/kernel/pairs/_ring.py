"""Differences of neighbours in a random cyclic order: the diameter without pairs."""

from functools import partial

import numpy as np

RING_SQUARED = 5  # bound of the squared length by which one row moves a histogram of differences
CELLS = 2**16  # of a block that stays in the cache


def ring_rows(Z, keys):
    """Return the rows in the order of their keys, of equal ones in their own, after the last."""
    order = np.argsort(keys, kind="stable")
    return Z.take(np.append(order[-1:], order), axis=0)


def ring_blocks(ring, function):
    """Yield tasks: a function of the differences of a ring, by blocks that stay in the cache."""
    n, step = len(ring) - 1, max(1, CELLS // ring.shape[1])
    for start in range(0, n if n > 1 else 0, step):
        yield partial(_of_differences, function, ring[start : start + step + 1])


def _of_differences(function, rows):
    return function(np.subtract(rows[1:], rows[:-1]))
