"""How unlike the columns of a table are, told by the differences of its rows."""

import numpy as np

from skdp.kernel._sampled import OfSample
from skdp.kernel._statistic import public
from skdp.kernel.pairs._ring import RING_SQUARED, ring_blocks
from skdp.mechanisms._norms import fold

__all__ = ["LIKENESS_CELLS", "PER_OCTAVE", "RingLikeness"]

PER_OCTAVE, LIKENESS_CELLS, ABOVE = 4, 32, 8  # cells of a histogram, of which 8 are above 1


@public
class RingLikeness(OfSample):
    """How alike the entries of the differences of a ring are: two histograms of quarter octaves.

    Of a difference D of d entries, by size, the first counts ``(sum |D|)^2 / (d sum D^2)``, the
    second the product of its two middle entries over the mean of all squares. Cell i holds
    ``(2^((7 - i) / 4), 2^((8 - i) / 4)]``; the last cell holds all that is smaller, and a
    difference of zeros, the first all that is larger.

    **Privacy** (add or remove one row; common rows share their keys). A difference adds
    ``h = (e_i, e_k)``, one cell of each histogram, computed from its entries alone, or 0 if one of
    them is no float. So ``|h|^2 <= 2``, and no entry of h is negative. One difference, w, goes and
    two, u and v, come, all others stay:

        |h(u) + h(v) - h(w)|^2 <= |h(u)|^2 + |h(v)|^2 + |h(w)|^2 + 2 h(u).h(v) <= 5 * 2,

    attained by u and v in the same cells, w in two others. From one row to two, two differences
    come: at most 4 * 2.
    """

    @property
    def squared_l2(self):
        return RING_SQUARED * 2

    def total(self, block):
        """Return the counts, shape (2, 32)."""
        counts = np.zeros((2, LIKENESS_CELLS), dtype=np.int64)
        for differences in ring_blocks(block.Z, block.ring):
            sizes = np.sort(np.abs(differences), axis=1)
            d = sizes.shape[1]
            top = sizes[:, -1:]
            sizes = sizes / np.where(top == 0, 1.0, top)  # infinite ones become NaN
            square = fold(sizes * sizes) / d
            middle = sizes[:, (d - 1) // 2] * sizes[:, d // 2]
            mean = fold(sizes) / d
            for one, ratio in zip(counts, (mean * mean, middle), strict=True):
                there = np.isfinite(square)
                part = ratio[there] / np.where(square[there] == 0, 1.0, square[there])
                at = np.ceil(-PER_OCTAVE * np.log2(np.maximum(part, 2.0**-64))) + ABOVE - 1
                at = np.clip(at, 0, LIKENESS_CELLS - 1).astype(np.int64)
                one += np.bincount(at, minlength=LIKENESS_CELLS)
        return counts
