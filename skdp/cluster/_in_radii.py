"""Points in the units of released balls, and back: nothing here sees a row."""

from dataclasses import replace

import numpy as np

from skdp.kernel._ball_cover import FARTHEST, LIMIT, BallCover, bounded, lengths

__all__ = [
    "box_of",
    "half_widths",
    "inside",
    "joined",
    "lifted",
    "some_places",
    "to_data",
    "to_units",
]

THINNEST = 2.0**-20  # half width of a box, in radii


def to_units(located, points):
    """Return points of the table in the coordinates of a LocatedBall or BallCover.

    Those of one ball are inside the ball of 16 radii; those of several no farther from the first
    than floats can square.
    """
    if isinstance(located, BallCover):
        with np.errstate(over="ignore"):
            y = bounded((points - located.center) / located.radius)
            return np.clip(y, -FARTHEST, FARTHEST)
    with np.errstate(all="ignore"):
        y = np.nan_to_num((points - located.center) / located.radius, nan=0.0, posinf=LIMIT)
        y = np.clip(y, -LIMIT, LIMIT)
        return y * np.minimum(1, LIMIT / np.maximum(lengths(y), 1e-9))[..., None]


def to_data(located, y):
    """Undo :func:`to_units`."""
    return bounded(y * located.radius + located.center)


def box_of(located):
    """Return public bounds (low, high), or None."""
    return located.balls[0].box


def inside(located, points):
    """Return points of the table clipped to the box, if there is one."""
    box = box_of(located)
    return points if box is None else np.clip(points, *box)


def half_widths(located):
    """Return half widths of what holds the rows, (d,).

    Of one ball the reach, or less where the box ends; of several those of the public box, infinite
    without one.
    """
    box, several = box_of(located), isinstance(located, BallCover)
    if box is None:
        return np.full(len(located.center), np.inf if several else located.reach)
    low, high = box
    if several:
        return (high / 2 - low / 2) / located.radius
    with np.errstate(over="ignore"):
        far = np.maximum(located.center - low, high - located.center) / located.radius
    return np.clip(far, THINNEST, located.reach)


def some_places(cover, numbers):
    """Return some places of a BallCover, the first among them; a LocatedBall if it is alone."""
    if len(numbers) == 1:
        return replace(cover.balls[0], n_sd=cover.n_sd)
    balls = tuple(cover.balls[p] for p in numbers)
    return BallCover(balls, sum(ball.n_rows for ball in balls), cover.n_sd)


def lifted(subspace, points):
    """Return points of a subspace in all d coordinates."""
    return points if subspace.W is None else points @ subspace.W.T


def joined(located, synopses):
    """Return the cells of all places, one WeightedCells each, in common coordinates."""
    if len(synopses) == 1:
        return synopses[0]
    seen = [(s, *located.view(p)) for p, s in enumerate(synopses)]
    return replace(
        synopses[0],
        centres=np.concatenate([s.centres * r + c for s, c, r in seen]),
        halves=np.concatenate([s.halves * r for s, _, r in seen]),
        weights=np.concatenate([s.weights for s in synopses]),
        sds=np.concatenate([s.sds for s in synopses]),
    )
