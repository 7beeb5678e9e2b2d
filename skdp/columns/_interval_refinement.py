"""Coming closer to columns whose entries are alike in size: years, dates, 1e6 + N(0, 1)."""

from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import CELLS, ENDS
from skdp.kernel._bins import UniformCells
from skdp.kernel._columns import ColumnCells
from skdp.scales._column_noise import ColumnNoise
from skdp.scales._significance import ZOOM as ZOOM_LEVEL
from skdp.scales._significance import windows_above

N_CELLS, ACROSS = 120, 48  # cells of a look, and how many of them the interval takes
ALIKE = 0.93  # part of the rows in the octave of the median and its neighbours
NEARLY_ALL = 0.75  # part of the rows in two cells that are looked at alone, at least
MOST_LOOKS, FINEST = 12, 2.0**-44  # finest cells, part of the entries
NARROWEST = 2.0**-1074
FARTHEST = 1000  # octave of entries whose cells have edges among the floats
ZOOM = Step("zoom", at_most=0.12, times=MOST_LOOKS, of=(ColumnCells,))


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
