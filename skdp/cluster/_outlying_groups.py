"""Places beyond the bulk: what stands out in the histogram of distances is located in its turn."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from skdp.accounting import Step
from skdp.cluster._locate import (
    BINS,
    find_subspace,
    joining_cost,
    merged,
    release_located_ball,
    release_refined_ball,
    significant_bins,
    whole_space,
)
from skdp.cluster._shrunken_centers import CERTAIN
from skdp.cluster._synopsis import (
    WeightedCells,
    half_widths,
    lifted,
    run_parallel,
    to_data,
    weighted_kmeans,
)
from skdp.cluster._tree import refine_tree, schedule
from skdp.kernel._cluster_sums import LocatedGram
from skdp.kernel._clusters import GridCells, PlaceCells
from skdp.kernel._lattice import (
    DROP,
    FARTHEST,
    LARGEST,
    BallCover,
    Beyond,
    LocatedBall,
    Subspace,
    bounded,
)
from skdp.kernel._sums import BallSum, Distances

# --- the search of one set of rows for its clusters, by counts alone

GRAM = Step("gram", at_most=0.12, of=(LocatedGram,))
CELLS = Step("cells", at_most=0.40, times=4, of=(GridCells,))
SEARCH_STEPS = GRAM, CELLS
FLAT = 3  # columns up to which the tree grows in all coordinates


@dataclass(frozen=True)
class Found:
    """Where the rows of one set lie. Everything is released.

    ``located``: a ball that holds them; ``synopsis``: cells in the coordinates of ``subspace``, in
    units of the radius, seen from the centre.
    """

    located: LocatedBall
    subspace: Subspace
    synopsis: WeightedCells


def search_cells(located, *, n_clusters, signal, share, seed, steps=SEARCH_STEPS):
    """Find the cells in which the rows of a ball lie: a subspace, and a noisy tree of counts on it.

    A search for :func:`skdp.cluster._synopsis.run_parallel`. Searches with the same
    ``signal`` and ``share``, and for tables of one number of columns, ask for the same shares.
    """
    if len(located.center) <= FLAT:
        subspace = whole_space(half_widths(located))
    else:
        most = min(max(n_clusters - 1, 2), 2 if signal < 30 else 3 if signal < 100 else 6)
        gram_share = Fraction(GRAM.at_most) * share
        subspace = yield from find_subspace(located, most=most, share=gram_share, step=steps[0])
    plan = schedule(signal, n_clusters, flat=subspace.W is None, p=len(subspace.half))
    synopsis = yield from refine_tree(
        located, subspace, plan, n_clusters=n_clusters,
        share=Fraction(CELLS.at_most) * share, seed=seed, step=steps[1],
    )  # fmt: skip
    return Found(located, subspace, synopsis)


GAP = 3.0  # octaves between the bulk and a group that lies apart
SPLIT = 1.0  # octaves between groups beyond the bulk
FAR_SHARE = 0.18
LEAST, SCALES, CENTRES = 0.002, 0.04, 0.03  # least and largest shares of a step
AIM = 15.0  # noise sds of the rows of a group in a histogram, and in a move by its distance
SPLIT_SHARE, SPLITS = 0.05, 3
FAR_SCALE = Step("far scale", at_most=SCALES, times=60, of=(Distances,))
FAR_LOCATION = Step("far location", at_most=CENTRES, times=60, of=(BallSum,))
FAR_GRAM = Step("far gram", at_most=SPLIT_SHARE, times=SPLITS, of=(LocatedGram,))
FAR_CELLS = Step("far cells", at_most=SPLIT_SHARE, times=4 * SPLITS, of=(GridCells,))
PLACE_SIZES = Step("place sizes", at_most=0.005, of=(PlaceCells,))
PLACES_STEPS = FAR_SCALE, FAR_LOCATION, FAR_GRAM, FAR_CELLS, PLACE_SIZES  # beyond those of the bulk
APART, BULK = 4.0, 0.05  # a group is kept within so small a part of its distance; or holds so many
EXPLAINED, GROUPS = 1 / 20, 4  # of the squared distances, by so many groups
SOLID, NEARLY_ALL = 4.0, 0.8  # noise sds of cells of groups; part of the rows in them
MOST = 6  # places beyond the first
SEEN, CLEAR = 4.0, 5.0  # noise sds of the rows of a component, and of a place


@dataclass(frozen=True)
class Component:
    """Bins [low, high] of distances from ``center`` that stand out, with ``mass`` rows."""

    center: np.ndarray
    low: int
    high: int
    mass: float
    sd: float

    @property
    def outer(self):
        """Distance that no row of the component exceeds, if floats can hold 16 of it."""
        return min(BINS.upper_edge(self.high), LARGEST)


def release_ball_cover(table, n_clusters, *, place=None, careful=True):
    """Find the balls in which the rows lie: that of the bulk, then those of groups far from it.

    The last histogram of distances from the bulk shows what lies beyond it. What stands out there
    is located as the bulk was, among the rows that no place keeps so far; and again, until nothing
    is left, there are seven places, or .18 of the budget is spent. Where fewer clusters are asked
    for, the places that cost least to serve by one centre are merged.

    Notes
    -----
    **Privacy** (add or remove one row): which rows a search looks at is decided by each row itself,
    from released balls and bins, so that the searches are as private as
    :func:`skdp.cluster._locate.locate`. The numbers of rows of all places, and of the rows that
    none of them keeps, are one release: a row is counted once.
    """
    home, distances = release_located_ball(table, place=place, gap=GAP, careful=careful)
    beyond = _components(home, distances) if home.seen and distances is not None else []
    reached = [_reachable(c, home, place) for c in beyond]
    near = [c for c, told in zip(beyond, reached, strict=True) if told]
    peel = _BallSearch(table, home, n_clusters)
    lost = sum(c.mass for c, told in zip(beyond, reached, strict=True) if not told)
    while near:
        near.sort(key=lambda c: c.mass)
        component = near.pop()
        mass = peel.claim(component)
        rest = component.mass - mass
        if mass and rest > CLEAR * component.sd and len(peel.balls) <= MOST:
            near.append(replace(component, mass=rest))
        elif not mass:
            lost += rest
    if len(peel.balls) > 1:
        return _sized(table, peel.balls, n_clusters)
    if lost:
        _doubt_lost_rows(table, lost, home)
    return home


def _doubt_lost_rows(table, n_rows, home):
    """Doubt rows beyond the bulk; where the number of all rows is noise, so is theirs."""
    if home.n_rows > CERTAIN * home.n_sd:
        table.doubt(
            f"about {n_rows:,.0f} rows farther than {home.kept:.3g} from the bulk are left out: "
            "they belong to no group that was found. Use more clusters or a larger epsilon"
        )


def _components(home, distances):
    """Return what stands out beyond the rows that the bulk keeps, a list of Component."""
    counts, sd = np.asarray(distances.counts, dtype=np.float64), distances.sd
    first = int(BINS.index(np.array([home.kept]))[0]) + 1
    octaves = np.abs(np.arange(counts.size) - first) / BINS.per_octave
    kept = np.flatnonzero(significant_bins(counts, sd, octaves))
    kept = kept[kept >= first]
    if not kept.size:
        return []
    parts = np.split(kept, np.flatnonzero(np.diff(kept) > SPLIT * BINS.per_octave + 1) + 1)
    found = [_component(distances.center, part, counts[part], sd) for part in parts]
    return [c for c in found if c.mass > SEEN * c.sd]


def _component(center, bins, counts, sd):
    mass = float(counts.sum())
    above = np.cumsum(counts[::-1])[::-1]
    last = np.flatnonzero(above > max(0.02 * mass, 3 * sd))  # one bin of noise ends no component
    high = bins[last[-1]] if last.size else bins[-1]
    return Component(center, int(bins[0]), int(high), mass, sd * math.sqrt(len(bins)))


def _reachable(component, home, place):
    most = FARTHEST * home.radius
    if place is not None and place.box is None:
        most = min(most, 2 * place.radius)
    return component.outer <= most


def _commensurable(home, ball):
    """Return whether floats hold the place of a ball, and its size, in units of the first."""
    with np.errstate(all="ignore"):
        away = np.abs(ball.center - home.center) / home.radius
        ratio = ball.radius / home.radius
    return bool((away <= FARTHEST).all() and 1 / FARTHEST <= ratio <= FARTHEST)


class _BallSearch:
    """The places that are known so far, and the search for more of them."""

    def __init__(self, table, home, n_clusters):
        self.table, self.balls = table, [home]
        self.n_rows, self.n_clusters = home.n_rows, n_clusters
        self.last, self.splits = table.remaining - Fraction(FAR_SHARE), SPLITS

    @property
    def left(self):
        """What may still be spent."""
        return float(self.table.remaining - self.last)

    def claim(self, component):
        """Make the heaviest groups of a component places; return the number of their rows."""
        if len(self.balls) > MOST:
            return 0.0
        ball = self._approach(component)
        if ball is None:
            return 0.0
        if APART * ball.kept < component.outer:
            groups = [ball]
        else:
            groups = self._split(component, ball)
            if not groups and component.mass > BULK * self.n_rows:
                groups = [ball]
        groups = [g for g in groups if _commensurable(self.balls[0], g)]
        self.balls += [replace(group, box=self.balls[0].box) for group in groups]
        return sum(group.n_rows for group in groups)

    def _free(self, component):
        """Return the rows of a component that no place keeps so far."""
        places, bins = BallCover(tuple(self.balls), 0.0, 0.0), (component.low, component.high)
        return self.table.map(Beyond(component.center, BINS, *bins, places))

    def _approach(self, component):
        """Return the ball of the bulk of a component, or None if it is not found."""
        table, share = self._free(component), self._shares(component.mass)[1]
        if share > self.left:
            return None
        question = BallSum(component.center, component.outer, drop=DROP)
        told = table.ask(question, FAR_LOCATION, share=share)
        center = bounded(component.center + told.real / component.mass)
        return self._closed(table, component.mass, center, component.outer)

    def _shares(self, mass):
        """Return the shares of a histogram of distances, and of a move, of so many rows."""
        one = (AIM / (mass * self.table.budget.mu)) ** 2
        scale = float(np.clip(one, LEAST, SCALES))
        return scale, float(np.clip(self.table.n_features * one, LEAST, CENTRES))

    def _closed(self, table, mass, center, radius):
        ball, distances = release_refined_ball(
            table, mass, center, radius,
            shares=self._shares(mass), left=self.left, gap=GAP,
            enough=2 * self.balls[0].radius,
            steps=(FAR_SCALE, FAR_LOCATION),
        )  # fmt: skip
        if distances is None or not ball.seen:
            return None
        counts = np.asarray(distances.counts, dtype=np.float64)
        last = int(BINS.index(np.array([ball.kept]))[0])
        octaves = np.abs(np.arange(counts.size) - last) / BINS.per_octave
        inside = significant_bins(counts, distances.sd, octaves)
        inside[last + 1 :] = False
        mass = float(counts[inside].sum())
        if not mass > CLEAR * distances.sd:
            return None
        return replace(ball, n_rows=mass, n_sd=distances.sd * math.sqrt(inside.sum()))

    def _split(self, component, ball):
        """Return the balls of the groups in a ball that is as large as its distance.

        None, if there are no few groups outside of which little is left: rows that are scattered
        in all directions are outliers.
        """
        share = Fraction(min(SPLIT_SHARE, self.left / 2))
        most = min(self.n_clusters, GROUPS, MOST + 1 - len(self.balls))
        if share <= 0 or most < 1 or not self.splits:
            return []
        self.splits -= 1
        mu = self.table.budget.mu
        signal = component.mass * mu * math.sqrt(share) / most
        around = replace(ball, center=component.center, radius=component.outer, reach=1.0)
        around = replace(around, typical=component.outer, n_rows=component.mass)
        search = search_cells(
            around, n_clusters=most, signal=signal, share=share, seed=0,
            steps=(FAR_GRAM, FAR_CELLS),
        )  # fmt: skip
        (found,) = run_parallel([search], self._free(component))
        if found.subspace.mapped:
            return []
        return [self._group(component, *group) for group in _groups(found, component.mass, most)]

    def _group(self, component, center, radius, mass):
        high = int(BINS.index(np.array([2 * radius]))[0])
        near = Component(center, 0, high, mass, component.sd)
        ball = self._closed(self._free(near), mass, center, radius)
        if ball is not None:
            return ball
        home = self.balls[0]  # what the cells tell must do
        return replace(
            home, n_rows=mass, center=center, radius=radius, typical=radius / 2, reach=1.0
        )


def _groups(found, mass, most):
    """Return centre, radius and number of rows of few groups of cells that hold nearly all."""
    cells, ball = found.synopsis, found.located
    solid = cells.weights > SOLID * cells.sds
    cells = replace(
        cells, centres=cells.centres[solid], halves=cells.halves[solid],
        weights=cells.weights[solid], sds=cells.sds[solid],
    )  # fmt: skip
    if cells.weights.sum() < NEARLY_ALL * mass:
        return []
    corners = np.square(cells.halves).sum(axis=1)
    whole = cells.weights @ np.square(cells.centres).sum(axis=1)
    for j in range(1, most + 1):
        centres, _ = weighted_kmeans(cells, j, n_init=10, seed=0, box=found.subspace.half)
        squares = np.square(cells.centres[:, None] - centres).sum(axis=2)
        labels, squares = squares.argmin(axis=1), squares.min(axis=1)
        if cells.weights @ (squares + corners / 3) <= EXPLAINED * whole:
            break
    else:
        return []
    flat = found.subspace.W is None
    reach = (np.sqrt(squares) + np.sqrt(corners)) * ball.radius
    return [
        (
            to_data(ball, lifted(found.subspace, c[None]))[0],
            max(float(reach[labels == i].max()), 0.0 if flat else ball.radius / APART),
            float(cells.weights[labels == i].sum()),
        )
        for i, c in enumerate(centres)
        if (labels == i).any()
    ]


def _sized(table, balls, n_clusters):
    """Return BallCover with the noisy numbers of their rows.

    As many as there are clusters at most.
    """
    question = PlaceCells(BallCover(tuple(balls), 0.0, 0.0))
    release = table.ask(question, PLACE_SIZES)
    lost, *sizes = (float(x) for x in release.value)
    sure = [s > CLEAR * release.scale for s in sizes]
    sure[0] = True
    lost += sum(s for s, ok in zip(sizes, sure, strict=True) if not ok)
    if lost > CLEAR * release.scale:
        _doubt_lost_rows(table, lost, balls[0])
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
    return BallCover(tuple(balls), sum(ball.n_rows for ball in balls), n_sd)
