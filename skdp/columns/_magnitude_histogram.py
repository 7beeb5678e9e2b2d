"""The first looks at columns: histograms over all floats, then closer to entries alike in size."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import MANTISSA, N_OCTAVES, OctaveCells, UniformCells
from skdp.kernel._columns import ColumnCells, EdgeCells
from skdp.scales._column_noise import (
    COLUMN,
    COLUMN_AGAIN,
    COLUMN_NEAR,
    ColumnNoise,
    noise_level,
    rounded_level,
    summed_up,
    windows_above,
)
from skdp.scales._column_noise import ZOOM as ZOOM_LEVEL

WIDTHS = (1, 2, 4, 8, 16)
NEAR = 6  # cells near others

CELLS = OctaveCells()

WHOLE = np.array([-np.inf, np.inf])  # the edges of one cell of all numbers
MOST_AGAIN = {"nothing": 0.25, "zeros": 0.10}  # its share
MOST_BESIDE, RARE = 0.08, 150  # the same beside other columns; a part of the rows that is one sd
COLUMNS = Step("columns", at_most=0.25, times=2, of=(ColumnCells,))

N_CELLS, ACROSS = 120, 48  # cells of a look, and how many of them the interval takes
ALIKE = 0.93  # part of the rows in the octave of the median and its neighbours
NEARLY_ALL = 0.75  # part of the rows in two cells that are looked at alone, at least
MOST_LOOKS, FINEST = 12, 2.0**-44  # finest cells, part of the entries
NARROWEST = 2.0**-1074
FARTHEST = 1000  # octave of entries whose cells have edges among the floats
ZOOM = Step("zoom", at_most=0.12, times=MOST_LOOKS, of=(ColumnCells,))


def is_significant(counts, octave, scale, *, law="gaussian", false=COLUMN):
    """Return which cells lie in a window that stands clear of the noise.

    Shape of counts: (..., n_cells), of one histogram or of several with one noise.

    Windows of 1, 2, 4, 8 and 16 cells are looked at; a wide one counts only where no narrower one
    inside does, so that it holds rows that are spread, and no more cells than need be. Up to six
    cells from what has been seen less is asked of a cell.
    """
    counts = np.asarray(counts, dtype=np.float64)
    levels = zip(WIDTHS, _levels(octave.tobytes(), law, false), strict=True)
    seen = windows_above(counts, {w: rounded_level(level * scale, w) for w, level in levels})
    sized = np.zeros((*seen.shape[:-1], seen.shape[-1] + 2 * NEAR), dtype=bool)
    sized[..., NEAR:-NEAR] = seen
    sized[..., NEAR + seen.shape[-1] // 2] = False  # zero is near to no octave
    upto = summed_up(sized)
    near = upto[..., 2 * NEAR + 1 :] > upto[..., : -2 * NEAR - 1]
    return seen | (near & (counts > rounded_level(noise_level(COLUMN_NEAR, 1, law=law) * scale, 1)))


@lru_cache(maxsize=64)
def _levels(octave, law, false):
    """Return for every width, per window, what noise of scale 1 exceeds with its probability.

    A window has the weight 1 / (1 + |octave| / 4)^2 of its middle cell. Over all windows and widths
    the probabilities sum to at most ``false``.
    """
    octave = np.frombuffer(octave, dtype=np.int64)
    weight = 1 / np.square(1 + np.abs(octave) / 4)
    share = np.minimum(false / len(WIDTHS) * weight / weight.sum(), 0.4)
    levels = []
    for width in WIDTHS:
        middle = share[width // 2 :][: max(len(share) - width + 1, 0)]
        levels.append(noise_level(middle, width, law=law))
    return levels


def octaves_around(length, *, below, above, halvings):
    """Return cells from ``below`` octaves under a positive length to ``above`` over it."""
    cell = (int(np.float64(length).view(np.int64)) - 1) >> MANTISSA
    first = min(max(cell - below, 0), N_OCTAVES - 1)
    return OctaveCells(first, max(cell + above + 1 - first, 1), halvings)


class OctaveEnds:
    """The ends of :class:`skdp.kernel._bins.OctaveCells`, cell by cell.

    ``edges``: distances from zero at which cells end, from that of the middle one on; ``low`` and
    ``high``: edges of every cell, finite; positive cells are open below, negative ones above;
    ``size``: the farther edge; ``octave``: its exponent, 0 for the middle cell.
    """

    def __init__(self, cells):
        start = cells.first << cells.halvings
        self.edges = _edges(cells.halvings)[start : start + cells.n_side + 1]
        self.high = np.concatenate([-self.edges[-2::-1], self.edges])
        self.low = -self.high[::-1]
        self.size = np.maximum(-self.low, self.high)
        side = cells.first - 1022 + (np.arange(cells.n_side) >> cells.halvings)
        self.octave = np.concatenate([side[::-1], [0], side])


def _edges(halvings):
    """Return the lower edge of every cell of the positive numbers, and the end of the last."""
    parts = 1 + np.arange(1 << halvings) / (1 << halvings)
    octaves = np.ldexp(1.0, np.arange(-1022, 1024))
    edges = np.concatenate([[0.0], octaves[0] * (parts[1:] - 1), np.outer(octaves, parts).ravel()])
    return np.append(edges, np.finfo(np.float64).max)


ENDS = OctaveEnds(CELLS)
OCTAVE, SIZE = ENDS.octave, ENDS.size
BY_SIZE = np.argsort(SIZE, kind="stable")
SIZES = SIZE[BY_SIZE]


@dataclass
class MagnitudeHistogram:
    """What a released histogram over all floats has shown of one column."""

    counts: np.ndarray  # shape (CELLS.n_cells,)
    scale: float  # of their noise, of a `law`
    law: str
    seen: np.ndarray = None  # ndarray of bool of the same shape: cells that hold rows

    def __post_init__(self):
        if self.seen is None:
            self.seen = self._stands_out()

    @classmethod
    def of_each(cls, counts, scale, law):
        """Return the histograms of several columns, shape (d, CELLS.n_cells)."""
        seen = is_significant(counts, OCTAVE, scale, law=law)
        return [cls(own, scale, law, cells) for own, cells in zip(counts, seen, strict=True)]

    def _stands_out(self, **options):
        return is_significant(self.counts, OCTAVE, self.scale, law=self.law, **options)

    @property
    def kind(self):
        """What is seen: "nothing", "zeros" (nothing else) or "rows"."""
        held = self.masses > 0  # of a wide window a part may be seen whose counts are noise alone
        if not held.any():
            return "nothing"
        return "zeros" if np.count_nonzero(held) == held[CELLS.n_side] else "rows"

    def pooled(self, counts, scale):
        """Return the reading of this histogram and of another release of it, together.

        Less is asked of rows of ordinary size then.
        """
        weight = scale**2 / (scale**2 + self.scale**2)
        both = MagnitudeHistogram(
            weight * self.counts + (1 - weight) * counts,
            self.scale * scale / np.hypot(self.scale, scale),
            self.law,
        )
        kind = both.kind
        if kind != "rows":
            for false, octaves in COLUMN_AGAIN[kind]:
                both.seen |= both._stands_out(false=false) & (np.abs(OCTAVE) <= octaves)
        return both

    @property
    def masses(self):
        """Released numbers of rows in the seen cells, zero elsewhere."""
        return np.where(self.seen, np.maximum(self.counts, 0.0), 0.0)

    def size(self, q, *, zeros=True):
        """Return the size below which a part q of the seen entries, or of those but zeros, lie."""
        mass = self.masses[BY_SIZE]
        mass = mass if zeros else np.where(SIZES > 0, mass, 0.0)
        return float(SIZES[np.searchsorted(np.cumsum(mass) / mass.sum(), q)])

    @property
    def farthest(self):
        """The farthest edge of the seen cells from zero."""
        return float(SIZE[self.seen].max(initial=0.0))


def release_magnitude_histograms(table, *, share):
    """Release a histogram of every column over all floats."""
    release = table.ask(whole_line(np.arange(table.n_features)), COLUMNS, share=share)
    law = ColumnNoise(table.budget).law
    return MagnitudeHistogram.of_each(release.value.astype(float), release.scale, law)


def look_again(table, surveys, *, n):
    """Release the histograms of columns of which too little was seen once more; return all.

    Notes
    -----
    **Privacy**: which columns are looked at again is told by releases.
    """
    lost = np.array([j for j, one in enumerate(surveys) if one.kind != "rows"])
    if not lost.size:
        return surveys
    share = max(MOST_AGAIN[surveys[j].kind] for j in lost)
    if len(surveys) > 1:  # the others pay as well
        share = min(MOST_BESIDE, ColumnNoise(table.budget).share(n / RARE, lost.size))
    release = table.ask(whole_line(lost), COLUMNS, share=share)
    surveys = list(surveys)
    for j, counts in zip(lost, release.value.astype(float), strict=True):
        surveys[j] = surveys[j].pooled(counts, release.scale)
    return surveys


def whole_line(columns, rows="finite"):
    """Return the question how many entries of columns lie in which of all :data:`CELLS`."""
    return ColumnCells(columns, (CELLS,) * len(columns), rows=rows)


def first_ranks(d, *, bounded):
    """Return what a search of d columns asks before anything is released."""
    columns = np.arange(d)
    counts = EdgeCells(columns, (WHOLE,) * d, "entries")
    return (counts,) if bounded else (counts, whole_line(columns, "entries"))


# --- coming closer to columns whose entries are alike in size: years, dates, 1e6 + N(0, 1)


@dataclass
class CentralInterval:
    """Where most entries of a column lie: about ``width`` around ``center``. Released.

    ``equal`` if they were not told apart, or not all of them were seen there.
    """

    center: float
    width: float
    equal: bool = False


class _IntervalState:
    """The state of one column: an interval that holds most rows."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.narrowed, self.bulk = False, None

    def cells(self):
        """Return cells for the interval, with edges at multiples of a power of two."""
        width = 2.0 ** np.floor(np.log2(self.high / ACROSS - self.low / ACROSS))
        width = max(float(width), NARROWEST)
        return UniformCells(float((np.floor(self.low / width) - 4) * width), width, N_CELLS)

    def read(self, cells, counts, sd, n, last):
        """Come closer, or be content with the bulk."""
        width = cells.width
        pairs = counts[:-1] + counts[1:]
        k = int(np.argmax(pairs))
        fine = width <= FINEST * abs(self.low)
        if pairs[k] > max(
            0.85 * n - 2.8 * sd, NEARLY_ALL * n, 7 * sd
        ):  # two cells hold nearly all rows
            edge = _upper_edge(cells, k)
            if last or fine:
                self.bulk = CentralInterval(edge, width, equal=True)
            else:
                self.low, self.high = edge - 1.5 * width, edge + 1.5 * width
                self.narrowed = True
            return
        clear = windows_above(counts, {w: ZOOM_LEVEL * sd * np.sqrt(w) for w in (1, 2, 4, 8)})
        mass = np.where(clear, np.maximum(counts, 0.0), 0.0)
        if not mass.any():
            middle, half = self.low / 2 + self.high / 2, self.high / 2 - self.low / 2
            self.bulk = CentralInterval(middle, half, equal=self.narrowed)
            return
        # what two cells of the look before seemed to hold may lie elsewhere
        alike = self.narrowed and bool(mass.sum() < NEARLY_ALL * n)
        # rows that no cell shows are spread over all of them
        rest = max(ALIKE * n - mass.sum() - sd * np.sqrt(np.count_nonzero(mass)), 0.0)
        inside = (_upper_edge(cells, np.arange(N_CELLS)) > self.low) & (
            _upper_edge(cells, np.arange(N_CELLS) - 1) < self.high
        )
        part = np.cumsum(mass + rest * inside / inside.sum())
        part /= part[-1]
        q10, q50, q90 = (
            _upper_edge(cells, np.searchsorted(part, q) - 0.5) for q in (0.1, 0.5, 0.9)
        )
        reach = max(q90 - q50, q50 - q10, width)
        if reach > 3 * width or last or fine:
            middle = float(np.rint(q50 / width) * width)
            self.bulk = CentralInterval(
                middle, float(reach), equal=alike or bool(reach <= 3 * width)
            )
        else:
            self.low, self.high = q10 - 2 * width, q90 + 2 * width


def release_refined_intervals(table, surveys, *, n, least):
    """Return the CentralInterval of every column.

    Of those whose entries are alike by coming closer.

    Notes
    -----
    **Privacy**: the edges of cells are made of what was released before.
    """
    noise = ColumnNoise(table.budget)
    bulks = [None if one is None else _start(one, n, noise.deviation(one.scale)) for one in surveys]
    for look in range(MOST_LOOKS):
        active = np.array([j for j, one in enumerate(bulks) if isinstance(one, _IntervalState)])
        if not active.size:
            break
        share = float(np.clip(noise.share(n / 22, active.size), 0.005, 0.12))
        cells = [bulks[j].cells() for j in active]
        asked = ColumnCells(active, tuple(cells))
        release = table.ask(asked, ZOOM, share=share)
        sd = noise.deviation(release.scale)
        left = float(table.remaining)
        last = look == MOST_LOOKS - 1 or left - 0.12 < least
        for j, one, counts in zip(active, cells, release.value.astype(float), strict=True):
            bulks[j].read(one, counts, sd, n, last)
            if bulks[j].bulk is not None:
                bulks[j] = bulks[j].bulk
    return bulks


def _upper_edge(cells, i):
    return cells.start + cells.width * (i + 1)


def _start(survey, n, sd):
    """Return a Zoom if nearly all entries are alike, else the CentralInterval around zero."""
    mass = survey.masses
    whole = max(mass.sum(), n - 2 * sd)
    part = np.cumsum(mass) / mass.sum()
    k = int(np.searchsorted(part, 0.5))
    near = [i for i in (k - 1, k, k + 1) if 0 <= i < mass.size and i != CELLS.n_side]
    apart = k != CELLS.n_side and ENDS.octave[k] < FARTHEST
    if apart and mass[near].sum() > ALIKE * whole:
        near = [i for i in near if mass[i] > 0.02 * mass.sum()]
        return _IntervalState(ENDS.low[near].min(), ENDS.high[near].max())
    # of those that are mostly zeros the bulk of the others
    return CentralInterval(0.0, survey.size(0.75) or survey.size(0.25, zeros=False))
