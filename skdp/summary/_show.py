"""A summary as a frame, as text and as HTML, with a small picture of every column."""

import math
from html import escape

import numpy as np

from skdp.show._page import columns as aligned
from skdp.show._page import data_frame
from skdp.summary._columns import BOOL

__all__ = ["cell_of", "frame_of", "html_of", "joined_frames", "text_of"]

BLOCKS = "▁▂▃▄▅▆▇█"
TOP = 3  # texts that are named
TINY = 1e-300  # an interval so short is a point
WIDE = 24  # letters of a text that are shown
LENGTHS = ("std",)  # statistics that are differences


def cell_of(line, number, calendar):
    """Return a number of a Line in the type of its column: a date, a duration or a float."""
    if calendar is None or line.statistic in ("entries", "gaps"):
        return number
    return calendar.scalar(number, length=line.statistic in LENGTHS)


def frame_of(named, lines):
    """Return a frame like that of ``describe``: a column for each column, rows are statistics."""
    titles = [one.statistic for own in lines for one in own if one.statistic != "share"]
    titles = list(dict.fromkeys("mean" if title == "rate" else title for title in titles))
    cells = {}
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: cell_of(one, one.known().value, column.calendar) for one in own}
        top, share = _top(column, [one.known() for one in own if one.label is not None])
        if column.kind == BOOL:
            found["mean"] = share if top is True else 1 - share
        cells[name] = [column.kind, *(found.get(title, np.nan) for title in titles), top, share]
    objects = {name: np.array(own, dtype=object) for name, own in cells.items()}
    return data_frame(objects, "results()", index=["kind", *titles, "top", "share"])


def _top(column, shares):
    """Return the most frequent text or truth value, and its share; NaN for what is not known."""
    if not shares or (column.kind == BOOL and math.isnan(shares[0].value)):
        return math.nan, math.nan
    if column.kind == BOOL and shares[0].value < 0.5:
        return False, 1 - shares[0].value
    return shares[0].label, shares[0].value


def joined_frames(frames):
    """Return frames as one, each under its key; a dict of them by key, maybe of none."""
    import pandas as pd

    return pd.concat(frames) if frames else pd.DataFrame()


def text_of(title, named, lines, n, n_sd):
    """Return the lines of a text: one for each column."""
    rows = [("column", "kind", "entries", "gaps", "", "")]
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: one for one in own}
        rows.append(
            (
                _short(name),
                column.kind,
                _number(found["entries"]),
                _percent(found["gaps"]),
                "".join(map(_block, _heights(column.bars(n, n_sd)))),
                _told(column, own),
            )
        )
    return "\n".join([title, *(line.rstrip() for line in aligned(rows, left=(0, 1, 4, 5)))])


def html_of(title, named, lines, n, n_sd):
    """Return a table of HTML: one row for each column, with a histogram."""
    head = "<tr><th>column<th>kind<th>entries<th>gaps<th><th></tr>"
    rows = []
    for (name, column), own in zip(named, lines, strict=True):
        found = {one.statistic: one for one in own}
        cells = [str(name), column.kind, _number(found["entries"]), _percent(found["gaps"])]
        body = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        picture = _svg(_heights(column.bars(n, n_sd)))
        rows.append(f"<tr>{body}<td>{picture}</td><td>{escape(_told(column, own))}</td></tr>")
    return f"<p>{escape(title)}</p><table>{head}{''.join(rows)}</table>"


def _heights(parts):
    return parts / parts.max() if parts.size and parts.max() > 0 else parts


def _block(height):
    return BLOCKS[min(int(height * len(BLOCKS)), len(BLOCKS) - 1)]


def _svg(heights):
    bars = "".join(
        f'<rect x="{8 * i}" y="{24 - 24 * h:.1f}" width="7" height="{24 * h:.1f}"/>'
        for i, h in enumerate(heights)
    )
    return f'<svg width="{8 * len(heights)}" height="24" fill="#4477aa">{bars}</svg>'


def _told(column, lines):
    """Return the statistics of a column in words."""
    if any(one.label is not None for one in lines):
        shares = [one for one in lines if one.label is not None]
        more = len(shares) - TOP
        told = [f"{_short(one.label)} {_percent(one)}" for one in shares[:TOP]]
        return ", ".join(told) + (f" and {more} more" if more > 0 else "")
    if column.kind in ("text", "truth values"):
        return "no text is frequent enough to show"
    found = {one.statistic: one for one in lines}
    middle = [one for one in lines if one.statistic.endswith("%")]
    told = [f"mean {_value(found['mean'], column)}", f"sd {_value(found['std'], column)}"]
    told += [f"{one.statistic} {_value(one, column)}" for one in (middle[0], middle[-1])]
    return ", ".join(told)


def _value(line, column):
    if not line.reliable:
        return "?"
    if column.calendar is not None:
        return column.calendar.text(line.value, length=line.statistic in LENGTHS)
    return _rounded(line.value, line.high - line.low)


def _rounded(value, width):
    """Return a number with the digits that an interval so wide leaves: two of its half."""
    if not (TINY < width < math.inf and math.isfinite(value)):
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(width / 2))
    if abs(value) >= 1e15 or digits > 12:
        return f"{value:.6g}"
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _number(line):
    return f"{line.value:,.0f}" if line.reliable else "?"


def _percent(line):
    return f"{100 * line.value:.3g} %" if line.reliable else "?"


def _short(name):
    text = str(name)
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"
