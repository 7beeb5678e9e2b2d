"""The density road of private k-means: find clusters by counts, then sum in small balls."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._locate import LOCATE_STEPS
from skdp.cluster._outlying_groups import FLAT, PLACES_STEPS, SEARCH_STEPS, search_cells
from skdp.cluster._refine import CLUSTERS, MOST_STEPS, REFINE_STEPS, ball_points, refine
from skdp.cluster._shrunken_centers import NoisyLloydStep, cluster_sums, posterior_counts, refined
from skdp.cluster._split_merge import LOOK_STEPS, release_split_merge, split_merge_is_useful
from skdp.cluster._synopsis import (
    box_of,
    half_widths,
    inside,
    joined,
    lifted,
    public_kmeans,
    run_parallel,
    some_places,
    to_data,
    weighted_kmeans,
)
from skdp.kernel._cluster_sums import ClusterTotals, SecondMoments
from skdp.kernel._clusters import InPlaces, Nearest, NearestLifted
from skdp.kernel._lattice import LIMIT, BallCover, LocatedBall, bounded

MOMENTS = Step("second moments", at_most=Fraction(1, 5), of=(SecondMoments,))
STEPS, GROWTH = 6, 1.7  # of the shares from step to step
COUNT_WEIGHT = 0.5
WIDEST = 64  # columns whose moments are asked for
SAMPLE = 128  # public points per centre
SPREAD, UNSURE = 0.4, 0.15  # prior: sds of rows in half widths; variances are off by such a part
MOST_SPREAD = 0.2  # of the squared half widths
THIN = 1e-6  # of the squared half widths: the least variance of a start
OFF, MEAN_OFF = 0.33, 0.08  # prior: by how much a centre, the mean of all rows, is off
UPPER = 0.5  # noise sds that are added to the squared distances
REACH = 2.0  # clip radius, in root mean squared distances
FEW_COLUMNS, SMALL, SMALL_WIDE = 3, 36.0, 80.0
FEW_CLUSTERS, MANY_SMALL = 4, 15.0


def is_few(signal, n_clusters, n_features):
    """Whether clusters of ``signal`` noise sds are too small to be searched for by counts."""
    if n_features > WIDEST:
        return False
    if n_clusters > FEW_CLUSTERS:
        return signal < MANY_SMALL
    return signal < (SMALL if n_features <= FEW_COLUMNS else SMALL_WIDE)


@dataclass(frozen=True)
class Prior:
    """What is known of rows before they are read: they lie in a box or ball around 0.

    ``half`` (d,): half widths of the box, or of the cube in the ball; in located units.
    """

    half: np.ndarray
    boxed: bool

    @classmethod
    def of(cls, located):
        """Return the prior of the box that rows are clipped to, else of the located ball."""
        if box_of(located) is not None:
            half = half_widths(located)
            return cls(half, True)
        d = len(located.center)
        return cls(np.full(d, 1 / math.sqrt(d)), False)

    def inside(self, y):
        """Return points brought back to where rows can be."""
        if self.boxed:
            return np.clip(y, -self.half, self.half)
        length = np.sqrt(np.square(y).sum(axis=-1, keepdims=True))
        return y * np.minimum(1, LIMIT / 8 / np.maximum(length, 1e-9))

    def variance(self, part):
        """Return the variance (d,) of what is off by a part of the half widths."""
        part = part if self.boxed else 2 * part
        return np.square(part * self.half)


def release_by_moments(table, located, n_clusters, *, seed=0, max_steps=STEPS):
    """Release centres by moments and six steps of Lloyd with all that is left of the budget.

    Notes
    -----
    **Privacy**: of :func:`released_moments` and
    :func:`skdp.cluster._shrunken_centers.cluster_sums`; the rest is post-processing.
    """
    prior = Prior.of(located)
    n, mean, spread, noise = released_moments(
        table, located, share=MOMENTS.at_most * table.remaining
    )
    first, first_variance, known = mean, (noise / n) ** 2, prior.variance(OFF)
    shrunk = prior.inside(mean * known / (known + first_variance))
    y, radius = _start(prior, shrunk, spread / n, noise / n, n_clusters, seed)
    steps = min(STEPS, max_steps) if n_clusters > 1 else 1
    shares = [Fraction(GROWTH) ** t for t in range(steps)]
    left = table.remaining / sum(shares)
    for share in shares:
        radii = np.full(n_clusters, radius)
        moved = _step(table, located, prior, y, radius, share * left)
        told, n = moved.told, max(float(moved.counts.sum()), 1.0)
        y = moved.y + moved.moves
        most = max(told.squares, 0) + UPPER * told.square_sd
        radius = float(np.clip(REACH * math.sqrt(most / n), radius / 2, radius))
    mean, variance = moved.mean()
    weight = 1 / variance + 1 / first_variance + 1 / prior.variance(MEAN_OFF)
    mean = prior.inside((mean / variance + first / first_variance) / weight)
    noise = np.sqrt((moved.gains * moved.variance).mean(axis=1))
    if n_clusters == 1:
        moved = replace(moved, moves=(mean - moved.y))
    return refined(table, located, moved, mean, noise=noise, radii=radii, n_steps=steps)


def _step(table, located, prior, y, radius, share):
    radii = np.full(len(y), radius)
    told = cluster_sums(
        table,
        Nearest(located, y),
        to_data(located, y),
        radii=radii * located.radius,
        weight=COUNT_WEIGHT,
        share=share,
        step=CLUSTERS,
        halvings=1,
    ).scaled(radius)
    counts = posterior_counts(told.counts, told.count_sd)
    noise = np.square(told.sum_sd / counts)[:, None]
    known = prior.variance(OFF)
    gains = known / (known + noise)
    ends = prior.inside(y + gains * told.sums / counts[:, None])
    return NoisyLloydStep(y, ends - y, gains, counts, told)


def _start(prior, mean, spread, noise, k, seed):
    """Return k centres of the ellipsoid of the moments, and a radius that holds a cluster."""
    half, d = prior.half, len(mean)
    total = float(np.square(half).sum())
    expected = np.diag(np.square(SPREAD * half))
    gain = 1 / (1 + (noise / (UNSURE * total)) ** 2)
    covariance = expected + gain * (spread - np.outer(mean, mean) - expected)
    values, vectors = np.linalg.eigh(covariance)
    edge = math.sqrt(d / 2) * noise * gain  # half of the spectral norm of the noise
    values = np.where(values > edge, values - edge**2 / np.maximum(values, edge + 1e-300), 0)
    values = np.maximum(values, THIN * total)
    values *= min(1.0, MOST_SPREAD * total / max(float(values.sum()), 1e-300))
    sample = ball_points(SAMPLE * k, d, "moments", seed) * math.sqrt(d + 2)
    points = prior.inside(mean + (sample * np.sqrt(values)) @ vectors.T)
    y, _ = public_kmeans(points, k, seed=seed)
    far = np.sqrt(np.square(points[:, None] - y).sum(axis=2).min(axis=1))
    return y, max(float(np.quantile(far, 0.9)), 0.1)


def released_moments(table, located, *, share):
    """Release the number of rows, their sum and their second moments around the centre.

    Shapes: mean (d,); gram (d, d).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.SecondMoments`.
    """
    d, question = table.n_features, SecondMoments(located)
    release = table.ask(question, MOMENTS, share=share)
    top, one = 4**release.bits, replace(question, bits=release.bits).one
    told = release.value / float(top)
    noise = release.scale / float(top)
    gram = told[d + 1 :].reshape(d, d)
    n = float(posterior_counts(told[0] * top / one, noise * top / one))
    return n, told[1 : d + 1] / n, (gram + gram.T) / 2, noise


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
