"""Scores of classifiers by class and of entries by group, confusions, and losses of predictions."""

import math
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np

from skdp.kernel._bounded import OnGrid, short_pairs
from skdp.kernel._coordinates import FeatureBox
from skdp.kernel._plain import (
    Checked,
    distinct,
    each,
    made_of,
    numbered,
    public,
    refuse,
    whole,
    within,
)
from skdp.kernel._statistic import OneCell, RowMap, Rule, Statistic, certified
from skdp.kernel._terms import ClassCounts
from skdp.mechanisms import finite_rows

PARTS = 2**8  # of a bin: where in it a score lies
MOST_ENTRY = 2**22
GAIN = 2**16  # length of the columns of integers by which prefix sums are measured
MOST_LEVELS, MOST_CLASSES = 2**16, 2**20 + 1
finite = within(-np.finfo(np.float64).max, np.finfo(np.float64).max)

MOST = 1e300
KINDS = "residual", "absolute", "squared", "pinball", "target", "target squared", "covered"

COUNT = 0.3  # weight of the count beside the scores of one column
MOST_GROUPS = 2**16
PAIR_BITS = 25  # squares of lengths are compared exactly
# Squared weights of a product, of a score, of a square beside it, and of the count
PRODUCT, SCORE, SQUARE, ROW = 0.7, 0.1, 0.3, 0.1


@public
class OfLevel(Rule):
    """The set of a row is the code in one of its columns; -1 for other numbers, and rows with NaN.

    **Privacy**: a function of the row.
    """

    column: Annotated[int, numbered]
    n_levels: Annotated[int, within(1, MOST_LEVELS)]

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
    edges: Annotated[np.ndarray, "m e", each(distinct), finite]
    positives: Annotated[tuple, "m", made_of(int), each(within(0, MOST_CLASSES - 1))]
    # (m, q, 2, bins): of negatives and positives, at the left and the right end of a bin
    left: Annotated[np.ndarray, "m q 2 b", whole, within(-MOST_ENTRY, MOST_ENTRY)]
    right: Annotated[np.ndarray, "m q 2 b", whole, within(-MOST_ENTRY, MOST_ENTRY)]

    def check(self, shape):
        super().check(shape)
        refuse(len(self.edges) != shape.n_features - 1, "edges for every column of scores")
        refuse(self.edges.shape[1] != self.left.shape[3] + 1, "a bin between two edges")
        refuse(self.left.dtype.kind + self.right.dtype.kind != "ii", "numbers with a sign")
        refuse(self.left.shape[1] > 2**14 or self.left.shape[3] > 2**14, "at most 2^14 bins")

    @cached_property
    def squared_l2(self):
        lengths = [np.square(end).sum(axis=1).max(axis=(1, 2)) for end in (self.left, self.right)]
        return PARTS**2 * sum(map(int, np.maximum(*lengths)))

    step = 1 / PARTS

    def total(self, block):
        """Return the sums of every column, one after the other, shape (m q,)."""
        columns = range(len(self.edges))
        bins, sums = self.left.shape[3], []
        for j, (at, part) in enumerate(_bins_of(block, columns, self.edges, self.positives)):
            n = np.bincount(at, minlength=2 * bins).astype(np.int64)
            parts = np.bincount(at, part, minlength=2 * bins).astype(np.int64)
            left, right = (end[j].reshape(-1, 2 * bins) for end in (self.left, self.right))
            sums.append(left @ (PARTS * n - parts) + right @ parts)
        return np.concatenate(sums)


@public
class PrefixCells(Statistic):
    """Numbers of rows by bins of scores in some columns and class, as :func:`prefix_matrix` asks.

    **Privacy** (add or remove one row). For each of the k columns of scores a row adds one column
    of the public matrix, to the sums of one class. So its squared length is at most k times that of
    the longest, in exact integers. A row with NaN or infinity, or of no class, adds nothing.
    """

    columns: Annotated[tuple, "k", numbered]
    # bounds of the bins of every column of scores, and its positive class
    edges: Annotated[np.ndarray, "k e", each(distinct), finite]
    positives: Annotated[tuple, "k", made_of(int), each(within(0, MOST_CLASSES - 1))]

    def check(self, shape):
        super().check(shape)
        refuse(not 1 <= self._bins <= 2**13 + 4, "1 to 2^13 + 4 bins")

    @property
    def _bins(self):
        return self.edges.shape[1] - 1

    @cached_property
    def squared_l2(self):
        return len(self.edges) * max(int((c * c).sum(axis=0).max()) for _, c in _strips(self._bins))

    def total(self, block):
        """Return the sums of every column, of the others and the positives, shape (2 k bins,)."""
        found = _bins_of(block, self.columns, self.edges, self.positives)
        n = [np.bincount(at, minlength=2 * self._bins) for at, _ in found]
        n = np.reshape(n, (-1, self._bins))
        return np.ravel(sum(n[:, at] @ part.T for at, part in _strips(self._bins)))


def _strips(n):
    """Yield some columns of :func:`prefix_matrix` after the other, of 2^20 entries, and which."""
    for first in range(0, n, wide := max(2**20 // n, 1)):
        yield (at := range(n)[first : first + wide]), prefix_matrix(n, at)


@lru_cache(maxsize=4)
def prefix_matrix(n, columns=None):
    """Return integers of shape (n, n) that measure n cells: prefix sums are nearly least off.

    A root of the matrix of prefix sums, columns of one length: the normalized square root
    factorization (Henzinger, Kalinin and Upadhyay 2025), by IEEE arithmetic, the same everywhere.
    ``columns``, a range, are those that are made; None: all.
    """
    k, columns = np.arange(1, n), columns or range(n)
    root = np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))
    lengths, matrix = np.sqrt(np.cumsum(root**2)), np.zeros((n, len(columns)), dtype=np.int64)
    for at, j in enumerate(columns):
        matrix[j:, at] = np.rint(GAIN * root[: n - j] / lengths[n - j - 1])
    matrix.flags.writeable = False
    return matrix


def _bins_of(block, columns, edges, positives):
    """Yield the bins of rows by each column, of its positive class last, and parts of a bin."""
    block = np.asarray(block)
    code = ClassCounts(MOST_CLASSES, whole=True).cells(block)
    block, code = block[code >= 0], code[code >= 0]
    for j, own, positive in zip(columns, edges, positives, strict=True):
        at, part = _places(np.asarray(block[:, j], dtype=np.float64), own)
        yield at + (len(own) - 1) * (code == positive), part


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
        code = ClassCounts(self.n_classes, whole=True).cells(block)
        largest = np.argmax(block[:, :-1], axis=1)
        return np.where(code < 0, -1, code * self.n_classes + largest)


# --- views of predictions and targets: one loss, or one number, of each row


@public
class LossColumn(RowMap):
    """One column: a loss of the prediction in the first column, for the target in the last one.

    Of "target" the target less ``at``, of "pinball" the loss of a prediction of the quantile
    ``at``, of "covered" whether the target is between the second and the third column.

    **Privacy**: a row of the view is a function of that row alone. NaN and infinity become NaN, and
    the row stays absent.
    """

    what: str
    at: float = 0.0
    dims = 1
    kind = "numbers"

    def check(self, shape):
        super().check(shape)
        refuse(self.what not in KINDS, "no such loss")
        fits = shape.n_features == 4 or (shape.n_features == 2 and self.what != "covered")
        refuse(not fits, "a prediction, maybe an interval, and a target")

    def __call__(self, block):
        """Return the column of a block, shape (n, 1)."""
        block = np.asarray(block, dtype=np.float64)
        y, there = block[:, -1], np.isfinite(block).all(axis=1)
        with np.errstate(all="ignore"):
            e = np.clip(y - block[:, 0], -MOST, MOST)
            x = np.clip(y - self.at, -MOST, MOST)
            value = {
                "residual": lambda: e,
                "absolute": lambda: np.abs(e),
                "squared": lambda: np.minimum(e * e, MOST),
                "pinball": lambda: np.clip(np.maximum(self.at * e, (self.at - 1) * e), 0, MOST),
                "target": lambda: x,
                "target squared": lambda: np.minimum(x * x, MOST),
                "covered": lambda: (block[:, 1] <= y) & (y <= block[:, -2]),
            }[self.what]()
        return np.where(there, value, np.nan)[:, None]


# --- scores of entries between -1 and 1, and their sums by group: tests and correlations


@public
class Scores(Checked):
    """A score of every entry: linear between rising edges, constant beyond.

    **Privacy**: a score is a function of one entry, in [-1, 1]; NaN in a row that is not finite.
    """

    edges: Annotated[tuple, "d", made_of(np.ndarray), each(distinct)]  # of every column
    values: Annotated[tuple, "d", made_of(np.ndarray), each(within(-1, 1))]  # at the edges

    def check(self, shape):
        super().check(shape)
        for x, t in zip(self.edges, self.values, strict=True):
            with np.errstate(over="ignore"):
                fits = np.shape(x) == np.shape(t) and len(x) > 1 and np.isfinite(x[-1] - x[0])
            refuse(not fits, "a score at every edge, two edges at least, a finite distance apart")

    def of(self, block):
        """Return the scores of rows of numbers, of the shape of the block."""
        x = np.asarray(block, dtype=np.float64)
        finite = finite_rows(x)
        t = np.full(x.shape, np.nan)
        with np.errstate(all="ignore"):
            for j, (edges, values) in enumerate(zip(self.edges, self.values, strict=True)):
                at = np.nan_to_num(np.interp(x[finite, j], edges, values))
                t[finite, j] = np.clip(at, -1, 1)
        return t


@public
class ScoreMoments(OnGrid):
    """By group: sums of scores t, of t^2 - 1, and a count; the last column is the group's code.

    **Privacy** (add or remove one row): a row of no group, or with NaN or infinity, adds nothing.
    Another adds to one group, for each of d columns, ``G (t, t^2 - 1)`` rounded, and one constant K
    that counts. As ``t^2 + (t^2 - 1)^2 = 1 - t^2 (1 - t^2) <= 1`` for t in [-1, 1], and rounding
    moves two numbers by less than 1 in l2, a pair is at most G + 1 long; in integers, a longer one
    becomes zeros. So the square of the length is at most ``d (G + 1)^2 + K^2``, whatever the number
    of groups.
    """

    scores: Scores
    n_groups: Annotated[int, within(1, MOST_GROUPS)]
    bits: int | None = None  # G = 2^bits; chosen by the kernel

    inner = FeatureBox.inner

    def at(self, offer):
        return self.with_bits(offer.strength / math.sqrt(self.d), offer)

    @property
    def d(self):
        """The number of columns."""
        return len(self.scores.edges)

    @property
    def constant(self):
        """What a row adds to the count."""
        return max(1, round(COUNT * self.d**0.25 * self.grid))

    @property
    def squared_l2(self):
        return self.d * (self.grid + 1) ** 2 + self.constant**2

    def total(self, block):
        """Return for every group the sums of t, those of t^2 - 1, and the count."""
        sums = np.zeros((self.n_groups, 2 * self.d + 1), dtype=np.int64)
        block = np.asarray(block, dtype=np.float64)
        there = finite_rows(block)
        code = block[:, -1]
        there &= (code >= 0) & (code < self.n_groups) & (code == np.floor(code))
        t, code = self.scores.of(block[there, :-1]), code[there].astype(np.int64)
        pair = short_pairs(self.grid * t, self.grid * (t * t - 1), (self.grid + 1) ** 2)
        for g in np.unique(code):
            at = code == g
            sums[g, : self.d], sums[g, self.d : -1] = (one[at].sum(axis=0) for one in pair)
            sums[g, -1] = np.count_nonzero(at) * self.constant
        return sums


@public
class ScoreProducts(OnGrid):
    """Of two columns: the sums of the product of scores, of scores, of 1 - squares, and a count.

    **Privacy** (add or remove one row): a row with NaN or infinity adds nothing. Another adds G
    times ``(c t u, a t, a u, b (1 - t^2), b (1 - u^2), k)``, rounded, with ``c^2 = .7, a^2 = .1,
    b^2 = .3, k^2 = .1``. The square of its length is convex in t^2 for a fixed u^2, and in u^2 for
    a fixed t^2, so it is largest where both are 0 or 1: ``2 b^2 + k^2 = .7``,
    ``a^2 + b^2 + k^2 = .5`` or ``c^2 + 2 a^2 + k^2 = 1``. Rounding six numbers moves a vector by
    less than 2; in integers, one longer than G + 2 becomes zeros.
    """

    scores: Scores
    bits: int | None = None  # G = 2^bits; chosen by the kernel

    def check(self, shape):
        super().check(shape)
        refuse(shape.n_features != 2, "two columns")

    def at(self, offer):
        return self.with_bits(offer.strength, offer, PAIR_BITS)

    @property
    def weights(self):
        """What the sums are multiplied by, on the grid."""
        one = np.sqrt([PRODUCT, SCORE, SCORE, SQUARE, SQUARE, ROW])
        return one * 2.0**self.bits

    @property
    def squared_l2(self):
        return (2**self.bits + 2) ** 2

    def total(self, block):
        """Return the six sums."""
        z = self.scores.of(block)
        t, u = z[~np.isnan(z).any(axis=1)].T
        rows = np.stack([t * u, t, u, 1 - t * t, 1 - u * u, np.ones_like(t)])
        rows = np.rint(self.weights[:, None] * rows).astype(np.int64)
        return certified(rows, self.squared_l2).sum(axis=1)
