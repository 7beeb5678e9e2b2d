"""Released centres with what is known of them, and words of warning where they are guesses."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.cluster._trusted import trusted

__all__ = ["Refined", "in_table", "refined"]

CERTAIN = 3.0  # noise sds of the number of rows, below which everything is a guess


@dataclass(frozen=True)
class Refined:
    """Centres after private Lloyd steps. Everything is released.

    ``centers`` (k, d) in units of the table, ``counts`` (k,): estimated numbers of rows,
    ``noise_scale`` (k,): standard deviation of the noise per coordinate, infinite for a guess;
    ``radii`` (k,): clip radii, ``n_steps``: how many steps were taken. ``inertia``: the sum of
    squared distances of the rows to their centres, with noise of about ``inertia_noise``.
    """

    centers: np.ndarray
    counts: np.ndarray
    noise_scale: np.ndarray
    radii: np.ndarray
    n_steps: int
    inertia: float
    inertia_noise: float


def refined(curator, located, moved, mean, *, noise, radii, n_steps):
    """Judge the last step of Lloyd and put it into units of the table: post-processing.

    Parameters
    ----------
    curator : Curator
        Is told of what is doubtful.
    located : Located
    moved : Moved
    mean : ndarray of shape (d,)
        Released mean of all rows, in located units.
    noise, radii : ndarrays of shape (k,)
        In located units; noise is infinite for a centre that is a guess by itself.
    n_steps : int

    Returns
    -------
    refined : Refined
    """
    best = trusted(moved, mean)
    told, k = moved.told, len(moved.y)
    total, total_sd = float(told.counts.sum()), told.count_sd * math.sqrt(k)
    guesses = best.guesses | ~np.isfinite(noise)
    if total < CERTAIN * total_sd:
        guesses = np.ones(k, dtype=bool)
        curator.doubt(
            f"the number of rows, released as {total:.0f}, does not stand out of its noise of "
            f"{total_sd:.0f}: the centres are guesses. More rows or a larger epsilon help; without "
            "bounds so few rows cannot even be located"
        )
    elif guesses.any():
        curator.doubt(
            f"guessed, with an infinite noise_scale_: {int(guesses.sum())} of {k} centres; "
            f"the released sizes, from {float(told.counts.min()):.0f} to "
            f"{float(told.counts.max()):.0f}, have noise of {told.count_sd:.0f}, and all clusters "
            f"together are better than one centre by {best.worth:.1f} standard deviations of that "
            "comparison. More rows, a larger epsilon, fewer clusters or tighter bounds help"
        )
    if located.box is not None and not guesses.all():
        narrow = int(np.count_nonzero(located.half < np.median(noise[~guesses])))
        if narrow:
            curator.decide(
                f"{narrow} of {len(mean)} columns are narrower between their bounds than the noise "
                "of a centre, which tells nothing there: divide columns by public scales"
            )
    inertia, inertia_noise = in_table(located, *moved.inertia(best.y))
    return Refined(
        centers=located.inside(located.to_data(best.y)),
        counts=np.maximum(told.counts, 1.0),
        noise_scale=np.where(guesses, math.inf, noise * located.radius),
        radii=radii * located.radius,
        n_steps=n_steps,
        inertia=inertia,
        inertia_noise=inertia_noise,
    )


def in_table(located, *squares):
    """Return squared lengths in units of the table, as finite floats."""
    with np.errstate(over="ignore"):
        unit = np.nan_to_num(np.square(np.float64(located.radius)))
        return tuple(float(np.nan_to_num(unit * value)) for value in squares)
