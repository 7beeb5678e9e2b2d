"""How far the rows of every column reach from a centre, and where to clip their squares."""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skdp.columns._magnitude_histogram import WIDTHS, OctaveEnds, is_significant
from skdp.columns._tail import HIDDEN, read_tail
from skdp.kernel._bins import OctaveCells
from skdp.kernel._columns import ColumnCells
from skdp.location._clip import Clip
from skdp.scales._column_noise import APART, REACH, ColumnNoise, noise_level
from skdp.scales._log_histogram import Reading

CELLS = OctaveCells(halvings=1)
ENDS = OctaveEnds(CELLS)
EDGES = ENDS.high[CELLS.n_side :]  # of the distances 0, then two to the octave, closed above
OCTAVE = ENDS.octave[CELLS.n_side :]
PER_OCTAVE = 2
OCTAVES_BELOW, OCTAVES_ABOVE = 6, 18
FINER = 4  # radii looked at between two edges
WEIGHT = 0.7  # of a bias beside noise
CERTAIN = 2.5  # standard deviations that rows are clear of
UNSEEN = 4.0  # standard deviations of the rows that one cell may hide
FARTHER, FAINT = 2, 0.5  # octaves beyond those seen, and standard deviations of what may be there
# Part of its excess that a tail of distances, or squares, keeps over an octave if much is beyond.
SLOW = {1: 0.15, 2: 0.05}
MISSING = 0.2  # part of the rows that makes a reach doubtful if it was not seen within
LARGEST = float(np.finfo(np.float64).max)


class DistanceHistogram1d:
    """A released histogram of the distances of one column from a centre."""

    def __init__(self, counts, scale, law, n_rows, unit, seen=None, power=1):
        self._counts = np.asarray(counts, dtype=np.float64)
        self.sd = scale * (math.sqrt(2) if law == "laplace" else 1)
        self._significant = (
            is_significant(self._counts, OCTAVE, scale, law=law) if seen is None else seen
        )
        self.n_rows, self._unit, self._power = n_rows, unit, power
        self._noise = {"scale": scale, "law": law}

    @cached_property
    def reading(self):
        """What is seen: nothing, zeros only, or the farthest distance with many rows about it."""
        far = np.flatnonzero(self._significant[1:])[::-1] + 1
        if not far.size:
            return Reading(bool(self._significant[0]))
        return Reading(True, min(float(self._unit) * float(EDGES[self._climbed(far)]), LARGEST))

    @property
    def ends_early(self):
        """Whether rows stand out more than an octave farther than what is taken for the reach."""
        far = np.flatnonzero(self._significant[1:]) + 1
        return bool(far.size) and float(EDGES[far[-1]]) > 2 * self.reading.scale / self._unit

    def _climbed(self, far):
        """Return the cell from which on rows are many, those together that are thinly spread.

        A false cell j octaves higher costs 2^j in noise, 4^j in that of squares, and is to be as
        rare. Of squares that holds for cells with a gap below as well.
        """
        runs = np.split(far, np.flatnonzero(np.diff(far) < -1) + 1)
        while self._power > 1 and len(runs) > 1:
            noise = self.sd * math.sqrt(len(runs[0]))
            if self._counts[runs[0]].sum() > noise * self._level(runs[0][0] - runs[1][0]):
                break
            del runs[0]
        run = runs[0]
        clear = self._clear(np.cumsum(self._counts[run]))
        at, higher = run[np.argmax(clear)], 0
        while at != higher:
            higher, cells = at, np.arange(min(at + WIDTHS[-1], EDGES.size - 1), at, -1)
            clear = np.cumsum(self._counts[cells])
            clear = np.flatnonzero(self._clear(clear, self._level(cells - at)))
            at = cells[clear[0]] if clear.size else at
        return at

    def _level(self, cells):
        """Return what false rows so many cells higher exceed, in noise, so rarely as they cost."""
        octaves = cells / PER_OCTAVE
        return -ndtri(REACH / self._power * 4.0 ** (-self._power * octaves) / (1 + octaves))

    def _clear(self, mass, level=CERTAIN):
        """Return which sums of 1, 2, 3... counts are clear of their noise."""
        return mass > level * self.sd * np.sqrt(np.arange(1, mass.size + 1))

    @property
    def inside(self):
        """Whether nothing is seen farther away than the unit."""
        return self.reading.scale <= self._unit

    @property
    def unseen(self):
        """How many rows may be anywhere without being seen."""
        return UNSEEN * self.sd

    @cached_property
    def _cells(self):
        """The cells around the scale: their edges from 0 on, and their counts."""
        at = int(np.searchsorted(EDGES, self.reading.scale / self._unit))
        first = max(1, at - OCTAVES_BELOW * PER_OCTAVE)
        part = slice(first, min(EDGES.size, at + OCTAVES_ABOVE * PER_OCTAVE + 1))
        return np.append(0.0, EDGES[part]) / EDGES[at], self._counts[part]

    def beyond(self, part):
        """Return the distance beyond which a part of the rows lies, as far as can be told.

        0.0 if nothing is seen, or where most rows are at the centre.
        """
        if not self.reading.scale:
            return 0.0
        top = self._size(self.tail(1).top * self.reading.scale)
        mass = np.cumsum(self._counts[:top][::-1])
        enough = np.flatnonzero(self._clear(mass) & (mass > part * self.n_rows))
        return float(self._unit * EDGES[top - 1 - enough[0]]) if enough.size else 0.0

    def _size(self, radius):
        """Return how many cells end within a radius."""
        return int(np.searchsorted(EDGES, radius / self._unit, side="right"))

    def thin(self, radius):
        """Return whether a good part of the rows may be farther away than a radius."""
        return self.is_thin(self.near(radius))

    def is_thin(self, near):
        """Return whether so many rows seen near leave a good part of all."""
        return self.n_rows - near > MISSING * self.n_rows

    @property
    def at_centre(self):
        """How many rows are seen at the centre itself."""
        return float(self._counts[0] * self._significant[0])

    def moment(self, power, top):
        """Return the sum of powers of the distances up to a top, both in units of the scale."""
        edges, counts = self._cells
        within = edges[1:] <= top * (1 + 1e-9)
        return float(np.power((edges[1:] + edges[:-1]) / 2, power)[within] @ counts[within])

    def near(self, radius):
        """Return how many rows are seen within a radius."""
        size = self._size(radius)
        near = self._significant & (np.arange(EDGES.size) < size)
        near[max(0, size - OCTAVES_BELOW * PER_OCTAVE) : size] = True
        return self._counts[near].sum()

    def tail(self, power):
        edges, counts = self._cells
        known = {"n": self.n_rows, "power": power}
        return read_tail(edges**power, counts, self.sd, 1.0, **known)

    def best(self, noise, power=1):
        """Return the radius at which noise and bias of a mean of clipped powers balance."""
        scale = self.reading.scale
        if not scale:
            return Clip(1.0, math.inf)
        tail = self.tail(power)
        steps = np.arange((len(tail.cuts) - 1) * FINER + 1) / FINER
        radii = np.interp(steps, np.arange(len(tail.cuts)), tail.cuts)[1:]
        bias = tail.at("likely", radii) / self.n_rows
        best = radii[np.argmin(np.square(noise * radii) + np.square(WEIGHT * bias))]
        excess = (float(tail.at("most", best)) + self.hidden(tail, power)) / self.n_rows
        with np.errstate(over="ignore"):
            excess = float(excess * np.float64(scale) ** power) if excess else 0.0
            return Clip(float(min(scale * best ** (1 / power), 2.0**1000)), excess)

    def hidden(self, tail, power):
        """Return the sum of powers of the rows that may lie beyond the farthest that are seen.

        As many rows as the counts do not rule out, in any octave, if the tail falls slowly; less in
        every octave farther away if it does not.
        """
        edges, counts = self._cells
        top, below = tail.at("likely", tail.top * 2.0 ** np.array([0, -power]))
        slow = min(1.0, top / max(below, 1e-300) / SLOW[power]) ** (2 + np.arange(FARTHER))
        top = np.flatnonzero(edges**power <= tail.top)[-1]
        rows = np.zeros(FARTHER * PER_OCTAVE)
        beyond = counts[top : top + rows.size]
        rows[: beyond.size] = beyond
        rows = rows.reshape(-1, PER_OCTAVE).sum(axis=1) + FAINT * self.sd * math.sqrt(PER_OCTAVE)
        middle = edges[top] * 2.0 ** (np.arange(FARTHER) + 0.5)
        return float(np.max(slow * np.maximum(rows, 0.0) * middle**power))

    def apart(self, top):
        """Return the squares of a group of rows beyond a top whose count chance hardly makes.

        It may stand out too little to be clipped beyond. As far as its cell ends, with what noise
        may hide of it; lengths are in units of the scale.
        """
        scale = self.reading.scale / self._unit
        first = self._size(top * self.reading.scale)
        rows, edges = self._counts[first:], EDGES[first:]
        far = 1 + np.arange(rows.size) / (4 * PER_OCTAVE)
        shown = rows > noise_level(APART / np.square(far), 1, **self._noise)
        with np.errstate(over="ignore"):
            most = (rows + self.sd)[shown] * np.square(edges[shown] / scale)
        return float(np.max(most, initial=0.0))


def release_column_distances(table, *, center, unit, n_rows, share, step):
    """Release how far the entries of every column are from a point."""
    release = table.ask(_cells(center, unit, folded=True), step, share=share)
    law = release.scale, ColumnNoise(table.budget).law
    return [
        DistanceHistogram1d(c, *law, n_rows, u) for c, u in zip(release.value, unit, strict=True)
    ]


def release_sides(table, *, center, unit, n_rows, share, step):
    """Release how far the entries of every column are below and above a point.

    Parameters are those of :func:`release_column_distances`.
    """
    release = table.ask(_cells(center, unit), step, share=share)
    law, found = (release.scale, ColumnNoise(table.budget).law), []
    for c, u in zip(release.value, unit, strict=True):
        seen = is_significant(c, ENDS.octave, release.scale, law=law[1])
        sides = ((part[CELLS.n_side :: step] for part in (c, seen)) for step in (-1, 1))
        found.append(
            tuple(DistanceHistogram1d(one, *law, n_rows, u, there, 2) for one, there in sides)
        )
    return found


def _cells(center, unit, *, folded=False):
    """Return the question where all columns lie from a centre, in a unit."""
    d = len(center)
    return ColumnCells(np.arange(d), (CELLS,) * d, center, unit, folded)


CELL = 4 / 3  # the least ratio of the edges of a cell
SHORTEST, LONGEST = 2.0**-500, 2.0**400  # radii with squares among the floats


class SquareClip(NamedTuple):
    """An interval ``center`` +- ``radius``, and what clipping to it takes from the variance.

    ``level`` is a guess of the mean of ((x - center) / radius)^2, in [0, 1]. ``excess`` is what the
    variance loses, as a rule at most: infinite where a tail may well have no variance.
    """

    center: float
    radius: float
    level: float = 0.0
    excess: float = math.inf
    thin: bool = True


def best_squares(sides, center, noise):
    """Return the SquareClip at which noise and bias of a variance balance.

    Notes
    -----
    The interval lies around a guess of the mean, so that the squares of clipped entries are as
    small as can be. Clipping moves no two entries apart, so it lowers the variance, which is the
    mean of half of the squared differences of two rows.

    The mean square of (x - m) loses the mean of ((x - m)^2 - r^2)_+, for x above m + r at most
    ``(m + r - m) / (m + r - c)`` times that of ((x - c)^2 - (m + r - c)^2)_+, if that is above 1:
    (x - m)^2 - r^2 is the product of x - (m + r) and x + r - m, whose ratio to x - c + m + r - c
    falls in x where m < c.
    """
    scale = max(one.reading.scale for one in sides)
    if not scale:
        return SquareClip(center, 1.0)
    below, above = (_Side(one, scale) if one.reading.scale else None for one in sides)
    seen = [side for side in (below, above) if side]
    n = seen[0].n
    offset = ((above.moment(1) if above else 0.0) - (below.moment(1) if below else 0.0)) / n
    lowest, highest = -below.top if below else 0.0, above.top if above else 0.0
    offset = float(np.clip(offset, lowest, highest))
    square = max(sum(side.moment(2) for side in seen) / n - offset * offset, 0.0)
    ends = [side.radii + sign * offset for side, sign in ((below, 1), (above, -1)) if side]
    radii = np.concatenate(ends)
    radii = radii[radii > 0] if (radii > 0).any() else np.ones(1)
    lost = [side.risk(radii + sign * offset) for side, sign in ((below, -1), (above, 1)) if side]
    bias = np.sum(lost, axis=0) / n
    worth = np.maximum(np.square(radii) - square, np.minimum(square, np.square(radii)))
    best = float(radii[np.argmin(np.square(noise * worth) + np.square(bias))])
    expected = most = hidden = 0.0
    for side, sign in ((below, -1), (above, 1)):
        reach = best + sign * offset
        if side is None:
            more = HIDDEN * seen[0].sd * best * best
        else:
            stretch = max(best / reach, 1.0) if reach > 0 else math.inf
            likely = float(side.lost("expected", reach)) * stretch
            more = float(side.lost("most", reach)) * stretch - likely
            expected += likely
            hidden = max(hidden, side.hidden() * stretch)
        most = math.hypot(most, more)
    with np.errstate(over="ignore"):
        excess = float((expected + most + hidden) / n * np.float64(scale) ** 2)
        unknown = any(side.heavy for side in seen) or any(one.ends_early for one in sides)
        excess = math.inf if unknown else excess
        radius = float(np.clip(best * scale, SHORTEST, LONGEST))
    reach = [CELL * max(radius + sign * offset * scale, 0.0) for sign in (-1, 1)]
    near = sum(one.near(r) for one, r in zip(sides, reach, strict=True)) - sides[0].at_centre
    return SquareClip(
        float(np.nan_to_num(center + offset * scale)),
        radius,
        level=min(square / (best * best), 1.0),
        excess=excess,
        thin=sides[0].is_thin(near),
    )


class _Side:
    """One side in units of the larger one."""

    def __init__(self, reach, unit):
        self._tail, self._unit = reach.tail(2), reach.reading.scale / unit
        self._reach, self.n, self.sd = reach, reach.n_rows, reach.sd
        self.top = math.sqrt(self._tail.top) * self._unit
        self.heavy = self._tail.heavy
        steps = np.arange((len(self._tail.cuts) - 1) * FINER + 1) / FINER
        squares = np.interp(steps, np.arange(len(self._tail.cuts)), self._tail.cuts)
        self.radii = np.sqrt(squares[1:]) * self._unit

    def moment(self, power):
        return self._reach.moment(power, math.sqrt(self._tail.top)) * self._unit**power

    def risk(self, distances):
        """Return what is likely lost: entries are often equal and at the end of a cell."""
        at = np.searchsorted(self.radii, distances * (1 + 1e-9), side="right") - 1
        return np.where(at >= 0, self.lost("likely", self.radii)[at], self.lost("likely", 0.0))

    def lost(self, what, distances):
        squares = np.square(np.maximum(distances, 0.0) / self._unit)
        return self._tail.at(what, squares) * self._unit**2

    def hidden(self):
        apart = self._reach.apart(math.sqrt(self._tail.top))
        return max(self._reach.hidden(self._tail, 2), apart) * self._unit**2
