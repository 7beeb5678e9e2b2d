"""The density road of private k-means: find clusters by counts, then sum in small balls."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._few_rows import MOMENTS, is_few, release_by_moments
from skdp.cluster._in_radii import inside, joined, lifted, some_places, to_data
from skdp.cluster._locate import LOCATE_STEPS
from skdp.cluster._outlying_groups import FLAT, PLACES_STEPS, SEARCH_STEPS, search_cells
from skdp.cluster._parallel_search import run_parallel
from skdp.cluster._refine import MOST_STEPS, REFINE_STEPS, refine
from skdp.cluster._shrunken_centers import cluster_sums
from skdp.cluster._split_merge import LOOK_STEPS, release_split_merge, split_merge_is_useful
from skdp.cluster._synopsis import weighted_kmeans
from skdp.kernel._ball_cover import BallCover, LocatedBall, bounded
from skdp.kernel._cluster_sums import ClusterTotals
from skdp.kernel._clusters import InPlaces, NearestLifted

__all__ = ["DENSITY_STEPS", "Start", "density_centers", "density_road"]

# --- how many centres go to which place: the least cost of all released cells together

STARTS = 3


def allocate(places, found, n_clusters, *, seed):
    """Return how many centres the cells of every place get, a list of integers with sum k.

    Beginning with one for every place and the rest for the first, a centre moves to where it lowers
    the sum of squared distances most from where it is missed least, as long as that pays: what
    exact k-means does, as no centre serves two places that lie far apart. The rows of a place
    without a centre would go to one of the first place.
    """
    curves = [_Curve(places, p, f, seed) for p, f in enumerate(found)]
    numbers = [n_clusters - len(found) + 1, *([1] * (len(found) - 1))]
    for _ in range(n_clusters * len(found)):
        gains = [curve(n) - curve(n + 1) for curve, n in zip(curves, numbers, strict=True)]
        to = int(np.argmax(gains))
        losses = [
            curve(n - 1) - curve(n) if p != to and n > (p == 0) else np.inf
            for p, (curve, n) in enumerate(zip(curves, numbers, strict=True))
        ]
        giver = int(np.argmin(losses))
        if not gains[to] > losses[giver]:
            break
        numbers[giver] -= 1
        numbers[to] += 1
    return numbers


class _Curve:
    """The cost of a place for every number of centres, in common units."""

    def __init__(self, places, p, found, seed):
        center, radius = places.view(p)
        self._found, self._seed, self._unit = found, seed, radius**2
        ball = places.balls[p]
        spread = (ball.typical / ball.radius * radius) ** 2
        self._known = {0: ball.n_rows * (float(np.square(center).sum()) + spread)}

    def __call__(self, n):
        if n not in self._known:
            cells, box = self._found.synopsis, self._found.subspace.half
            cost = weighted_kmeans(cells, n, n_init=STARTS, seed=self._seed, box=box)[1]
            self._known[n] = cost * self._unit
        return self._known[n]


LIFT = Step("lift", at_most=0.2, of=(ClusterTotals,))
DENSITY_STEPS = (
    *LOCATE_STEPS, *PLACES_STEPS, *SEARCH_STEPS, LIFT, *LOOK_STEPS, MOMENTS, *REFINE_STEPS
)  # fmt: skip
STRONG = 300.0  # noise sds of a cluster that a few cells of noise cannot outweigh
WORTHLESS = 15.0, 30.0  # noise sds of a cluster, in few and many columns: below, centres are off
FEW_ROWS = (
    "few rows: moments and steps of Lloyd, as a cluster of mean size is {:.1f} noise standard "
    "deviations"
)
WEAK = (
    "weak signal: a cluster of mean size hardly exceeds the noise. Use a larger epsilon, more "
    "rows or fewer clusters"
)
FEW_CENTRES = (
    "about {:,.0f} rows farther than {:.3g} from the bulk were left out: a centre lowers the sum "
    "of squared distances more elsewhere"
)


@dataclass(frozen=True)
class Start:
    """Centres to refine. Everything is released.

    ``places``: where they lie; ``centers`` (k, d) in units of the table; ``found``: the cells of
    every place.
    """

    places: LocatedBall | BallCover
    centers: np.ndarray
    found: list

    @property
    def known(self):
        """What :func:`refine` can use: the cells in few columns, else the subspace of one place."""
        if self.found[0].subspace.W is None:
            return {"synopsis": joined(self.places, [f.synopsis for f in self.found])}
        return {"subspace": self.found[0].subspace} if len(self.found) == 1 else {}


def density_road(
    table, located, n_clusters, *, n_init=30, seed=0, max_steps=MOST_STEPS, choose=None
):
    """Release clusters by counts and sums, or by moments and steps of Lloyd where rows are few."""
    signal = located.n_rows * table.budget.mu * math.sqrt(table.remaining) / n_clusters
    few = choose is None and is_few(signal, n_clusters, table.n_features)
    if few and len(located.balls) == 1:
        table.decide(FEW_ROWS.format(signal))
        done = release_by_moments(table, located, n_clusters, seed=seed, max_steps=max_steps)
        return done, None
    start = density_centers(table, located, n_clusters, n_init=n_init, seed=seed, choose=choose)
    places, centers = start.places, start.centers
    return refine(table, places, centers, max_steps=max_steps, **start.known), start


def density_centers(table, located, n_clusters, *, n_init=30, seed=0, share=None, choose=None):
    """Find centres by counts alone: a subspace, a noisy tree of counts on it, k-means of its cells.

    Notes
    -----
    **Privacy** (add or remove one row): every release is a function of the rows and of earlier
    releases whose sensitivity is proved where it is made, plus Gaussian noise; shares depend on
    earlier releases only (user guide "Accounting", theorem 2).
    """
    share = table.remaining if share is None else min(Fraction(share), table.remaining)
    before, mu = table.remaining, table.budget.mu
    signal = located.n_rows * mu * math.sqrt(share) / n_clusters
    if signal < WORTHLESS[table.n_features > FLAT]:
        table.doubt(WEAK)
    spent = {"share": share, "seed": seed}
    searches = [
        search_cells(ball, n_clusters=n_clusters, signal=signal, **spent) for ball in located.balls
    ]
    alone = len(searches) == 1
    found = run_parallel(searches, table, None if alone else InPlaces(located))
    if choose is not None:
        n_clusters = choose(found)
    numbers = [n_clusters]
    if not alone:
        numbers = allocate(located, found, n_clusters, seed=seed)
        located, found, numbers = _with_centres(located, found, numbers, table)
    points = [
        weighted_kmeans(
            f.synopsis.cautious if signal < STRONG else f.synopsis, number,
            n_init=n_init, seed=seed, box=f.subspace.half,
        )[0]
        for f, number in zip(found, numbers, strict=True)
    ]  # fmt: skip
    if found[0].subspace.mapped:
        left = share - (before - table.remaining)
        centers = _lifted(table, located, found, points, share=Fraction(LIFT.at_most) * left)
    else:
        centers = np.concatenate(
            [to_data(f.located, lifted(f.subspace, z)) for f, z in zip(found, points, strict=True)]
        )
    centers, left = inside(located, centers), share - (before - table.remaining)
    if found[0].subspace.W is not None and split_merge_is_useful(located, n_clusters, mu, left):
        centers = release_split_merge(table, located, centers, share=left, n_init=n_init, seed=seed)
    return Start(located, centers, found)


def _with_centres(places, found, numbers, table):
    """Return the places that got centres: one is a LocatedBall."""
    stay = [p for p, number in enumerate(numbers) if number]
    if len(stay) < len(numbers):
        lost = sum(
            ball.n_rows for ball, number in zip(places.balls, numbers, strict=True) if not number
        )
        table.decide(FEW_CENTRES.format(lost, places.balls[0].kept))
    kept = some_places(places, stay)
    return kept, [found[p] for p in stay], [numbers[p] for p in stay]


def _lifted(table, located, found, points, *, share):
    """Release the means in all d coordinates of the clusters of random projections.

    Notes
    -----
    **Privacy**: of :func:`skdp.cluster._shrunken_centers.cluster_sums`, with one ball for each
    place.
    """
    spaces, balls = tuple(f.subspace for f in found), [f.located for f in found]
    sizes = [len(z) for z in points]
    centers = np.repeat([ball.center for ball in balls], sizes, axis=0)
    radii = np.repeat([ball.radius for ball in balls], sizes)
    rule = NearestLifted(located, spaces, tuple(points))
    lifted = cluster_sums(
        table, rule, centers,
        radii=radii, weight=0.15, share=share, step=LIFT, squares=0.0,
    )  # fmt: skip
    means = lifted.sums / np.maximum(lifted.counts, 1.0)[:, None]
    return bounded(centers + means * np.max(radii))
