"""What a step of Lloyd is worth against one centre, by what was released: guesses do no harm.

A centre that is added anywhere never increases the cost. Harm is done by centres that noise has
carried away from rows that are left without one. So clusters are compared with the one mean of all
rows, and where they are not clearly better the centre that is worth least gives place to it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from skdp.cluster._synopsis import box_of, half_widths, inside, to_data
from skdp.kernel._cluster_sums import ClusterTotals

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


CERTAIN = 3.0  # noise sds of the number of rows, below which everything is a guess
TOLD = 2.0  # noise sds of an inertia that is told
UNSEEN = 0.01  # of typical squares; of real tables, inertias below a fifth of the cost lay above
DOUBTED = 0.02  # and nearly all clusterings at 5 times the cost of exact k-means
FAR = (
    "rows too few to be seen may lie far out: they are not in inertia_ and have no center. Take"
    " logarithms or pass bounds"
)


@dataclass(frozen=True)
class RefinedCenters:
    """Centres after private Lloyd steps. Everything is released.

    ``centers`` (k, d) in units of the table, ``counts`` (k,): estimated numbers of rows,
    ``noise_scale`` (k,): standard deviation of the noise per coordinate, infinite for a guess;
    ``radii`` (k,): clip radii, ``n_steps``: how many steps were taken. ``inertia``: the sum of
    squared distances of the rows to their centres, with noise of about ``inertia_noise``;
    NaN where it is not known.
    """

    centers: np.ndarray
    counts: np.ndarray
    noise_scale: np.ndarray
    radii: np.ndarray
    n_steps: int
    inertia: float
    inertia_noise: float


def refined(table, located, moved, mean, *, noise, radii, n_steps):
    """Judge the last step of Lloyd and put it into units of the table: post-processing.

    Shapes: mean (d,); noise, radii (k,).
    """
    best = shrink_centers(moved, mean)
    told, k = moved.told, len(moved.y)
    total, total_sd = float(told.counts.sum()), told.count_sd * math.sqrt(k)
    guesses = best.guesses | ~np.isfinite(noise)
    if total < CERTAIN * total_sd:
        guesses = np.ones(k, dtype=bool)
        table.doubt(
            f"every center is a guess: the number of rows, released as {total:.0f}, is within its "
            f"noise of {total_sd:.0f}. Use more rows, a larger epsilon, fewer clusters or bounds"
        )
    elif guesses.any():
        table.doubt(
            f"{int(guesses.sum())} of {k} centers are guesses, with an infinite noise_scale_: "
            f"released sizes go from {float(told.counts.min()):.0f} to "
            f"{float(told.counts.max()):.0f}, with noise of {told.count_sd:.0f}. Use more rows, a "
            "larger epsilon, fewer clusters or tighter bounds"
        )
    y = best.y
    if np.count_nonzero(~guesses) > 1:
        y = y.copy()
        variance = (moved.gains * moved.variance)[~guesses] + np.zeros((1, len(mean)))
        y[~guesses], drowned = shrink_columns(y[~guesses], variance)
        if drowned.any():
            table.decide(
                f"noise of the centers exceeds what tells them apart in {int(drowned.sum())} of "
                f"{len(mean)} columns, by number {', '.join(map(str, np.flatnonzero(drowned)))}: "
                "put columns of other widths on one scale by a PrivatePipeline with "
                "PrivateStandardScaler"
            )
    if box_of(located) is not None and not guesses.all():
        narrow = int(np.count_nonzero(half_widths(located) < np.median(noise[~guesses])))
        if narrow:
            table.decide(
                f"{narrow} of {len(mean)} columns are narrower between their bounds than the noise "
                "of a centre, which tells nothing there: divide columns by public scales"
            )
    inertia, inertia_noise = in_table(located, *moved.inertia(y))
    far = stray_squares(located, located.n_rows * table.budget.mu)
    if far > DOUBTED and total >= CERTAIN * total_sd:
        table.doubt(FAR)
    if far > UNSEEN or inertia < TOLD * inertia_noise:
        inertia = math.nan
    return RefinedCenters(
        centers=inside(located, to_data(located, y)),
        counts=np.maximum(told.counts, 1.0),
        noise_scale=np.where(guesses, math.inf, noise * located.radius),
        radii=radii * located.radius,
        n_steps=n_steps,
        inertia=inertia,
        inertia_noise=inertia_noise,
    )


def shrink_columns(y, variance):
    """Return centres shrunk to their mean in each column, and where noise is all they differ by.

    Shapes: y, variance (k, d), of the noise in y.

    Notes
    -----
    Empirical Bayes, column by column: entries vary around one mean with a variance t beside that
    of the noise. By moments (DerSimonian and Laird 1986), with weights w = 1 / variance,

        ``t = (sum w (y - m)^2 - (k - 1)) / (sum w - sum w^2 / sum w)``, at least 0.

    Noise is the same in all columns. In one that is much narrower than others it may be larger than
    any row, which only the centres themselves tell.
    """
    weight = 1 / variance
    total = weight.sum(axis=0)
    mean = (weight * y).sum(axis=0) / total
    apart = (weight * np.square(y - mean)).sum(axis=0) - (len(y) - 1)
    apart = np.maximum(apart, 0.0) / (total - np.square(weight).sum(axis=0) / total)
    shrunk = mean + apart / (apart + variance) * (y - mean)
    return (shrunk if len(y) > 3 else y), (variance > apart).any(axis=0)


def stray_squares(located, rows):
    """Return what rows that nobody can see may add to the typical squared distance, a part of it.

    About as many as one noise standard deviation of a count may lie as far out as rows are seen:
    at the reach of the located balls. How tight clusters are does not matter.
    """
    far = max(b.reach * b.radius / max(b.typical, b.radius * 1e-6) for b in located.balls)
    return far * far / rows


def in_table(located, *squares):
    """Return squared lengths in units of the table, as finite floats."""
    with np.errstate(over="ignore"):
        unit = np.nan_to_num(np.square(np.float64(located.radius)))
        return tuple(float(np.nan_to_num(unit * value)) for value in squares)
