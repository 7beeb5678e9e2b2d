"""Bins of numbers: on a logarithmic axis, octaves on both sides of zero, of one width."""

import math
from functools import lru_cache
from typing import Annotated

import numpy as np

from skdp.kernel._plain import Checked, public, refuse, within
from skdp.kernel._statistic import MOST_CELLS
from skdp.mechanisms import _compiled

LOWEST_OCTAVE, HIGHEST_OCTAVE = -1074, 1024  # all positive float64 lie in [2^-1074, 2^1024)
LARGEST = float(np.finfo(np.float64).max)


@public
class LogBins(Checked):
    """Bins ``[2^(i/p), 2^((i+1)/p))`` for ``p`` bins per octave over a public range of octaves.

    Bin 0 takes what lies below the range, zeros included; the last bin takes what lies above.

    Parameters
    ----------
    per_octave : int
    low, high : int, default=all of float64
        The range is ``[2^low, 2^high)``.

    See Also
    --------
    read_scale

    Notes
    -----
    **Privacy**: a value falls into one bin, and NaN into none. So a histogram with one value per
    row has sensitivity 1 (l1 and l2, add or remove one row). The bin is found by frexp and
    comparisons with constants, so it is a function of the value alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import LogBins
    >>> bins = LogBins(1, low=0, high=4)  # below 1; [1, 2), [2, 4), [4, 8), [8, 16); from 16 on
    >>> bins.counts(np.array([0.0, 1.0, 3.0, 3.5, 100.0])).tolist()
    [1, 1, 2, 0, 0, 1]
    """

    per_octave: int
    low: int = LOWEST_OCTAVE
    high: int = HIGHEST_OCTAVE

    @classmethod
    def around(cls, value, *, per_octave, below, above):
        """Return bins for ``below`` octaves up to that of a public value, and ``above`` over it."""
        octave = math.frexp(min(max(value, 0.0), LARGEST))[1] if value > 0 else LOWEST_OCTAVE
        low = min(max(octave - below, LOWEST_OCTAVE), HIGHEST_OCTAVE - 1)
        return cls(per_octave, low, max(low + 1, min(octave + above, HIGHEST_OCTAVE)))

    def check(self, shape):
        """Raise ValueError for bins that no histogram has."""
        super().check(shape)
        refuse(self.per_octave < 1 or self.low >= self.high, "bins of some octaves")
        refuse(self.n_bins > MOST_CELLS, "a histogram has from 1 to 2^24 cells")

    @property
    def n_bins(self):
        """Number of bins, with the two outer ones."""
        return self.per_octave * (self.high - self.low) + 2

    @property
    def steps(self):
        """The mantissas at which bins of an octave begin, but for the first."""
        return np.exp2(np.arange(1, self.per_octave) / self.per_octave) / 2

    def index(self, values):
        """Return the bin of every value; -1 for NaN.

        Parameters
        ----------
        values : ndarray of float64 of shape (n,), >= 0 or NaN

        Returns
        -------
        index : ndarray of int64 of shape (n,)
        """
        steps = self.steps
        if _compiled.loops is not None:
            bins = np.empty(len(values), dtype=np.int64)
            last = self.n_bins - 1
            _compiled.loops.log_bins(_compiled.plain(values), steps, bins, self.low, last)
            return bins
        mantissa, exponent = np.frexp(values)
        bins = (exponent.astype(np.int64) - 1 - self.low) * self.per_octave
        if self.per_octave > 1:
            bins += np.searchsorted(steps, mantissa, side="right")
        bins += 1
        np.clip(bins, 0, self.n_bins - 1, out=bins)
        bins[values == 0] = 0
        bins[np.isinf(values)] = self.n_bins - 1
        bins[np.isnan(values)] = -1
        return bins

    def counts(self, values):
        """Return the histogram of a one-dimensional array."""
        return self.column_counts(np.asarray(values)[:, None])[0]

    def column_counts(self, values):
        """Return the histograms of the columns of an array of shape (n, d), shape (d, n_bins)."""
        n, d = values.shape
        flat, n_bins = self.index(np.asarray(values, dtype=np.float64).reshape(-1)), self.n_bins
        nowhere = flat < 0 if flat.min(initial=0) < 0 else None
        flat.reshape(n, d)[:] += np.arange(d) * n_bins
        flat = flat if nowhere is None else flat[~nowhere]
        return np.bincount(flat, minlength=d * n_bins).reshape(d, n_bins)

    def upper_edge(self, index):
        """Return the upper edge of a bin, at most the largest float; 0 for the lowest bin."""
        if index <= 0:
            return 0.0 if self.low == LOWEST_OCTAVE else 2.0**self.low
        exponent = self.low + index / self.per_octave
        return LARGEST if exponent >= HIGHEST_OCTAVE else 2.0**exponent


N_OCTAVES = 2047  # of the magnitudes of float64: the first from 0 to 2^-1022, then one each
MANTISSA = 52
CODES = 2**12  # of signs and exponents
FINEST = 6  # halvings


@public
class OctaveCells(Checked):
    """Cells for signed numbers: zero, and ``octaves`` octaves on either side, each halved evenly.

    Cell ``n_side`` holds zero, or all that is nearer to it than the first octave; those before it,
    from the farthest on, the negative numbers, those after it the positive ones. A number beyond
    the last octave is in no cell.

    The bits of a magnitude, read as an integer, grow with it, and end in 52 bits of the mantissa.
    One less puts the upper edge of a cell, a power of two, into the cell below it: 1 is in
    (1/2, 1].

    **Privacy**: the cell of a number is a function of that number alone, found by integer
    arithmetic on its bits. One number is in at most one cell.
    """

    # number of the first octave, in [0, 2047); octave i >= 1 is ``(2^(i-1023), 2^(i-1022)]``
    first: Annotated[int, within(0, N_OCTAVES - 1)] = 0
    octaves: Annotated[int, within(1, math.inf)] = N_OCTAVES  # those beyond all floats are left out
    halvings: Annotated[int, within(0, FINEST)] = 0

    @property
    def n_side(self):
        """The number of cells on either side of the middle one."""
        return min(self.octaves, N_OCTAVES - self.first) << self.halvings

    @property
    def n_cells(self):
        """The number of cells."""
        return 2 * self.n_side + 1

    def counts(self, x):
        """Return the histogram of a one-dimensional array of finite numbers."""
        codes = np.bincount(_codes(x, self.halvings), minlength=CODES << self.halvings)
        return self.of_codes(codes)

    def of_codes(self, of_codes):
        """Return the histogram from the numbers of signs and magnitudes, see :func:`_codes`."""
        counts = np.zeros(self.n_cells + 1, dtype=np.int64)
        np.add.at(counts, _cell_of_code(self), of_codes)
        return counts[: self.n_cells]


@public
class UniformCells(Checked):
    """Cells of one width from a start on, open below; what is outside of them is in none.

    If they are ``closed`` it is in the first or the last one.
    """

    start: float
    width: float
    n_cells: Annotated[int, within(1, 2**20)]
    closed: bool = False

    def counts(self, x):
        """Return the histogram of a one-dimensional array of finite numbers."""
        i = np.ceil((x - self.start) / self.width) - 1
        i = np.clip(i, 0, self.n_cells - 1) if self.closed else i
        i = np.where((i >= 0) & (i < self.n_cells), i, self.n_cells).astype(np.int64)
        return np.bincount(i, minlength=self.n_cells + 1)[: self.n_cells]


@lru_cache(maxsize=64)
def _cell_of_code(cells):
    """Return the cell of every sign and magnitude, see :func:`_codes`."""
    halvings, n_side, n_cells = cells.halvings, cells.n_side, cells.n_cells
    side = np.arange(-1, (N_OCTAVES << halvings))
    side = np.maximum(side + 1 - (cells.first << halvings), 0)
    found = np.full(CODES << halvings, n_cells)
    inside = side <= n_side
    codes = np.arange(-1, N_OCTAVES << halvings)[inside]
    found[codes] = n_side + side[inside]  # -1, the code of 0.0, is the last
    found[codes + (CODES << halvings) // 2] = n_side - side[inside]
    return found


def _codes(x, halvings):
    """Return for every number its sign and the cell of its magnitude in one: their bits, less one.

    With ``half = 2048 << halvings`` that is the cell of a positive number, ``half`` more for a
    negative one, ``2 half - 1`` for 0.0 and ``half - 1`` for -0.0.
    """
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64) - np.uint64(1)
    bits >>= np.uint64(MANTISSA - halvings)
    return bits.view(np.int64)
