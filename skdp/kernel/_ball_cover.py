"""Balls in which rows lie: what was released of them, and coordinates in them."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from skdp.kernel._plain import Checked, PerColumn, made_of, public, refuse

DROP = 2.0  # rows beyond twice the reach are outliers: dropped, not clipped into a ring
FARTHEST_REACH = 8.0  # largest reach, in radii
LIMIT = (
    DROP * FARTHEST_REACH
)  # radii from the centre within which all kept rows and all centres lie
SMALLEST, LARGEST = 2.0**-1000, 2.0**1000
THINNEST = 2.0**-20  # half width of a box, in radii


@public
class LocatedBall(Checked):
    """Where the rows lie. Everything is released.

    ``n_rows`` (at least 1) and ``n_sd``: noisy number of rows and the noise's standard deviation;
    ``center`` (d,) and ``radius``: a ball that holds the bulk; ``typical``: about the median
    distance from the centre; ``seen``: whether the radius stood out of the noise; ``reach``, from
    1 to 8 radii: how far out rows still stand out of the noise. Beyond twice the reach they count
    as outliers and are left out. ``box``: public bounds (low, high) to which rows are clipped.
    """

    n_rows: float
    n_sd: float
    center: PerColumn
    radius: float
    typical: float
    seen: bool = True
    reach: float = 1.0
    box: tuple | None = None

    def check(self, shape):
        super().check(shape)
        refuse(not 0 < self.radius <= LARGEST, "a radius from 0 to 2^1000")

    @property
    def balls(self):
        """The balls of all places: this one."""
        return (self,)

    @property
    def kept(self):
        """The distance from the centre beyond which rows are left out."""
        return DROP * self.reach * self.radius

    def joined(self, synopses):
        """Return the cells of all places: those of this one."""
        return synopses[0]

    def view(self, p):
        """Return centre and radius of a place in units of the radius: 0 and 1."""
        return 0.0, 1.0

    def units(self, y):
        """Return for every centre the radius of its place, in radii, shape (k,): ones."""
        return np.ones(len(y))

    def to_units(self, points):
        """Return points in units of the radius, seen from the centre, inside the ball of 16."""
        with np.errstate(all="ignore"):
            y = np.nan_to_num((points - self.center) / self.radius, nan=0.0, posinf=LIMIT)
            y = np.clip(y, -LIMIT, LIMIT)
            return y * np.minimum(1, LIMIT / np.maximum(lengths(y), 1e-9))[..., None]

    def to_data(self, y):
        """Undo :meth:`to_units`."""
        return bounded(y * self.radius + self.center)

    def inside(self, points):
        """Return points of the table clipped to the box, if there is one: post-processing."""
        return points if self.box is None else np.clip(points, *self.box)

    @property
    def half(self):
        """Half widths of what holds the rows, in radii: the reach, or less where the box ends."""
        if self.box is None:
            return np.full(len(self.center), self.reach)
        low, high = self.box
        with np.errstate(over="ignore"):
            far = np.maximum(self.center - low, high - self.center) / self.radius
        return np.clip(far, THINNEST, self.reach)


def lengths(y):
    """Return the lengths of vectors; squares of integers would wrap."""
    return np.sqrt(np.square(y, dtype=np.float64).sum(axis=-1))


def bounded(points):
    """Return finite points: what overflows becomes the largest float."""
    return np.nan_to_num(points)


FARTHEST = 2.0**300  # radii of the first ball, beyond which there are no common coordinates


@public
class BallCover(Checked):
    """Balls that hold disjoint sets of rows: a row belongs to the first that keeps it.

    Everything is released. Coordinates are those of the first ball, as far as floats go. Stands in
    for a :class:`LocatedBall` wherever clusters are refined.
    """

    balls: Annotated[tuple, "m", made_of(LocatedBall)]
    # noisy number of all rows, with the standard deviation of its noise
    n_rows: float
    n_sd: float

    @property
    def home(self):
        """The ball whose centre and radius are the common coordinates."""
        return self.balls[0]

    @property
    def center(self):
        """Origin of the common coordinates, shape (d,)."""
        return self.home.center

    @property
    def radius(self):
        """Unit of the common coordinates."""
        return self.home.radius

    @property
    def box(self):
        """Public bounds (low, high), or None."""
        return self.home.box

    @property
    def half(self):
        """Half widths of the public box in common coordinates, infinite without one, (d,)."""
        if self.box is None:
            return np.full(len(self.center), np.inf)
        low, high = self.box
        return (high / 2 - low / 2) / self.radius

    def to_units(self, points):
        """Return points of the table in common coordinates, no farther than floats can square."""
        with np.errstate(over="ignore"):
            return np.clip(bounded((points - self.center) / self.radius), -FARTHEST, FARTHEST)

    def to_data(self, y):
        """Undo :meth:`to_units`."""
        return bounded(y * self.radius + self.center)

    def inside(self, points):
        """Return points of the table clipped to the box, if there is one."""
        return self.home.inside(points)

    def view(self, p):
        """Return centre and radius of a place in common coordinates: numbers with squares."""
        ball = self.balls[p]
        center = np.clip(bounded((ball.center - self.center) / self.radius), -FARTHEST, FARTHEST)
        return center, min(float(bounded(ball.radius / self.radius)), FARTHEST)

    def seen_from(self, p, y):
        """Return points in units of the radius of a place, seen from its centre."""
        center, radius = self.view(p)
        return (y - center) / radius

    def only(self, numbers):
        """Return some of the places, the first among them; a LocatedBall if it is alone."""
        if len(numbers) == 1:
            return replace(self.home, n_sd=self.n_sd)
        balls = tuple(self.balls[p] for p in numbers)
        return BallCover(balls, sum(ball.n_rows for ball in balls), self.n_sd)

    def joined(self, synopses):
        """Return the cells of all places, one WeightedCells each, in common coordinates."""
        seen = [(s, *self.view(p)) for p, s in enumerate(synopses)]
        return replace(
            synopses[0],
            centres=np.concatenate([s.centres * r + c for s, c, r in seen]),
            halves=np.concatenate([s.halves * r for s, _, r in seen]),
            weights=np.concatenate([s.weights for s in synopses]),
            sds=np.concatenate([s.sds for s in synopses]),
        )

    def owners(self, y):
        """Return for every point the place that would keep it, else the nearest in its radii."""
        z = [np.sqrt(np.square(self.seen_from(p, y)).sum(axis=1)) for p in range(len(self.balls))]
        keeps = np.array([r <= b.kept / b.radius for r, b in zip(z, self.balls, strict=True)])
        return np.where(keeps.any(axis=0), keeps.argmax(axis=0), np.argmin(z, axis=0))

    def units(self, y):
        """Return for every centre the radius of its place in common coordinates, shape (k,)."""
        return np.array([self.view(p)[1] for p in range(len(self.balls))])[self.owners(y)]
