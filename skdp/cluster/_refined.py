"""Released centres with what is known of them, and words of warning where they are guesses."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.cluster._in_radii import box_of, half_widths, inside, to_data
from skdp.cluster._shrunken_centers import shrink_centers

__all__ = ["RefinedCenters", "in_table", "refined"]

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
