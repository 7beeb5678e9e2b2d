"""What is known of the place of the rows, and the clipped sums that bring it closer."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._sums import BallSum
from skdp.location._release import bounded
from skdp.scales import clipped_sum

__all__ = [
    "CLOSER",
    "LARGEST",
    "LocationEstimate",
    "ball_around",
    "noise_norm_quantile",
    "release_refined_center",
]

CLOSER = Step("step", at_most=0.3, times=24, of=(BallSum,))
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class LocationEstimate:
    """Where the rows lie, as far as it is released or public. Lengths are in units of ``scale``."""

    # center, scale: shape (d,)
    center: np.ndarray
    scale: np.ndarray
    # what the centre is rarely farther from the mean of the rows; infinite where nothing is known
    error: float = math.inf
    spread: float = math.inf  # how far a typical row is from the mean
    # standard deviation of the noise in every entry of the centre, infinite for a centre that
    # estimates nothing
    noise: float = math.inf
    clipped: float = None  # the clip radius of the sum that the centre was moved by last
    columns: float = None  # so many columns of one size make rows of such lengths; None for all

    @property
    def found(self):
        """Whether anything is known."""
        return math.isfinite(self.error)

    @property
    def reach(self):
        """How far a typical row is from the centre."""
        return math.hypot(self.spread, self.error)

    @property
    def origin(self):
        """The centre in units of the table."""
        return np.nan_to_num(self.center * self.scale, posinf=LARGEST, neginf=-LARGEST)


def ball_around(where, radius, *, drop=None):
    """Return the fields of a :class:`skdp.kernel._sums.BallSum` around a centre."""
    return {
        "center": where.origin,
        "radius": bounded(radius),
        "scale": None if np.all(where.scale == 1) else where.scale,
        "drop": drop,
    }


def release_refined_center(counted, where, shares):
    """Move the centre of a LocationEstimate by a mean per share.

    While that makes its error smaller.
    """
    for share in shares:
        radius = 1.05 * where.reach
        around = ball_around(where, radius)
        total, sd = clipped_sum(counted.table, **around, share=share, label=CLOSER.label)
        noise = sd / counted.n
        error = noise_norm_quantile(noise, counted.d)
        if error < where.error:
            center = where.center + total / counted.n
            where = replace(where, center=center, error=error, noise=noise, clipped=radius)
    return where


def noise_norm_quantile(noise, d):
    """Return a length that a vector of d noises rarely exceeds."""
    return noise * (math.sqrt(d) + 2)
