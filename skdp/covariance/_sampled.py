"""Tables of rows drawn by their own coins, and about how many there are."""

from typing import NamedTuple

from skdp.kernel._keyed_rows import MOST_ENTRIES

__all__ = ["MOST_ENTRIES", "DrawnRows", "draw_rows"]


class DrawnRows(NamedTuple):
    """Rows, or a Table of them, and their released number."""

    rows: object
    n: float


def draw_rows(table, size, *, n, use):
    """Draw about ``size`` of about ``n`` rows; all of them if that saves less than half."""
    if 2 * size > n:
        return DrawnRows(table, n)
    return DrawnRows(table.thinned(size, n, use=use), size)
