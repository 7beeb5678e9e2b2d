"""A released synopsis of the rows, weighted cells, and k-means on it."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._ball_cover import FARTHEST, LIMIT, BallCover, bounded, lengths
from skdp.utils._threads import one_thread, quiet

DOUBT = 2.0  # noise sds


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
