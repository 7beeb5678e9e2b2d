"""Where the rows lie by public knowledge: a box to which they are clipped, or a ball."""

import math
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real

import numpy as np

from skdp.kernel._ball_cover import LARGEST, SMALLEST, LocatedBall
from skdp.kernel._views import InBox
from skdp.location._public import bounds_vectors, column_vector
from skdp.utils._compat import Interval


@dataclass(frozen=True)
class PublicBall:
    """A public ball, and the ``box`` (low, high) that it is drawn around, if there is one."""

    center: np.ndarray
    radius: float
    box: tuple | None = None

    @classmethod
    def of_box(cls, low, high):
        """Return a box with the ball through its corners."""
        half = high / 2 - low / 2
        longest = half.max()
        radius = longest * float(np.sqrt(np.square(half / longest).sum()))
        return cls(low + half, min(max(radius, SMALLEST), LARGEST), (low, high))

    def located(self):
        """Return the LocatedBall of this place.

        Half the radius is taken for the median distance.
        """
        return LocatedBall(1.0, 0.0, self.center, self.radius, self.radius / 2, box=self.box)

    def clipped(self, table):
        """Return the Table of rows clipped to the box: each by itself."""
        return table if self.box is None else table.map(InBox(*self.box))


class PublicBoundsMixin:
    """Parameters of estimators of clusters: ``bounds``, or ``center`` and ``radius``."""

    _place_constraints: dict = {
        "bounds": ["array-like", None],
        "center": [Real, "array-like", None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _is_placed(self):
        return self.bounds is not None or self.radius is not None

    def _place(self, n_features):
        """Return the public PublicBall, or None."""
        box = bounds_vectors(self.bounds, n_features)
        center = column_vector("center", self.center, n_features)
        if box is not None:
            if self.radius is not None or center is not None:
                raise ValueError(
                    "bounds and a ball were given. Pass bounds, or center and radius, or neither "
                    "to find where the rows lie privately."
                )
            return PublicBall.of_box(*box)
        if self.radius is None:
            if center is not None:
                raise ValueError(
                    "center was given without radius. Pass both, or neither to find a ball "
                    "privately."
                )
            return None
        center = np.zeros(n_features) if center is None else center
        return PublicBall(center, min(max(float(self.radius), SMALLEST), LARGEST))

    def _placed(self, table):
        """Return the public PublicBall or None, and the Table that is asked."""
        place = self._place(table.n_features)
        return place, table if place is None else place.clipped(table)


def whole(located):
    """Return one ball around all places."""
    return reduce(merged, located.balls)


def merged(one, two):
    """Return a ball around two: for groups that one centre has to serve."""
    n = one.n_rows + two.n_rows
    center = one.center + (two.center - one.center) * (two.n_rows / n)
    radius = min(max(_distance(center, ball) + ball.radius for ball in (one, two)), LARGEST)
    return replace(
        one, n_rows=n, n_sd=math.hypot(one.n_sd, two.n_sd), center=center, radius=radius,
        typical=radius / 2, seen=True, reach=1.0,
    )  # fmt: skip


def _distance(point, ball):
    with np.errstate(over="ignore"):
        return min(math.hypot(*(point / 4 - ball.center / 4)), LARGEST / 4) * 4


def joining_cost(one: LocatedBall, two: LocatedBall):
    """Return how much the sum of squares grows where one centre serves two balls (Ward)."""
    parts = one.n_rows * two.n_rows / (one.n_rows + two.n_rows)
    return float(np.square(_distance(one.center, two) / 2.0**501) * parts)
