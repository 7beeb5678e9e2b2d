"""Several noisy steps of Lloyd from centres that do not depend on the rows."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.accounting._plan import release_mechanism
from skdp.cluster._shrunken_centers import NoisyLloydStep, cluster_sums, in_table
from skdp.cluster._synopsis import inside, public_kmeans, to_data, to_units
from skdp.kernel._cluster_sums import ClusterTotals
from skdp.kernel._clusters import Nearest
from skdp.utils._public import public_words

COUNT_WEIGHT = 0.5  # of a count beside a row of unit length
SURE, ALIVE = 2.0, 3.0  # noise sds of a count: to move a centre, to have rows at all
STAYED = (
    "some centers did not move in the last step: their rows do not exceed the noise. Use more "
    "rows, a larger epsilon or fewer clusters"
)


SAMPLE = 128  # points per centre


def equal_step(budget, n_steps):
    """Return the planned step of each of ``n_steps`` equal steps."""
    mechanism = release_mechanism(budget)
    return Step("step", mechanism, Fraction(1, n_steps), n_steps, of=(ClusterTotals,))


def lloyd_run(table, located, n_clusters, init, *, n_steps, seed=0):
    """Release centres by equal steps with everything that is left of the budget.

    Shapes: init (n_clusters, d); centers (n_clusters, d).

    Notes
    -----
    **Privacy**: that of :func:`skdp.cluster._shrunken_centers.cluster_sums`, step by step. What
    follows from a step, and where a cluster without rows starts again, is computed from releases
    and public numbers.
    """
    d, share = table.n_features, Fraction(table.remaining / n_steps)
    planned = equal_step(table.budget, n_steps)
    y = to_units(located, _start(located, init, n_clusters, d, seed))
    radii = np.full(n_clusters, max(0.25, n_clusters ** (-1 / d)))  # of even cells of the ball
    for i in range(n_steps):
        step = lloyd_step(table, located, y, radii, share=share, step=planned)
        ends = step.y + step.moves
        if i < n_steps - 2:
            ends = _reseed_empty(ends, step.told, radii, "revival", i, seed)
        centers = inside(located, to_data(located, ends))
        y = to_units(located, centers)
    if not step.gains.all():
        table.doubt(STAYED)
    return centers, *in_table(located, *step.inertia(y))


def lloyd_step(table, located, y, radii, *, share, step):
    """Take one private step of Lloyd: every centre moves to the noisy mean of its rows.

    A centre stays if its rows do not stand out, or if noise would carry it beyond its radius.
    """
    d = y.shape[1]
    pure = table.budget.measure == "pure"
    told = cluster_sums(
        table,
        Nearest(located, y),
        to_data(located, y),
        radii=radii * located.radius,
        weight=COUNT_WEIGHT * (math.sqrt(d) if pure else 1),
        share=share,
        step=step,
    ).scaled(radii.max())
    counts = np.maximum(told.counts, 1.0)
    sure = told.counts > SURE * told.count_sd
    sure &= told.sum_sd * math.sqrt(d) < radii * counts
    gains = sure.astype(np.float64)[:, None] * np.ones(d)
    return NoisyLloydStep(y, gains * told.sums / counts[:, None], gains, counts, told)


def _start(located, init, k, d, seed):
    if not isinstance(init, str):
        return to_data(located, to_units(located, init))
    points = spread_points(k, d, seed) if init == "spread" else ball_points(k, d, init, seed)
    return to_data(located, points)


def _reseed_empty(y, told, radii, *key):
    """Put a centre without rows beside that of a large cluster, the more the larger first."""
    lost = np.flatnonzero(told.counts < ALIVE * told.count_sd)
    large = np.argsort(-told.counts, kind="stable")[: len(lost)]
    y, offsets = y.copy(), ball_points(*y.shape, *key)
    for j, i in zip(lost, large, strict=True):
        if told.counts[i] >= ALIVE * told.count_sd:
            y[j] = y[i] + offsets[j] * radii[i] / math.sqrt(2)
    return y


def ball_points(n, d, *key):
    """Return n public uniform points of the unit ball, shape (n, d), a function of ``key``."""
    words = public_words(n * (d + 1), *key)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    length, direction = uniform[:n] ** (1 / d), ndtri(uniform[n:]).reshape(n, d)
    return direction * (length / np.sqrt(np.square(direction).sum(axis=1)))[:, None]


@lru_cache(maxsize=16)
def spread_points(k, d, seed=0):
    """Return k points spread evenly over the unit ball: centres of k-means of a uniform sample.

    Shapes: points (k, d).
    """
    sample = ball_points(k * SAMPLE, d, "ball", seed)
    return public_kmeans(sample, k, seed=seed)[0]
