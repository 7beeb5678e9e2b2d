"""Rows as integer vectors on a released lattice: distances and projections without rounding."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from skdp.kernel._ball_cover import DROP, LIMIT, BallCover, LocatedBall, lengths
from skdp.kernel._plain import Checked, public, refuse
from skdp.mechanisms import _compiled
from skdp.mechanisms._rows import Ball

BITS = 24  # squared distances of lattice points stay below 2^52
UNIT = 2.0**BITS / LIMIT  # lattice steps per radius
CELLS = 2**16
MOST = 2.0**300  # length of a direction


@dataclass(frozen=True)
class Lattice:
    """The lattice of a located ball: (x - center) / radius becomes an integer vector q.

    Rows beyond twice the reach and rows that hold NaN or infinity are left out. Of several places,
    each with a lattice of its own, a row belongs to the first that does not leave it out.

    **Privacy**: q, and whether a row is left out and by which places, are functions of that row and
    of released values.
    As ``|q| <= 2^24`` (16 radii), Cauchy and Schwarz bound every partial sum of a product ``q . w``
    with an integer vector by ``2^24 |w|``, whatever d is: up to ``|w| = 2^29`` BLAS cannot round,
    so the result depends neither on the other rows nor on blocks, threads and the order of
    additions.
    """

    located: LocatedBall | BallCover

    def labels(self, block, C, through=None):
        """Return for every row its nearest of k points, and the distance in radii.

        Rows that are left out get the label -1. ``C`` is what :meth:`points` returns: for every
        place, numbers of points and their lattice vectors. ``through`` has for every place a map
        of lattice vectors, each by itself, to the integer vectors that are compared with these.
        """
        labels, distances = np.full(len(block), -1), np.full(len(block), np.nan)
        home, balls = self.located.radius, self.located.balls
        if _compiled.loops is not None and through is None and len(balls) == 1:
            self._label(block, _compiled.plain(C[0][1]), labels, distances)
            return labels, distances
        for part, p, Q in self.placed(block):
            numbers, points = C[p]
            nearby, squares = nearest(through[p](Q) if through else Q, points)
            labels[part] = numbers[nearby]
            distances[part] = np.sqrt(squares) * (balls[p].radius / home / UNIT)
        return labels, distances

    def _label(self, block, points, labels, distances):
        """Write the same for rows of one place; far ones take the slower path."""
        (ball,), (place,) = self._maps(1, block.shape[1]), self.located.balls
        unit, far = place.radius / self.located.radius / UNIT, np.empty(len(block), dtype=np.int64)
        told = *ball.top_and_longest, DROP * place.reach * UNIT, unit
        named = ball.center, ball.gain, -2 * points, np.square(points).sum(axis=1)
        for part, x in _compiled.plain_parts(block):
            n = _compiled.loops.labels(x, *named, labels[part], distances[part], far, *told)
            for rows, _, Q in self.placed(x[far[:n]]) if n else ():
                labels[part][far[rows]], squares = nearest(Q, points)
                distances[part][far[rows]] = np.sqrt(squares) * unit

    def places(self, block):
        """Return for every row the number of its place, -1 for rows that are left out."""
        numbers = np.full(len(block), -1)
        for part, p, _ in self.placed(block):
            numbers[part] = p
        return numbers

    def placed(self, block):
        """Yield numbers of rows, the number of their place and their lattice vectors in it."""
        d = block.shape[1]
        step = max(1, min(len(block), CELLS // d))
        balls = self._maps(step, d)
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            left = np.arange(start, start + len(rows))
            for p, ball in enumerate(balls):
                Q = np.empty((len(rows), d))
                stay = ball.map(rows, out=Q) <= DROP * self.located.balls[p].reach * UNIT
                if stay.all():
                    yield left, p, Q
                    break
                yield left[stay], p, Q[stay]
                left, rows = left[~stay], rows[~stay]

    def _maps(self, step, d):
        """Return the maps to the lattices of the places."""
        parts = [(b.center, b.radius * LIMIT) for b in self.located.balls]
        return [Ball(step, d, center=c, radius=radius, bits=BITS) for c, radius in parts]

    def points(self, y):
        """Return for every place the points that its rows are compared with."""
        if len(self.located.balls) == 1:
            return [(np.arange(len(y)), lattice_points(y))]
        seen = [self.located.seen_from(p, y) for p in range(len(self.located.balls))]
        near = [np.square(z).sum(axis=1) <= LIMIT**2 for z in seen]
        near = [some if some.any() else _nearest(z) for some, z in zip(near, seen, strict=True)]
        return [
            (np.flatnonzero(some), lattice_points(z[some]))
            for z, some in zip(seen, near, strict=True)
        ]


def _nearest(z):
    """Return which one of some points, seen from a place, is nearest to it."""
    return np.arange(len(z)) == np.square(z / np.abs(z).max()).sum(axis=1).argmin()


def lattice_points(y):
    """Return the lattice points next to points in units of the radius, inside the ball."""
    y = np.clip(y, -LIMIT, LIMIT)
    length = np.sqrt(np.square(y).sum(axis=1, keepdims=True))
    return np.trunc(y * np.minimum(1, LIMIT / np.maximum(length, 1e-9)) * (UNIT * (1 - 2**-30)))


def nearest(Q, C):
    """Return for every lattice vector the nearest of k lattice points, and its squared distance.

    **Privacy**: ``|c|^2 - 2 q.c + |q|^2`` is exact in every order of its additions (all partial
    sums are integers below 2^53), so the label of a row is a function of that row.
    """
    C = _compiled.plain(C)
    squares = np.square(C).sum(axis=1)
    if _compiled.loops is not None:
        Q, C = _compiled.plain(Q), -2 * C
        labels, distances = np.empty(len(Q), dtype=np.int64), np.empty(len(Q))
        _compiled.loops.nearest(Q, C, squares, labels, distances, Q.shape[1])
        return labels, distances
    scores = (-2 * C) @ Q.T
    scores += squares[:, None]
    labels = scores.argmin(axis=0)
    return labels, scores.min(axis=0) + np.einsum("ij,ij->i", Q, Q)


def moderate(W, name, sizes):
    """Refuse directions that are very long or short."""
    refuse(not 1 / MOST <= np.abs(W).max() <= MOST, f"{name} of moderate length")


Directions = Annotated[np.ndarray, "d p", moderate]


@public
class Subspace(Checked):
    """Directions ``W`` (d, p) in units of the radius, the half widths of a box along them.

    ``W`` is None for the coordinates themselves; ``mapped`` tells that the rows went through public
    random directions first, so that points of the subspace cannot be lifted by ``W``.
    """

    W: Directions | None
    half: Annotated[np.ndarray, "p"]
    mapped: bool = False

    def check(self, shape):
        super().check(shape)
        refuse(self.W is None and len(self.half) != shape.n_features, "a half width a column")

    def coordinates(self, Q):
        """Return coordinates of lattice vectors in units of the radius, shape (m, p)."""
        return Q / UNIT if self.W is None else projected(Q, self.W)


def projected(Q, W):
    """Return the products of lattice vectors with directions, in units of the radius.

    **Privacy**: an exact integer product (see :class:`Lattice`), then one elementwise scaling: a
    function of the row.
    """
    step = lengths(W.T).max() * 2.0 ** (BITS - 52)
    return (Q @ np.rint(W / step)) * (step / UNIT)
