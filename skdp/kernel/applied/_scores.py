"""Scores of a classifier, by class: linear measurements of their cells, and confusions."""

from functools import cached_property
from typing import Annotated

import numpy as np

from skdp.kernel._plain import each, rising, whole, within
from skdp.kernel._statistic import OneCell, Rule, Statistic, public, refuse
from skdp.mechanisms import finite_rows

PARTS = 2**8  # of a bin: where in it a score lies
MOST_ENTRY = 2**22
MOST_LEVELS = 2**16


def codes_of(block, n_classes):
    """Return the class of every row, the code in its last column; -1 for rows that are absent."""
    code = np.asarray(block[:, -1], dtype=np.float64)
    there = finite_rows(block) & (code >= 0) & (code < n_classes)
    return np.where(there, code, -1).astype(np.intp)


@public
class OfLevel(Rule):
    """The set of a row is the code in one of its columns; -1 for other numbers, and rows with NaN.

    **Privacy**: a function of the row.
    """

    column: int
    n_levels: Annotated[int, within(1, MOST_LEVELS)]

    def check(self, shape):
        super().check(shape)
        refuse(not 0 <= self.column < shape.n_features, "no such column")

    def __call__(self, block):
        """Return the set of every row."""
        code = np.where(finite_rows(block), block[:, self.column], -1.0)
        there = (code >= 0) & (code < self.n_levels) & (code == np.floor(code))
        return np.where(there, code, -1).astype(np.intp)


@public
class ScoreCells(Statistic):
    """Public measurements of the scores of m columns, each in bins and by one class or the others.

    Column j of scores has the positive class ``positives[j]``, the code in the last column. A row
    in bin b of column j, a part u of the way through it, adds ``left (1 - u) + right u``: vectors
    of q integers for each bin, and for negatives and positives. Scores beyond the edges count as on
    them.

    **Privacy** (add or remove one row). ``u`` is one of k / 2^8, so a row adds, times 2^8, a
    combination with non-negative integers k and 2^8 - k of two columns of integers, in each of the
    m columns of scores. A norm is convex: its squared length is at most

        4^8 sum over j of max over bins, classes and ends of |left or right|^2,

    in exact integers. A row with NaN or infinity, or of no class, adds nothing. Sums wrap modulo
    2^64 beyond 2^32 rows: a post-processing.
    """

    # bounds of the bins of every column of scores
    edges: Annotated[np.ndarray, "m e"]
    positives: Annotated[tuple, "m", each(within(0, 2**20))]
    # (m, q, 2, bins): of negatives and positives, at the left and the right end of a bin
    left: Annotated[np.ndarray, "m q 2 b", whole, within(-MOST_ENTRY, MOST_ENTRY)]
    right: Annotated[np.ndarray, "m q 2 b", whole, within(-MOST_ENTRY, MOST_ENTRY)]

    def check(self, shape):
        super().check(shape)
        refuse(len(self.edges) != shape.n_features - 1, "edges for every column of scores")
        refuse(self.edges.shape[1] != self.left.shape[3] + 1, "a bin between two edges")
        refuse(not np.isfinite(self.edges).all(), "edges are finite")
        for row in self.edges:
            rising(row, "edges", strictly=True)
        refuse(any(type(k) is not int for k in self.positives), "classes are numbers")
        refuse(self.left.shape[1] > 2**14 or self.left.shape[3] > 2**14, "at most 2^14 bins")

    @cached_property
    def squared_l2(self):
        lengths = [np.square(end).sum(axis=1).max(axis=(1, 2)) for end in (self.left, self.right)]
        return PARTS**2 * sum(map(int, np.maximum(*lengths)))

    step = 1 / PARTS

    def total(self, block):
        """Return the sums of every column, one after the other, shape (m q,)."""
        block = np.asarray(block)
        code = codes_of(block, 2**20 + 1)
        block, code = block[code >= 0], code[code >= 0]
        bins, sums = self.left.shape[3], []
        for j, (edges, positive) in enumerate(zip(self.edges, self.positives, strict=True)):
            at, part = _places(np.asarray(block[:, j], dtype=np.float64), edges)
            at = at + bins * (code == positive)
            n = np.bincount(at, minlength=2 * bins).astype(np.int64)
            parts = np.bincount(at, part, minlength=2 * bins).astype(np.int64)
            left, right = (end[j].reshape(-1, 2 * bins) for end in (self.left, self.right))
            sums.append(left @ (PARTS * n - parts) + right @ parts)
        return np.concatenate(sums)


def _places(x, edges):
    """Return the bin of every score, and how many parts of it lie before the score."""
    at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    low, high = edges[at], edges[at + 1]
    with np.errstate(all="ignore"):
        part = (np.clip(x, low, high) / 2 - low / 2) / (high / 2 - low / 2)
    part = np.where(np.isfinite(part), np.clip(part, 0, 1), 0.0)
    return at, np.rint(PARTS * part)


@public
class ConfusionCells(OneCell):
    """How many rows of each class have which of the scores as the largest.

    The first of equal ones. Cells are numbered by the class, then by the column.
    """

    n_classes: Annotated[int, within(1, 2**12)]

    def check(self, shape):
        super().check(shape)
        refuse(self.n_classes != shape.n_features - 1, "a column of scores for every class")

    @property
    def size(self):
        return self.n_classes**2

    def cells(self, block):
        block = np.asarray(block)
        code = codes_of(block, self.n_classes)
        largest = np.argmax(np.where(np.isfinite(block[:, :-1]), block[:, :-1], 0), axis=1)
        return np.where(code < 0, -1, code * self.n_classes + largest)
