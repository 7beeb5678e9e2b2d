"""Bins of every column that hold about equally many rows, found without bounds."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._columns import EdgeCells
from skdp.mechanisms._exact import exact
from skdp.scales._column_noise import BINS, noise_level, windows_above

TOP = int(np.float64(np.finfo(np.float64).max).view(np.int64))  # of the largest float
BELOW_ALL = -TOP - 1  # of -inf
MANTISSA = 52
BIAS = 1023
ONE_BY_ONE, GROUP = 64, 64  # octaves around 1 that are cells of their own; of a group beyond them
CODES = 8  # whole numbers up to this are cells of their own: most codes; single years are too light


def float_to_key(x):
    """Return the bits of every magnitude with its sign: neighbouring floats have such integers."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(np.signbit(x), -1, 1) * np.abs(x).view(np.int64)


def key_to_float(keys):
    """Return the numbers of keys, float64: undoes :func:`float_to_key`."""
    keys = np.asarray(keys, dtype=np.int64)
    return np.abs(keys).view(np.float64) * np.sign(keys)


def octave_keys():
    """Return the keys of the edges of cells (a, b] for all floats, rising, with both ends.

    Zero has a cell of its own. The octaves from 2^-64 to 2^64 are one cell each, on either side;
    beyond them 64 at a time; the subnormal numbers are one more.
    """
    near = np.arange(-ONE_BY_ONE, ONE_BY_ONE + 1)
    far = np.append(np.arange(ONE_BY_ONE + GROUP, BIAS, GROUP), BIAS - 1)
    exponents = np.concatenate([-far[::-1], near, far])
    side = (exponents + BIAS) << MANTISSA
    return np.concatenate([[BELOW_ALL], -side[::-1], [-1, 0], side, [TOP]])


def whole_keys():
    """Return the keys of the edges of cells (a, b] of whole numbers, rising, with both ends.

    Those from -7 to 8 have a cell each; beyond them cells are those of :func:`octave_keys`.
    """
    octaves = octave_keys()
    far = octaves[np.abs(key_to_float(octaves)) > CODES]
    return np.sort(np.concatenate([far, float_to_key(np.arange(-CODES, CODES + 1))]))


def subdivide_keys(low, high, parts, *, whole=False):
    """Return at most ``parts - 1`` keys that divide the cell (low, high] evenly, and high - 1.

    So the number at the upper edge, be it a small integer or another short binary number, is alone
    in its cell. If ``whole``, for a cell of several whole numbers, the keys are those of the whole
    numbers below, and the largest one is alone.
    """
    low, high = int(low), int(high)  # differences are beyond 64 bits
    even = {low + (high - low) * i // parts for i in range(1, parts)} | {high - 1}
    if whole:
        even = set(float_to_key(np.floor(key_to_float(sorted(even)))).tolist())
    return sorted(key for key in even if key > low)


TAIL, THIN = 8.0, 1 / 16  # how fast bins grow with the part of the rows beyond, and the finest
APART = 2.0  # noises in a bin beside a cell that is a bin of its own


def bin_sizes(mass, fixed, *, n_bins, least, tails):
    """Return how much a bin should hold, at each cell, and which cells are bins of their own.

    A cell that cannot be divided and holds as much as a bin is one; the others share the rest of
    the bins.
    """
    own, shape = np.zeros(len(mass), dtype=bool), np.ones(len(mass))
    if tails:
        part = (np.cumsum(mass) - mass / 2) / max(mass.sum(), 1.0)
        shape = np.clip(TAIL * np.minimum(part, 1 - part), THIN, 1.0)
    while True:
        bins = max(n_bins - np.count_nonzero(own), 1)
        size = np.maximum((mass / shape)[~own].sum() / bins * shape, max(least, 1.0))
        more = fixed & ~own & (mass >= size)
        if not more.any():
            return size, own
        own |= more


def bin_numbers(mass, size, own, clear):
    """Return for every cell the number of its bin; the numbers rise."""
    numbers, at = np.zeros(len(mass), dtype=int), -1
    starts = np.flatnonzero(np.append(True, own[1:] | own[:-1]))
    for first, stop in zip(starts, [*starts[1:], len(mass)], strict=True):
        wanted = mass[first:stop] / size[first:stop]
        parts = math.floor(wanted.sum() + 0.5)
        if own[first] or (not parts and own.any() and clear(first, stop)):
            parts = 1
        inside = 0
        if parts > 1:
            middle = np.cumsum(wanted) - wanted / 2
            inside = np.minimum(middle * parts // wanted.sum(), parts - 1)
        numbers[first:stop] = at + bool(parts) + inside
        at += parts
    return np.maximum(numbers, 0)


# --- counts of cells that are divided again and again, estimated from all their noisy releases


class CellTree:
    """Released counts of nested cells of one column: each level counts parts of those before."""

    def __init__(self):
        self._levels, self._first = [], []

    def add(self, counts, variance, first=None):
        """Add a level."""
        if self._levels:
            self._first.append(first)
        self._levels.append((np.asarray(counts, dtype=np.float64), variance))

    def leaves(self):
        """Return estimates for the cells of the last level, and their variances, at most these.

        Notes
        -----
        Weighted least squares in two passes, as for a tree (Hay, Rastogi, Miklau & Suciu 2010):
        upwards, a cell is the mean of its count and of the sum of its parts, by inverse variance;
        downwards, what the parts lack of their cell is given to them by their variances.
        """
        upwards = self._upwards()
        best = upwards[-1][0]
        for (parts, v, *_), (_, _, total, spread), first in zip(
            upwards[-2::-1], upwards[:0:-1], self._first, strict=True
        ):
            sizes = np.diff(np.append(first, len(parts)))
            best = parts + v * np.repeat((best - total) / spread, sizes)
        return best, upwards[0][1]

    def roots(self):
        """Return estimates for the cells of the first level, and their variances."""
        return self._upwards()[-1][:2]

    def _upwards(self):
        """Return (counts, variances, sums of parts, variances of these), the last level first."""
        counts, variance = self._levels[-1]
        upwards = [(counts, variance, None, None)]
        for (own, v), first in zip(self._levels[-2::-1], self._first[::-1], strict=True):
            total, spread = np.add.reduceat(counts, first), np.add.reduceat(variance, first)
            counts, variance = (own * spread + total * v) / (v + spread), v * spread / (v + spread)
            upwards.append((counts, variance, total, spread))
        return upwards


ROUNDS = 8
PART = 0.3  # of what is left, for every round but the last
WIDTHS = 1, 2, 4, 8  # of windows of first cells
WITHIN_RANGE = 64  # first cells of a public range
HEAVY, CLEAR = 1.5, 3.0  # bins, and noises, in a cell that is divided
FINER, FEWEST, MOST = 4, 4, 64  # parts of it for each bin, at least and at most
ALONE = 0.9  # part of the rows of a cell in a single one of its parts
FRUITLESS, GREAT = 2, 0.2  # such divisions, after which only cells with that part of all rows go on
LEAST, ENOUGH, SHARES = 12.0, 8, (0.02, 0.2)
LARGEST = np.finfo(np.float64).max
FEW, FAINT = 4, 4.0  # bins that are looked for anyway, and the noises in them, at least
HIDES = 2.0  # noises above its count that a cell may hold


def bin_steps(share=SHARES[1]):
    """Return the planned steps of :func:`search_cells`, for at most so large a share."""
    return (Step("bins", at_most=share, times=ROUNDS, of=(EdgeCells,)),)


def bin_share(strength, n_columns):
    """Return a share for :func:`search_cells` that tells eight bins apart, between 2 and 20 %."""
    return float(np.clip(n_columns * (ENOUGH * LEAST / max(strength, 1.0)) ** 2, *SHARES))


def find_bins(table, columns, **search):
    """Release edges between which about equally many rows of a column lie."""
    return [column.edges() for column in search_cells(table, columns, **search)]


def search_cells(
    table,
    columns,
    *,
    n_rows,
    n_bins,
    share,
    label="bins",
    ranges=None,
    target=True,
    least=LEAST,
    tails=False,
    first=PART,
    whole=False,
):
    """Release counts of cells until none holds more than a bin: what bins are made of.

    Cells of the whole line are counted and those that hold much are divided, until no cell holds
    more than a bin should; every round counts all cells again. Bins are made of cells: one that
    holds as much as a bin, because many rows share a value, is a bin of its own, and the others
    share the rest.

    Notes
    -----
    **Privacy**: in every round the cells of a column are public or made of earlier releases. The
    number of rounds and all edges are made of releases; edges are short binary numbers, never
    entries of the table.
    """
    columns = np.asarray(columns, dtype=np.intp)
    if not columns.size:
        return []
    share, spent = exact(share), 0
    wanted = np.broadcast_to(n_bins, columns.shape)
    ranges = [None] * len(columns) if ranges is None else ranges
    whole = np.broadcast_to(whole, columns.shape).tolist()
    some = any(whole)  # codes need no division: one more look at what the first round has merged
    search = [
        PartitionedColumn(int(k), one, tails, each)
        for k, one, each in zip(wanted, ranges, whole, strict=True)
    ]
    present = "target" if target else "all"
    for round_ in range(ROUNDS):
        last = round_ == ROUNDS - 1 or (round_ > some and not any(c.divided for c in search))
        now = share - spent if last else (share - spent) * exact(first)
        asked = EdgeCells(columns, tuple(key_to_float(c.keys) for c in search), present)
        release = table.ask(asked, share=now, label=label)
        spent += now
        noise = release.scale * math.sqrt(now / share)
        fewest = max(min(least * noise, n_rows / FEW), FAINT * noise)
        ends = np.cumsum([len(c.keys) - 1 for c in search])[:-1]
        for column, part in zip(search, np.split(release.value, ends), strict=True):
            column.read(part, release.scale, least=fewest, n_rows=max(float(n_rows), 1.0))
        if last:
            break
        for column in search:
            column.divide()
    return search


class PartitionedColumn:
    """The cells of one column: (keys[i], keys[i + 1]], and what was released of them."""

    def __init__(self, n_bins, bounds, tails, whole=False):
        self._n_bins, self._tails, self._known = n_bins, tails, bounds is not None
        self._whole, self._wide = whole, whole_keys() if whole else octave_keys()
        self.keys, self.divided = self._wide, True
        if self._known:
            low, high = (float(b) for b in bounds)
            part = np.arange(WITHIN_RANGE + 1) / WITHIN_RANGE
            inside = float_to_key(low * (1 - part) + high * part)
            self.keys = np.unique(np.concatenate([[BELOW_ALL], inside, [TOP]]))
        self._tree, self._first, self._fruitless = CellTree(), None, None

    def read(self, counts, sd, *, least, n_rows):
        """Take in a release: counts with noise of standard deviation ``sd``."""
        if self._first is None:
            seen = np.ones(len(counts), dtype=bool)
            if not self._known:
                false = BINS / len(counts)
                levels = {width: noise_level(false, width, scale=sd) for width in WIDTHS}
                seen = windows_above(counts, levels)
            first = np.flatnonzero(seen | np.append(True, seen[:-1]))
            self.keys = np.append(self.keys[first], TOP)
            self._root, self._significant = np.arange(len(first)), seen[first]
            self._tree.add(np.add.reduceat(counts, first), sd**2 * np.diff([*first, len(counts)]))
            self._fruitless = np.zeros(len(first), dtype=int)
        else:
            self._tree.add(counts, np.full(len(counts), sd**2), self._first)
        self._counts, self._variance = self._tree.leaves()
        total = np.cumsum(self._counts)  # made to rise by the mean of both ways to do so
        rising = np.maximum.accumulate(total) / 2 + np.minimum.accumulate(total[::-1])[::-1] / 2
        mass = np.diff(np.maximum(rising, 0.0), prepend=0.0)
        self._mass = mass * min(1.0, n_rows / max(mass.sum(), 1.0))
        self._least = least
        if self._first is not None:
            self._judge()

    def _judge(self):
        """Count for every cell the divisions since anything was told apart."""
        parts = np.diff(np.append(self._first, len(self._mass)))
        whole, parts, before = (
            np.repeat(of_cells, parts)
            for of_cells in (np.add.reduceat(self._mass, self._first), parts, self._fruitless)
        )
        self._fruitless = np.where(
            parts == 1, before, np.where(self._mass >= ALONE * whole, before + 1, 0)
        )

    def divide(self):
        """Divide the cells that hold too much."""
        great = self._mass > GREAT * self._mass.sum()
        done = self._single() | ((self._fruitless >= FRUITLESS) & ~great)
        wanted = self._mass / self._sizes(done)[0]
        heavy = ~done & (wanted > HEAVY) & (self._mass > CLEAR * np.sqrt(self._variance))
        self.divided = bool(heavy.any())
        parts = np.where(great, MOST, np.clip(FINER * wanted, FEWEST, MOST))
        keys, first = [], []
        for i, (low, high) in enumerate(zip(self.keys[:-1], self.keys[1:], strict=True)):
            first.append(len(keys))
            keys.append(int(low))
            if heavy[i]:
                keys += subdivide_keys(
                    low, high, 2 ** math.ceil(math.log2(parts[i])), whole=self._whole
                )
        self.keys, self._first = np.array([*keys, TOP]), np.array(first)
        self._root = np.repeat(self._root, np.diff([*first, len(keys)]))

    def edges(self):
        """Return the upper edges of all bins but the last."""
        return key_to_float(self.keys[1:-1][np.diff(self._numbers()) > 0])

    def laws(self):
        """Return for every bin the cells ``(low, high]`` in which its entries lie, and weights.

        Notes
        -----
        The first round counts octaves, and makes one cell of those side by side that do not show.
        Later rounds, with less noise, may find that this cell holds a few rows, and not where: it
        may reach to the largest float. They are put into its octave nearest to those that show.

        An octave that shows by all its counts has the rows that they tell, however it was divided,
        be all its parts too light to show by themselves: what is known of it coarsely stays known.
        """
        numbers = self._numbers()
        weight = np.where(self._shows(), self._mass, 0.0)
        low, high = (np.clip(key_to_float(k), -LARGEST, LARGEST) for k in self._near(weight > 0))
        inside = [np.flatnonzero((numbers == i) & (weight > 0)) for i in range(numbers[-1] + 1)]
        return [(low[cells], high[cells], weight[cells]) for cells in inside]

    def ends(self):
        """Return what is known of the smallest and of the largest number, as far as noise shows."""
        count, variance = self._tree.roots()
        found = np.flatnonzero(self._significant & (count > FAINT * np.sqrt(variance)))
        cells = np.flatnonzero(self._shows() & (self._mass > 0))
        first, last = (found[0], found[-1]) if found.size else (len(count), -1)
        hidden = [
            max(count[part].sum(), 0.0) + HIDES * math.sqrt(variance[part].sum())
            for part in (slice(0, first), slice(last + 1, None))
        ]
        numbers = [math.nan, math.nan]
        for side in (0, 1) if cells.size else ():
            cell = cells[-side]
            if self._single()[cell] and self._mass[cell] > 2 * hidden[side]:
                numbers[side] = float(key_to_float(self.keys[cell + 1]))
        return numbers, hidden

    def _shows(self):
        """Return which cells hold rows, by their own count or by that of their octave."""
        count, variance = self._tree.roots()
        octaves = self._significant & (count > FAINT * np.sqrt(variance))
        return octaves[self._root] | (self._counts > FAINT * np.sqrt(self._variance))

    def _single(self):
        """Return which cells hold one number alone."""
        if not self._whole:
            return np.diff(self.keys) == 1
        return np.diff(np.floor(key_to_float(self.keys))) <= 1

    def _near(self, shows):
        """Return the keys of both ends of all cells, wide ones cut to an octave if farthest out."""
        low, high, octaves = self.keys[:-1], self.keys[1:], self._wide
        after = np.searchsorted(octaves, low, side="right")
        before = np.searchsorted(octaves, high, side="left") - 1
        found = np.flatnonzero(shows & (before < after))
        least, most = (low[found[0]], high[found[-1]]) if found.size else (-1, 0)
        return (
            np.where(high <= least, np.maximum(low, octaves[before]), np.maximum(low, least)),
            np.where(low >= most, np.minimum(high, octaves[after]), np.minimum(high, most)),
        )

    def _numbers(self):
        """Return for every cell the number of its bin."""
        size, own = self._sizes(np.ones(len(self._mass), dtype=bool))
        if self._whole:
            codes = self._single() & (self._counts > FAINT * np.sqrt(self._variance))
            most = self._mass[codes].sum() > ALONE * self._mass.sum()
            own |= codes & most & (np.count_nonzero(codes) <= self._n_bins)
        numbers = bin_numbers(self._mass, size, own, self._clear)
        return np.cumsum(np.diff(numbers, prepend=numbers[0]) > 0)

    def _sizes(self, fixed):
        options = {"n_bins": self._n_bins, "least": self._least, "tails": self._tails}
        return bin_sizes(self._mass, fixed, **options)

    def _clear(self, first, stop):
        noise = math.sqrt(self._variance[first:stop].sum())
        return self._counts[first:stop].sum() > APART * noise
