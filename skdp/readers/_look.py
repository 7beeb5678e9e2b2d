"""One look at rows before a fit: their number, what is wrong, and sums that are asked first."""

import numpy as np

from skdp.mechanisms import finite_rows

__all__ = ["both_looks", "both_sums", "one_look"]


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
