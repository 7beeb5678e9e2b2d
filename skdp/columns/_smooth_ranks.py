"""Ranks between cuts that noise blurs: the density hardly changes from one cell to the next."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

__all__ = ["Axis", "expected_rows", "invert", "most_likely"]

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

    @classmethod
    def of(cls, x, rank):
        """Return the axis of a column by the ranks of points: its unit is its quartile range."""
        center = invert(x, rank, 0.5 * rank[-1])
        for low, high, part in SPANS:
            ends = (invert(x, rank, p * rank[-1]) for p in (high, low))
            unit = part * (next(ends) / 2 - next(ends) / 2)
            if unit > 0:
                return cls(center, unit)
        return cls(center, max(abs(center), 1 / FARTHEST))

    @np.errstate(all="ignore")
    def of_numbers(self, x):
        """Return the coordinates of finite numbers."""
        return np.arcsinh(np.clip((x - self.center) / self.unit, -FARTHEST, FARTHEST))

    @np.errstate(all="ignore")
    def invert(self, x, rank, target):
        """Return where ranks, which never fall, reach a target; see :func:`invert`."""
        low, high, part = _bracket(x, rank, target)
        if part is None:
            return low
        ends = self.of_numbers(np.array([low, high]))
        value = self.center + self.unit * np.sinh(ends[0] * (1 - part) + ends[1] * part)
        return float(np.clip(value, low, high))


def invert(x, rank, target):
    """Return where ranks, which never fall, reach a target; an open end counts as its cut."""
    low, high, part = _bracket(x, rank, target)
    return low if part is None else float(low * (1 - part) + high * part)


def _bracket(x, rank, target):
    """Return the points around a rank, and how far it is from the first to the second."""
    inner = np.isfinite(x)
    x, rank = x[inner], rank[inner]
    if len(x) < 2:
        return (float(x[0]) if len(x) else 0.0), math.nan, None
    i = int(np.clip(np.searchsorted(rank, target), 1, len(x) - 1))
    rise = rank[i] - rank[i - 1]
    part = min(max((target - rank[i - 1]) / rise, 0.0), 1.0) if rise > 0 else 0.5
    return x[i - 1], x[i], part


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
    for _ in range(STEPS):
        step = log[j] - log[i]
        weight = (FREEDOM + 1) / (FREEDOM * variance + np.square(step))
        prior = np.diag(np.where(alone, APART**-2, LOOSE))
        prior[i, i] += weight
        prior[j, j] += weight
        prior[i, j] -= weight
        prior[j, i] -= weight
        rows, loss = _loss(log, precision, right, expected, prior)
        off = rows * (precision @ rows - right)
        slope = off + prior @ log
        curve = rows[:, None] * precision * rows + prior
        curve[every, every] += np.maximum(off, 0.0)
        for _ in range(TRIES):
            damped = curve.copy()
            damped[every, every] *= 1 + damping
            new = log - np.clip(np.linalg.solve(damped, slope), -FARTHEST_STEP, FARTHEST_STEP)
            _, reached = _loss(new, precision, right, expected, prior)
            if reached <= loss:
                break
            damping *= DAMPING[2]
        else:
            break
        log, damping = new, max(damping / DAMPING[3], DAMPING[1])
        if loss - reached < ENOUGH:
            break
    return expected * np.exp(log)


def _loss(log, precision, right, expected, prior):
    """Return numbers of rows by their logarithms, and what is least for the most likely ones."""
    rows = expected * np.exp(log)
    return rows, (rows @ precision @ rows + log @ prior @ log) / 2 - right @ rows
