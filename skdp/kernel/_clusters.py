"""Clusters and places of rows, and histograms of their cells."""

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._lattice import BallCover, Lattice, LocatedBall, Subspace, lengths
from skdp.kernel._plain import Points, Vector, made_of, once, public, refuse, whole, within
from skdp.kernel._statistic import OneCell, Rule
from skdp.mechanisms import ball_rows, finite_rows

LINE_BITS, DIRECTION_BITS = 20, 28
DEEPEST = 24  # halvings of a box
MOST_HALF = 7.5  # length of half widths: integers of 2^22 of them are compared exactly


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


@public
class InPlaces(Rule):
    """The number of the place of a row, -1 for none."""

    located: LocatedBall | BallCover

    @np.errstate(all="ignore")
    def __call__(self, block):
        """Return the place of every row."""
        return Lattice(self.located).places(block)


@public
class Nearest(Rule):
    """The nearest of the centres ``y`` (k, d), in located units; -1 for rows that are left out.

    **Privacy**: rows and centres are vectors of integers whose squared distances are exact
    (:class:`skdp.kernel._lattice.Lattice`): the answer is a function of the row.
    """

    located: LocatedBall | BallCover
    y: Points

    @np.errstate(all="ignore")
    def check(self, shape):
        super().check(shape)
        seen = Lattice(self.located).points(self.y)
        refuse(not all(np.isfinite(c).all() for _, c in seen), "centres that places can see")

    @np.errstate(all="ignore")
    def both(self, block):
        """Return the nearest centre of every row, and its distance in located radii."""
        lattice = Lattice(self.located)
        return lattice.labels(block, lattice.points(self.y))

    def __call__(self, block):
        """Return the nearest centre of every row."""
        return self.both(block)[0]


@public
class NearestLifted(Rule):
    """The nearest of centres in the subspace of the place of a row, numbered place by place.

    **Privacy**: coordinates in a subspace are exact products, rounded to integers one by one, and
    compared as those of :class:`Nearest`.
    """

    located: LocatedBall | BallCover
    spaces: Annotated[tuple, "m", made_of(Subspace)]
    # (k, p): the centres in the subspace of every place
    points: Annotated[tuple, "m", made_of(np.ndarray)]

    def check(self, shape):
        super().check(shape)
        refuse(len(self.spaces) != len(self.located.balls), "a subspace for every place")
        for space, points in zip(self.spaces, self.points, strict=True):
            refuse(np.ndim(points) != 2 or not len(points), "there are centres in every place")
            refuse(np.shape(points)[1] != len(space.half), "centres of a subspace")
            refuse(lengths(space.half) > MOST_HALF, "a box of moderate size")

    @np.errstate(all="ignore")
    def __call__(self, block):
        """Return the nearest centre of every row, -1 for rows that are left out."""
        ends = np.cumsum([len(z) for z in self.points])
        C = [
            (np.arange(end - len(z), end), _on_grid(space, z))
            for space, z, end in zip(self.spaces, self.points, ends, strict=True)
        ]
        through = [lambda Q, s=s: _on_grid(s, s.coordinates(Q)) for s in self.spaces]
        return Lattice(self.located).labels(block, C, through)[0]


def by_label(block, labels, k):
    """Yield the numbers of k labels that occur, the places of their rows, and these, by one sort.

    **Privacy**: rows of a label keep their order, and each is where its own label puts it.
    """
    narrow = labels.astype(np.int16) if k < 2**15 else labels
    order = np.argsort(narrow, kind="stable")  # of 16 bits in linear time
    ends = np.searchsorted(narrow[order], np.arange(k + 1))
    for j, (first, end) in enumerate(pairwise(ends.tolist())):
        if first < end:
            places = order[first:end]
            yield j, places, block.take(places, axis=0)


def _on_grid(space, Z):
    return np.trunc(np.clip(Z, -space.half, space.half) * 2.0**22)


@public
class PlaceCells(OneCell):
    """How many rows are in which place; the first cell is of those in none."""

    places: BallCover

    @property
    def size(self):
        return len(self.places.balls) + 1

    @np.errstate(all="ignore")
    def cells(self, block):
        return np.where(finite_rows(block), Lattice(self.places).places(block) + 1, -1)


@public
class Reaches(OneCell):
    """How many rows of which cluster lie at which distance, in radii of its place.

    **Privacy** (add or remove one row): the nearest centre of a row and its distance are functions
    of that row, which is in one bin of one cluster at most.
    """

    rule: Nearest
    bins: LogBins
    # whether clusters have bins of their own, in radii of their places; else in located radii
    apart: bool = True

    @property
    def size(self):
        return self.bins.n_bins * (len(self.rule.y) if self.apart else 1)

    @np.errstate(all="ignore")
    def cells(self, block):
        labels, far = self.rule.both(block)
        if not self.apart:
            return self.bins.index(far)
        units = self.rule.located.units(self.rule.y)
        bins = self.bins.index(far / units[labels])
        return np.where((labels >= 0) & (bins >= 0), labels * self.bins.n_bins + bins, -1)


@public
class GridCells(OneCell):
    """How many rows lie in the cells of a level of a grid on a subspace, or in some of them."""

    located: LocatedBall
    space: Subspace  # its box is halved
    # of the finest cells; those of all levels are unions of them and counted by one pass
    depth: int
    level: int
    # codes of distinct cells of the level; None for all
    some: Annotated[np.ndarray, "k", whole, once] | None = None

    def check(self, shape):
        refuse(not 0 <= self.level <= self.depth <= DEEPEST, "a level of a box")
        super().check(shape)
        some = [] if self.some is None else self.some.tolist()
        refuse(not all(0 <= i < 2**self.level for i in some), "codes of cells of the level")

    @property
    def size(self):
        return 2**self.level if self.some is None else len(self.some)

    @property
    def finer(self):
        finest = self.level == self.depth and self.some is None
        return None if finest else replace(self, level=self.depth, some=None)

    def pooled(self, finest):
        """Return the counts of these cells from those of the finest."""
        coarse = finest.reshape(2**self.level, -1).sum(axis=1)
        return coarse if self.some is None else coarse[self.some]

    @np.errstate(all="ignore")
    def cells(self, block):
        grid, codes = Grid(self.space.half, self.depth), np.full(len(block), -1)
        for rows, _, Q in Lattice(self.located).placed(block):
            codes[rows] = grid.codes(self.space.coordinates(Q)) >> (self.depth - self.level)
        if self.some is None:
            return codes
        places = np.full(2**self.level + 1, -1)  # the last is of rows that are left out
        places[self.some] = np.arange(len(self.some))
        return places[codes]


@public
class LineCells(OneCell):
    """How many rows of every cluster lie in which cell of the line through it.

    **Privacy** (add or remove one row): a row is an integer vector of length at most 2^20, so its
    product with the integer direction (of length below 2^29) is exact in every order, and so it is
    counted in one cell of the line of one cluster, or left out.
    """

    rule: Nearest
    centers: Points
    radii: Vector  # how far out the rows of a cluster are seen; those beyond are brought back
    directions: Points  # of the lines, of length 1 at most
    n_cells: Annotated[np.ndarray, "k", whole, within(1, 2**DEEPEST)]
    stretch: Vector  # radii over half lengths of lines; rows beyond an end are in its last cell

    def check(self, shape):
        refuse(np.ndim(self.n_cells) != 1 or sum(self.n_cells.tolist()) > 2**DEEPEST, "cells")
        super().check(shape)
        refuse(not (lengths(self.directions) < 1.2).all(), "directions of length 1")

    @property
    def size(self):
        return int(self.n_cells.sum())

    @np.errstate(all="ignore")
    def cells(self, block):
        labels, ends = self.rule(block), np.cumsum(self.n_cells)
        at = np.full(len(block), -1)
        v = np.rint(self.directions * 2.0**DIRECTION_BITS)
        for i, mine, rows in by_label(block, labels, len(self.radii)):
            m, radius = self.n_cells[i], float(self.radii[i])
            q = ball_rows(rows, center=self.centers[i], radius=radius, bits=LINE_BITS)
            z = (q @ v[i]) * (2.0 ** -(LINE_BITS + DIRECTION_BITS) * self.stretch[i])
            cell = np.clip((z + 1) * (m / 2), 0, m - 1)
            at[mine] = ends[i] - m + cell.astype(np.int64)
        return at
