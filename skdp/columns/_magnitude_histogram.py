"""The first look at columns: histograms over all floats, read as nothing, zeros or rows."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from skdp.accounting import Step
from skdp.kernel._bins import MANTISSA, N_OCTAVES, OctaveCells
from skdp.kernel._columns import ColumnCells, EdgeCells
from skdp.scales._column_noise import ColumnNoise, noise_level, rounded_level
from skdp.scales._significance import COLUMN, COLUMN_AGAIN, COLUMN_NEAR, summed_up, windows_above

WIDTHS = (1, 2, 4, 8, 16)
NEAR = 6  # cells near others


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


CELLS = OctaveCells()
ENDS = OctaveEnds(CELLS)
OCTAVE, SIZE = ENDS.octave, ENDS.size
BY_SIZE = np.argsort(SIZE, kind="stable")
SIZES = SIZE[BY_SIZE]
WHOLE = np.array([-np.inf, np.inf])  # the edges of one cell of all numbers
MOST_AGAIN = {"nothing": 0.25, "zeros": 0.10}  # its share
MOST_BESIDE, RARE = 0.08, 150  # the same beside other columns; a part of the rows that is one sd
COLUMNS = Step("columns", at_most=0.25, times=2, of=(ColumnCells,))


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
