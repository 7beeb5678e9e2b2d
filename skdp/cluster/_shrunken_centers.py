"""What a step of Lloyd is worth against one centre, by what was released: guesses do no harm.

A centre that is added anywhere never increases the cost. Harm is done by centres that noise has
carried away from rows that are left without one. So clusters are compared with the one mean of all
rows, and where they are not clearly better the centre that is worth least gives place to it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from skdp.kernel._cluster_sums import ClusterTotals

__all__ = [
    "ClusterSums",
    "NoisyLloydStep",
    "ShrunkenCenters",
    "cluster_sums",
    "posterior_counts",
    "shrink_centers",
]

SURE = 1.0  # noise sds by which clusters must be better than one centre
EMPTY, STANDS_OUT = 1.0, 2.0  # noise sds of a count: below, nothing, or no more than a guess


@dataclass(frozen=True)
class ClusterSums:
    """Released ``counts`` (k,), ``sums`` (k, d) of differences to the centres, total ``squares``.

    Lengths are in units of the largest clip radius. ``count_sd``, ``sum_sd`` (k,), of every entry
    of a sum, and ``square_sd`` are standard deviations of the noise. Without squares both are 0.
    """

    counts: np.ndarray
    sums: np.ndarray
    squares: float
    count_sd: float
    sum_sd: np.ndarray
    square_sd: float

    def scaled(self, unit):
        """Return the same with lengths multiplied by ``unit``."""
        return ClusterSums(
            self.counts, self.sums * unit, self.squares * unit**2,
            self.count_sd, self.sum_sd * unit, self.square_sd * unit**2,
        )  # fmt: skip


@dataclass(frozen=True)
class NoisyLloydStep:
    """A released step of Lloyd: ``told`` around centres ``y`` (k, d), which move by ``moves``.

    ``moves = gains * sums / counts``, where ``counts`` > 0 and ``gains``, numbers or one per
    coordinate, were made from what was told. Lengths are in units of the located radius.
    """

    y: np.ndarray
    moves: np.ndarray
    gains: np.ndarray
    counts: np.ndarray
    told: ClusterSums

    @property
    def variance(self):
        """Variance (k, 1) of the noise in an entry of a mean."""
        return np.square(self.told.sum_sd / self.counts)[:, None]

    @property
    def fitted_noise(self):
        """By how much, for every cluster, a move takes its own noise for the rows' pull."""
        return (self.counts[:, None] * self.gains * self.variance * np.ones_like(self.y)).sum(1)

    def mean(self):
        """Return the mean of all rows (d,), and the variance of its noise (d,)."""
        counts = np.maximum(self.told.counts, 0)
        n = max(float(counts.sum()), 1.0)
        mean = (counts @ self.y + self.told.sums.sum(axis=0)) / n
        off = np.square(self.y - mean).sum(axis=0)
        return mean, (np.square(self.told.sum_sd).sum() + self.told.count_sd**2 * off) / n**2

    def worth(self, point):
        """Return by how much the moved centres beat one ``point``, per cluster, and its noise.

        Of the N rows of a cluster around c with differences that sum to S, and a move u,

            ``sum |x - p|^2 - |x - c - u|^2 = 2 S.(c - p + u) + N (|c - p|^2 - |u|^2)``,

        where the noise that u has fitted is taken off. Rows then go to their nearest centre, which
        makes the clusters better still.
        """
        off, told = self.y - point, self.told
        pull = off + self.moves
        arms = np.square(off).sum(axis=1) - np.square(self.moves).sum(axis=1)
        value = 2 * (told.sums * pull).sum(axis=1) + told.counts * arms - 2 * self.fitted_noise
        variance = np.square(2 * told.sum_sd) * np.square(pull).sum(axis=1)
        return value, np.sqrt(variance + np.square(told.count_sd * arms))

    def inertia(self, ends):
        """Return the sum of squared distances of the rows to ``ends``, and the sd of its noise.

        With ``u = end - c``: ``sum |x - c - u|^2 = sum |x - c|^2 - 2 u.S + N |u|^2``, for rows that
        keep their cluster.
        """
        u, told = ends - self.y, self.told
        kept = np.all(np.abs(u - self.moves) <= 1e-9, axis=1)
        squares = np.square(u).sum(axis=1)
        value = told.squares - 2 * (u * told.sums).sum() + told.counts @ squares
        value += 2 * (kept * self.fitted_noise).sum()
        variance = told.square_sd**2 + np.square(told.count_sd * squares).sum()
        variance += np.square(2 * told.sum_sd * np.sqrt(squares)).sum()
        return max(float(value), 0.0), math.sqrt(float(variance))


def posterior_counts(counts, sd):
    """Return the means of numbers > 0 that were released with normal noise of sd ``sd``."""
    t = np.maximum(np.asarray(counts, dtype=np.float64) / sd, -30.0)
    return sd * (t + np.exp(-t * t / 2) / math.sqrt(2 * math.pi) / ndtr(t))


@dataclass(frozen=True)
class ShrunkenCenters:
    """Centres of which guesses are marked."""

    y: np.ndarray  # shape (k, d)
    guesses: np.ndarray  # shape (k,)


def shrink_centers(moved, mean):
    """Return moved centres, or all but the worst of them and the mean of all rows.

    Notes
    -----
    **Never worse than one centre.** If the mean is among the centres, the cost is at most that of
    the mean alone. If it is not, every released count stands out of its noise and the released gain
    over the mean is positive by its standard deviation.
    """
    y, told = moved.y + moved.moves, moved.told
    worth, sd = moved.worth(mean)
    empty, guesses = (told.counts < z * told.count_sd for z in (EMPTY, STANDS_OUT))
    sure = float(worth.sum() / np.sqrt(np.square(sd).sum()))
    if len(y) > 1 and (empty.any() or sure < SURE):
        worst = int(np.argmin(np.where(empty, worth - 2 * np.abs(worth).max(), worth)))
        y, guesses = y.copy(), guesses.copy()
        y[worst], guesses[worst] = mean, True
        if sure < SURE:
            guesses[:] = True
    return ShrunkenCenters(y, guesses)


def cluster_sums(table, rule, centers, *, radii, weight, share, step, squares=1.0, halvings=2):
    """Release the size of every cluster, the sum of its rows around its centre, and all squares.

    Shapes: centers (k, d); radii (k,).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.ClusterTotals`.
    """
    k, d = centers.shape
    question = ClusterTotals(rule, centers, radii, weight, squares, halvings)
    release = table.ask(question, step, share=share)
    question = replace(question, bits=release.bits)
    sd = release.scale * (math.sqrt(2) if release.law == "laplace" else 1)
    area = squares**2 / question.square if squares else 0.0  # of a step of the squares
    cells = release.value[: k * (d + 1)].reshape(k, d + 1)
    lengths = np.asarray(radii) / float(np.max(radii)) / 2.0**release.bits
    return ClusterSums(
        counts=cells[:, 0] / question.one,
        sums=cells[:, 1:] * lengths[:, None],
        squares=float(release.value[-1]) * area,
        count_sd=sd / question.one,
        sum_sd=sd * lengths,
        square_sd=sd * area,
    )
