"""The columns of a block of rows, in strips that stay in the cache."""

import numpy as np

from skdp.mechanisms import finite_rows

__all__ = ["strips"]

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
