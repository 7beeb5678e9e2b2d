"""Tables of rows drawn by their own coins, and about how many there are."""

from typing import NamedTuple

from skdp.kernel._keyed_rows import MOST_ENTRIES
from skdp.kernel._table import Table

__all__ = ["MOST_ENTRIES", "DrawnRows", "draw_rows"]


class DrawnRows(NamedTuple):
    """A Table, and the released number of its rows."""

    table: Table
    n: float


def draw_rows(table, size, *, n, use):
    """Draw about ``size`` of about ``n`` rows; all of them if that saves less than half."""
    if 2 * size > n:
        return DrawnRows(table, n)
    return DrawnRows(table.thinned(size, n, use=use), size)
