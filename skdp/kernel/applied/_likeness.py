"""How unlike the columns of a table are, told by the differences of its rows."""

import numpy as np

from skdp.kernel._friends import OfRing
from skdp.kernel._plain import public
from skdp.mechanisms._norms import fold

PER_OCTAVE, LIKENESS_CELLS, ABOVE = 4, 32, 8  # cells of a histogram, of which 8 are above 1


@public
class RingLikeness(OfRing):
    """How alike the entries of the differences of a ring are: two histograms of quarter octaves.

    Of a difference D of d entries, by size, the first counts ``(sum |D|)^2 / (d sum D^2)``, the
    second the product of its two middle entries over the mean of all squares. Cell i holds
    ``[2^((7 - i) / 4), 2^((8 - i) / 4))``; the last cell holds all that is smaller, and a
    difference of zeros, the first all that is larger.

    **Privacy** (add or remove one row; common rows share their keys): h is ``(e_i, e_k)``, one cell
    of each histogram, or 0 if an entry is no float.
    """

    most = 2

    def counted(self, differences):
        """Return the counts, shape (2, 32)."""
        sizes = np.sort(np.abs(differences), axis=1)
        d = sizes.shape[1]
        top = sizes[:, -1:]
        sizes = sizes / np.where(top == 0, 1.0, top)  # infinite ones become NaN
        square = fold(sizes * sizes) / d
        middle = sizes[:, (d - 1) // 2] * sizes[:, d // 2]
        mean, there = fold(sizes) / d, np.isfinite(square)
        square = np.where(square[there] == 0, 1.0, square[there])
        counts = []
        for ratio in (mean * mean, middle):
            part = np.maximum(ratio[there] / square, 2.0**-64)
            at = np.ceil(-PER_OCTAVE * np.log2(part)) + ABOVE - 1
            at = np.clip(at, 0, LIKENESS_CELLS - 1).astype(np.int64)
            counts.append(np.bincount(at, minlength=LIKENESS_CELLS))
        return np.array(counts)
