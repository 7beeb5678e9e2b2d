"""The columns of a block of rows, in strips that stay in the cache."""

import numpy as np

from skdp.mechanisms import finite_rows

__all__ = ["strips"]

STRIP = 2**14  # rows: a column of them stays in the first levels of the cache


def strips(block, columns=None):
    """Yield the entries of finite rows column by column, strip by strip.

    Notes
    -----
    **Privacy**: a row that holds NaN or infinity, in whatever column, is in no strip. What is
    computed entry by entry, or counted, does not depend on how rows are cut into strips.
    """
    for start in range(0, len(block), STRIP):
        part = block[start : start + STRIP]
        finite = finite_rows(part)
        part = part if finite.all() else part[finite]
        part = part if columns is None else part[:, columns]
        yield np.ascontiguousarray(part.T, dtype=np.float64)
