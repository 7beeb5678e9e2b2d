"""Additive models: counts of cells, and sums of residuals of a released model over them."""

import math
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
class ClassCounts(OneCell):
    """How many rows are of which class: the code in the last column."""

    size: int  # number of classes
    whole: bool = False  # of rows without NaN and infinity

    def cells(self, block):
        y = np.asarray(block[:, -1], dtype=np.float64)
        coded = (y >= 0) & (y < self.size)
        if self.whole:
            coded &= finite_rows(block)
        return np.where(coded, y, -1).astype(np.intp)


@public
class FeatureCells(Statistic):
    """How many rows lie in every cell of every feature.

    **Privacy** (add or remove one row): a row is in one cell of each of the F features, so the
    vector of all counts moves by 1 in F places: sqrt(F) exactly.
    """

    sizes: tuple  # the number of cells of every feature
    kind = "cells"

    def check(self, shape):
        super().check(shape)
        refuse(tuple(self.sizes) != tuple(shape.sizes), "the sizes are those of the view")
        refuse(sum(self.sizes) > MOST_CELLS, "there are at most 2^24 cells")

    @property
    def squared_l2(self):
        return len(self.sizes)

    l1 = squared_l2

    def total(self, block):
        """Return the counts of all features, one after the other."""
        pairs = zip(block.cells, self.sizes, strict=True)
        return np.concatenate([np.bincount(cell, minlength=size) for cell, size in pairs])


@public
class TermScores:
    """A released model: scores of rows are exact sums of integers."""

    intercept: np.ndarray  # (n_outputs, 1)
    tables: tuple  # (n_outputs, n_cells): one for each feature

    def check(self, outputs, sizes):
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

    **Privacy** (add or remove one row): the score of a row is a function of that row and of fields,
    to the last bit, and so are its residuals: integers whose length the link bounds, which is
    looked at again, row by row. Whatever scores are kept: they are the same integers.
    """

    kind = "cells"

    def check(self, shape):
        super().check(shape)
        wrong = not isinstance(self.link, Link) or not isinstance(self.scores, TermScores)
        refuse(wrong, "residuals are those of a link, of scores")
        self.link.check()
        self.scores.check(self.link.outputs, shape.sizes)
        refuse(self.squared_l2 > MOST_SQUARED, "sums of residuals stay exact")

    @property
    def squared_l2(self):
        return self.link.squared_l2

    @property
    def step(self):
        return 1 / self.link.one

    def residuals(self, block):
        """Return integers, a column for each row; what would be too long becomes zeros."""
        scores = block.scores(self.scores)
        return certified(self.link.residuals(scores, block.target), self.link.squared_l2)


@public
class TermGradients(Residual):
    """Sums of residuals over the cells of one feature: a row is in one of them."""

    scores: TermScores
    link: Link
    feature: int

    def check(self, shape):
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
class ResidualSum(Residual):
    """The sum of residuals over all rows."""

    scores: TermScores
    link: Link

    def total(self, block):
        """Return the sum, shape (n_residuals,)."""
        return self.residuals(block).sum(axis=1)


@public
class ResidualLengths(OneCell):
    """How many rows have a residual, the first of the link, of which length."""

    scores: TermScores
    link: Link
    edges: np.ndarray  # the largest length of every cell but the last, which takes what is longer
    kind = "cells"

    def check(self, shape):
        super().check(shape)
        rising(self.edges, "edges")
        refuse(not isinstance(self.link, Link), "residuals are those of a link")
        self.link.check()
        self.scores.check(self.link.outputs, shape.sizes)

    @property
    def size(self):
        return len(self.edges)

    def cells(self, block):
        residuals = self.link.residuals(block.scores(self.scores), block.target)
        return np.minimum(np.searchsorted(self.edges, np.abs(residuals[0])), self.size - 1)


@public
class Calibration(Residual):
    """Gradients and second derivatives of the intercepts, and of one factor of all terms.

    **Privacy** (add or remove one row): with ``c`` the score less its start, cut to ``FAR``, a row
    has the vector ``v = (FIRST, c)``, or ``(FIRST, 0)``, at most ``longest`` long. It adds
    ``r_k v`` for each gradient and the integer parts of ``q_k v v^T / longest`` for each curvature
    of the link: squares that sum to at most ``|v|^2 (sum r_k^2 + sum q_k^2)``, so its length is at
    most the link's times ``longest``.
    """

    scores: TermScores
    link: Link  # with curvatures
    start: np.ndarray  # (n_outputs, 1): scores that the factor leaves as they are
    slope: bool  # whether there is a factor; else the second entry is 0

    def check(self, shape):
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
        return (Fraction(sqrt_up(self.link.squared_l2)) * self.longest) ** 2

    @property
    def step(self):
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
