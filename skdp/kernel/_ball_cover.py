"""Balls in which rows lie: what was released of them, and coordinates in them."""

from typing import Annotated

import numpy as np

from skdp.kernel._plain import Checked, PerColumn, made_of, public, within

DROP = 2.0  # rows beyond twice the reach are outliers: dropped, not clipped into a ring
FARTHEST_REACH = 8.0  # largest reach, in radii
LIMIT = DROP * FARTHEST_REACH  # radii from the centre within which kept rows and centres lie
SMALLEST, LARGEST = 2.0**-1000, 2.0**1000


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
    radius: Annotated[float, within(0, LARGEST)]
    typical: float
    seen: bool = True
    reach: float = 1.0
    box: tuple | None = None

    @property
    def balls(self):
        """The balls of all places: this one."""
        return (self,)

    @property
    def kept(self):
        """The distance from the centre beyond which rows are left out."""
        return DROP * self.reach * self.radius

    def view(self, p):
        """Return centre and radius of a place in units of the radius: 0 and 1."""
        return 0.0, 1.0

    def units(self, y):
        """Return for every centre the radius of its place, in radii, shape (k,): ones."""
        return np.ones(len(y))


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
    def center(self):
        """Origin of the common coordinates, shape (d,)."""
        return self.balls[0].center

    @property
    def radius(self):
        """Unit of the common coordinates."""
        return self.balls[0].radius

    def view(self, p):
        """Return centre and radius of a place in common coordinates: numbers with squares."""
        ball = self.balls[p]
        center = np.clip(bounded((ball.center - self.center) / self.radius), -FARTHEST, FARTHEST)
        return center, min(float(bounded(ball.radius / self.radius)), FARTHEST)

    def seen_from(self, p, y):
        """Return points in units of the radius of a place, seen from its centre."""
        center, radius = self.view(p)
        return (y - center) / radius

    def owners(self, y):
        """Return for every point the place that would keep it, else the nearest in its radii."""
        z = [np.sqrt(np.square(self.seen_from(p, y)).sum(axis=1)) for p in range(len(self.balls))]
        keeps = np.array([r <= b.kept / b.radius for r, b in zip(z, self.balls, strict=True)])
        return np.where(keeps.any(axis=0), keeps.argmax(axis=0), np.argmin(z, axis=0))

    def units(self, y):
        """Return for every centre the radius of its place in common coordinates, shape (k,)."""
        return np.array([self.view(p)[1] for p in range(len(self.balls))])[self.owners(y)]
