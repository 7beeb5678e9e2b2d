"""What single rows say about a model of classes: their integer vectors and residuals."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.linear._front import Design
from skdp.linear._probabilities import probabilities
from skdp.mechanisms import ball_rows, row_norms
from skdp.mechanisms._exact import sqrt_up
from skdp.mechanisms._norms import fold

__all__ = ["Residuals"]

MODEL_BITS = 37  # with rows of length 2^15, every partial sum of a score stays below 2^53
SHRINK = 1 - 2.0**-40  # outweighs every rounding of a norm and of a product
ONE = 2**15  # a probability of one
GAINS = 3.33, 2.0  # of curvatures beside gradients, of two classes and of more


@dataclass(frozen=True)
class Residuals:
    """The map of a row (x, class) to the pair (q, e): its direction, and what the model misses.

    With v the row in the coordinates of the design, and w = min(1, R / |v|)^2 its weight, q is
    sqrt(w) v in units of R / 2^bits, and e is sqrt(w) (y - p), y the vector that is 1 at the class
    of the row and p the probabilities of the model. The row adds q e^T to the gradient of the
    weighted log-likelihood, and p (1 - p) q q^T to its second derivatives.

    Parameters
    ----------
    design : Design
        Released.
    radius : float
        R, released.
    bits : int
        At most 15.
    B : ndarray of shape (K, c)
        Coefficients, released: c = 1 for two classes, or one column per class.

    Notes
    -----
    **Privacy**: both are functions of the row and of releases to the last bit. q is a vector of
    integers, of length at most 2^bits. Scores are products of q with coefficients on a grid: all
    partial sums are integers of at most 2^15 2^37 by Cauchy and Schwarz, so that BLAS adds them
    exactly in whatever order. Probabilities are read from a table.
    """

    design: Design
    radius: float
    bits: int
    B: np.ndarray

    def parts(self, block):
        """Yield q of shape (m, K), sqrt(w), y - p and p (1 - p) of finite rows, in parts."""
        size = float(np.abs(self.B).max())
        shift = MODEL_BITS - math.frexp(size * math.sqrt(self.B.size))[1]
        model = np.rint(np.ldexp(self.B, shift))
        unit = math.ldexp(self.radius, -shift - self.bits)
        for v, codes in self.design.pairs(block):
            lengths = row_norms(v)
            here = np.isfinite(lengths)
            v, codes, lengths = v[here], codes[here], lengths[here]
            q = ball_rows(v, center=0.0, radius=self.radius, bits=self.bits)
            root = np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300))
            p = probabilities((q @ model) * unit / root[:, None])
            yield q, root[:, None], self._labels(codes) - p, p * (1 - p)

    def whole(self, block):
        """Yield v (y - p) of two classes, in parts: of rows that weigh alike, without a grid.

        Notes
        -----
        **Privacy**: a score adds its K terms in a fixed order, entry by entry: it is a function of
        the row and of releases to the last bit.
        """
        for v, codes in self.design.pairs(block):
            here = np.isfinite(row_norms(v))
            v, codes = v[here], codes[here]
            with np.errstate(all="ignore"):
                scores = np.nan_to_num(fold(v * self.B[:, 0]))
            yield v * (self._labels(codes) - probabilities(scores[:, None]))

    def _labels(self, codes):
        if self.B.shape[1] == 1:
            return (codes[:, None] == 1.0).astype(float)
        return (codes[:, None] == np.arange(self.B.shape[1])).astype(float)

    @property
    def gain(self):
        """How many times its curvature a row may add beside its gradient at no price."""
        return GAINS[self.B.shape[1] > 1]

    @property
    def longest(self):
        """The largest length of what a row adds: 4^bits, times sqrt(2) of K > 2 classes."""
        return 4**self.bits * (1.0 if self.B.shape[1] == 1 else math.sqrt(2))

    def step(self, block, longest):
        """Return the sums of 2^bits q e^T and of gain p (1 - p) q q^T, each row brought to a ball.

        A residual is cut to the ball, and a curvature to the room that its residual leaves.

        Parameters
        ----------
        block : ndarray of shape (n, d + 1)
        longest : int
            Radius of the ball, at most 2^(2 bits + 1).

        Returns
        -------
        total : ndarray of shape (c, K, 1 + K), int64
            The gradient and the matrix of second derivatives of each column of B.

        Notes
        -----
        **Privacy**: e becomes a vector f of integers, and sqrt(gain p_k (1 - p_k)) q an integer
        vector u_k. A row adds q f_k and u_k u_k^T, whose squares sum to
        |q|^2 |f|^2 + sum |u_k|^4. All these are integers below 2^53, their products are added and
        compared with longest^2 in 64 bits: a row moves the total by at most ``longest`` exactly.
        Sums over a part stay below 2^53.

        The second derivatives cost nothing, since a row adds little of them where its residual is
        large. With r = |y - p| of two classes and gain a, r^2 + a^2 r^2 (1 - r)^2 <= 1 for all r if
        a^2 <= ((1 + sqrt 5) / 2)^5. Of K classes, p^2 + 4 p^2 (1 - p)^2 <= p because
        4 p (1 - p) <= 1: the classes other than y sum to at most 1 - p_y, and y itself, with
        1 - p_y for p, to no more; so 2 is a bound for gain 2.
        """
        c, K = self.B.shape[1], len(self.B)
        total = np.zeros((c, K, 1 + K), dtype=np.int64)
        for q, part, e, curvature in self.parts(block):
            e *= part
            curvature *= self.gain
            square = _squares(q)
            sizes = np.sqrt(square * _squares(e)) * 2.0**self.bits
            scale = np.minimum(1.0, SHRINK * longest / np.maximum(sizes, 1e-300))
            f = np.trunc(e * (scale * 2.0**self.bits)[:, None])
            long = square.astype(np.int64) * _squares(f).astype(np.int64)
            room = SHRINK * np.sqrt(np.maximum(longest**2 - long, 0).astype(float))
            sizes = square * np.sqrt(_squares(curvature))
            curvature *= np.minimum(1.0, room / np.maximum(sizes, 1e-300))[:, None]
            parts = [np.trunc(q * root[:, None]) for root in np.sqrt(curvature).T]
            for u in parts:
                long += _squares(u).astype(np.int64) ** 2
            here = long <= longest**2
            f[~here] = 0.0
            for sums, u, g in zip(total, parts, f.T, strict=True):
                u[~here] = 0.0
                sums[:, 0] += (g @ q).astype(np.int64)
                sums[:, 1:] += (u.T @ u).astype(np.int64)
        return total

    @property
    def longest_alone(self):
        """The largest length of what a row adds to the sums for intercepts."""
        return sqrt_up(ONE**2 * (1 if self.B.shape[1] == 1 else 2))

    def intercepts(self, block):
        """Return sums of ``ONE`` (y - p) and of gain p (1 - p), shape (2, c), int64.

        Notes
        -----
        **Privacy**: a row adds integers whose squares sum to at most those of ``longest_alone``, by
        the bound of :meth:`step`; a row for which rounding has broken it adds nothing.
        """
        total = np.zeros((2, self.B.shape[1]), dtype=np.int64)
        for _, _, e, curvature in self.parts(block):
            both = np.trunc(ONE * np.stack([e, self.gain * curvature])).astype(np.int64)
            both[:, np.square(both).sum(axis=(0, 2)) > self.longest_alone**2] = 0
            total += both.sum(axis=1)
        return total


def _squares(rows):
    return np.einsum("ij,ij->i", rows, rows)
