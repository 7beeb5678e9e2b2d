"""One grid of noisy counts, searched for windows of neighbouring cells that stand out together.

A cluster that straddles the border of two cells is seen in neither of them, and no cut of the space
is kind to all clusters. Sums over all windows of neighbouring cells, at every place, find it.
"""

import math
from itertools import product

import numpy as np
from scipy.special import ndtri

from skdp.kernel._clusters import Grid
from skdp.scales._significance import CLUSTER_BLOCKS, CLUSTER_WINDOWS

__all__ = ["HalvedBox", "dense_cells", "seen_in_windows", "sparse_blocks"]

SOLID = 1.0  # noise sds that a cell of a seen window must hold itself


class HalvedBox(Grid):
    """A Grid that knows where its cells lie."""

    def sides(self, level):
        """Return the half sides of the cells of a level, shape (p,)."""
        halvings = np.bincount(self.axes[:level], minlength=len(self.half))
        return self.half / np.exp2(halvings)

    def shape(self, level):
        """Return the number of cells along every axis."""
        return tuple(2 ** np.bincount(self.axes[:level], minlength=len(self.half)))

    def positions(self, codes, level):
        """Return the places of cells along the axes, shape (len(codes), p)."""
        position = np.zeros((len(codes), len(self.half)), dtype=np.int64)
        for i, axis in enumerate(self.axes[:level]):
            position[:, axis] = 2 * position[:, axis] + ((codes >> (level - 1 - i)) & 1)
        return position

    def centres(self, codes, level):
        """Return the centres of cells, shape (len(codes), p)."""
        return (2 * self.positions(codes, level) + 1) * self.sides(level) - self.half


def dense_cells(counts, grid, level, sd):
    """Return for every code of a level whether its cell belongs to a window that is seen."""
    codes = np.arange(len(counts))
    place = tuple(grid.positions(codes, level).T)
    table = np.zeros(grid.shape(level))
    table[place] = counts
    return seen_in_windows(table, sd, CLUSTER_WINDOWS * _prior_odds(grid))[place] & (
        counts > SOLID * sd
    )


def _prior_odds(grid):
    """Return how much rarer false cells must be: in a large box they lie far from everything."""
    return max(1.0, float(grid.half.max())) ** -3


def seen_in_windows(table, sd, false=CLUSTER_WINDOWS):
    """Return which cells of a p-dimensional table lie in a window that noise alone rarely passes.

    Windows are 1, 2 or (up to three axes) 3 cells wide along every axis.
    """
    seen = np.zeros(table.shape, dtype=bool)
    widths = (1, 2, 3) if table.ndim <= 3 else (1, 2)
    windows = list(product(*[[w for w in widths if w <= size] for size in table.shape]))
    clear = -ndtri(false / (table.size * len(windows)))
    for window in windows:
        sums = table
        for axis, width in enumerate(window):
            span = sums.shape[axis] - width + 1
            sums = sum(np.take(sums, range(i, i + span), axis=axis) for i in range(width))
        high = sums > clear * math.sqrt(math.prod(window)) * sd
        for axis, width in enumerate(window):  # every cell of the window, not its corner alone
            pad = [(0, 0)] * table.ndim
            wide = [
                np.pad(high, [*pad[:axis], (i, width - 1 - i), *pad[axis + 1 :]])
                for i in range(width)
            ]
            high = np.logical_or.reduce(wide)
        seen |= high
    return seen


def sparse_blocks(counts, dense, grid, level, sd):
    """Return what stands out at coarser levels only: diffuse mass between the dense cells.

    From fine to coarse, a block whose cells that are not yet taken sum to more than noise becomes a
    leaf, and takes them.
    """
    rest, free = np.where(dense, 0.0, counts), (~dense).astype(np.float64)
    blocks, false = [], CLUSTER_BLOCKS * _prior_odds(grid)
    for above in range(level - 1, -1, -1):
        rest, free = rest.reshape(-1, 2).sum(axis=1), free.reshape(-1, 2).sum(axis=1)
        noise = sd * np.sqrt(free)
        out = rest > -ndtri(false / len(rest)) * np.maximum(noise, sd)
        codes = np.flatnonzero(out)
        blocks.append((above, codes, rest[codes], noise[codes]))
        rest[codes] = free[codes] = 0.0
    return blocks
