"""Scores of entries between -1 and 1, and their sums by group: tests and correlations."""

import math
from typing import Annotated

import numpy as np

from skdp.kernel._bounded import OnGrid, short_pairs
from skdp.kernel._coordinates import FeatureBox
from skdp.kernel._plain import Checked, distinct, each, made_of, public, refuse, within
from skdp.kernel._statistic import certified
from skdp.mechanisms import finite_rows

COUNT = 0.3  # weight of the count beside the scores of one column
MOST_GROUPS = 2**16
PAIR_BITS = 25  # squares of lengths are compared exactly
# Squared weights of a product, of a score, of a square beside it, and of the count
PRODUCT, SCORE, SQUARE, ROW = 0.7, 0.1, 0.3, 0.1


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
