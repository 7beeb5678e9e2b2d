"""Means and variances of columns that are clipped to released intervals."""

import math
from dataclasses import replace

import numpy as np

from skdp.kernel._bounded import BoxedSquares
from skdp.kernel._views import Boxed

__all__ = ["release_squares"]


def release_squares(table, box, *, n_rows, count_sd, means, step):
    """Release variances of clipped columns with all that is left of the budget.

    Parameters
    ----------
    table : Table of length d
    box : sequence of d SquareClip
        Public or released.
    n_rows, count_sd : float
        Released number of rows, and the standard deviation of its noise.
    means : bool
        Whether means are asked for, too.
    step : Step

    Returns
    -------
    offset, var : ndarrays of shape (d,)
        Means less the centres, and variances, in units of the radii.
    offset_sd, var_sd : ndarrays of shape (d,)
        Standard deviations of their noise.
    """
    d = len(box)
    center, radius = (np.array([getattr(one, k) for one in box]) for k in ("center", "radius"))
    asked = BoxedSquares(np.array([one.level for one in box]), means)
    boxed = table.map(Boxed(center, radius))
    release = boxed.ask(asked, step, share=table.remaining)
    asked = replace(asked, pure=release.law == "laplace", bits=release.bits)
    a, b, grid, count = asked.level, asked.weight, asked.grid, asked.constant
    sd = release.scale * (math.sqrt(2) if asked.pure else 1) / grid
    first, second = release.value[:-1].reshape(2, d) / grid
    own_sd = sd * grid / count
    weight = count_sd**2 / (count_sd**2 + own_sd**2)
    n = max(weight * float(release.value[-1]) / count + (1 - weight) * n_rows, 1.0)
    n_sd = math.sqrt(weight) * own_sd
    offset, mean_sd = first / b / n, sd / b / n
    part = second / n
    var = part + a - np.square(offset) + mean_sd**2
    slope = (2 * np.square(offset) - part) * n_sd / n
    var_sd = np.sqrt((sd / n) ** 2 + np.square(2 * offset * mean_sd) + slope**2 + 2 * mean_sd**4)
    return offset, var, np.hypot(mean_sd, offset * n_sd / n), var_sd
