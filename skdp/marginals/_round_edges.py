"""Edges of bins as people write them: round numbers, years, months and days. Post-processing."""

import math
from itertools import pairwise

import numpy as np

from skdp.marginals._drawn import cdf_at

__all__ = ["rounded", "split"]

MOVED = 0.1  # part of the rows of a bin that may change bins with one edge
STEPS = 5.0, 2.0, 1.0  # of a power of ten
DIGITS = 15
DATES = "Y", "M", "D", "h", "m", "s"
LENGTHS = 864e8, 36e8, 6e7, 1e6  # microseconds of a day, an hour, a minute, a second
DAY = LENGTHS[0]


def rounded(edges, laws, ends, *, whole, calendar):
    """Return edges, each at the roundest number that moves at most a tenth of a bin beside it.

    Edges of a bin that is one number alone stay, and so do those where no law tells how far.
    """
    step = (lambda x: x + 1) if whole else (lambda x: np.nextafter(x, np.inf))
    sides = np.array([-np.inf, *edges, np.inf])
    alone = sides[1:] == step(sides[:-1])
    alone[0], alone[-1] = ends[0] == edges[0], ends[1] == step(edges[-1])
    made = []
    for i, edge in enumerate(edges):
        known = laws[i][2].size and laws[i + 1][2].size
        if alone[i] or alone[i + 1] or not known:
            made.append(float(edge))
            continue
        low, high = (
            float(cdf_at(law, np.array([part]), whole=whole)[0])
            for law, part in ((laws[i], 1 - MOVED), (laws[i + 1], MOVED))
        )
        made.append(_roundest(float(edge), min(low, edge), max(high, edge), whole, calendar))
    return made if np.all(np.diff(made) > 0) else edges.tolist()


def _roundest(edge, low, high, whole, calendar):
    """Return the roundest number within two ends that is nearest to an edge."""
    if not math.isfinite(low) or not math.isfinite(high):
        return edge
    candidates = _decimals(edge, low, high)
    if calendar is not None:
        candidates = _dates(edge) if calendar[0] == "date" else _lengths(edge, low, high)
    for number in candidates:
        if low <= number < high and (not whole or number == math.floor(number)):
            return number
    return edge


def _decimals(edge, low, high):
    """Yield numbers near an edge, the roundest first."""
    yield 0.0
    top = math.floor(math.log10(max(abs(low), abs(high)))) + 1 if low or high else 0
    for power in range(top, top - DIGITS, -1):
        for step in STEPS:
            unit = float(f"{step}e{power}")
            if 0 < unit < math.inf:
                yield float(f"{round(edge / unit) * unit:.{DIGITS}g}")


def _dates(edge):
    """Yield the starts of years, months, days and so on that are nearest to a date."""
    if not abs(edge) < 2.0**62:
        return
    date = np.datetime64(round(edge), "us")
    for unit in DATES:
        start = date.astype(f"M8[{unit}]")
        both = [start, start + np.timedelta64(1, unit)]
        near = [float(one.astype("M8[us]").astype(np.int64)) for one in both]
        yield min(near, key=lambda number: abs(number - edge))


def _lengths(edge, low, high):
    """Yield round numbers of days, hours, minutes and seconds near a duration."""
    yield from (
        days * DAY for days in _decimals(edge / DAY, low / DAY, high / DAY) if days == round(days)
    )
    yield from (round(edge / unit) * unit for unit in LENGTHS)


def split(laws, edges):
    """Return the laws of the bins between edges: their cells are those of laws, cut at edges."""
    low, high, weight = (
        np.concatenate([np.asarray(law[part], dtype=np.float64) for law in laws])
        for part in range(3)
    )
    made = []
    for bottom, top in pairwise([-math.inf, *edges, math.inf]):
        start, stop = np.maximum(low, bottom), np.minimum(high, top)
        some = stop > start
        with np.errstate(over="ignore", invalid="ignore"):
            part = (stop / 2 - start / 2)[some] / (high / 2 - low / 2)[some]
        part = np.nan_to_num(part, nan=1.0, posinf=1.0)
        made.append((start[some], stop[some], weight[some] * part))
    return made
