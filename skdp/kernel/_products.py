"""Sums of products of entries, and lengths of some coordinates beside others."""

import math
from dataclasses import replace

import numpy as np

from skdp.kernel._grid_bits import grid_bits
from skdp.kernel._log_bins import LogBins
from skdp.kernel._statistic import OnBall, OneCell, Statistic, public, refuse
from skdp.mechanisms import ball_rows, box_rows, finite_rows, row_norms

__all__ = ["BallProducts", "BallTotal", "BoxProducts", "LengthsNear", "moment_bits"]

BITS = 15  # 2^32 rows of squared length 4^15 sum to at most 2^62
ROWS = 2**16  # whose products sum to less than 2^53


def moment_bits(strength, unit, n):
    """Return a resolution for sums of products, see :func:`skdp.kernel._grid_bits.grid_bits`."""
    return grid_bits(strength, noise_bits=45, most=BITS, power=2, unit=unit, n=n)


class OfBall(Statistic):
    """A sum over rows clipped to a ball, on the grid of the smallest share of one pass."""

    def check(self, shape):
        super().check(shape)
        refuse(not 0 < self.least <= 1, "a share is positive")

    def at(self, offer):
        share = min(float(offer.share), self.least)
        bits = moment_bits(offer.budget.mu * math.sqrt(share), offer.unit, offer.room(self.n))
        return replace(self, bits=bits)

    def _parts(self, block):
        for first in range(0, len(block), ROWS):
            part = block[first : first + ROWS]
            yield ball_rows(part, center=0.0, radius=self.radius, bits=self.bits)


@public
class BallProducts(OfBall):
    """The sum of ``x x^T``, every row clipped to a ball around zero.

    **Privacy** (add or remove one row): a row becomes an integer vector q of length at most 2^bits,
    checked in integers. The matrix moves by q q^T, of Frobenius norm |q|^2 <= 4^bits exactly;
    **all** of its entries are released with independent noise, so that is the l2 bound. The mean of
    the matrix and its transpose is post-processing; its noise is that of the upper triangle with
    off-diagonal entries weighted by sqrt(2), which are no integers. Blocks are so short that BLAS
    adds the integers exactly.
    """

    radius: float  # of the ball
    n: float  # number of rows, public or released
    least: float = 1.0  # the smallest share of what is asked in the same pass
    bits: int | None = None

    @property
    def squared_l2(self):
        return 16**self.bits

    @property
    def step(self):
        unit = self.radius / 2**self.bits
        return unit * unit

    def total(self, block):
        """Return the sum, shape (d, d)."""
        total = np.zeros((block.shape[1],) * 2, dtype=np.int64)
        for q in self._parts(block):
            total += (q.T @ q).astype(np.int64)
        return total


@public
class BallTotal(OfBall, OnBall):
    """The sum of the rows of :class:`BallProducts` of the same fields.

    **Privacy** (add or remove one row): it moves by q, of length at most 2^bits.
    """

    radius: float
    n: float
    least: float = 1.0
    bits: int | None = None

    def total(self, block):
        """Return the sum, shape (d,)."""
        total = np.zeros(block.shape[1], dtype=np.int64)
        for q in self._parts(block):
            total += q.sum(axis=0).astype(np.int64)
        return total


@public
class BoxProducts(Statistic):
    """The upper triangle of the sum of ``w w^T`` over all ``w = (1, y)``, y in a box.

    **Privacy** (add or remove one row). A row becomes w = (g, q) with g = 2^bits and integers q in
    [-g, g]; one with NaN or infinity becomes zeros. Both are functions of that row. The triangle
    has K = (d + 1)(d + 2) / 2 entries; each moves by at most g^2, so all of them by at most
    g^2 sqrt(K) in l2: attained by a row in a corner. (The whole matrix would cost g^2 (d + 1), for
    the same noise off the diagonal and 1.4 times that on it.) Products are summed exactly, in
    integers.
    """

    # both (d,): y is -1 at the lower one and 1 at the upper one; entries beyond are moved to them
    low: np.ndarray
    high: np.ndarray
    n: float  # number of rows, public or released
    bits: int | None = None  # 1 is 2^bits on the grid; chosen by the kernel

    def check(self, shape):
        super().check(shape)
        wrong = np.shape(self.low) != (shape.n_features,) or np.shape(self.high) != self.low.shape
        half = self.high / 2 - self.low / 2
        refuse(wrong or not ((half > 0) & np.isfinite(half)).all(), "a box has two ends a column")

    @property
    def entries(self):
        """The number of entries of the triangle, K."""
        return (len(self.low) + 1) * (len(self.low) + 2) // 2

    def at(self, offer):
        strength = offer.budget.mu / math.sqrt(self.entries)
        return replace(self, bits=moment_bits(strength, offer.unit, offer.room(self.n)))

    @property
    def squared_l2(self):
        return 16**self.bits * self.entries

    @property
    def l1(self):
        return 4**self.bits * self.entries

    @property
    def step(self):
        return 0.25**self.bits

    def total(self, block):
        """Return the sum, shape (K,)."""
        d = len(self.low)
        total = np.zeros((d + 1, d + 1), dtype=np.int64)
        for first in range(0, len(block), ROWS):
            part = np.asarray(block[first : first + ROWS], dtype=np.float64)
            w = np.empty((len(part), d + 1))
            w[:, 0] = finite_rows(part) * 2.0**self.bits
            w[:, 1:] = box_rows(part, low=self.low, high=self.high, bits=self.bits)
            total += (w.T @ w).astype(np.int64)
        return total[np.triu_indices(d + 1)]


@public
class LengthsNear(OneCell):
    """How long some entries of a row are together, of rows whose other entries are not too long."""

    among: np.ndarray  # numbers of the entries
    most: float  # length of the others, beyond which a row is not counted
    bins: LogBins

    def check(self, shape):
        super().check(shape)
        self.bins.check()
        at = self.among
        wrong = at.ndim != 1 or at.dtype.kind not in "iu" or not 0 < len(np.unique(at)) == len(at)
        refuse(wrong or at.min() < 0 or at.max() >= shape.n_features, "numbers of columns")

    @property
    def size(self):
        return self.bins.n_bins

    def cells(self, block):
        others = np.setdiff1d(np.arange(block.shape[1]), self.among)
        at = self.bins.index(row_norms(block[:, self.among]))
        return np.where(row_norms(block[:, others]) <= self.most, at, -1) if others.size else at
