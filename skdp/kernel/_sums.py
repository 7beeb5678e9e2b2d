"""Counts, distances, clipped sums of rows and of their products."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._plain import (
    Columns,
    PerColumn,
    distinct,
    once,
    positive,
    public,
    refuse,
    whole,
    within,
)
from skdp.kernel._statistic import OnBall, OneCell, Statistic, grid_bits, unit_bits
from skdp.kernel._table import opened
from skdp.mechanisms import ball_sum, box_rows, finite_rows, gram_sum, row_norms
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._norms import blocks
from skdp.readers import ArrayRows

BITS = 20  # a row of the length of the clip radius is 2^20 grid units long
NOISE_BITS = 40  # noise stays below 2^40 grid units
PURE_BITS = 16
MOST_ROOM = 20  # bits that weights may add to the noise


def room_bits(noise, unit, most):
    """Return a resolution at which noise, in lengths of a row, stays below 2^40 grid units."""
    room = NOISE_BITS + min(0, MOST_ROOM - unit_bits(unit))
    return min(most, max(1, room - math.ceil(math.log2(noise))))


@public
class RowsWithGaps(Statistic):
    """The number of rows with a finite entry and one that is NaN or infinite.

    **Privacy** (add or remove one row): a row is counted by itself, once.
    """

    squared_l2 = l1 = 1

    def total(self, block):
        """Return the number, shape (1,)."""
        return Count(gaps=True).total(block)[1:]


@public
class Count(Statistic):
    """The number of rows without NaN and infinity.

    Parameters
    ----------
    last : bool, default=False
        Of rows whose last entry has none.
    gaps : bool, default=False
        Also of the other rows that have an entry.

    See Also
    --------
    Statistic, Table

    Notes
    -----
    **Privacy** (add or remove one row): a row is counted by itself, once, in one number or the
    other.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Count
    >>> Count().total(np.array([[1.0], [np.nan]]))
    array([1])
    """

    last: bool = False
    gaps: bool = False
    squared_l2 = l1 = 1

    def total(self, block):
        """Return the number of rows, shape (1,); with ``gaps`` that of the others too, (2,)."""
        there = np.isfinite(block[:, -1]) if self.last else finite_rows(block)
        gaps = [np.isfinite(block[~there]).any(axis=1)] * self.gaps
        return np.array([np.count_nonzero(rows) for rows in (there, *gaps)])


@public
class Distances(OneCell):
    """How many rows lie at which distance of a point."""

    center: PerColumn
    bins: LogBins
    scale: PerColumn | None = None
    # first bins of cells that join bins
    starts: Annotated[np.ndarray, "k", whole, distinct, within(0, math.inf)] | None = None

    def check(self, shape):
        super().check(shape)
        refuse(self.starts is not None and self.starts[-1] >= self.bins.n_bins, "cells have bins")

    @property
    def size(self):
        return self.bins.n_bins if self.starts is None else len(self.starts)

    def cells(self, block):
        return self._cells(row_norms(block, center=self.center, scale=self.scale))

    def _cells(self, lengths):
        at = np.arange(self.bins.n_bins)
        at = at if self.starts is None else np.searchsorted(self.starts, at, side="right") - 1
        return np.append(at, -1)[self.bins.index(lengths)]


@public
class FarthestEntry(Distances):
    """In which column a row is farthest from a point, in units of that column, and how far.

    There are the cells of the first column, then those of the second, and so on. Of equal columns
    the first is taken. Rows that are nearer than the first cell as a whole are in none.

    **Privacy** (add or remove one row): a row is in one cell of those of all columns together, as a
    function of itself and of public numbers, or in none.
    """

    @property
    def size(self):
        return len(self.center) * super().size

    def cells(self, block):
        at = super().cells(block)
        far, scale = np.flatnonzero(at >= 0), 1.0 if self.scale is None else self.scale
        for part in blocks(block):
            rows = far[slice(*np.searchsorted(far, (part.start, part.stop)))]
            with np.errstate(over="ignore"):
                z = np.abs(block[rows] - self.center) / scale
            column = z.argmax(axis=1)
            cell = self._cells(z[np.arange(len(z)), column])
            at[rows] = np.where(cell < 0, -1, column * super().size + cell)
        return at


@public
class BallSum(OnBall):
    """The sum of ``(x - center) / scale``, every row clipped to a ball.

    **Privacy**: every row becomes an integer vector of length at most 2^bits, certified in integers
    by :func:`skdp.mechanisms.ball_sum`; its l1 norm is at most ``sqrt(d) 2^bits``.
    """

    center: PerColumn
    radius: float  # of the ball
    scale: PerColumn | None = None
    drop: float | None = None  # rows beyond ``drop * radius`` add nothing
    bits: int | None = None

    def at(self, offer):
        if offer.budget.measure == "pure":
            noise = math.sqrt(len(self.center)) / float(offer.budget.amount * offer.share)
            return replace(self, bits=room_bits(noise, offer.unit, PURE_BITS))
        return replace(self, bits=grid_bits(offer.strength, noise_bits=NOISE_BITS, most=BITS))

    @property
    def l1(self):
        return Fraction(sqrt_up(Fraction(len(self.center)))) * 2**self.bits

    def _sum_and_number(self, block):
        names = "center", "radius", "scale", "drop", "bits"
        return ball_sum(block, **{name: getattr(self, name) for name in names})

    def total(self, block):
        """Return the sum, shape (d,)."""
        return self._sum_and_number(block)[0]


@public
class KeptRows(BallSum):
    """The number of rows that a :class:`BallSum` of the same fields does not drop."""

    squared_l2 = l1 = 1
    step = 1.0

    def at(self, offer):
        return replace(self, bits=BITS)

    def total(self, block):
        """Return the number of rows, shape (1,)."""
        return np.array([self._sum_and_number(block)[1]])


# Bits of noise and of rows: 2^32 rows of squared length 4^15 sum to at most 2^62.
GRID = {"noise_bits": 45, "most": 15}
ROWS = 2**16  # whose products sum to less than 2^53
Share = Annotated[float, positive, within(0, 1)]


class OfBall(Statistic):
    """A sum over rows clipped to a ball, on the grid of the smallest share of one pass."""

    def at(self, offer):
        share, power = min(float(offer.share), self.least), 1 if self.n is None else 2
        return replace(self, bits=offer.bits(**GRID, power=power, n=self.n, share=share))


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
    least: Share = 1.0  # the smallest share of what is asked in the same pass
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
        return gram_sum(block, center=0.0, radius=self.radius, bits=self.bits)


@public
class BallTotal(OfBall, OnBall):
    """The sum of the rows of :class:`BallProducts` of the same fields.

    **Privacy** (add or remove one row): it moves by q, of length at most 2^bits.
    """

    radius: float
    n: float | None = None  # None where no products are asked in the same pass
    least: Share = 1.0
    bits: int | None = None

    def total(self, block):
        """Return the sum, shape (d,)."""
        return ball_sum(block, center=0.0, radius=self.radius, bits=self.bits)[0]


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
    low: PerColumn
    high: PerColumn
    n: float  # number of rows, public or released
    bits: int | None = None  # 1 is 2^bits on the grid; chosen by the kernel

    def check(self, shape):
        super().check(shape)
        half = self.high / 2 - self.low / 2
        refuse(not ((half > 0) & np.isfinite(half)).all(), "a box has two ends a column")

    @property
    def entries(self):
        """The number of entries of the triangle, K."""
        return (len(self.low) + 1) * (len(self.low) + 2) // 2

    def at(self, offer):
        strength = offer.budget.mu / math.sqrt(self.entries)
        room = {"power": 2, "unit": offer.unit, "n": offer.room(self.n)}
        return replace(self, bits=grid_bits(strength, **GRID, **room))

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

    among: Annotated[Columns, once]  # numbers of the entries
    most: float  # length of the others, beyond which a row is not counted
    bins: LogBins

    @property
    def size(self):
        return self.bins.n_bins

    def cells(self, block):
        others = np.setdiff1d(np.arange(block.shape[1]), self.among)
        at = self.bins.index(row_norms(block[:, self.among]))
        return np.where(row_norms(block[:, others]) <= self.most, at, -1) if others.size else at


HALF = 2**12  # grid units of half the range of a score


@public
class ScoreSum(Statistic):
    """The sum of scores in [0, 1], seen from 1/2, and the number of rows, both in units of a half.

    NaN counts as 0.

    **Privacy** (add or remove one row): with ``q`` in {-h, ..., h} the score of a row on a grid,
    the row adds (q, h): at most ``sqrt(2) h`` in l2 and ``2 h`` in l1.
    """

    squared_l2, l1 = 2 * HALF**2, 2 * HALF
    step = 0.5 / HALF

    def total(self, block):
        """Return both, shape (2,)."""
        scores = np.clip(np.nan_to_num(block[:, 0], nan=0.0), 0, 1)
        q = np.rint(2 * HALF * scores).astype(np.int64) - HALF
        return np.array([q.sum(), HALF * len(q)])


def table_of_numbers(numbers, curator):
    """Return the Table of one number for each row.

    **Privacy**: for who proves that each number is a function of its row alone.
    """
    return opened(ArrayRows(np.asarray(numbers, dtype=np.float64)[:, None]), curator)
