"""Means and variances of columns that are clipped to released intervals."""

import math

import numpy as np

from skdp.chunks import weighed_sum
from skdp.columns._boxed import BoxedRows
from skdp.columns._pair import _bits
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import sqrt_up

__all__ = ["release_squares"]

# Weights of a sum beside that of the squares, and of the count: the intervals lie around a guess of
# the mean, so that a variance hangs on either but little; l1 norms pay for them in full.
SUM = {"gaussian": 0.25, "laplace": 0.1}
COUNT = {"gaussian": 0.3, "laplace": 0.1}
MEAN = 1.0  # weight of a sum whose mean is asked for


def release_squares(rows, curator, box, *, n_rows, count_sd, means, label):
    """Release variances of clipped columns with all that is left of the budget.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
    box : sequence of d SquareClip
        Public or released.
    n_rows, count_sd : float
        Released number of rows, and the standard deviation of its noise.
    means : bool
        Whether means are asked for, too.
    label : str

    Returns
    -------
    offset, var : ndarrays of shape (d,)
        Means less the centres, and variances, in units of the radii.
    offset_sd, var_sd : ndarrays of shape (d,)
        Standard deviations of their noise.

    Notes
    -----
    **Privacy** (add or remove one row): a row adds a vector of integers that is a function of the
    row alone, or nothing if it holds NaN or infinity: for every column, with t in [-1, 1] the place
    of the entry in its interval, ``G (b t, t^2 - a)`` rounded, and one constant K that counts. G is
    a power of two; a in [0, 1], b and K are public or made of releases. With u = t^2 in [0, 1] the
    square of the length of (b t, t^2 - a) is ``b^2 u + (u - a)^2``, convex in u, so at most the
    larger of a^2 and b^2 + (1 - a)^2. Its l1 norm is ``b |t| + |t^2 - a|``: beyond the root of a it
    grows with |t| to b + 1 - a, below it is at most a + b^2 / 4. Rounding two numbers adds at most
    1 to either norm; another unit is added for the roundings of floats.
    """
    d, law = len(box), "laplace" if curator.budget.unit == "pure" else "gaussian"
    b = MEAN if means else SUM[law]
    a = np.array([one.level for one in box])
    share = curator.remaining
    grid = 2 ** _bits(curator.budget, share, d, rows.unit)
    if law == "laplace":
        count = max(1, round(COUNT[law] * d ** (1 / 3) * grid))
        norms = np.maximum(b + 1 - a, a + b * b / 4)
        sensitivity = sum(math.ceil(grid * float(x)) + 2 for x in norms) + count
    else:
        count = max(1, round(COUNT[law] * d ** (1 / 4) * grid))
        norms = np.sqrt(np.maximum(np.square(a), b * b + np.square(1 - a)))
        square = sum((math.ceil(grid * float(x)) + 2) ** 2 for x in norms) + count**2
        sensitivity = sqrt_up(square)
    center, radius = (np.array([getattr(one, k) for one in box]) for k in ("center", "radius"))

    def statistic(start, block):
        t = block[finite_rows(block)]
        columns = np.rint(grid * b * t), np.rint(grid * (np.square(t) - a))
        sums = [column.astype(np.int64).sum(axis=0) for column in columns]
        return np.concatenate([*sums, [len(t) * count]])

    exact = weighed_sum(BoxedRows(rows, center, radius), statistic)
    draw = curator.laplace if law == "laplace" else curator.gaussian
    release = draw(exact, sensitivity=sensitivity, share=share, label=label)
    sd = release.scale * (math.sqrt(2) if law == "laplace" else 1) / grid
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
