"""Levels that a fit has found: bins of numbers, and texts that occur often."""

from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real

import numpy as np

from skdp.marginals._levels import MISSING, Values, names_of
from skdp.readers._coded import LevelBins

__all__ = ["Cells", "Found"]


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
