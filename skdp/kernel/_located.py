"""A ball in which rows lie: what was released of them, and coordinates in it."""

import numpy as np

from skdp.kernel._statistic import public, refuse

__all__ = ["DROP", "FARTHEST", "LARGEST", "LIMIT", "SMALLEST", "Located", "bounded", "lengths"]

DROP = 2.0  # rows beyond twice the reach are outliers: dropped, not clipped into a ring
FARTHEST = 8.0  # largest reach, in radii
LIMIT = DROP * FARTHEST  # radii from the centre within which all kept rows and all centres lie
SMALLEST, LARGEST = 2.0**-1000, 2.0**1000
THINNEST = 2.0**-20  # half width of a box, in radii


@public
class Located:
    """Where the rows lie. Everything is released.

    ``n_rows`` (at least 1) and ``n_sd``: noisy number of rows and the noise's standard deviation;
    ``center`` (d,) and ``radius``: a ball that holds the bulk; ``typical``: about the median
    distance from the centre; ``seen``: whether the radius stood out of the noise; ``reach``, from
    1 to 8 radii: how far out rows still stand out of the noise. Beyond twice the reach they count
    as outliers and are left out. ``box``: public bounds (low, high) to which rows are clipped.
    """

    n_rows: float
    n_sd: float
    center: np.ndarray
    radius: float
    typical: float
    seen: bool = True
    reach: float = 1.0
    box: tuple | None = None

    def check(self, n_features):
        refuse(np.shape(self.center) != (n_features,), "a centre has an entry a column")
        refuse(not 0 < self.radius <= LARGEST, "a radius from 0 to 2^1000")

    @property
    def balls(self):
        """The balls of all places: this one."""
        return (self,)

    @property
    def whole(self):
        """One ball around all places: this one."""
        return self

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
    """Return the lengths of vectors."""
    return np.sqrt(np.square(y).sum(axis=-1))


def bounded(points):
    """Return finite points: what overflows becomes the largest float."""
    return np.nan_to_num(points)
