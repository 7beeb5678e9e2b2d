"""Hostile rows for tables of any columns."""

import numpy as np

from skdp.audit._samples import Sample

__all__ = ["UNKNOWN", "hostile_frame", "hostile_frame_row"]

UNKNOWN = "86243-nobody"  # a category that no table has
FLOATS = (0.0, 1e300, -1e300, 1e-300, 1e9, np.nan, np.inf, -np.inf)
WHOLE = (0, 1, -1, 127, 2**15, 2**31 - 1, -(2**31), 2**53, 2**62)


def hostile_frame(data, draw):
    """Return a table of 0 to 60 rows of a sample, some of them hostile."""
    n = draw.choice((0, 1, 2, 3, 60, 60)) if draw.chance(0.3) else draw.below(61)
    table = data.take(draw.below(len(data), n))
    if n and draw.chance(0.1):
        table = table.take(np.zeros(n))
    for _ in range(draw.below(4) if n and draw.chance(0.3) else 0):
        table = table.inserted(draw.below(n), hostile_frame_row(data, draw))
    return table.take(np.repeat(np.arange(len(table)), 10)) if draw.chance(0.05) else table


def hostile_frame_row(data, draw, rows=None):
    """Return a sample of one row that has hostile entries in one column, in all, or in none."""
    if rows is not None and len(rows) and draw.chance(0.3):
        return Sample.of(rows).take([draw.below(len(rows))])
    row = data.take([draw.below(len(data))])
    kind, d = draw.below(3), data.n_features
    for j in ((), (draw.below(d),), range(d))[kind]:
        row = row.replaced(j, [_entry(data, j, draw)])
    return row


def _entry(data, j, draw):
    kind, own = data.kind(j), data.column(j)[draw.below(len(data))]
    if kind == "f":
        return draw.choice((own, 1e3 * own, *FLOATS))
    if kind in "iu":
        return draw.choice((own, *WHOLE))
    return draw.choice((own, own, None, UNKNOWN)) if kind == "O" else own
