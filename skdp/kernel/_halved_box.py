"""A box halved again and again: cells, and the codes of points."""

from functools import cached_property

import numpy as np

__all__ = ["Grid"]


class Grid:
    """A box ``[-half, half]``, its longest side halved ``depth`` times, all cells alike.

    A cell of level l has a code of l bits; the code of its halves begins with it.

    ``half``: (p,): public or released.
    """

    def __init__(self, half, depth):
        self.half, self.depth = np.asarray(half, dtype=np.float64), depth
        sides, self.axes = self.half.copy(), []
        for _ in range(depth):
            self.axes.append(int(np.argmax(sides)))
            sides[self.axes[-1]] /= 2

    @cached_property
    def _spread(self):
        """For every axis, the bits of all its positions at their places in a code."""
        tables = []
        for axis in range(len(self.half)):
            table = np.zeros(1, dtype=np.int64)
            for place in (self.depth - 1 - i for i, a in enumerate(self.axes) if a == axis):
                table = np.add.outer(table, [0, 1 << place]).ravel()
            tables.append(table)
        return tables

    def codes(self, Z):
        """Return the codes of the finest cells of points, shape (m,); outside, the nearest cell.

        **Privacy**: elementwise arithmetic, so a function of the row.
        """
        code = np.zeros(len(Z), dtype=np.int64)
        for z, half, table in zip(Z.T, self.half, self._spread, strict=True):
            position = (z / half + 1) * (len(table) / 2)
            code += table[np.clip(position, 0, len(table) - 1).astype(np.int64)]
        return code

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
