"""The road of few rows: moments of all rows, then steps of Lloyd that noise holds back.

Where a cluster is only a few noise standard deviations large, no search by counts finds it. What
can be had is the mean of all rows and, with luck, the directions in which they spread: centres
spread over that ellipsoid are better than any other start that few rows can pay for.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._in_radii import box_of, half_widths, to_data
from skdp.cluster._lloyd_run import ball_points
from skdp.cluster._refine import CLUSTERS
from skdp.cluster._refined import refined
from skdp.cluster._shrunken_centers import NoisyLloydStep, cluster_sums, posterior_counts
from skdp.cluster._synopsis import public_kmeans
from skdp.kernel._ball_cover import LIMIT
from skdp.kernel._cluster_sums import SecondMoments
from skdp.kernel._clusters import Nearest

__all__ = ["MOMENTS", "is_few", "release_by_moments"]

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
FLAT, SMALL, SMALL_WIDE = 3, 36.0, 80.0
FEW_CLUSTERS, MANY_SMALL = 4, 15.0


def is_few(signal, n_clusters, n_features):
    """Whether clusters of ``signal`` noise sds are too small to be searched for by counts."""
    if n_features > WIDEST:
        return False
    if n_clusters > FEW_CLUSTERS:
        return signal < MANY_SMALL
    return signal < (SMALL if n_features <= FLAT else SMALL_WIDE)


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
