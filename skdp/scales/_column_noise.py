"""Noise of several numbers at once: its law, how high it rises alone, and what is significant.

A false alarm is noise alone that passes for rows. Every rate is chosen here. Where a false cell
costs more, as it lies farther away or makes more noise, it must be rarer.
"""

import math
from dataclasses import replace
from numbers import Real

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Budget
from skdp.accounting._plan import release_mechanism
from skdp.utils._numbers import describe_parameter

FAINTEST = 2.0**20

# Probabilities of a false alarm in a whole histogram.
SCALE = 2e-4  # of lengths, over all floats: a scale where there is none
COLUMN = 3e-5  # of a column, over all floats
BINS = 0.05  # of a column, of windows of each width
# A second look at columns of which the first told "nothing" or "zeros", and in how many octaves
# around 1 it is believed: far ones cost as much as they are far.
COLUMN_AGAIN = {"nothing": ((0.001, 50),), "zeros": ((0.001, 50), (0.02, 3))}
QUANTILE_AGAIN = 0.005, 50
CLUSTER_WINDOWS = 0.01  # of all windows of cells of a grid together
CLUSTER_BLOCKS = 0.001  # of all blocks of a level

# Probabilities of a false alarm in one cell or window.
COLUMN_NEAR = 3e-4  # within six cells of significant ones
COLUMN_TOP = 0.05  # four times that of an octave above the bulk; 4^-j of it j octaves higher
REACH = 0.02  # four times that of an octave above the rows seen
# Of a cell half an octave wide beyond the rows seen, less of farther ones: 5 % of both sides of a
# column together. A false one is a doubt of a variance, and costs no noise.
APART = 0.003
CLUSTER_SCALE = 0.001  # in an octave of size 1, less in others
CLUSTER_REACH = 0.01, 0.0005  # within two radii, and beyond
# In some narrow window 1e-3 together, at the cost of a factor of 2, and in a wide one 1e-6, at up
# to 2^12; and that more rows than those hide in a cell.
FAR_WINDOWS = 3.4e-6, 1.9e-8
HIDDEN_CELL = 2.3e-4
LEAST_SQUARES = 1e-4, 1e-6  # in narrow cells, and in wide ones
RANGE = 1e-7  # of a column or a target of a linear model

# Standard deviations of the noise of a window, or a count, that a significant one exceeds.
ZOOM = 3.5  # 2.3e-4 for each of 480 windows of a look
COARSE = 3.5  # 2.3e-4 for each of the windows of a small table
RESIDUALS = 4.0  # 3.2e-5 for each window of a cycle
WITH_GAPS = 3.5  # 2.3e-4 of a table: a false alarm costs its columns sqrt(d) of their accuracy
LAST_BIN, KEPT_BIN = 4.2, 2.0  # of a cluster: the last bin with rows, and the bins up to it


def column_budget(epsilon, delta, *, choice=False):
    """Return the budget of statistics by columns: pure for delta=0, zCDP for choices, else GDP."""
    if delta == 0:
        return Budget.pure(epsilon)
    return Budget.zcdp(epsilon, delta) if choice else Budget.gaussian(epsilon, delta)


def check_strength(budget, k):
    """Raise ValueError if the noise in k numbers of step 1 would leave the grids they are on.

    Statistics have sensitivities of at most 2^20 grid units and at least a quarter of the budget,
    and noise is drawn up to 2^46 grid units.
    """
    if _scale(budget, 1, k) > FAINTEST:
        raise ValueError(
            "epsilon is too small to answer anything: the noise in every statistic would exceed "
            "2^20 times what a row can move it by. Pass a larger epsilon, or fewer columns."
        )


def with_law(budget, *steps):
    """Return steps with the mechanism that a budget asks for: Laplace if it is pure."""
    return tuple(replace(step, mechanism=release_mechanism(budget)) for step in steps)


class ColumnNoise:
    """What noise a budget buys for k numbers that one row moves by 1 each: Laplace or Gaussian."""

    def __init__(self, budget):
        self.budget, self.pure = budget, budget.measure == "pure"
        self.strength = _strength(budget)

    def scale(self, share, k):
        """Return the scale of the noise in k numbers of step 1."""
        return _scale(self.budget, share, k)

    def share(self, scale, k):
        """Undo :meth:`scale`."""
        return k / (scale * self.strength) if self.pure else k / (scale * self.strength) ** 2

    def deviation(self, scale):
        """Return the standard deviation of noise of a scale."""
        return math.sqrt(2) * scale if self.pure else scale

    @property
    def law(self):
        """Of the noise: "laplace" for a pure budget, else "gaussian"."""
        return "laplace" if self.pure else "gaussian"


def _strength(budget):
    """Return epsilon of a pure budget, else mu."""
    if budget.measure == "pure":
        return float(budget.amount)
    return math.sqrt(budget.amount * (2 if budget.measure == "zcdp" else 1))


def _scale(budget, share, k):
    if budget.measure == "pure":
        return k / (share * _strength(budget))
    return math.sqrt(k / share) / _strength(budget)


def check_confidence(confidence):
    """Raise ValueError unless a confidence is in (0, 1)."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(
            f"confidence must be in (0, 1). Got {describe_parameter(confidence)} instead: 95 % "
            f"is 0.95."
        )


def check_sampling(sampling):
    """Raise ValueError unless ``sampling`` of an interval is a truth value."""
    if not isinstance(sampling, bool | np.bool_):
        raise ValueError(
            f"sampling of interval() must be True, for the population, or False, for these rows. "
            f"Got {describe_parameter(sampling)}. By what method is a parameter of an estimator "
            f"that has several."
        )


def level_of_each(confidence, k, law=None):
    """Return the confidence of each of k intervals that shall cover together.

    Notes
    -----
    Entries of a centred Gaussian vector are within such limits together with no less than the
    product of the probabilities of each (Sidak 1967): k intervals of level ``confidence^(1/k)``
    do. Whatever the errors, probabilities to miss add up to no less than that of any miss
    (Bonferroni): ``1 - (1 - confidence) / k``.
    """
    check_confidence(confidence)
    return confidence ** (1 / k) if law == "gaussian" else 1 - (1 - confidence) / k


def noise_quantile(confidence, law, columns=1):
    """Return how many standard deviations the noise stays within, with a probability."""
    missed = 1 - level_of_each(confidence, columns, law)
    if law == "laplace":
        return -math.log(missed) / math.sqrt(2)
    return -float(ndtri(missed / 2))


def noise_sum_quantile(p, width, *, scale, law="gaussian"):
    """Return what the sum of ``width`` rounded noises exceeds with probability at most p.

    Parameters are those of :func:`noise_level`. Released integers hold noise that is rounded to
    integers one by one, which moves the sum by at most ``width / 2``.
    """
    return rounded_level(noise_level(p, width, scale=scale, law=law), width)


def rounded_level(level, width):
    """Return what the sum of rounded noises exceeds only if that of the noises exceeds a level."""
    return np.ceil(level + width / 2) - 1


def noise_level(p, width, *, scale=1.0, law="gaussian"):
    """Return a level that the sum of ``width`` independent noises exceeds with probability p.

    Notes
    -----
    The sum S of w Laplace variates of scale 1 is the difference of two gamma variates of order w,
    two races of w exponential stages each. Whichever is over first, the other has k stages left
    with probability ``C(2w - 1 - k, w - 1) 2^(k - 2w)``, k = 1..w, by fair coins, and stages have
    no memory, so for t >= 0

        P(S > t) = sum_k C(2w - 1 - k, w - 1) 2^(k - 2w) P(gamma_k > t) = e^-t q(t)

    with a polynomial q of degree w - 1 with positive coefficients. The quantile is the one fixed
    point of the increasing map t -> log q(t) - log p: iterates from above fall, and stay above.
    """
    if law == "gaussian":
        return -ndtri(p) * (math.sqrt(width) * scale)
    log_p = np.log(p)
    q = _tail_polynomial(width)
    t = 2.0 * (2.0 * width - log_p)
    for _ in range(200):
        t = np.log(np.polynomial.polynomial.polyval(t, q)) - log_p
    return np.maximum(t, 0.0) * ((1 + 1e-12) * scale)


def _tail_polynomial(w):
    """Return the coefficients of q, from the constant on."""
    left = [math.comb(2 * w - 1 - k, w - 1) / 2 ** (2 * w - k) for k in range(1, w + 1)]
    return [sum(left[j:]) / math.factorial(j) for j in range(w)]


def onto_simplex(points, total=1.0):
    """Return the nearest points of the simplex: nonnegative, with a given sum along the last axis.

    It subtracts the number t with ``sum (x - t)_+ = total``: of the entries in falling order the
    first k stay positive, k the last at which the k-th is above ``(sum of the first k - total) /
    k``. An entry of minus infinity becomes 0. There may be a sum for each of the points.
    """
    falling = -np.sort(-points, axis=-1)
    sums = np.cumsum(np.where(np.isfinite(falling), falling, 0.0), axis=-1)
    means = (sums - np.asarray(total)[..., None]) / np.arange(1, points.shape[-1] + 1)
    last = np.sum(falling > means, axis=-1, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(means, np.maximum(last, 0), -1), 0.0)


def windows_above(counts, levels):
    """Return which cells lie in a window that exceeds its level; narrow windows come first.

    Shape of counts: (..., n_cells). ``levels`` gives for every width, rising, a number or one per
    window. A window counts only where none before it does inside.
    """
    above = np.zeros(np.shape(counts), dtype=bool)
    total = summed_up(counts, dtype=np.float64)
    for width, level in levels.items():
        found = total[..., width:] - total[..., :-width] > level
        if width == 1:
            above |= found
            continue
        *rows, first = np.nonzero(found)
        if not first.size:
            continue
        told = summed_up(above)
        free = told[(*rows, first + width)] == told[(*rows, first)]
        for *row, i in zip(*(place[free].tolist() for place in (*rows, first)), strict=True):
            window = above[(*row, slice(i, i + width))]
            if not window.any():
                window[:] = True
    return above


def summed_up(counts, dtype=np.int64):
    """Return the sums of the cells before each, and of all, shape (..., n_cells + 1)."""
    total = np.zeros((*np.shape(counts)[:-1], np.shape(counts)[-1] + 1), dtype=dtype)
    np.cumsum(counts, axis=-1, out=total[..., 1:])
    return total


def highest_window(counts, width, threshold):
    """Return the fullest bin of the highest window of ``width`` bins above a threshold, or -1.

    ``counts`` are released; the outer bins of a window may hold noise only. ``threshold`` is a
    number or one per window.
    """
    return last_window(counts, width, window_sums(counts, width) > threshold)


def window_sums(counts, width):
    """Return the sum of every window of ``width`` bins."""
    return np.convolve(counts, np.ones(width), "valid")


def last_window(counts, width, above):
    """Return the fullest bin of the last window of ``width`` bins that is ``above``, or -1."""
    if not above.any():
        return -1
    start = len(above) - 1 - above[::-1].argmax()
    return int(start + counts[start : start + width].argmax())


def farthest_window(counts, levels):
    """Return the highest bin that :func:`highest_window` tells for any width and its level."""
    return max(highest_window(counts, width, level) for width, level in levels.items())


def significant_tail(counts, sd):
    """Return how many bins there are up to the last significant one, alone or with all beyond."""
    tails = np.cumsum(counts[::-1])[::-1] / np.sqrt(np.arange(len(counts), 0, -1))
    clear = np.flatnonzero(np.maximum(counts, tails) > LAST_BIN * sd)
    return int(clear[-1]) + 1 if clear.size else 0
