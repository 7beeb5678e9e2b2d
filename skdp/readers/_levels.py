"""Ranks of thresholds that close in on something: one pass counts for many levels of a search."""

from dataclasses import dataclass

import numpy as np

from skdp.mechanisms import _compiled
from skdp.mechanisms._weighed import unit_of, weighed
from skdp.readers._loop import strips

WIDTH, TOP = 12, 52  # a window has 2^12 cells; the first one those of all signs and exponents
MOST_WINDOWS = 2**8  # of a pass: 8 MB
_SIGN = np.uint64(1 << 63)


def order_of_floats(x):
    """Map floats to integers of the same order (the sign bit flipped, negatives reversed)."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    return bits ^ ((bits.view(np.int64) >> 63).view(np.uint64) | _SIGN)


def places(x, closed):
    """Map floats to the order of all floats, with one zero.

    ``closed``: from zero on one less, so that powers of two are the last of a cell, on both sides.
    """
    order = order_of_floats(x + 0.0)
    return order - (order >> np.uint64(63)) if closed else order


@dataclass(frozen=True)
class Windows:
    """How many entries of finite rows are in each cell of windows, and outside: picklable.

    ``asked``: of each window (column, centre, unit), the number of its first cell, and the shift: a
    cell is 2^shift places of differences from the centre, or, given a unit, of distances in it.
    """

    asked: tuple
    closed: bool

    def __call__(self, start, block):
        names, first, shift = zip(*self.asked, strict=True)
        columns, center, unit = zip(*names, strict=True)
        first, shift = (np.array(of, dtype=np.uint64) for of in (first, shift))
        counts = np.zeros((len(names), 2**WIDTH + 1), dtype=np.int64)
        if _compiled.loops is not None:
            unit = np.array([one or 0.0 for one in unit])
            of = (
                np.array(columns),
                first.view(np.int64),
                shift.view(np.int64),
                np.array(center, dtype=float),
            )
            for _, x in _compiled.plain_parts(block):
                _compiled.loops.cells(x, *of, unit, counts, x.shape[1], self.closed)
            return counts
        for strip in strips(block, list(columns)):
            for j, x in enumerate(strip):
                y = x - center[j] if unit[j] is None else np.abs(x - center[j]) / unit[j]
                at = (places(y, self.closed) >> shift[j]) - first[j]
                at = np.minimum(at, np.uint64(2**WIDTH)).astype(np.int64)
                counts[j] += np.bincount(at, minlength=2**WIDTH + 1)
        return counts


class Levels:
    """The ranks of thresholds in some rows, from what has been counted of these in a fit.

    ``total``: sums a statistic over the rows, by their weights.

    **Privacy**: they are the integers that a pass for each question counts, to the last bit, so an
    answer does not tell what was counted before. What was is private, and never leaves. Its time
    tells whether there was a pass, and cells counted ahead are those of exact ranks. Where others
    hold the clock, ``counts_ahead`` is False: then passes are a function of thresholds alone.
    """

    counts_ahead = True  # of all tables of a process

    def __init__(self, total):
        self._total, self._known, self._unit = total, {}, None

    def ranks(self, names, thresholds, parts, *, closed):
        """Return how many entries are up to thresholds, places of a column each, and all rows.

        ``parts`` of all rows, in thousandths, are searched for: there cells are counted ahead.
        """
        while True:
            tops = [(name, 0, TOP, closed) for name in names]
            found = [self._rank(*of) for of in zip(tops, thresholds, strict=True)]
            wanted = {one for one in found if isinstance(one, tuple)}
            if not wanted:
                result = np.array(found, dtype=np.int64), self._known[tops[0]][-1]
                return result if self._unit is None else [weighed(x, self._unit) for x in result]
            if self.counts_ahead and wanted.isdisjoint(tops):
                wanted |= {self._ahead(*of) for of in zip(tops, parts, strict=True)}
            wanted = list(wanted - self._known.keys())
            for first in range(0, len(wanted), MOST_WINDOWS):
                self._count(wanted[first : first + MOST_WINDOWS], closed)

    def _rank(self, window, threshold):
        """Return the rank of a threshold, or the window that tells it."""
        while window in self._known:
            name, first, shift, closed = window
            if not (threshold + 1) % 2**shift:
                return int(self._known[window][(threshold >> shift) - first + 1])
            window = _window(name, threshold >> shift, shift, closed)
        return window

    def _ahead(self, top, part):
        """Return the window of the cell with a part of all rows."""
        ranks = self._known[top]
        cell = int(np.searchsorted(ranks, part * ranks[-1] / 1000))
        return _window(top[0], max(cell - 1, 0), TOP, top[-1])

    def _count(self, windows, closed):
        """Count what is in windows: cells of known ones, or the first of their columns."""
        counts = self._total(Windows(tuple(of[:3] for of in windows), closed))
        self._unit = unit_of(counts)
        for window, of_cells in zip(windows, np.asarray(counts), strict=True):
            name, first, shift, _ = window
            # counts end at places that are known
            below = self._rank((name, 0, TOP, closed), (first << shift) - 1) if first else 0
            self._known[window] = np.append(below, below + np.cumsum(of_cells[:-1]))


def _window(name, cell, shift, closed):
    """Return the window of a cell of another one."""
    finer = max(shift - WIDTH, 0)
    return name, cell << (shift - finer), finer, closed
