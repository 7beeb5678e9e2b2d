"""Additive models: counts of cells, and sums of residuals of a released model over them."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.kernel._links import Link
from skdp.kernel._plain import rising
from skdp.kernel._statistic import (
    MOST_CELLS,
    OneCell,
    Statistic,
    certified,
    public,
    refuse,
)
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import sqrt_up

__all__ = [
    "Calibration",
    "ClassCounts",
    "FeatureCells",
    "ResidualLengths",
    "ResidualSum",
    "TermGradients",
    "TermScores",
]

FARTHEST = 2**61  # of a score: differences of scores do not wrap
MOST_SQUARED = 4**30  # of a residual: sums of a block stay exact
FAR = 4 * 2**10  # units of a score that a calibration looks at, around the start
FIRST = 2 * FAR  # entry of every row beside its score: intercepts count for more than slopes
LONGEST = math.isqrt(FIRST**2 + FAR**2) + 1  # above the length of such a row


@public
@dataclass(frozen=True)
class ClassCounts(OneCell):
    """How many rows are of which class: the code in the last column.

    Parameters
    ----------
    size : int
        Number of classes.
    whole : bool, default=False
        Of rows without NaN and infinity.
    """

    size: int
    whole: bool = False

    def cells(self, block):
        """Return the code of every row; -1 for none."""
        y = np.asarray(block[:, -1], dtype=np.float64)
        coded = (y >= 0) & (y < self.size)
        if self.whole:
            coded &= finite_rows(block)
        return np.where(coded, y, -1).astype(np.intp)


@public
@dataclass(frozen=True)
class FeatureCells(Statistic):
    """How many rows lie in every cell of every feature.

    Parameters
    ----------
    sizes : tuple of int
        The number of cells of every feature.

    Notes
    -----
    **Privacy** (add or remove one row): a row is in one cell of each of the F features, so the
    vector of all counts moves by 1 in F places: sqrt(F) exactly.
    """

    sizes: tuple
    kind = "cells"

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(tuple(self.sizes) != tuple(shape.sizes), "the sizes are those of the view")
        refuse(sum(self.sizes) > MOST_CELLS, "there are at most 2^24 cells")

    @property
    def squared_l2(self):
        """The number of features."""
        return len(self.sizes)

    l1 = squared_l2

    def total(self, block):
        """Return the counts of all features, one after the other."""
        pairs = zip(block.cells, self.sizes, strict=True)
        return np.concatenate([np.bincount(cell, minlength=size) for cell, size in pairs])


@public
@dataclass(frozen=True)
class TermScores:
    """A released model: scores of rows are exact sums of integers.

    Parameters
    ----------
    intercept : ndarray of int64 of shape (n_outputs, 1)
    tables : tuple of ndarray of int64 of shape (n_outputs, n_cells)
        One for each feature.
    """

    intercept: np.ndarray
    tables: tuple

    def check(self, outputs, sizes):
        """Raise ValueError for tables that do not fit, or scores that could wrap."""
        wrong = tuple(map(np.shape, self.tables)) != tuple((outputs, n) for n in sizes)
        refuse(wrong, "a table for every feature")
        refuse(np.shape(self.intercept) != (outputs, 1), "an intercept for every output")
        all_of = [np.asarray(part) for part in (self.intercept, *self.tables)]
        refuse(any(part.dtype != np.int64 for part in all_of), "scores are integers")
        refuse(sum(int(np.abs(p).max()) for p in all_of) > FARTHEST, "scores are at most 2^61")

    def of(self, cells):
        """Return the scores of rows, shape (n_outputs, n): each row by itself."""
        scores = np.repeat(self.intercept, cells.shape[1], axis=1)
        for table, cell in zip(self.tables, cells, strict=True):
            scores += table[:, cell]
        return scores

    def moved(self, scores, last, cells):
        """Return the same from those of another model, which change."""
        scores += self.intercept - last.intercept
        for old, new, cell in zip(last.tables, self.tables, cells, strict=True):
            if (old != new).any():
                scores += (new - old)[:, cell]
        return scores


class Residual(Statistic):
    """What rows add to a gradient: fields ``scores``, a TermScores, and ``link``.

    Notes
    -----
    **Privacy** (add or remove one row): the score of a row is a function of that row and of fields,
    to the last bit, and so are its residuals: integers whose length the link bounds, which is
    looked at again, row by row. Whatever scores are kept: they are the same integers.
    """

    kind = "cells"

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        wrong = not isinstance(self.link, Link) or not isinstance(self.scores, TermScores)
        refuse(wrong, "residuals are those of a link, of scores")
        self.link.check()
        self.scores.check(self.link.outputs, shape.sizes)
        refuse(self.squared_l2 > MOST_SQUARED, "sums of residuals stay exact")

    @property
    def squared_l2(self):
        """The bound of the link."""
        return self.link.squared_l2

    @property
    def step(self):
        """The worth of a unit of a residual."""
        return 1 / self.link.one

    def residuals(self, block):
        """Return integers, a column for each row; what would be too long becomes zeros."""
        scores = block.scores(self.scores)
        return certified(self.link.residuals(scores, block.target), self.link.squared_l2)


@public
@dataclass(frozen=True)
class TermGradients(Residual):
    """Sums of residuals over the cells of one feature: a row is in one of them.

    Parameters
    ----------
    scores : TermScores
    link : Link
    feature : int
    """

    scores: TermScores
    link: Link
    feature: int

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(not 0 <= self.feature < len(shape.sizes), "no such feature")

    @property
    def _size(self):
        return self.scores.tables[self.feature].shape[1]

    def total(self, block):
        """Return the sums, shape (n_residuals, n_cells)."""
        cell, rows = block.cells[self.feature], self.residuals(block)
        sums = [np.bincount(cell, weights=row, minlength=self._size) for row in rows]
        return np.array(sums).astype(np.int64)


@public
@dataclass(frozen=True)
class ResidualSum(Residual):
    """The sum of residuals over all rows.

    Parameters
    ----------
    scores : TermScores
    link : Link
    """

    scores: TermScores
    link: Link

    def total(self, block):
        """Return the sum, shape (n_residuals,)."""
        return self.residuals(block).sum(axis=1)


@public
@dataclass(frozen=True)
class ResidualLengths(OneCell):
    """How many rows have a residual, the first of the link, of which length.

    Parameters
    ----------
    scores : TermScores
    link : Link
    edges : ndarray of int
        The largest length of every cell but the last, which takes what is longer.
    """

    scores: TermScores
    link: Link
    edges: np.ndarray
    kind = "cells"

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        rising(self.edges, "edges")
        refuse(not isinstance(self.link, Link), "residuals are those of a link")
        self.link.check()
        self.scores.check(self.link.outputs, shape.sizes)

    @property
    def size(self):
        """The number of cells."""
        return len(self.edges)

    def cells(self, block):
        """Return the cell of every row."""
        residuals = self.link.residuals(block.scores(self.scores), block.target)
        return np.minimum(np.searchsorted(self.edges, np.abs(residuals[0])), self.size - 1)


@public
@dataclass(frozen=True)
class Calibration(Residual):
    """Gradients and second derivatives of the intercepts, and of one factor of all terms.

    Parameters
    ----------
    scores : TermScores
    link : Link
        With curvatures.
    start : ndarray of int64 of shape (n_outputs, 1)
        Scores that the factor leaves as they are.
    slope : bool
        Whether there is a factor; else the second entry is 0.

    Notes
    -----
    **Privacy** (add or remove one row): with ``c`` the score less its start, cut to ``FAR``, a row
    has the vector ``v = (FIRST, c)``, or ``(FIRST, 0)``, at most ``longest`` long. It adds
    ``r_k v`` for each gradient and the integer parts of ``q_k v v^T / longest`` for each curvature
    of the link: squares that sum to at most ``|v|^2 (sum r_k^2 + sum q_k^2)``, so its length is at
    most the link's times ``longest``.
    """

    scores: TermScores
    link: Link
    start: np.ndarray
    slope: bool

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        refuse(self.link.gain is None, "a calibration needs curvatures")
        wrong = np.shape(self.start) != (self.link.outputs, 1)
        refuse(wrong or self.start.dtype != np.int64, "a start for every output")

    @property
    def longest(self):
        """The largest length of v."""
        return LONGEST if self.slope else FIRST

    @property
    def squared_l2(self):
        """The bound: that of the link, times the squared length of v."""
        return (Fraction(sqrt_up(self.link.squared_l2)) * self.longest) ** 2

    @property
    def step(self):
        """The worth of a unit of the gradient of an intercept."""
        return 1 / (self.link.one * FIRST)

    @property
    def to_second(self):
        """How many times larger the unit of a second derivative of intercepts is."""
        return self.longest / (FIRST * self.link.gain)

    def _vectors(self, block):
        """Yield v, of shape (2, n), a gradient and curvatures (2, 2, n), of each output."""
        residuals, curvatures = np.split(self.residuals(block), 2)
        scores = block.scores(self.scores)
        around = np.clip(scores - self.start, -FAR, FAR) * bool(self.slope)
        for r, q, c in zip(residuals, curvatures, around, strict=True):
            v = np.stack([np.full_like(c, FIRST), c])
            x = q * v[:, None] * v
            yield v, r, np.sign(x) * (np.abs(x) // self.longest)

    def total(self, block):
        """Return the sums, shape (n_outputs, 2, 3): gradients, and second derivatives."""
        total = np.empty((self.link.outputs, 2, 3), dtype=np.int64)
        for sums, (v, r, x) in zip(total, self._vectors(block), strict=True):
            sums[:, 0], sums[:, 1:] = v @ r, x.sum(axis=2)
        return total
