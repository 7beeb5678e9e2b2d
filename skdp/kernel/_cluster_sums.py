"""Sums over rows in balls: sizes, means and second moments of clusters."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from skdp.kernel._clusters import Nearest, NearestLifted, by_label
from skdp.kernel._lattice import CELLS, DROP, LIMIT, Directions, Lattice, LocatedBall, projected
from skdp.kernel._plain import Points, Vector, positive, public, refuse, within
from skdp.kernel._statistic import Statistic
from skdp.kernel._sums import BallProducts, room_bits
from skdp.mechanisms import ball_rows
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._rows import Ball

MOST_BITS = 20  # a row of the length of its clip radius is 2^20 grid units long
MOMENT_BITS, NOISE_OF_PRODUCTS = 13, 44
COUNT, MEAN = 0.3, 0.5  # weights of a row in count and sum, against 1 in the second moments
GAIN_BITS = 20
HEAVIEST = 2.0**10  # weight of a row: counts of 2^32 rows fit into 64 bits


@public
class ClusterTotals(Statistic):
    """The size of every cluster, the sum of its rows around its centre, and all squares.

    **Privacy** (add or remove one row). A row belongs to one cluster j or to none, by its own exact
    arithmetic. It adds A to the count of j; an integer vector q with ``|q| <= 2^b``, checked in
    integers, to the sum of j (its radius r_j becomes 2^b); and to the one total of squares the
    integer ``floor(l^2 M_j)``, where l <= 1 is its distance, clipped to ``squares * r_j`` and
    divided by that, elementwise, and ``M_j = floor(2^t (r_j / max r)^2) <= 2^t`` with t = b -
    halvings. Nothing else moves, so the l2 norm is at most ``sqrt(A^2 + 4^b + 4^t)`` and the l1
    norm ``A + sqrt(d) 2^b + 2^t``, as ``|q|_1 <= sqrt(d) |q|``: for every k and all radii. All sums
    are exact.

    With two halvings the squares cost ``sqrt(1 + 1/16)`` of noise at most, 3 %. They are one total,
    in units of the largest radius: k totals with noise ``r_j^2`` each would be worth less, added
    up, as ``sum r_j^4 >= max r_j^4``.
    """

    rule: Nearest | NearestLifted  # the cluster of a row
    centers: Points
    radii: Vector  # differences to a centre are clipped to its radius, which becomes 2^bits
    # weight a > 0 of a row in the count, against length 1 in the sum
    weight: Annotated[float, positive, within(0, HEAVIEST)]
    # add up the squared lengths of all differences as well, clipped to so many radii; 0 for not
    squares: Annotated[float, within(0, math.inf)] = 1.0
    # A squared length weighs ``2^-halvings`` against length 1 in the sum
    halvings: Annotated[int, within(0, MOST_BITS)] = 2
    bits: int | None = None

    def at(self, offer):
        cost = float(offer.budget.amount) * float(offer.share)
        if offer.budget.measure == "pure":
            noise = (2 + 2 * math.sqrt(self.centers.shape[1])) / cost
        else:
            noise = 2 / math.sqrt(cost)
        return replace(self, bits=room_bits(noise, offer.unit, MOST_BITS))

    @property
    def one(self):
        """What a row adds to a count."""
        return max(1, round(self.weight * 2**self.bits))

    @property
    def square(self):
        """What a row adds to the squares at most."""
        return 2 ** max(self.bits - self.halvings, 0) if self.squares else 0

    @property
    def squared_l2(self):
        return self.one**2 + 4**self.bits + self.square**2

    @property
    def l1(self):
        d = self.centers.shape[1]
        return self.one + Fraction(sqrt_up(Fraction(d))) * 2**self.bits + self.square

    @np.errstate(all="ignore")
    def total(self, block):
        """Return counts and sums, cluster by cluster, then the squares: shape (k (d + 1) + 1,)."""
        (k, d), unit = self.centers.shape, float(np.max(self.radii))
        parts = np.floor(np.square(np.minimum(self.radii / unit, 1.0)) * float(self.square))
        labels, total = self.rule(block), np.zeros((k, d + 2), dtype=np.int64)
        for j, _, mine in by_label(block, labels, k):
            q, radius = np.empty(mine.shape), float(self.radii[j])
            ball = Ball(len(mine), d, center=self.centers[j], radius=radius, bits=self.bits)
            lengths = ball.map(mine, out=q)
            total[j, 0] = np.count_nonzero(lengths >= 0)  # NaN for a row that is not finite
            total[j, 1:-1] = q.sum(axis=0)  # integers below 2^53 in every order
            if self.squares:
                part = np.fmin(lengths / (self.squares * 2.0**self.bits), 1.0)
                part[~(lengths >= 0)] = 0.0
                total[j, -1] = np.floor(np.square(part) * parts[j]).astype(np.int64).sum()
        total[:, 0] *= self.one
        cells = total[:, :-1].ravel()
        return np.append(cells, total[:, -1].sum()) if self.squares else cells


@public
class LineMoments(Statistic):
    """Number, sum and products of the rows of every cluster, in a ball of its own.

    **Privacy** (add or remove one row). A row is an integer vector g with ``|g| <= 2^bits``,
    checked in integers, of one cluster at most, which it decides by itself. It adds a to the count
    of that cluster, ``b g`` to its sum and ``g g^T``, of Frobenius norm ``|g|^2 <= 4^bits``, to its
    matrix, and nothing to other clusters: its length is at most
    ``sqrt(a^2 + b^2 4^bits + 16^bits)``, for every k and all radii.
    """

    rule: Nearest
    centers: Points
    radii: Vector  # of the balls to which rows are clipped
    bits: int | None = None

    def at(self, offer):
        n = self.rule.located.n_rows
        return replace(self, bits=offer.bits(NOISE_OF_PRODUCTS, MOMENT_BITS, power=2, n=n))

    @property
    def one(self):
        """What a row adds to a count."""
        return max(1, round(COUNT * 4**self.bits))

    @property
    def weight(self):
        """The weight of a row in the sum."""
        return max(1, round(MEAN * 2**self.bits))

    @property
    def squared_l2(self):
        return self.one**2 + self.weight**2 * 4**self.bits + 16**self.bits

    @np.errstate(all="ignore")
    def total(self, block):
        """Return number, sum and products of every cluster, shape (k, 1 + d + d^2)."""
        k, d = self.centers.shape
        labels, total = self.rule(block), np.zeros((k, 1 + d + d * d), dtype=np.int64)
        for j, _, mine in by_label(block, labels, k):
            radius = float(self.radii[j])
            g = ball_rows(mine, center=self.centers[j], radius=radius, bits=self.bits)
            total[j, 0] = len(mine)
            total[j, 1 : d + 1] = g.sum(axis=0)
            total[j, d + 1 :] = (g.T @ g).ravel()  # fewer than 2^53 / 4^13 rows: exact
        return total * np.repeat([self.one, self.weight, 1], [1, d, d * d])


@public
class Gain(Statistic):
    """By how much squared distances to the nearest of new centres are smaller, clipped.

    **Privacy** (add or remove one row): the squared distances of a row to its nearest centres, old
    and new, are functions of that row. It adds their difference, clipped to ``[-clip, clip]``, as
    an integer of at most 2^20 in absolute value.
    """

    old: Nearest
    new: Nearest
    clip: float  # in squared located radii
    squared_l2 = 4**GAIN_BITS
    l1 = 2**GAIN_BITS

    @property
    def step(self):
        return self.clip / 2.0**GAIN_BITS

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the sum, shape (1,)."""
        gain = np.square(self.old.both(block)[1]) - np.square(self.new.both(block)[1])
        gain = np.clip(np.nan_to_num(gain) / self.clip, -1, 1)
        return np.trunc(gain * 2.0**GAIN_BITS).astype(np.int64).sum(keepdims=True)


GRAM_BITS = 15  # sums of 2^32 rows fit into 64 bits


class _Moments(Statistic):
    """Moments of the rows of a ball, on a grid that suits the noise of products."""

    def at(self, offer):
        n = self.located.n_rows
        return replace(self, bits=offer.bits(NOISE_OF_PRODUCTS, GRAM_BITS, power=2, n=n))

    @property
    def step(self):
        return 4.0**-self.bits


@public
class LocatedGram(_Moments):
    """Sums of products of the coordinates of rows, which are clipped to a part of a ball.

    **Privacy** (add or remove one row): every row is an integer vector g with ``|g| <= 2^bits``
    (checked in integers), a function of that row. The matrix of all ``sum g_i g_j`` moves by
    ``g g^T``, of Frobenius norm ``|g|^2 <= 4^bits``.
    """

    located: LocatedBall  # rows beyond twice its reach add nothing
    clip: float  # in radii
    directions: Directions | None = None  # of the coordinates; None for those of the table
    bits: int | None = None
    squared_l2 = BallProducts.squared_l2

    def check(self, shape):
        super().check(shape)
        with np.errstate(over="ignore"):
            radius = self.located.radius * np.float64(self.clip)
        refuse(not 0 < radius < math.inf, "a clip radius that is a number")

    @np.errstate(all="ignore")
    def total(self, block):
        """Return the sums, shape (m, m)."""
        m = block.shape[1] if self.directions is None else self.directions.shape[1]
        gram = np.zeros((m, m), dtype=np.int64)
        for g in self._clipped(block):
            gram += (g.T @ g).astype(np.int64)  # fewer than 2^53 / 4^15 rows: exact
        return gram

    def _clipped(self, block):
        """Yield blocks of integer vectors of length at most 2^bits, one per kept row."""
        if self.directions is not None:
            for _, _, Q in Lattice(self.located).placed(block):
                z = projected(Q, self.directions)
                yield ball_rows(z, center=0.0, radius=self.clip, bits=self.bits)
            return
        d, located = block.shape[1], self.located
        rows, radius = max(1, min(len(block), CELLS // d)), located.radius * self.clip
        ball = Ball(rows, d, center=located.center, radius=radius, bits=self.bits)
        for start in range(0, len(block), rows):
            part = block[start : start + rows]
            g = np.empty((len(part), d))
            kept = ball.map(part, out=g) <= DROP * located.reach / self.clip * 2.0**self.bits
            g[~kept] = 0
            yield g


@public
class SecondMoments(_Moments):
    """Number, sum and products of the rows of a ball, in one vector.

    **Privacy** (add or remove one row). A row, clipped to the ball of the located radius, is an
    integer vector g with ``|g| <= 2^b``, checked in integers; rows that are left out add nothing.
    It adds ``A = 4^b / 2`` to the count, ``2^b g`` to the sum and ``g g^T`` to the matrix, of
    Frobenius norm ``|g|^2 <= 4^b``. So its length is at most ``sqrt(A^2 + 2 16^b)``.
    """

    located: LocatedBall
    bits: int | None = None

    @property
    def one(self):
        """What a row adds to the count."""
        return 4**self.bits // 2

    @property
    def squared_l2(self):
        return self.one**2 + 2 * 16**self.bits

    @np.errstate(all="ignore")
    def total(self, block):
        """Return number, sum and products, shape (1 + d + d^2,)."""
        d = block.shape[1]
        total = np.zeros((d + 1, d + 1), dtype=np.int64)
        for _, _, Q in Lattice(self.located).placed(block):
            g = ball_rows(Q, center=0.0, radius=2.0**24 / LIMIT, bits=self.bits)
            total[0, 0] += self.one * len(Q)
            total[0, 1:] += g.sum(axis=0).astype(np.int64) * 2**self.bits
            total[1:, 1:] += (g.T @ g).astype(np.int64)
        return np.concatenate([total[0], total[1:, 1:].ravel()])
