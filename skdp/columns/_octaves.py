"""Where the cells of octaves end: what their counts are read by."""

import numpy as np

from skdp.kernel._bins import MANTISSA, N_OCTAVES, OctaveCells

__all__ = ["OctaveEnds", "octaves_around"]


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
