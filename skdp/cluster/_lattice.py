"""Rows as integer vectors on a released lattice: distances and projections without rounding."""

from dataclasses import dataclass

import numpy as np

from skdp.cluster._locate import DROP, LIMIT, Located
from skdp.mechanisms._rows import Ball

__all__ = ["BITS", "UNIT", "Lattice", "nearest"]

BITS = 24  # squared distances of lattice points stay below 2^52
UNIT = 2.0**BITS / LIMIT  # lattice steps per radius
CELLS = 2**16


@dataclass(frozen=True)
class Lattice:
    """The lattice of a located ball: (x - center) / radius becomes an integer vector q.

    Rows beyond twice the reach and rows that hold NaN or infinity are left out.

    Notes
    -----
    **Privacy**: q, and whether a row is left out, are functions of that row and of released values.
    As ``|q| <= 2^24`` (16 radii), Cauchy and Schwarz bound every partial sum of a product ``q . w``
    with an integer vector by ``2^24 |w|``, whatever d is: up to ``|w| = 2^29`` BLAS cannot round,
    so the result depends neither on the other rows nor on blocks, threads and the order of
    additions.
    """

    located: Located

    def labels(self, block, C, through=None):
        """Return for every row its nearest of k points, and the distance in radii.

        Rows that are left out get the label -1. ``through`` maps lattice vectors, each by itself,
        to the integer vectors that are compared with C. See :func:`nearest`.
        """
        labels, distances = np.full(len(block), -1), np.full(len(block), np.nan)
        start = 0
        for stay, Q in self._maps(block):
            part = np.flatnonzero(stay) + start
            labels[part], squares = nearest(through(Q) if through else Q, C)
            distances[part] = np.sqrt(squares) / UNIT
            start += len(stay)
        return labels, distances

    def parts(self, block):
        """Yield the lattice vectors of the rows of ``block`` that are not left out."""
        for _, Q in self._maps(block):
            yield Q

    def _maps(self, block):
        d = block.shape[1]
        step = max(1, min(len(block), CELLS // d))
        center, radius = self.located.center, self.located.radius * LIMIT
        ball = Ball(step, d, center=center, radius=radius, bits=BITS)
        outer = DROP * self.located.reach * UNIT
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            Q = np.empty((len(rows), d))
            stay = ball.map(rows, out=Q) <= outer
            yield stay, Q if stay.all() else Q[stay]

    @staticmethod
    def points(y):
        """Return the lattice points next to points in units of the radius, inside the ball."""
        y = np.clip(y, -LIMIT, LIMIT)
        length = np.sqrt(np.square(y).sum(axis=1, keepdims=True))
        return np.trunc(y * np.minimum(1, LIMIT / np.maximum(length, 1e-9)) * (UNIT * (1 - 2**-30)))


def nearest(Q, C):
    """Return for every lattice vector the nearest of k lattice points, and its squared distance.

    Parameters
    ----------
    Q : ndarray of shape (m, p)
    C : ndarray of shape (k, p)
        Integers stored as float64, vectors no longer than 2^25.

    Returns
    -------
    labels : ndarray of shape (m,)
        Ties go to the lowest index.
    squares : ndarray of shape (m,)

    Notes
    -----
    **Privacy**: ``|c|^2 - 2 q.c + |q|^2`` is exact in every order of its additions (all partial
    sums are integers below 2^53), so the label of a row is a function of that row.
    """
    scores = (-2 * C) @ Q.T
    scores += np.square(C).sum(axis=1)[:, None]
    labels = scores.argmin(axis=0)
    squares = scores[labels, np.arange(len(Q))] + np.einsum("ij,ij->i", Q, Q)
    return labels, squares
