"""What single rows say about a model of classes: their integer vectors and residuals."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.linear._front import Design
from skdp.linear._probabilities import probabilities
from skdp.mechanisms import ball_rows, row_norms

__all__ = ["Residuals"]

MODEL_BITS = 37  # with rows of length 2^15, every partial sum of a score stays below 2^53
SHRINK = 1 - 2.0**-40  # outweighs every rounding of a norm and of a product


@dataclass(frozen=True)
class Residuals:
    """The map of a row (x, class) to the pair (q, e): its direction, and what the model misses.

    With v the row in the coordinates of the design, and w = min(1, R / |v|)^2 its weight, q is
    sqrt(w) v in units of R / 2^bits, and e is sqrt(w) (y - p), y the vector that is 1 at the class
    of the row and p the probabilities of the model. The row adds q e^T to the gradient of the
    weighted log-likelihood.

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
        """Yield q, shape (m, K), and e, shape (m, c), of the finite rows of a block, in parts."""
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
            e = self._labels(codes) - p
            e *= root[:, None]
            yield q, e

    def _labels(self, codes):
        if self.B.shape[1] == 1:
            return (codes[:, None] == 1.0).astype(float)
        return (codes[:, None] == np.arange(self.B.shape[1])).astype(float)

    @property
    def longest(self):
        """The largest length of 2^bits q e^T: a residual is at most 1 long, sqrt(2) of K > 2."""
        return 4**self.bits * (1.0 if self.B.shape[1] == 1 else math.sqrt(2))

    def gradient(self, block, longest):
        """Return the sum of 2^bits q e^T, every summand brought back to a ball.

        Parameters
        ----------
        block : ndarray of shape (n, d + 1)
        longest : int
            Radius of the ball, at most 2^(2 bits + 1).

        Returns
        -------
        total : ndarray of shape (K, c), int64

        Notes
        -----
        **Privacy**: e becomes a vector f of integers, and a row adds q f^T, whose Frobenius norm
        is |q| |f|. Both squares are integers below 2^53, and their product is compared with
        longest^2 in 64 bits: a row moves the total by at most ``longest`` exactly. Sums over a
        part stay below 2^53.
        """
        total = np.zeros(self.B.shape, dtype=np.int64)
        for q, e in self.parts(block):
            q_square = np.einsum("ij,ij->i", q, q)
            sizes = np.sqrt(q_square) * row_norms(e)
            scale = np.minimum(2.0**self.bits, SHRINK * longest / np.maximum(sizes, 1e-300))
            f = np.trunc(e * scale[:, None])
            f_square = np.einsum("ij,ij->i", f, f)
            f[q_square.astype(np.int64) * f_square.astype(np.int64) > longest**2] = 0.0
            total += (q.T @ f).astype(np.int64)
        return total
