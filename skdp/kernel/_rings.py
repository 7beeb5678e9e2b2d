"""Histograms of differences of rows that are next to each other by chance."""

import numpy as np

from skdp.kernel._log_bins import LogBins
from skdp.kernel._sampled import OfSample
from skdp.kernel._statistic import MOST_CELLS, public, refuse
from skdp.kernel.pairs._ring import RING_SQUARED, ring_blocks, ring_norms

__all__ = ["Ring", "RingColumns", "RingEntries", "SparseRing", "check_bins"]


def check_bins(bins, columns=1):
    """Refuse bins whose histograms would be too large, or no histograms."""
    refuse(type(bins) is not LogBins, "the bins are LogBins")
    numbers = bins.per_octave, bins.low, bins.high
    refuse(not all(isinstance(i, int | np.integer) for i in numbers), "bins are told by integers")
    refuse(bins.per_octave < 1 or bins.low >= bins.high, "bins lie between two octaves")
    refuse(columns * bins.n_bins > MOST_CELLS, "a histogram has from 1 to 2^24 cells")


@public
class Ring(OfSample):
    """How many rows differ by which length from the one before, in the cyclic order of their keys.

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
        super().check(shape)
        check_bins(self.bins)

    @property
    def squared_l2(self):
        return RING_SQUARED

    def total(self, block):
        """Return the counts, shape (n_bins,)."""
        return self.bins.counts(ring_norms(block.Z, block.keys))


@public
class RingColumns(OfSample):
    """Histograms of the sizes of the same differences in every column.

    **Privacy** (add or remove one row): every column moves as a :class:`Ring` of its own does, by 5
    at most; side by side squared lengths add up to 5 d.
    """

    bins: LogBins
    d: int  # number of columns

    def check(self, shape):
        super().check(shape)
        refuse(self.d != shape.n_features, "d is the number of columns")
        check_bins(self.bins, shape.n_features)

    @property
    def squared_l2(self):
        return RING_SQUARED * self.d

    def total(self, block):
        """Return the counts, shape (d, n_bins)."""
        counts = np.zeros((self.d, self.bins.n_bins), dtype=np.int64)
        for differences in ring_blocks(block.Z, block.keys):
            counts += self.bins.column_counts(np.abs(differences))
        return counts


class OfSparse(OfSample):
    """A question about the differences of a ring in some columns."""

    def check(self, shape):
        super().check(shape)
        wrong = not all(isinstance(j, int | np.integer) for j in self.columns)
        refuse(wrong or not 0 < len(self.columns) == len(set(self.columns)), "numbers of columns")
        refuse(min(self.columns) < 0 or max(self.columns) >= shape.n_features, "known columns")

    def _differences(self, sample):
        """Yield the differences of blocks, and how many of their entries are other than zero."""
        for differences in ring_blocks(sample.Z, sample.keys):
            some = np.abs(differences[:, list(self.columns)])
            yield some, np.count_nonzero(some, axis=1)


@public
class RingEntries(OfSparse):
    """How many differences of a :class:`Ring` have how many entries other than zero.

    **Privacy** (add or remove one row): a difference falls into one cell, by its entries alone, so
    the proof is that of a :class:`Ring`.
    """

    columns: tuple  # that are looked at
    squared_l2 = RING_SQUARED

    def total(self, block):
        """Return the counts, shape (number of columns + 1,)."""
        size = len(self.columns) + 1
        counts = np.zeros(size, dtype=np.int64)
        for _, entries in self._differences(block):
            counts += np.bincount(entries, minlength=size)
        return counts


@public
class SparseRing(OfSparse):
    """Histograms of the entries of columns, zeros left out, of differences that have few others.

    **Privacy** (add or remove one row). A difference adds its vector h(w) to the histograms, one 1
    for each of its entries other than zero, at most L of them; or it adds nothing. Common rows
    share their keys, so one difference w goes and two, u and v, come:

        |h(u) + h(v) - h(w)|^2 <= |h(u)|^2 + |h(v)|^2 + |h(w)|^2 + 2 h(u).h(v) <= 5 L,

    as no entry of h is negative. From one row to two, two differences come: at most 4 L.
    """

    columns: tuple  # that are looked at
    most: int  # differences with more entries than that, L, are left out
    bins: LogBins  # the lowest, that of zeros, stays empty

    def check(self, shape):
        super().check(shape)
        refuse(self.most < 1, "a number of entries")
        check_bins(self.bins, len(self.columns))

    @property
    def squared_l2(self):
        return RING_SQUARED * self.most

    def total(self, block):
        """Return the counts, shape (number of columns, n_bins)."""
        counts = np.zeros((len(self.columns), self.bins.n_bins), dtype=np.int64)
        for some, entries in self._differences(block):
            counts += self.bins.column_counts(some[entries <= self.most])
        counts[:, 0] = 0
        return counts
