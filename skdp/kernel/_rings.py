"""Histograms of differences of rows that are next to each other by chance."""

from dataclasses import dataclass

import numpy as np

from skdp.kernel._log_bins import LogBins
from skdp.kernel._sampled import OfSample
from skdp.kernel._statistic import MOST_CELLS, public, refuse
from skdp.kernel.pairs._ring import RING_SQUARED, ring_blocks, ring_norms

__all__ = ["Ring", "RingColumns", "check_bins"]


def check_bins(bins, columns=1):
    """Refuse bins whose histograms would be too large, or no histograms."""
    refuse(type(bins) is not LogBins, "the bins are LogBins")
    numbers = bins.per_octave, bins.low, bins.high
    refuse(not all(isinstance(i, int | np.integer) for i in numbers), "bins are told by integers")
    refuse(bins.per_octave < 1 or bins.low >= bins.high, "bins lie between two octaves")
    refuse(columns * bins.n_bins > MOST_CELLS, "a histogram has from 1 to 2^24 cells")


@public
@dataclass(frozen=True)
class Ring(OfSample):
    """How many rows differ by which length from the one before, in the cyclic order of their keys.

    Parameters
    ----------
    bins : LogBins

    Notes
    -----
    **Privacy** (add or remove one row; common rows share their keys). A new row comes between two
    rows of the old ring: one difference goes, two come, all others stay, so the histogram moves by
    ``e_a + e_b - e_c``, unit vectors of the bins of these three, or 0 for NaN. Its squared length
    is ``e_a.e_a + e_b.e_b + e_c.e_c + 2 e_a.e_b - 2 (e_a + e_b).e_c <= 3 + 2 = 5``, attained by
    a = b other than c. Beside one old row there is no difference to go and two come: at most
    ``|e_a + e_b|^2 = 4``; beside none, nothing moves. Rows of equal keys stay in the order of the
    table, which common rows share as well.
    """

    bins: LogBins

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        check_bins(self.bins)

    @property
    def squared_l2(self):
        """The bound: of three differences two may fall into one bin."""
        return RING_SQUARED

    def total(self, block):
        """Return the counts, shape (n_bins,)."""
        return self.bins.counts(ring_norms(block.Z, block.keys))


@public
@dataclass(frozen=True)
class RingColumns(OfSample):
    """Histograms of the sizes of the same differences in every column.

    Parameters
    ----------
    bins : LogBins
    d : int
        Number of columns.

    Notes
    -----
    **Privacy** (add or remove one row): every column moves as a :class:`Ring` of its own does, by 5
    at most; side by side squared lengths add up to 5 d.
    """

    bins: LogBins
    d: int

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(self.d != shape.n_features, "d is the number of columns")
        check_bins(self.bins, shape.n_features)

    @property
    def squared_l2(self):
        """The bound: that of a ring for every column."""
        return RING_SQUARED * self.d

    def total(self, block):
        """Return the counts, shape (d, n_bins)."""
        counts = np.zeros((self.d, self.bins.n_bins), dtype=np.int64)
        for differences in ring_blocks(block.Z, block.keys):
            counts += self.bins.column_counts(np.abs(differences))
        return counts
