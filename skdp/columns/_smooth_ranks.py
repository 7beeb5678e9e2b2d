"""Ranks between cuts that noise blurs: the density hardly changes from one cell to the next."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

# Steps of a log density from a cell to the next: their scale beside another cell and by the root of
# the distance on the axis, and degrees of freedom. 2 and 6 by distance left 2 and 1 % fewer columns
# with nine quantiles within 0.03, on tables of the search.
JUMP, DRIFT, FREEDOM = 0.2, 4.0, 4.0
SLOPE, EVEN = math.log(3) / math.asinh(0.5), 1e-3  # of a logistic law; part of an even one
# Deviation of the logarithm of a value alone; precision of the logarithms of all others.
APART, LOOSE = 3.0, 0.03
DAMPING = 1e-3, 1e-4, 8.0, 4.0  # at first, at least; factors after a bad step, and a good one
STEPS, TRIES, FARTHEST_STEP, ENOUGH = 30, 8, 2.0, 0.3  # Newton steps; of a log likelihood
FAINTEST = 1e-12  # part of all rows
SPANS = (0.25, 0.75, 1.0), (0.05, 0.95, 0.3)  # quantiles, and what of their distance is a unit
FARTHEST = 1e300  # units


@dataclass(frozen=True)
class Axis:
    """The inverse hyperbolic sine of a column: even near its middle, logarithmic in its tails."""

    center: float
    unit: float
    # shape (m,): the points whose ranks made it, which rise, and their coordinates
    x: np.ndarray
    t: np.ndarray

    @classmethod
    def of(cls, x, rank):
        """Return the axis of a column by the ranks of points: its unit is its quartile range."""
        center = invert(x, rank, 0.5 * rank[-1])
        for low, high, part in SPANS:
            ends = (invert(x, rank, p * rank[-1]) for p in (high, low))
            unit = part * (next(ends) / 2 - next(ends) / 2)
            if unit > 0:
                break
        else:
            unit = max(abs(center), 1 / FARTHEST)
        return cls(center, unit, x, _coordinates(x, center, unit))

    def of_numbers(self, x):
        """Return the coordinates of numbers."""
        return _coordinates(x, self.center, self.unit)

    @np.errstate(all="ignore")
    def invert(self, rank, target):
        """Return where rising ranks of its points reach a target; see :func:`invert`."""
        i, part = _bracket(self.x, rank, target)
        if part is None:
            return _only(self.x)
        low, high = self.x[i - 1 : i + 1].tolist()
        ends = self.t[i - 1 : i + 1].tolist()
        place = float(np.sinh(ends[0] * (1 - part) + ends[1] * part))
        return min(max(self.center + self.unit * place, low), high)


@np.errstate(all="ignore")
def _coordinates(x, center, unit):
    """Return the coordinates of numbers on an axis."""
    return np.arcsinh(np.minimum(np.maximum((x - center) / unit, -FARTHEST), FARTHEST))


def invert(x, rank, target):
    """Return where ranks, which never fall, reach a target; an open end counts as its cut."""
    i, part = _bracket(x, rank, target)
    if part is None:
        return _only(x)
    low, high = x[i - 1 : i + 1].tolist()
    return low * (1 - part) + high * part


def _only(x):
    """Return the finite one of rising points, 0 if there is none."""
    return next((point for point in x.tolist() if math.isfinite(point)), 0.0)


def _bracket(x, rank, target):
    """Return which rising point follows a rank, and how far it is there from the one before.

    None in place of the latter if fewer than two points are finite; only the outermost are not.
    """
    first, last = 0, len(x) - 1
    while first <= last and math.isinf(x[first]):
        first += 1
    while first <= last and math.isinf(x[last]):
        last -= 1
    if first >= last:
        return first, None
    i = min(max(first + int(rank[first : last + 1].searchsorted(target)), first + 1), last)
    low, high = rank[i - 1 : i + 1].tolist()
    rise = high - low
    return i, min(max((float(target) - low) / rise, 0.0), 1.0) if rise > 0 else 0.5


@np.errstate(under="ignore")
def expected_rows(t, n):
    """Return how many of n rows a law that is logistic on the axis has between coordinates.

    Its quartiles are half a unit from the center. A small part of it is even: no cell is beyond
    what densities may be.
    """
    length = np.diff(t, prepend=t[0] - 1, append=t[-1] + 1)
    upto = np.diff(expit(SLOPE * t), prepend=0.0, append=1.0)
    return n * (upto + EVEN * length / length.sum() + FAINTEST)


@np.errstate(under="ignore")
def most_likely(precision, right, expected, middle, alone, start):
    """Return the most likely numbers of rows of cells, of normal noise and densities that drift.

    Shapes: the precision of numbers of rows, (k, k), and what it times them is expected to be,
    (k,); the expected numbers; coordinates of middles of cells; whether a cell is one value alone.

    Notes
    -----
    The log density, over the expected one, is a random walk from one cell to the next. Its steps
    are Student's, so that densities may have edges: squares, with the weights of the last step.
    Values that stand alone are apart from it. The maximum is found by damped Newton steps for the
    logarithms of numbers of rows, which are positive.
    """
    k, walk = len(right), np.flatnonzero(~alone)
    i, j, every = walk[:-1], walk[1:], np.arange(k)
    variance = JUMP**2 + DRIFT**2 * np.maximum(middle[j] - middle[i], 0.0)
    log, damping = np.log(np.maximum(start, FAINTEST * expected) / expected), DAMPING[0]
    own, tied = np.diag(np.where(alone, APART**-2, LOOSE)), FREEDOM * variance
    rows, *fit = _fit(log, precision, right, expected)
    for _ in range(STEPS):
        step = log[j] - log[i]
        weight = (FREEDOM + 1) / (tied + np.square(step))
        prior = own.copy()
        prior[i, i] += weight
        prior[j, j] += weight
        prior[i, j] -= weight
        prior[j, i] -= weight
        loss = _loss(log, prior, *fit)
        off = rows * (precision @ rows - right)
        slope = off + prior @ log
        curve = rows[:, None] * precision * rows + prior
        curve[every, every] += np.maximum(off, 0.0)
        for _ in range(TRIES):
            damped = curve.copy()
            damped[every, every] *= 1 + damping
            step = np.linalg.solve(damped, slope)
            new = log - np.minimum(np.maximum(step, -FARTHEST_STEP), FARTHEST_STEP)
            rows, *fit = _fit(new, precision, right, expected)
            reached = _loss(new, prior, *fit)
            if reached <= loss:
                break
            damping *= DAMPING[2]
        else:
            break
        log, damping = new, max(damping / DAMPING[3], DAMPING[1])
        if loss - reached < ENOUGH:
            break
    return expected * np.exp(log)


def _fit(log, precision, right, expected):
    """Return numbers of rows by their logarithms, and the two terms of their likelihood."""
    rows = expected * np.exp(log)
    return rows, rows @ precision @ rows, right @ rows


def _loss(log, prior, squares, product):
    """Return what is least for the most likely numbers of rows."""
    return (squares + log @ prior @ log) / 2 - product
