"""What two passes over a table hold of a column: counts and sums of cells, and some entries."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.mechanisms import _compiled
from skdp.mechanisms._norms import blocks
from skdp.readers import map_merge
from skdp.readers._loop import strips

SMALLEST, LARGEST = 2.0**-900, 2.0**900


@dataclass(frozen=True)
class Grid:
    """The public grid ``origin + unit * k`` with ``|k| <= 2^bits``."""

    origin: float  # public or released, finite
    unit: float  # public or released, in [2^-900, 2^900]
    bits: int = 36  # at most 52

    def __post_init__(self):
        if not (math.isfinite(self.origin) and SMALLEST <= self.unit <= LARGEST):
            raise ValueError(
                "a grid needs a finite origin and a unit in [2**-900, 2**900]. Got "
                f"origin={self.origin!r}, unit={self.unit!r}."
            )

    def integers(self, x):
        """Return ``floor((x - origin) / unit)`` of the finite entries, clipped to the grid's ends.

        Shapes: x (n,); k (number of finite entries,).

        Notes
        -----
        **Privacy**: elementwise, hence a function of the row; NaN and infinity count as absent.
        """
        x = np.asarray(x, dtype=np.float64).ravel()
        finite = np.isfinite(x)
        if not finite.all():
            x = x[finite]
        with np.errstate(over="ignore"):
            k = x - self.origin
            k /= self.unit
        np.floor(k, out=k)
        np.clip(k, -(2.0**self.bits), 2.0**self.bits, out=k)
        return k.astype(np.int64)

    def value(self, k):
        """Return the number at position ``k`` (of a released integer) as a float."""
        return self.origin + np.asarray(k, dtype=np.float64) * self.unit


def gathered_columns(rows, columns):
    """Return columns of a table. Private.

    Shapes: x (k, number of finite rows).
    """
    none = np.empty((len(columns), 0))
    parts = map_merge(rows, lambda start, block: list(strips(block, columns)), list.__add__)
    return np.concatenate([none, *parts], axis=1)


FINE = 7  # bits: 128 cells for each octave of distances from the origin
OCTAVES = 36  # of a Grid
MIDDLE = (OCTAVES << FINE) + 1  # the cell of zero
N_CELLS = 2 * MIDDLE + 1
PART = 2**16  # entries whose sums are exact in float64: 2^16 of at most 2^36


@dataclass(frozen=True)
class Job:
    """A column on a grid, of which sums of ``products`` are wanted; by default its own sum."""

    column: int
    grid: Grid
    products: object = None

    def entries(self, strip):
        """Return the integers of a strip, each by itself."""
        return self.grid.integers(strip[self.column])

    def sums(self, k):
        """Return what sums are made of, a list of arrays of integers of at most 2^36."""
        return [k] if self.products is None else self.products(k)


def _cell(k):
    """Return the cells of integers: their signs, octaves, and 7 bits more."""
    bits = np.abs(k).astype(np.float64).view(np.int64) >> (52 - FINE)
    cell = np.maximum(bits - ((1023 << FINE) - 1), 0)
    return MIDDLE + np.where(k < 0, -cell, cell)


def _edges():
    """Return the smallest and the largest integer of every cell, rising; a few hold none."""
    octave, part = np.divmod(np.arange(MIDDLE + 1), 1 << FINE)
    start = -((-(((1 << FINE) + part) << octave)) >> FINE)  # rounded up
    first = np.concatenate([[0], start[:MIDDLE]])
    last = np.concatenate([[0], start[1:MIDDLE] - 1, start[MIDDLE - 1 : MIDDLE]])
    return np.concatenate([-last[:0:-1], first]), np.concatenate([-first[:0:-1], last])


FIRST, LAST = _edges()


@dataclass(frozen=True)
class Wanted:
    """Entries to gather: so many of the smallest and the largest, and all of some cells."""

    ends: int = 0
    cells: np.ndarray = None

    @property
    def key(self):
        """What equal wishes have in common."""
        return self.ends, None if self.cells is None else self.cells.tobytes()


@dataclass(frozen=True)
class Cells:
    """The counts and the exact sums of the cells of a column, with some of its entries. Private."""

    counts: np.ndarray  # shape (N_CELLS,)
    sums: np.ndarray  # shape (number of products, N_CELLS)
    # lowest, highest: ndarrays of int64, rising: some of the smallest and as many of the largest
    # entries; none before they are gathered
    lowest: np.ndarray = None
    highest: np.ndarray = None
    # ndarray of int64, rising: all entries of the cells that were asked for
    inside: np.ndarray = None

    @property
    def n(self):
        """The number of entries."""
        return int(self.upto[-1])

    @property
    def upto(self):
        """The number of entries below every cell, and of all: shape (N_CELLS + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def sums_upto(self):
        """The sums of the entries below every cell, and of all: shape (products, N_CELLS + 1)."""
        zero = np.zeros((len(self.sums), 1), dtype=np.int64)
        return np.concatenate([zero, np.cumsum(self.sums, axis=1)], axis=1)

    @property
    def width(self):
        """A bound of the distance of two entries."""
        held = np.flatnonzero(self.counts)
        return int(LAST[held[-1]]) - int(FIRST[held[0]]) if held.size else 0

    @property
    def largest(self):
        """A bound of the magnitudes of all entries."""
        held = np.flatnonzero(self.counts)
        return max(-int(FIRST[held[0]]), int(LAST[held[-1]]), 0) if held.size else 0


def counted_cells(rows, jobs):
    """Return the :class:`Cells` of every job, without entries, by one pass.

    Notes
    -----
    An entry falls into a cell by itself; rows with NaN or infinity into none. Sums of integers are
    exact, so that they do not depend on how rows are cut into blocks.
    """

    def statistic(start, block):
        counts = [_empty(job) for job in jobs]
        if _Loops.serve(jobs):
            return _Loops(jobs).cells(block, counts)
        for strip in _long_strips(block):
            for job, of_job in zip(jobs, counts, strict=True):
                k = job.entries(strip)
                cell = _cell(k)
                of_job[0] += np.bincount(cell, minlength=N_CELLS)
                for i, x in enumerate(job.sums(k)):
                    of_job[i + 1] += np.bincount(cell, x, N_CELLS).astype(np.int64)
        return counts

    counts = map_merge(rows, statistic, lambda one, two: list(map(np.add, one, two)))
    return [Cells(of_job[0], of_job[1:]) for of_job in counts]


def with_entries(rows, jobs, cells, wanted):
    """Return the :class:`Cells` with the entries that are wanted of each, by one more pass."""
    asked = [(job, one.key) for job, one in zip(jobs, wanted, strict=True)]
    several = zip(asked, jobs, cells, wanted, strict=True)
    gathers = {key: _Gather(*it) for key, *it in several}  # of equal ones, one

    def statistic(start, block):
        found = [gather.nothing() for gather in gathers.values()]
        if _Loops.serve(jobs) and all(gather.inside is None for gather in gathers.values()):
            loops = _Loops([gather.job for gather in gathers.values()])
            for part in blocks(block, PART):
                found = merge(found, loops.ends(block[part], gathers.values()))
            return found
        for strip in _long_strips(block):
            found = merge(found, [gather.of(strip) for gather in gathers.values()])
        return found

    def merge(one, two):
        several = zip(gathers.values(), one, two, strict=True)
        return [gather.merged(*of_job) for gather, *of_job in several]

    found = zip(gathers.items(), map_merge(rows, statistic, merge), strict=True)
    whole = {key: gather.sorted(*entries) for (key, gather), entries in found}
    pairs = zip(cells, asked, strict=True)
    return [Cells(of_job.counts, of_job.sums, *whole[key]) for of_job, key in pairs]


class _Loops:
    """The compiled loops, for jobs without sums: the same integers."""

    @staticmethod
    def serve(jobs):
        """Return whether they can do the work."""
        plain = all(job.grid.bits == OCTAVES and len(_empty(job)) == 1 for job in jobs)
        return _compiled.loops is not None and plain

    def __init__(self, jobs):
        self._jobs = np.array([job.column for job in jobs], dtype=np.int64)
        grids = [(job.grid.origin, job.grid.unit) for job in jobs]
        self._grids = np.ascontiguousarray(np.array(grids, dtype=np.float64).T)

    def cells(self, block, counts):
        """Return the counts of a block."""
        table = np.zeros((len(counts), N_CELLS), dtype=np.int64)
        for _, x in _compiled.plain_parts(block):
            told = x.shape[1], 2.0**OCTAVES, 52 - FINE, MIDDLE
            _compiled.loops.grid_cells(x, self._jobs, *self._grids, table, *told)
        return list(table[:, None])

    def ends(self, block, gathers):
        """Return the outermost entries of a block, as :meth:`_Gather.of`."""
        k, found = len(gathers), [gather.nothing() for gather in gathers]
        ends = np.array([gather.ends for gather in gathers], dtype=np.float64)
        for _, x in _compiled.plain_parts(block):
            out, n = np.empty((k, 2, len(x) + 1), dtype=np.int64), np.empty((k, 2), dtype=np.int64)
            told = x.shape[1], 2.0**OCTAVES
            _compiled.loops.grid_ends(x, self._jobs, *self._grids, ends, out, n, *told)
            for of_job, sides, many in zip(found, out, n, strict=True):
                for kept, side, m in zip(of_job, sides, many, strict=False):
                    kept.append(side[:m].copy())
        return found


class _Gather:
    """Keeps the outermost entries of a job, and those of some cells."""

    def __init__(self, job, cells, wanted):
        self.job, self.inside = job, wanted.cells
        self.k = k = min(wanted.ends, cells.n)
        last = np.searchsorted(cells.upto, k) - 1  # the cell in which the k smallest end
        first = np.searchsorted(cells.upto, cells.n - k, side="right") - 1
        self.low, self.high = (LAST[last], FIRST[first]) if k else (None, None)

    @property
    def ends(self):
        """Up to where the smallest entries go, and from where on the largest ones."""
        return (self.low, self.high) if self.k else (-np.inf, np.inf)

    def of(self, strip):
        k, none = self.job.entries(strip), np.empty(0, dtype=np.int64)
        low, high = (k[k <= self.low], k[k >= self.high]) if self.k else (none, none)
        return [low], [high], [none if self.inside is None else k[self.inside[_cell(k)]]]

    @staticmethod
    def nothing():
        return [], [], []

    def merged(self, one, two):
        low, high, inside = (a + b for a, b in zip(one, two, strict=True))
        return self._kept(low, -1), self._kept(high, 1), inside

    def _kept(self, parts, side):
        """Return parts that hold the k outermost, of which there may be some more."""
        if sum(map(len, parts)) <= 4 * self.k:
            return parts
        x = np.concatenate(parts)
        x.partition(self.k - 1 if side < 0 else len(x) - self.k)
        return [x[: self.k] if side < 0 else x[-self.k :]]

    def sorted(self, low, high, inside):
        low, high, inside = (
            np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
            for parts in (low, high, inside)
        )
        return low[: self.k], high[len(high) - self.k :], inside


def _empty(job):
    n_sums = len(job.sums(np.zeros(0, dtype=np.int64)))
    return np.zeros((1 + n_sums, N_CELLS), dtype=np.int64)


def _long_strips(block):
    """Yield strips of enough entries to be worth a histogram of thousands of cells."""
    for start in range(0, len(block), PART):
        parts = list(strips(block[start : start + PART]))
        if parts:
            yield parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
