"""Cells for the entries of a column: octaves on both sides of a point, over all floats."""

from functools import cached_property, lru_cache

import numpy as np

__all__ = ["N_OCTAVES", "OctaveCells", "magnitude_cells"]

N_OCTAVES = 2047  # of the magnitudes of float64: the first from 0 to 2^-1022, then one each
MANTISSA = 52
CODES = 2**12  # of signs and exponents


def magnitude_cells(x, halvings=0):
    """Return for every number the cell of its magnitude, -1 for zero.

    An octave ``(2^k, 2^(k+1)]`` is halved so many times, evenly; cell ``i << halvings`` is the
    first of octave i, and octave 0 ends at 2^-1022.

    Parameters
    ----------
    x : ndarray of float64
        Finite.
    halvings : int, default=0

    Returns
    -------
    cells : ndarray of int64, same shape

    Notes
    -----
    The bits of a magnitude, read as an integer, grow with it, and end in 52 bits of the mantissa.
    One less puts the upper edge of a cell, a power of two, into the cell below it: 1 is in
    (1/2, 1].
    """
    bits = np.abs(np.ascontiguousarray(x, dtype=np.float64)).view(np.int64)
    bits -= 1
    bits >>= MANTISSA - halvings
    return bits


class OctaveCells:
    """Cells for signed numbers: zero, and ``octaves`` octaves on either side, each halved evenly.

    Cell ``n_side`` holds zero, or all that is nearer to it than the first octave; those before it,
    from the farthest on, the negative numbers, those after it the positive ones. A number beyond
    the last octave is in no cell.

    Parameters
    ----------
    first : int, default=0
        Number of the first octave, in [0, 2047); octave i >= 1 is ``(2^(i-1023), 2^(i-1022)]``.
    octaves : int, default=2047
    halvings : int, default=0

    Attributes
    ----------
    n_side, n_cells : int
    low, high : ndarrays of shape (n_cells,)
        Edges of the cells; positive ones are open below, negative ones above. Finite.
    size : ndarray of shape (n_cells,)
        Distance of the farther edge from zero.
    octave : ndarray of int of shape (n_cells,)
        The exponent of the farther edge, 0 for the middle cell.

    Notes
    -----
    **Privacy**: the cell of a number is a function of that number alone, found by integer
    arithmetic on its bits. One number is in at most one cell, so a histogram of one number per row
    moves by 1 in l1 and l2.
    """

    def __init__(self, first=0, octaves=N_OCTAVES, halvings=0):
        self.first, self.halvings = first, halvings
        self.octaves = min(octaves, N_OCTAVES - first)
        self.n_side = self.octaves << halvings
        self.n_cells = 2 * self.n_side + 1
        edges = _edges(halvings)[first << halvings : ((first + self.octaves) << halvings) + 1]
        self.edges = edges
        self.high = np.concatenate([-edges[-2::-1], edges])
        self.low = -self.high[::-1]
        self.low[self.n_side], self.high[self.n_side] = -edges[0], edges[0]
        self.size = np.maximum(-self.low, self.high)
        side = first - 1022 + (np.arange(self.n_side) >> halvings)
        self.octave = np.concatenate([side[::-1], [0], side])

    @classmethod
    def around(cls, length, *, below, above, halvings):
        """Return cells from ``below`` octaves under a positive length to ``above`` over it."""
        cell = int(magnitude_cells(np.array([length]))[0])
        first = min(max(cell - below, 0), N_OCTAVES - 1)
        return cls(first, max(cell + above + 1 - first, 1), halvings)

    def index(self, x):
        """Return the cell of every number, ``n_cells`` for what is in none.

        Parameters
        ----------
        x : ndarray of float64
            Finite.

        Returns
        -------
        index : ndarray of int64, same shape
        """
        return self._cell_of_code[_codes(x, self.halvings)]

    def counts(self, x):
        """Return the histogram of a one-dimensional array of finite numbers."""
        of_codes = np.bincount(_codes(x, self.halvings), minlength=CODES << self.halvings)
        counts = np.zeros(self.n_cells + 1, dtype=np.int64)
        np.add.at(counts, self._cell_of_code, of_codes)
        return counts[: self.n_cells]

    @cached_property
    def _cell_of_code(self):
        side = np.arange(-1, (N_OCTAVES << self.halvings))
        side = np.maximum(side + 1 - (self.first << self.halvings), 0)
        cells = np.full(CODES << self.halvings, self.n_cells)
        inside = side <= self.n_side
        codes = np.arange(-1, N_OCTAVES << self.halvings)[inside]
        cells[codes] = self.n_side + side[inside]  # -1, the code of 0.0, is the last
        cells[codes + (CODES << self.halvings) // 2] = self.n_side - side[inside]
        return cells


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
