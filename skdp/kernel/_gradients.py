"""Gradients of single rows (x, y) of a released linear model, and their clipped sum."""

import math
from dataclasses import replace

import numpy as np

from skdp.kernel._design import Design
from skdp.kernel._frame import Coordinates
from skdp.kernel._grid_bits import grid_bits
from skdp.kernel._probabilities import probabilities
from skdp.kernel._statistic import OnBall, public, refuse
from skdp.mechanisms import ball_rows, row_norms
from skdp.mechanisms._norms import fold

__all__ = ["GradientSum", "LineGradients", "LogitGradients"]

NOISE_BITS, BITS = 45, 15
ROWS = 2**16  # whose integers sum to less than 2^53


class Gradients(Coordinates):
    """Of rows (x, y) in a ``design``, at coefficients ``b``; NaN of rows that are not finite.

    **Privacy**: a score adds its K terms in a fixed order, entry by entry: a gradient is a function
    of its row and of releases to the last bit.
    """

    def check(self, shape):
        super().check(shape)
        self.design.check(shape)
        refuse(np.shape(self.b) != (self.design.dims,), "a coefficient for every coordinate")

    @property
    def dims(self):
        return self.design.dims

    def __call__(self, block):
        """Return the gradients of a block."""
        with np.errstate(all="ignore"):
            return self.design.joined(self._of(v, y) for v, y in self.design.pairs(block))


@public
class LineGradients(Gradients):
    """Of weighted squares: w v (y - b.v), w = min(1, radius / |v|)^2."""

    design: Design
    b: np.ndarray  # (K,)
    # of the target; b.v is in units
    center: float
    unit: float
    edges: np.ndarray  # (2,): range to which targets are clipped, maybe infinite
    radius: float | None = None  # none: all rows weigh 1

    def check(self, shape):
        super().check(shape)
        refuse(np.shape(self.edges) != (2,), "a range has two ends")

    def _of(self, v, y):
        radius = math.inf if self.radius is None else self.radius
        root = np.minimum(1.0, radius / row_norms(v))
        residual = ((y.clip(*self.edges) - self.center) / self.unit - fold(v * self.b)) * root
        return v * (root * residual)[:, None]


@public
class LogitGradients(Gradients):
    """Of the log-likelihood of two classes: v (y - p), p from a table; all rows weigh 1."""

    design: Design
    b: np.ndarray  # (K,)

    def _of(self, v, y):
        v[~np.isfinite(row_norms(v))] = np.nan
        p = probabilities(fold(v * self.b)[:, None])
        return v * ((y[:, None] == 1.0) - p)


@public
class GradientSum(OnBall):
    """The sum of rows, each clipped to a ball around zero.

    **Privacy** (add or remove one row): it becomes an integer vector of length at most 2^bits,
    checked in integers by :func:`skdp.mechanisms.ball_rows`; NaN and infinity make it zeros.
    """

    dims: int  # entries of a row
    radius: float  # of the ball
    bits: int | None = None

    def check(self, shape):
        super().check(shape)
        refuse(self.dims != shape.n_features, "a sum has an entry for every column")

    def at(self, offer):
        strength = offer.budget.mu * math.sqrt(offer.share)
        bits = grid_bits(strength, noise_bits=NOISE_BITS, most=BITS, unit=offer.unit)
        return replace(self, bits=bits)

    def total(self, block):
        """Return the sum, shape (dims,)."""
        total = np.zeros(self.dims, dtype=np.int64)
        for first in range(0, len(block), ROWS):
            part = block[first : first + ROWS]
            q = ball_rows(part, center=0.0, radius=self.radius, bits=self.bits)
            total += (np.ones(len(q)) @ q).astype(np.int64)
        return total
