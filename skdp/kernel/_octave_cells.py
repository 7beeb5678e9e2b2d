"""Cells for the entries of a column: octaves on both sides of a point, and cells of one width."""

from functools import lru_cache

import numpy as np

from skdp.kernel._statistic import public, refuse, tame

__all__ = ["N_OCTAVES", "OctaveCells", "UniformCells", "magnitude_cells"]

N_OCTAVES = 2047  # of the magnitudes of float64: the first from 0 to 2^-1022, then one each
MANTISSA = 52
CODES = 2**12  # of signs and exponents
FINEST = 6  # halvings


def magnitude_cells(x, halvings=0):
    """Return for every number the cell of its magnitude, -1 for zero.

    An octave ``(2^k, 2^(k+1)]`` is halved so many times, evenly; cell ``i << halvings`` is the
    first of octave i, and octave 0 ends at 2^-1022.

    The bits of a magnitude, read as an integer, grow with it, and end in 52 bits of the mantissa.
    One less puts the upper edge of a cell, a power of two, into the cell below it: 1 is in
    (1/2, 1].
    """
    bits = np.abs(np.ascontiguousarray(x, dtype=np.float64)).view(np.int64)
    bits -= 1
    bits >>= MANTISSA - halvings
    return bits


@public
class OctaveCells:
    """Cells for signed numbers: zero, and ``octaves`` octaves on either side, each halved evenly.

    Cell ``n_side`` holds zero, or all that is nearer to it than the first octave; those before it,
    from the farthest on, the negative numbers, those after it the positive ones. A number beyond
    the last octave is in no cell.

    **Privacy**: the cell of a number is a function of that number alone, found by integer
    arithmetic on its bits. One number is in at most one cell.
    """

    # number of the first octave, in [0, 2047); octave i >= 1 is ``(2^(i-1023), 2^(i-1022)]``
    first: int = 0
    octaves: int = N_OCTAVES  # at most; those beyond all floats are left out
    halvings: int = 0

    @classmethod
    def around(cls, length, *, below, above, halvings):
        """Return cells from ``below`` octaves under a positive length to ``above`` over it."""
        cell = int(magnitude_cells(np.array([length]))[0])
        first = min(max(cell - below, 0), N_OCTAVES - 1)
        return cls(first, max(cell + above + 1 - first, 1), halvings)

    def check(self):
        tame(self)
        own = (self.first, self.octaves, self.halvings)
        refuse(any(type(x) is not int for x in own), "Python's integers: numpy's wrap")
        refuse(not (0 <= self.first < N_OCTAVES and self.octaves > 0), "octaves of the floats")
        refuse(not 0 <= self.halvings <= FINEST, "an octave is halved at most so often")

    @property
    def n_side(self):
        """The number of cells on either side of the middle one."""
        return min(self.octaves, N_OCTAVES - self.first) << self.halvings

    @property
    def n_cells(self):
        """The number of cells."""
        return 2 * self.n_side + 1

    @property
    def edges(self):
        """The distances from zero at which cells end, from that of the middle one on."""
        start = self.first << self.halvings
        return _edges(self.halvings)[start : start + self.n_side + 1]

    @property
    def high(self):
        """Upper edges of the cells, finite; negative cells are open above."""
        return np.concatenate([-self.edges[-2::-1], self.edges])

    @property
    def low(self):
        """Lower edges of the cells, finite; positive cells are open below."""
        return -self.high[::-1]

    @property
    def size(self):
        return np.maximum(-self.low, self.high)

    @property
    def octave(self):
        """The exponent of the farther edge of every cell, 0 for the middle one."""
        side = self.first - 1022 + (np.arange(self.n_side) >> self.halvings)
        return np.concatenate([side[::-1], [0], side])

    def index(self, x):
        """Return the cell of every number, ``n_cells`` for what is in none."""
        return _cell_of_code(self)[_codes(x, self.halvings)]

    def counts(self, x):
        """Return the histogram of a one-dimensional array of finite numbers."""
        of_codes = np.bincount(_codes(x, self.halvings), minlength=CODES << self.halvings)
        counts = np.zeros(self.n_cells + 1, dtype=np.int64)
        np.add.at(counts, _cell_of_code(self), of_codes)
        return counts[: self.n_cells]


@public
class UniformCells:
    """Cells of one width from a start on, open below; what is outside of them is in none."""

    start: float
    width: float
    n_cells: int

    def check(self):
        tame(self)
        refuse(not 0 < self.n_cells <= 2**20, "so many cells")

    def counts(self, x):
        """Return the histogram of a one-dimensional array of finite numbers."""
        i = np.ceil((x - self.start) / self.width) - 1
        i = np.where((i >= 0) & (i < self.n_cells), i, self.n_cells).astype(np.int64)
        return np.bincount(i, minlength=self.n_cells + 1)[: self.n_cells]

    def upper_edge(self, i):
        """Return the upper edge of a cell."""
        return self.start + self.width * (i + 1)


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


@lru_cache(maxsize=8)
def _edges(halvings):
    """Return the lower edge of every cell of the positive numbers, and the end of the last."""
    parts = 1 + np.arange(1 << halvings) / (1 << halvings)
    octaves = np.ldexp(1.0, np.arange(-1022, 1024))
    edges = np.concatenate([[0.0], octaves[0] * (parts[1:] - 1), np.outer(octaves, parts).ravel()])
    edges = np.append(edges, np.finfo(np.float64).max)
    edges.flags.writeable = False
    return edges
