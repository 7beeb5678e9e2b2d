"""Places beyond the bulk: what stands out in the histogram of distances is located in its turn."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from skdp.accounting import Step
from skdp.chunks import map_merge
from skdp.cluster._lattice import Lattice
from skdp.cluster._locate import BINS, DROP, bounded, close_in, standing_out, survey
from skdp.cluster._places import Places, joining_cost, merged
from skdp.mechanisms import row_norms
from skdp.scales import clipped_sum

__all__ = ["find_places", "places_steps"]

GAP = 3.0  # octaves between the bulk and a group that lies apart
SPLIT = 1.0  # octaves between groups beyond the bulk
FAR_SHARE, SIZE_SHARE = 0.15, 0.005
SCALES, CENTRES = 0.08, 0.03  # largest shares of a step, as for the bulk
MOST = 6  # places beyond the first
CLEAR = 5.0  # noise sds of the number of rows of a place
FARTHEST = 2.0**300  # radii of the bulk, beyond which no common coordinates are


@dataclass(frozen=True)
class Component:
    """Bins [low, high] of distances from ``center`` that stand out, with ``mass`` rows."""

    center: np.ndarray
    low: int
    high: int
    mass: float
    sd: float

    @property
    def inner(self):
        """Distance that all rows of the component exceed."""
        return BINS.upper_edge(self.low - 1)

    @property
    def outer(self):
        """Distance that no row of the component exceeds."""
        return BINS.upper_edge(self.high)

    def holds(self, block):
        """Return which rows lie in the component: each row by itself."""
        index = BINS.index(row_norms(block, center=self.center))
        return (index >= self.low) & (index <= self.high)


class Chosen:
    """The rows of a table that ``keep`` keeps, each by itself: neighbours stay neighbours."""

    def __init__(self, rows, keep):
        self._rows, self._keep = rows, keep
        self.n_features, self.block_rows = rows.n_features, rows.block_rows

    def blocks(self):
        """Yield (index of the first row, kept rows of a block)."""
        for start, block in self._rows.blocks():
            yield start, block[self._keep(block)]

    def take(self, indices):
        """Return no rows: for tables without any."""
        return self._rows.take(indices)


def places_steps():
    """Return the planned steps of :func:`find_places` beyond those of the bulk."""
    return (
        Step("far scale", at_most=SCALES, times=20),
        Step("far location", at_most=CENTRES, times=40),
        Step("place sizes", at_most=SIZE_SHARE),
    )


def find_places(rows, curator, n_clusters, *, place=None):
    """Find the balls in which the rows lie: that of the bulk, then those of groups far from it.

    The last histogram of distances from the bulk shows what lies beyond it. What stands out there
    is located as the bulk was, among the rows that no place keeps so far; and again, until nothing
    is left, there are seven places, or .15 of the budget is spent. Where fewer clusters are asked
    for, the places that cost least to serve by one centre are merged.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the steps of :func:`skdp.cluster._locate.locate_steps` and :func:`places_steps`.
    n_clusters : int
    place : Place, default=None
        A public ball that holds the rows.

    Returns
    -------
    located : Located or Places
        A Located if the bulk is the only place.

    Notes
    -----
    **Privacy** (add or remove one row): which rows a search looks at is decided by each row itself,
    from released balls and bins, so that the searches have the sensitivities of
    :func:`skdp.cluster._locate.locate`. The numbers of rows of all places, and of the rows that
    none of them keeps, are one release: a row is counted once, sensitivity 1.
    """
    home, distances = survey(rows, curator, place=place, gap=GAP)
    beyond = _components(home, distances) if home.seen and distances is not None else []
    near = [c for c in beyond if _reachable(c, home, place)]
    balls, lost = [home], sum(c.mass for c in beyond if c not in near)
    left = FAR_SHARE
    while near:
        near.sort(key=lambda c: c.mass)
        component = near.pop()
        before = curator.remaining
        ball = _approach(rows, curator, balls, component, left) if len(balls) <= MOST else None
        left -= float(before - curator.remaining)
        if ball is None:
            lost += component.mass
            continue
        balls.append(replace(ball, box=home.box))
        rest = component.mass - ball.n_rows
        if rest > CLEAR * component.sd and 4 * ball.kept < component.outer:
            near.append(replace(component, mass=rest))
    if len(balls) > 1:
        return _sized(rows, curator, balls, n_clusters)
    if lost:
        _told(curator, lost, home.kept)
    return home


def _told(curator, n_rows, distance):
    curator.doubt(
        f"about {n_rows:.2g} rows farther than {distance:.3g} from the bulk were left out: they "
        "stand out, but no group of them was found"
    )


def _components(home, distances):
    """Return what stands out beyond the rows that the bulk keeps, a list of Component."""
    counts, sd = np.asarray(distances.counts, dtype=np.float64), distances.sd
    first = int(BINS.index(np.array([home.kept]))[0]) + 1
    octaves = np.abs(np.arange(counts.size) - first) / BINS.per_octave
    kept = np.flatnonzero(standing_out(counts, sd, octaves))
    kept = kept[kept >= first]
    if not kept.size:
        return []
    parts = np.split(kept, np.flatnonzero(np.diff(kept) > SPLIT * BINS.per_octave + 1) + 1)
    found = [
        Component(
            distances.center, int(part[0]), int(part[-1]), float(counts[part].sum()),
            sd * math.sqrt(len(part)),
        )
        for part in parts
    ]  # fmt: skip
    return [c for c in found if c.mass > CLEAR * c.sd]


def _reachable(component, home, place):
    most = FARTHEST * home.radius
    if place is not None and place.box is None:
        most = min(most, 2 * place.radius)
    return component.outer <= most


def _approach(rows, curator, balls, component, left):
    """Return the ball of the heaviest group of a component, or None if it is not found."""
    lattice = Lattice(Places(tuple(balls), 0.0, 0.0))

    def keep(block):
        return component.holds(block) & (lattice.places(block) < 0)

    chosen, d = Chosen(rows, keep), rows.n_features
    need = component.mass * curator.budget.mu
    share = float(np.clip(d * (20 / need) ** 2, 0.0075, CENTRES))
    if share > left:
        return None
    total, _, _ = clipped_sum(
        chosen, curator, center=component.center, radius=component.outer, share=share,
        label="far location", drop=DROP,
    )  # fmt: skip
    center = bounded(component.center + total / component.mass)
    ball, distances = close_in(
        chosen, curator, component.mass, center, component.outer, left=left - share, gap=GAP,
        labels=("far scale", "far location"),
    )  # fmt: skip
    if distances is None or not ball.seen:
        return None
    counts = np.asarray(distances.counts, dtype=np.float64)
    last = int(BINS.index(np.array([ball.kept]))[0])
    inside = standing_out(counts, distances.sd, np.zeros(counts.size)) & (
        np.arange(counts.size) <= last
    )
    mass = float(counts[inside].sum())
    if not mass > CLEAR * distances.sd:
        return None
    return replace(ball, n_rows=mass, n_sd=distances.sd * math.sqrt(inside.sum()))


def _sized(rows, curator, balls, n_clusters):
    """Return Places with the noisy numbers of their rows, as many as there are clusters at most."""
    lattice = Lattice(Places(tuple(balls), 0.0, 0.0))

    def statistic(start, block):
        finite = np.isfinite(block).all(axis=1)
        return np.bincount(lattice.places(block)[finite] + 1, minlength=len(balls) + 1)

    counts = map_merge(rows, statistic, np.add)
    release = curator.gaussian(counts, sensitivity=1, share=SIZE_SHARE, label="place sizes")
    lost, *sizes = (float(x) for x in release.value)
    sure = [s > CLEAR * release.scale for s in sizes]
    sure[0] = True
    lost += sum(s for s, ok in zip(sizes, sure, strict=True) if not ok)
    if lost > CLEAR * release.scale:
        _told(curator, lost, balls[0].kept)
    n_sd = balls[0].n_sd
    balls = [
        replace(ball, n_rows=max(s, 1.0), n_sd=release.scale)
        for ball, s, ok in zip(balls, sizes, sure, strict=True)
        if ok
    ]
    while len(balls) > n_clusters:
        one, two = min(combinations(balls, 2), key=lambda pair: joining_cost(*pair))
        balls = [ball for ball in balls if ball is not one and ball is not two]
        balls.append(merged(one, two))
    if len(balls) == 1:
        return replace(balls[0], n_sd=n_sd)
    return Places(tuple(balls), sum(ball.n_rows for ball in balls), n_sd)
