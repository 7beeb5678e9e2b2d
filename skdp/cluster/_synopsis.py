"""A released synopsis of the rows, k-means on it, and how many clusters it shows."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._lattice import FARTHEST, LIMIT, BallCover, bounded, lengths
from skdp.utils._threads import one_thread, quiet

DOUBT = 2.0  # noise sds

THINNEST = 2.0**-20  # half width of a box, in radii

GAIN = 0.25  # nats per row by which two clusters must beat one
AWAY = 2.0  # cost of the cells of a cluster at the next centre over that at its own
FAR_AWAY, LIGHT = 3.0, 0.5  # the same where it has fewer rows than this part of the median
SOLID = 4.0  # noise sds of the rows of a cluster
STARTS = 2  # of k-means for every point of a curve


@dataclass(frozen=True)
class WeightedCells:
    """Released cells: ``centres`` and ``halves`` (m, p), ``weights`` > 0 and ``sds`` (m,).

    No row is counted in two of them. ``weights`` estimate the numbers of rows, ``sds`` are the
    standard deviations of their noise.
    """

    centres: np.ndarray
    halves: np.ndarray
    weights: np.ndarray
    sds: np.ndarray

    @property
    def cautious(self):
        """The same cells with weights lowered by two noise standard deviations.

        Where two clusters lie close together, a few cells of noise outweigh the gain from telling
        them apart, and would take a centre.
        """
        lower = np.maximum(self.weights - DOUBT * self.sds, self.weights / 10)
        return replace(self, weights=lower)


def weighted_kmeans(synopsis, n_clusters, *, n_init, seed, box):
    """Cluster the cells of a synopsis: post-processing.

    Shapes: box (p,); centres (n_clusters, p).
    """
    points, weights = synopsis.centres, synopsis.weights
    if not len(points):  # all is noise: spare centres around the middle
        points = np.zeros((1, len(box)))
    m = len(points)
    if m <= n_clusters:
        copies = np.arange(n_clusters)
        turn = np.cos(np.outer(copies + seed % 1000, np.sqrt(np.arange(2, 2 + len(box)))) * 7)
        shift = np.where(copies[:, None] < m, 0, 0.01 * turn * box)
        return points[copies % m] + shift, 0.0
    return public_kmeans(points, n_clusters, weights=weights, n_init=n_init, seed=seed)


def public_kmeans(points, n_clusters, *, seed, weights=None, init="k-means++", n_init=1):
    """Cluster public or released points: post-processing.

    Shapes: points (m, p); weights (m,); init (n_clusters, p); centres (n_clusters, p).
    """
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters, init=init, n_init=n_init, random_state=seed)
    with one_thread(), quiet():  # points that coincide are no worry
        model.fit(points, sample_weight=weights)
    return model.cluster_centers_, float(model.inertia_)


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


@dataclass(frozen=True)
class ReleaseRequest:
    """A search asks its rows a Statistic, and is sent a Noisy."""

    statistic: object
    share: Fraction
    step: Step


def run_parallel(searches, table, rule=None):
    """Run searches of disjoint sets of rows, their releases side by side.

    A search is a generator. It yields :class:`ReleaseRequest`, is sent the answer, and returns what
    it found. All searches that wait with one step are answered by one pass over the rows and one
    release with the largest of their shares: searches that run together should ask for the same
    shares in the same order.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._parts.Parts`.
    """
    parts = table.split(rule, len(searches))
    found, waiting = [None] * len(searches), {}

    def advance(i, answer):
        try:
            waiting[i] = searches[i].send(answer)
        except StopIteration as end:
            found[i] = end.value
            waiting.pop(i, None)

    for i in range(len(searches)):
        advance(i, None)
    while waiting:
        label = next(iter(waiting.values())).step.label
        asks = {i: ask for i, ask in waiting.items() if ask.step.label == label}
        share = max(ask.share for ask in asks.values())
        statistics = {i: ask.statistic for i, ask in asks.items()}
        for i, answer in parts.ask(statistics, share=share, label=label).items():
            advance(i, answer)
    return found


# --- how many clusters released cells show, and what any number of them would cost


@dataclass(frozen=True)
class _Cells:
    """Cells, and the variance of the rows in them: between that of one place and of all places."""

    synopsis: WeightedCells

    @property
    def within(self):
        return np.square(self.synopsis.halves) / 4

    def group(self, which):
        """Return the group of some cells."""
        s = self.synopsis
        points, w = s.centres[which], s.weights[which]
        n = float(w.sum())
        mean = w @ points / n
        apart = points - mean
        cov = (w[:, None] * apart).T @ apart / n + np.diag(w @ self.within[which] / n)
        return _Group(which, n, math.sqrt(np.square(s.sds[which]).sum()), mean, cov)

    def cost(self, which, means):
        """Return the cost of some cells at the nearest of several means."""
        s = self.synopsis
        squares = np.square(s.centres[which][:, None] - means).sum(axis=2).min(axis=1)
        return float(s.weights[which] @ (squares + self.within[which].sum(axis=1)))


@dataclass(frozen=True)
class _Group:
    which: np.ndarray
    n: float
    sd: float
    mean: np.ndarray
    cov: np.ndarray


def number_of_clusters(synopsis, most, *, n_init, seed, box):
    """Read a number of clusters off released cells: post-processing.

    K-means divides the cells into ``most`` groups. As long as one of these holds, there is one
    group less:

    1. A group holds fewer rows than 4 standard deviations of the noise in their number.
    2. Two groups are as well described by one normal law as by two: with shares q and 1 - q of
       their rows, and covariances S, S_1, S_2 of the union and of both,
       ``(log det S - q log det S_1 - (1 - q) log det S_2) / 2 - H(q) <= 1/4``, in nats per row of
       the two. H(q) is the entropy of the labels, the price of telling two from one. The halves of
       one normal law lose .19 nats, those of a uniform one gain nothing, equal balls whose centres
       are 5 standard deviations apart gain .3. No linear map changes that.
    3. The cells of a group would cost less than twice as much at the nearest other centre, or less
       than three times for a group of less than half the median number of rows: diffuse rows
       between the clusters.
    """
    cells, m = _Cells(synopsis), len(synopsis.weights)
    k = min(most, m)
    centres, _ = weighted_kmeans(synopsis, k, n_init=n_init, seed=seed, box=box)
    labels = np.square(synopsis.centres[:, None] - centres).sum(axis=2).argmin(axis=1)
    groups = [cells.group(np.flatnonzero(labels == j)) for j in range(k) if np.any(labels == j)]
    while len(groups) > 1:
        faint = [i for i, g in enumerate(groups) if g.n < SOLID * g.sd]
        if faint:
            del groups[min(faint, key=lambda i: groups[i].n)]
            continue
        pairs = ((_gain(groups[i], groups[j]), i, j) for i in range(len(groups)) for j in range(i))
        gain, i, j = min(pairs)
        if gain < GAIN:
            both = cells.group(np.concatenate([groups[i].which, groups[j].which]))
            groups = [g for t, g in enumerate(groups) if t not in (i, j)] + [both]
            continue
        diffuse = [i for i in range(len(groups)) if not _stands_apart(cells, groups, i)]
        if not diffuse:
            break
        groups = _without(cells, groups, min(diffuse, key=lambda i: groups[i].n))
    return len(groups)


def _gain(one, two):
    """Return by how many nats per row two normal laws and labels are better than one law."""
    q = one.n / (one.n + two.n)
    p = two.n / (one.n + two.n)
    between = np.outer(one.mean - two.mean, one.mean - two.mean)
    union = q * one.cov + p * two.cov + q * p * between
    apart = _log_det(union) - q * _log_det(one.cov) - p * _log_det(two.cov)
    return apart / 2 + q * math.log(q) + p * math.log(p)


def _log_det(cov):
    return float(np.linalg.slogdet(cov)[1])


def _stands_apart(cells, groups, i):
    light = groups[i].n < LIGHT * float(np.median([g.n for g in groups]))
    others = np.array([g.mean for t, g in enumerate(groups) if t != i])
    one, ratio = groups[i], FAR_AWAY if light else AWAY
    return cells.cost(one.which, others) >= ratio * cells.cost(one.which, one.mean[None])


def _without(cells, groups, i):
    """Give the cells of a group to the nearest others."""
    which, rest = groups[i].which, [g for t, g in enumerate(groups) if t != i]
    means = np.array([g.mean for g in rest])
    points = cells.synopsis.centres[which]
    nearest = np.square(points[:, None] - means).sum(axis=2).argmin(axis=1)
    return [cells.group(np.concatenate([g.which, which[nearest == t]])) for t, g in enumerate(rest)]


def number_in_places(found, *, most, n_init, seed):
    """Return the number of clusters in all places together, each read off its own cells."""
    numbers = [
        number_of_clusters(f.synopsis, most, n_init=n_init, seed=seed, box=f.subspace.half)
        for f in found
    ]
    return min(sum(numbers), most)


def cost_curve(places, found, most, *, seed):
    """Return estimates of the cost of 1, ..., ``most`` clusters in units of the table.

    What lies outside the subspace of the cells of a place is one more constant: the rest of the
    typical squared distance from its centre. Beyond one centre for every place, each goes where it
    gains most.
    """
    curves = [_place_curve(f, most, seed) * places.view(p)[1] ** 2 for p, f in enumerate(found)]
    within = sum(curve[0] for curve in curves)
    gains = np.sort(np.concatenate([-np.diff(np.minimum.accumulate(c)) for c in curves]))[::-1]
    several = within - np.concatenate([[0.0], np.cumsum(gains)])
    few = _joined_costs(places, within)
    with np.errstate(over="ignore"):
        return np.nan_to_num(np.append(few, several)[:most] * np.square(places.radius))


def _place_curve(found, most, seed):
    costs, ball = cell_costs(found.synopsis, most, seed=seed), found.located
    if found.subspace.W is None:
        return costs
    total = ball.n_rows * (ball.typical / ball.radius) ** 2
    return costs + max(total - costs[0], 0.0)


def _joined_costs(places, within):
    """Return the costs of fewer centres than places, which share them."""
    seen = (places.view(p)[0] for p in range(len(places.balls)))
    points = np.array([np.zeros(len(places.center)) + place for place in seen])
    balls = WeightedCells(
        points, 0 * points, np.array([ball.n_rows for ball in places.balls]), np.ones(len(points))
    )
    return np.array(
        [
            within + weighted_kmeans(balls, k, n_init=STARTS, seed=0, box=np.ones(1))[1]
            for k in range(1, len(points))
        ]
    )


def cell_costs(synopsis, most, *, seed):
    """Return the least cost of 1, ..., ``most`` centres that was found: post-processing.

    Every number of centres begins at those of one fewer and the cell that costs most there, and
    from new starts.
    """
    points, w = synopsis.centres, synopsis.weights
    spread = float(w @ _Cells(synopsis).within.sum(axis=1))
    costs, centres = np.zeros(most), (w @ points / w.sum())[None]
    for k in range(1, min(most, len(points) - 1) + 1):
        if k > 1:
            squares = np.square(points[:, None] - centres).sum(axis=2).min(axis=1)
            centres = np.vstack([centres, points[np.argmax(w * squares)]])
        fits = [
            public_kmeans(points, k, weights=w, init=centres, seed=seed),
            public_kmeans(points, k, weights=w, n_init=STARTS, seed=seed),
        ]
        centres, costs[k - 1] = min(fits, key=lambda fit: fit[1])
    return np.minimum.accumulate(costs) + spread
