"""Hostile rows and hostile public fields for the statistics of clusters and places."""

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._bins import LogBins
from skdp.kernel._cluster_sums import (
    ClusterTotals,
    Gain,
    LineMoments,
    LocatedGram,
    SecondMoments,
)
from skdp.kernel._clusters import (
    GridCells,
    LineCells,
    Nearest,
    NearestLifted,
    PlaceCells,
    Reaches,
)
from skdp.kernel._lattice import BallCover, LocatedBall, Subspace
from skdp.kernel._statistic import Offer, Shape
from tests.kernel._examples import OFFER, hostile, wild

__all__ = ["EXAMPLES"]

PURE = Offer(Budget.pure(1.0), 0.5, 1)


def _point(rng, d):
    point = hostile(rng, d, 3)[0]
    return np.where(np.isfinite(point), np.clip(point, -1e307, 1e307), 0.0)


def _radius(rng):
    return float(np.clip(wild(rng), 2.0**-1000, 2.0**1000))


def _located(rng, d, tame=False):
    box = (np.full(d, -3.0), np.full(d, 5.0)) if rng.random() < 0.3 else None
    reach = float(rng.choice([1.0, 8.0, 1e300, 1e-300]))
    if tame or rng.random() < 0.5:
        return LocatedBall(40.0, 1.0, np.zeros(d), 2.0, 1.0, True, min(max(reach, 1.0), 8.0), box)
    return LocatedBall(float(wild(rng)), 1.0, _point(rng, d), _radius(rng), 1.0, True, reach, box)


def _places(rng, d, tame=False):
    balls = [_located(rng, d, tame)]
    while rng.random() < 0.5 and len(balls) < 4:
        balls.append(_located(rng, d))
    if not tame and rng.random() < 0.5:
        return balls[0]
    return BallCover(tuple(balls), 99.0, 1.0)


def _rows(rng, d):
    """Return hostile rows, some of them near the ball of radius 2 around 0."""
    rows = hostile(rng, d)
    rows[::4] = rng.normal(size=rows[::4].shape)
    rows[1::8] = 1.9 * np.eye(d)[rng.integers(d, size=len(rows[1::8]))]
    return rows


def _nearest(rng, d, k=None):
    k = int(rng.integers(1, 5)) if k is None else k
    while True:
        y = rng.normal(size=(k, d)) * (1.0 if rng.random() < 0.6 else wild(rng, (k, 1)))
        rule = Nearest(_places(rng, d, tame=rng.random() < 0.7), y)
        try:
            rule.check(Shape(d))
        except ValueError:  # a place that cannot see centres so far away
            continue
        return rule


def _columns(rng):
    return int(rng.integers(1, 5))


def _place_cells(rng):
    d = _columns(rng)
    located = _places(rng, d)
    places = located if isinstance(located, BallCover) else BallCover((located,), 1.0, 1.0)
    return PlaceCells(places), _rows(rng, d)


def _reaches(rng):
    d = _columns(rng)
    bins = LogBins(4, -8, 4) if rng.random() < 0.5 else LogBins(1)
    return Reaches(_nearest(rng, d), bins, bool(rng.random() < 0.5)), _rows(rng, d)


def _directions(rng, d, m):
    return rng.normal(size=(d, m)) * 10.0 ** rng.uniform(-80, 80) * 10.0 ** rng.uniform(-9, 0, m)


def _subspace(rng, d):
    m = int(rng.integers(1, 4))
    if rng.random() < 0.5:
        return Subspace(None, wild(rng, d))
    half = np.full(m, 1.0) if rng.random() < 0.5 else wild(rng, m)
    return Subspace(_directions(rng, d, m), half, bool(rng.random() < 0.5))


def _grid_cells(rng):
    d, depth = _columns(rng), int(rng.integers(0, 9))
    level = int(rng.integers(0, depth + 1))
    some = None
    if rng.random() < 0.6:
        some = rng.permutation(2**level)[: rng.integers(1, 2**level + 1)]
    rows = _rows(rng, d)
    return GridCells(
        _located(rng, d, rng.random() < 0.5), _subspace(rng, d), depth, level, some
    ), rows


def _line_cells(rng):
    d, k = _columns(rng), int(rng.integers(1, 4))
    rule = _nearest(rng, d, k)
    centers = np.array([_point(rng, d) for _ in range(k)])
    v = rng.normal(size=(k, d))
    v /= np.sqrt(np.square(v).sum(axis=1, keepdims=True))
    radii, cells = np.array([_radius(rng) for _ in range(k)]), rng.integers(1, 9, size=k)
    stretch = wild(rng, k)
    return LineCells(rule, centers, radii, v, cells, stretch), _rows(rng, d)


def _balls(rng, rule, d):
    """Return centres and radii: those of clusters, or wild ones."""
    k = len(rule.y)
    if rng.random() < 0.5:
        return np.clip(rule.y, -1e150, 1e150), np.full(k, 0.01)
    radii = np.array([_radius(rng) for _ in range(k)])
    return np.array([_point(rng, d) for _ in range(k)]), radii


def _totals(rng):
    d = _columns(rng)
    if rng.random() < 0.3:
        located, m = _located(rng, d, True), 2
        space = Subspace(_directions(rng, d, m), np.full(m, 1.0), True)
        rule = NearestLifted(located, (space,), (rng.normal(size=(3, m)) * 1e3,))
        centers, radii = np.zeros((3, d)), np.array([1e-6, 1.0, 1e6])
    else:
        rule = _nearest(rng, d)
        centers, radii = _balls(rng, rule, d)
    weight = float(rng.choice([0.15, 0.5, 1e3, 1e-300]))
    squares = float(rng.choice([0.0, 1.0, 2.0, 1e300, 5e-324]))
    halvings = int(rng.choice([0, 1, 2, 20]))
    question = ClusterTotals(rule, centers, radii, weight, squares, halvings)
    return question.at(PURE if rng.random() < 0.5 else OFFER), _rows(rng, d)


def _line_moments(rng):
    d = _columns(rng)
    rule = _nearest(rng, d)
    return LineMoments(rule, *_balls(rng, rule, d)).at(OFFER), _rows(rng, d)


def _gain(rng):
    d, k = _columns(rng), int(rng.integers(1, 4))
    clip = float(rng.choice([1e-3, 1.0, 1e300, 5e-324]))
    return Gain(_nearest(rng, d, k), _nearest(rng, d, k), clip), _rows(rng, d)


def _gram(rng):
    d = _columns(rng)
    located = _located(rng, d, rng.random() < 0.5)
    clip = float(rng.choice([0.35, 1e-3, 16.0]))
    J = _directions(rng, d, 2) if rng.random() < 0.5 else None
    return LocatedGram(located, clip, J).at(OFFER), _rows(rng, d)


def _moments(rng):
    d = _columns(rng)
    return SecondMoments(_located(rng, d, rng.random() < 0.7)).at(OFFER), _rows(rng, d)


EXAMPLES = {
    PlaceCells: _place_cells,
    Reaches: _reaches,
    GridCells: _grid_cells,
    LineCells: _line_cells,
    ClusterTotals: _totals,
    LineMoments: _line_moments,
    Gain: _gain,
    LocatedGram: _gram,
    SecondMoments: _moments,
}
