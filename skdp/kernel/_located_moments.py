"""Second moments of the rows of a ball: their products, with numbers and sums or without."""

import math
from dataclasses import replace

import numpy as np

from skdp.kernel._grid_bits import grid_bits
from skdp.kernel._lattice import CELLS, Lattice, check_directions, projected
from skdp.kernel._located import DROP, LIMIT, Located
from skdp.kernel._statistic import Statistic, public, refuse
from skdp.mechanisms import ball_rows
from skdp.mechanisms._rows import Ball

__all__ = ["LocatedGram", "SecondMoments"]

GRAM_BITS, GRAM_NOISE_BITS = 15, 44  # sums of 2^32 rows fit into 64 bits


class _Moments(Statistic):
    """Moments of the rows of a ball, on a grid that suits the noise of products."""

    def check(self, shape):
        super().check(shape)
        self.located.check(shape.n_features)

    def at(self, offer):
        strength = offer.budget.mu * math.sqrt(offer.share)
        room = {"noise_bits": GRAM_NOISE_BITS, "most": GRAM_BITS, "power": 2}
        n = offer.room(self.located.n_rows)
        return replace(self, bits=grid_bits(strength, **room, unit=offer.unit, n=n))

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

    located: Located  # rows beyond twice its reach add nothing
    clip: float  # in radii
    directions: np.ndarray | None = None  # (d, m): of the coordinates; None for those of the table
    bits: int | None = None

    def check(self, shape):
        super().check(shape)
        with np.errstate(over="ignore"):
            radius = self.located.radius * np.float64(self.clip)
        refuse(not 0 < radius < math.inf, "a clip radius that is a number")
        if self.directions is not None:
            check_directions(self.directions, shape.n_features)

    @property
    def squared_l2(self):
        return 16**self.bits

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
            for Q in Lattice(self.located).parts(block):
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

    located: Located
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
        for Q in Lattice(self.located).parts(block):
            g = ball_rows(Q, center=0.0, radius=2.0**24 / LIMIT, bits=self.bits)
            total[0, 0] += self.one * len(Q)
            total[0, 1:] += g.sum(axis=0).astype(np.int64) * 2**self.bits
            total[1:, 1:] += (g.T @ g).astype(np.int64)
        return np.concatenate([total[0], total[1:, 1:].ravel()])
