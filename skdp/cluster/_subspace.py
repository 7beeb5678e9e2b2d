"""The few directions in which the rows spread most: top eigenvectors of a noisy Gram matrix."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skdp._public import public_words
from skdp.cluster._lattice import BITS, UNIT, Lattice
from skdp.cluster._locate import DROP
from skdp.cluster._lockstep import Ask, Gather
from skdp.kernel._grid_bits import grid_bits
from skdp.mechanisms import ball_rows
from skdp.mechanisms._rows import Ball

__all__ = ["Subspace", "find_subspace", "whole_space"]

WIDEST = 64  # beyond, rows are first mapped to 64 public random directions
GRAM_BITS = 15  # sums of 2^32 rows fit into 64 bits
CLIP = 0.7
BOX = 2.0


@dataclass(frozen=True)
class Subspace:
    """Directions ``W`` (d, p) in units of the radius, the half widths of a box along them.

    ``W`` is None for the coordinates themselves; ``mapped`` tells that the rows went through public
    random directions first, so that points of the subspace cannot be lifted by ``W``.
    """

    W: np.ndarray
    half: np.ndarray
    mapped: bool = False

    def coordinates(self, Q):
        """Return coordinates of lattice vectors in units of the radius, shape (m, p).

        Notes
        -----
        **Privacy**: an exact integer product (see :class:`Lattice`), then one elementwise scaling:
        a function of the row.
        """
        if self.W is None:
            return Q / UNIT
        step = np.sqrt(np.square(self.W).sum(axis=0)).max() * 2.0 ** (BITS - 52)
        return (Q @ np.rint(self.W / step)) * (step / UNIT)

    def lift(self, points):
        """Return points of the subspace in all d coordinates."""
        return points if self.W is None else points @ self.W.T


def whole_space(half):
    """Return the coordinates themselves with the box [-half, half]: no release."""
    return Subspace(None, np.asarray(half, dtype=np.float64))


def find_subspace(located, *, most, share, mu, label="gram", unit=1):
    """Release the directions of the largest second moments around the centre.

    A search for :func:`skdp.cluster._lockstep.in_step`, which asks for ``label``.

    Parameters
    ----------
    located : Located
    most : int
        Largest number of directions.
    share : float or Fraction
    mu : float
        Of the whole budget.
    label : str, default="gram"
    unit : int, default=1
        Of rows with weights.

    Returns
    -------
    subspace : Subspace
        With at least two directions.

    Notes
    -----
    **Privacy** (add or remove one row): every kept row, clipped to the ball, is an integer vector g
    with ``|g| <= 2^bits`` (checked in integers), a function of that row. The m x m matrix of all
    ``sum g_i g_j`` moves by ``g g^T``, of Frobenius norm ``|g|^2 <= 4^bits``. Both halves of the
    matrix are released and averaged. Random directions are public.
    """
    d = len(located.center)
    J = _random_directions(d) if d > WIDEST else None
    m = d if J is None else WIDEST
    clip = located.typical / located.radius * CLIP
    room = {"unit": unit, "n": located.n_rows}
    bits = grid_bits(mu * math.sqrt(share), noise_bits=44, most=GRAM_BITS, power=2, **room)

    def statistic(start, block):
        gram = np.zeros((m, m), dtype=np.int64)
        for g in _clipped(located, block, J, clip, bits):
            gram += (g.T @ g).astype(np.int64)  # fewer than 2^53 / 4^15 rows: exact
        return gram

    gram = yield Gather(statistic)
    release = yield Ask(gram, 4**bits, share, label)
    noise = release.scale / 4.0**bits
    values, vectors = np.linalg.eigh((release.value + release.value.T) / (2 * 4.0**bits))
    edge = math.sqrt(2 * m) * noise  # spectral norm of the noise
    p = min(max(2, min(int(np.count_nonzero(values > 3 * edge)), most)), m)
    V, top = vectors[:, : -p - 1 : -1], values[: -p - 1 : -1]
    half = np.minimum(1.0, BOX * np.sqrt(np.maximum(top, edge) / located.n_rows))
    return Subspace(V if J is None else J @ V, half, J is not None)


def _clipped(located, block, J, clip, bits):
    """Yield blocks of integer vectors of length at most 2^bits, one per kept row."""
    if J is not None:
        step = np.sqrt(np.square(J).sum(axis=0)).max() * 2.0 ** (BITS - 52)
        directions = np.rint(J / step)
        for Q in Lattice(located).parts(block):
            z = (Q @ directions) * (step / UNIT)
            yield ball_rows(z, center=0.0, radius=clip, bits=bits)
        return
    d = block.shape[1]
    rows = max(1, min(len(block), 2**16 // d))
    ball = Ball(rows, d, center=located.center, radius=located.radius * clip, bits=bits)
    for start in range(0, len(block), rows):
        part = block[start : start + rows]
        g = np.empty((len(part), d))
        outside = ~(ball.map(part, out=g) <= DROP * located.reach / clip * 2.0**bits)
        g[outside] = 0
        yield g


def _random_directions(d):
    """Return a d x 64 matrix of independent normal entries of variance 1/64."""
    words = public_words(d * WIDEST, "random directions", d)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return ndtri(uniform).reshape(d, WIDEST) / math.sqrt(WIDEST)
