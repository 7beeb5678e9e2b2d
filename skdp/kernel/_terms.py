"""Additive models: counts of cells, and sums of residuals of a released model over them."""

import math
from fractions import Fraction
from functools import cache
from typing import Annotated

import numpy as np

from skdp.kernel._plain import Checked, made_of, public, refuse, rising, within
from skdp.kernel._statistic import MOST_CELLS, OneCell, OnePerColumn, Statistic, certified
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import sqrt_up

ONE = 2**15  # a probability of one
STEP = 2**-10  # of a score
END = 16 * 2**10  # scores beyond are as good as infinite
SCALE = 2**30  # of a table of exponentials
FARTHEST = 2**40  # of a clip radius


class Link(Checked):
    """How the residual of a row follows from its scores and its target."""


@public
class Logistic(Link):
    """Two classes: y - p of one score, p from a public table.

    **Privacy** (add or remove one row). A row adds ``r = ONE * y - P`` to the gradient, where
    ``0 <= P <= ONE``, and the integer part of ``gain P (ONE - P) / ONE`` to the curvature. With
    ``x = |r| / ONE`` the squares sum to at most ``ONE^2 x^2 (1 + gain^2 (1 - x)^2)``. That is at
    most ``ONE^2`` for all x in [0, 1] if ``gain^2 <= ((1 + sqrt 5) / 2)^5 = 11.0902``, the least of
    ``(1 + x) / (x^2 (1 - x))``, where ``x^2 + x = 1``.
    """

    outputs, step, one = 1, STEP, ONE
    gain, squared_l2 = 3.33, ONE**2

    @staticmethod
    def residuals(scores, target):
        """Return ``ONE * y - P`` and the curvature, shape (2, n)."""
        P = _sigmoid()[np.clip(scores, -END, END) + END]
        return np.concatenate([ONE * target - P, 333 * P * (ONE - P) // (100 * ONE)])


@public
class Softmax(Link):
    """K classes: e_y - p of K scores, p by exponentials from a public table.

    **Privacy** (add or remove one row). A row adds ``ONE * e_y - P`` to its K gradients, and the
    integer parts of ``2 P_k (ONE - P_k) / ONE`` to their curvatures. P are integers >= 0, and as
    quotients that are rounded down they sum to at most ONE. With ``p = P / ONE``,
    ``p^2 + 4 p^2 (1 - p)^2 <= p``, since ``4 p (1 - p) <= 1``. So the classes other than that of
    the row add squares that sum to at most ``ONE^2 (1 - p_y)``, and its own, with ``1 - p_y`` for
    p, adds no more: together at most ``2 ONE^2``.
    """

    n_classes: Annotated[int, within(1, math.inf)]  # a target beyond is that of the last class
    step, one = STEP, ONE
    gain, squared_l2 = 2.0, 2 * ONE**2

    @property
    def outputs(self):
        """The number of classes."""
        return self.n_classes

    def residuals(self, scores, target):
        """Return ``ONE * e_y - P`` and the curvatures, shape (2 K, n)."""
        below = np.minimum(scores.max(axis=0) - scores, END)
        parts = _exponentials()[below]
        P = ONE * parts // parts.sum(axis=0)
        residuals = np.concatenate([-P, 2 * P * (ONE - P) // ONE])
        residuals[np.clip(target, 0, self.n_classes - 1), np.arange(len(target))] += ONE
        return residuals


@public
class Clipped(Link):
    """A number: y - f, clipped to a released radius.

    **Privacy** (add or remove one row): a row adds an integer of at most ``radius``.
    """

    radius: Annotated[int, within(1, FARTHEST)]  # in steps of a score
    outputs, step, one, gain = 1, 2**-16, 2**16, None

    @property
    def squared_l2(self):
        return self.radius**2

    def residuals(self, scores, target):
        """Return the clipped differences, shape (1, n)."""
        return np.clip(target - scores, -self.radius, self.radius)


@public
class HalfCircle(Clipped):
    """A number: y - f, clipped to a released radius, and how near f is, which counts rows.

    **Privacy** (add or remove one row). A row adds an integer r of at most ``radius`` to the
    gradient and ``h``, the integer part of the root of ``radius^2 - r^2``, to the counts: a point
    on half a circle or inside, so ``r^2 + h^2 <= radius^2``. No root is rounded up to an integer k:
    that of ``k^2 - 1`` is below ``k - 1 / (2 k)``, at most ``k - 2^-27`` for k up to 2^26, which is
    a double, and squares up to 2^52 are exact.
    """

    radius: Annotated[int, within(1, 2**26)]  # in steps of a score: squares are exact

    def residuals(self, scores, target):
        """Return the clipped differences and how near they are, shape (2, n)."""
        r = super().residuals(scores, target)
        left = self.radius**2 - r * r
        return np.concatenate([r, np.sqrt(left).astype(np.int64)])


@cache
def _sigmoid():
    scores = (STEP * i for i in range(-END, END + 1))
    return np.array([round(ONE / (1 + math.exp(-x))) for x in scores], dtype=np.int64)


@cache
def _exponentials():
    return np.array([round(SCALE * math.exp(-STEP * i)) for i in range(END + 1)], dtype=np.int64)


MOST_SCORE = 2**61  # of a score: differences of scores do not wrap
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
        there = finite_rows(block) if self.whole else True
        return np.where((y >= 0) & (y < self.size) & there, y, -1).astype(np.intp)


@public
class FeatureCells(OnePerColumn):
    """How many rows lie in every cell of every feature.

    **Privacy** (add or remove one row): a row is in one cell of each of the F features, so the
    vector of all counts moves by 1 in F places: sqrt(F) exactly.
    """

    sizes: Annotated[tuple, made_of(int)]  # the number of cells of every feature
    kind, each = "cells", "sizes"

    def check(self, shape):
        super().check(shape)
        refuse(tuple(self.sizes) != tuple(shape.sizes), "the sizes are those of the view")
        refuse(sum(self.sizes) > MOST_CELLS, "there are at most 2^24 cells")

    def total(self, block):
        """Return the counts of all features, one after the other."""
        each = enumerate(self.sizes)
        return np.concatenate([np.bincount(block.column(j), minlength=size) for j, size in each])


@public
class TermScores:
    """A released model: scores of rows are exact sums of integers."""

    intercept: np.ndarray  # (n_outputs, 1)
    tables: tuple  # (n_outputs, n_cells): one for each feature

    def fits(self, outputs, sizes):
        """Raise ValueError for tables that do not fit, or scores that could wrap."""
        wrong = tuple(map(np.shape, self.tables)) != tuple((outputs, n) for n in sizes)
        refuse(wrong, "a table for every feature")
        refuse(np.shape(self.intercept) != (outputs, 1), "an intercept for every output")
        all_of = self.intercept, *self.tables
        integers = (isinstance(one, np.ndarray) and one.dtype == np.int64 for one in all_of)
        refuse(not all(integers), "scores are integers")
        refuse(sum(int(np.abs(p).max()) for p in all_of) > MOST_SCORE, "scores are at most 2^61")

    def of(self, block):
        """Return the scores of rows, shape (n_outputs, n): each row by itself."""
        scores = np.repeat(self.intercept, len(block), axis=1)
        for j, table in enumerate(self.tables):
            if table.any():
                scores += table[:, block.column(j)]
        return scores

    def moved(self, scores, last, block):
        """Return the same from those of another model, which change."""
        scores += self.intercept - last.intercept
        for j, (old, new) in enumerate(zip(last.tables, self.tables, strict=True)):
            if (old != new).any():
                scores += (new - old)[:, block.column(j)]
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
        self.scores.fits(self.link.outputs, shape.sizes)
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
class ResidualSum(Residual):
    """The sum of residuals over all rows, or over the cells of a feature: a row is in one."""

    scores: TermScores
    link: Link
    feature: int | None = None

    def check(self, shape):
        super().check(shape)
        refuse(not 0 <= (self.feature or 0) < len(shape.sizes), "no such feature")

    def total(self, block):
        """Return the sum, shape (n_residuals,), or (n_residuals, n_cells)."""
        rows = self.residuals(block)
        if self.feature is None:
            return rows.sum(axis=1)
        cell, size = block.column(self.feature), self.scores.tables[self.feature].shape[1]
        return np.array([np.bincount(cell, row, size) for row in rows]).astype(np.int64)


@public
class ResidualLengths(OneCell):
    """How many rows have a residual, the first of the link, of which length."""

    scores: TermScores
    link: Link
    # the largest length of every cell but the last, which takes what is longer
    edges: Annotated[np.ndarray, "k", rising]
    kind = "cells"

    def check(self, shape):
        super().check(shape)
        self.scores.fits(self.link.outputs, shape.sizes)

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
    start: Annotated[np.ndarray, "n_outputs 1"]  # scores that the factor leaves as they are
    slope: bool  # whether there is a factor; else the second entry is 0

    def check(self, shape):
        super().check(shape)
        refuse(self.link.gain is None, "a calibration needs curvatures")
        wrong = len(self.start) != self.link.outputs or self.start.dtype != np.int64
        refuse(wrong, "a start for every output")

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
