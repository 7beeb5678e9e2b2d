"""Levels that a fit has found: bins with edges as people write them, texts, values inside bins."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real

import numpy as np

from skdp.marginals._levels import MISSING, Values, names_of
from skdp.readers._labels import LevelBins
from skdp.utils._numbers import public_words


@dataclass(frozen=True)
class Cells:
    """Entries are in one of the bins ``(edge, next edge]`` of all numbers, or missing."""

    edges: tuple  # tuple of m floats: rising, the upper ones of all bins but the last
    # tuple of m + 1 (low, high, weight): tuples of the cells `(low, high]` in which the entries of
    # a bin lie
    laws: tuple
    whole: bool  # whether entries are whole numbers
    missing: bool  # whether missing entries are a level of their own
    # pair of float: the smallest and the largest number, where the search has found these alone in
    # their cells: outer bins that hold nothing else are called by them
    ends: tuple = (np.nan, np.nan)
    # how many missing entries the level `rest` may hold: by what was released, and by public types
    hidden: float = field(default=0.0, compare=False)
    calendar: tuple | None = None  # of dates and durations: the fields of their Calendar
    numeric = True

    @property
    def rest(self):
        """The level of entries that have none: that of most numbers."""
        return int(np.argmax([sum(weights) for _, _, weights in self.laws]))

    @property
    def labels(self):
        """What the levels are called in tables."""
        *names, largest = names_of((*self.edges, self.ends[1]), self.calendar)
        inner = [
            high if self._alone(*ends) else f"({low}, {high}]"
            for (low, high), ends in zip(pairwise(names), pairwise(self.edges), strict=True)
        ]
        first = names[0] if self.ends[0] == self.edges[0] else f"(-inf, {names[0]}]"
        last = largest if self._alone(self.edges[-1], self.ends[1]) else f"({names[-1]}, inf)"
        return (first, *inner, last, *[MISSING] * self.missing)

    def end(self, wanted):
        """Return a date or a duration as a number, and all else as it is."""
        if self.calendar is None or wanted is None or isinstance(wanted, Real):
            return wanted
        kind = "datetime64" if self.calendar[0] == "date" else "timedelta64"
        entry = getattr(wanted, f"to_{kind}", lambda: wanted)()
        return float(getattr(np, kind)(entry, "us").astype(np.int64))

    @property
    def has_open_top(self):
        """Return whether single numbers end in a level that may hold several."""
        inner = all(self._alone(*ends) for ends in pairwise(self.edges))
        below = len(self.edges) > 1 and self.whole and inner
        return below and not self._alone(self.edges[-1], self.ends[1])

    def _alone(self, low, high):
        """Return whether a bin holds one number alone."""
        return high == (low + 1 if self.whole else np.nextafter(low, np.inf))

    @property
    def coded(self):
        """How entries become level numbers."""
        gap = len(self.edges) + 1 if self.missing else self.rest
        return LevelBins(np.array(self.edges), False, -np.inf, np.inf, gap, gap)


@dataclass(frozen=True)
class Found(Values):
    """Entries are equal to one of the values that were found, or missing, or other.

    What is no level is in that of other entries, else in that of the most common value.
    """

    rest: int = 0
    hidden: float = field(default=0.0, compare=False)  # entries that it may hold besides
    numeric = False


RANK = np.uint64(40)  # bits of a word that decide on the order of rows of one level


def spread(codes, *key):
    """Return for every row a number in (0, 1), evenly spread among the rows of its level."""
    words = public_words(len(codes), "values", *key)
    order = np.argsort((codes.astype(np.uint64) << RANK) | (words >> (np.uint64(64) - RANK)))
    counts = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    parts = np.empty(len(codes))
    parts[order] = (rank + 0.5) / np.repeat(counts, counts)
    return parts


def cdf_at(law, parts, *, whole):
    """Return the numbers below which these parts of a law are."""
    low, high, weight = map(np.array, law)
    share = weight / weight.sum()
    upto = np.cumsum(share)
    cell = np.minimum(np.searchsorted(upto, parts), len(upto) - 1)
    inside = np.clip((parts - upto[cell] + share[cell]) / share[cell], 0.0, 1.0)
    low, high = low[cell], high[cell]
    numbers = low * (1 - inside) + high * inside
    if whole:
        return np.clip(np.ceil(numbers), low + 1, high)
    return np.clip(numbers, np.nextafter(low, np.inf), high)


def laws_of(edges, laws, *, whole):
    """Return the laws of all bins between edges, none of them empty, as tuples.

    A bin of which nothing is known has a uniform law; an open one the number beside its edge.
    """
    ends, found = [-math.inf, *edges, math.inf], []
    for low, high, law in zip(ends[:-1], ends[1:], laws, strict=True):
        bottom, top, weight = (np.asarray(part, dtype=np.float64) for part in law)
        if not weight.size:
            bottom, top, weight = (np.array([x]) for x in (*_ends_of_cell(low, high, whole), 1.0))
        if whole:
            bottom, top = np.floor(bottom), np.floor(top)
            some = top > bottom
            if not some.any():  # whole numbers are elsewhere: the nearest one below
                bottom, some = top - 1, weight == weight.max()
            bottom, top, weight = bottom[some], top[some], weight[some]
        found.append(tuple(tuple(part.tolist()) for part in (bottom, top, weight)))
    return tuple(found)


def _ends_of_cell(low, high, whole):
    """Return the ends of a cell ``(low, high]``, those of the number at its edge if it is open."""
    if math.isinf(low):
        high = math.floor(high) if whole else high
        return high - 1.0 if whole else math.nextafter(high, -math.inf), high
    if math.isinf(high):
        low = math.floor(low) if whole else low
        return low, low + 1.0 if whole else math.nextafter(low, math.inf)
    return low, high


def laws_of_intervals(edges, *, whole):
    """Return uniform laws of public bins, closed on the left, the last one on both sides.

    A bin with an infinite end is as wide as the bin beside it; without one, it is a single number.
    """
    ends = list(edges) if len(edges) > 2 or any(map(math.isfinite, edges)) else [0.0, 0.0]
    if math.isinf(ends[0]):
        width = ends[2] - ends[1] if len(ends) > 2 else 0.0
        ends[0] = ends[1] - width if math.isfinite(width) else ends[1]
    if math.isinf(ends[-1]):
        width = ends[-2] - ends[-3] if len(ends) > 2 else 0.0
        ends[-1] = ends[-2] + width if math.isfinite(width) else ends[-2]
    laws = []
    for i, (low, high) in enumerate(pairwise(ends)):
        last = i == len(ends) - 2
        if whole:
            bottom, top = math.ceil(low) - 1, math.floor(high) if last else math.ceil(high) - 1
        else:
            bottom = math.nextafter(low, -math.inf)
            top = high if last else math.nextafter(high, -math.inf)
        if not top > bottom:
            bottom = top - 1.0 if whole else math.nextafter(top, -math.inf)
        laws.append(((float(bottom),), (float(top),), (1.0,)))
    return tuple(laws)


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
