"""What a row adds to a gradient: integers, of the row's target and of a score that is one too."""

import math
from functools import cache

import numpy as np

from skdp.mechanisms._exact import sqrt_up

__all__ = ["Clipped", "Logistic", "Softmax"]

ONE = 2**15  # a probability of one
STEP = 2**-10  # of a score
END = 16 * 2**10  # scores beyond are as good as infinite
SCALE = 2**30  # of a table of exponentials


class Logistic:
    """Two classes: y - p of one score, p from a public table.

    Notes
    -----
    **Sensitivity** of the sums over the cells of one feature (add or remove one row): a row is in
    one cell and adds ``ONE * y - P`` to it, where ``0 <= P <= ONE``: at most ``ONE``.
    """

    outputs, step, one = 1, STEP, ONE
    sensitivity = ONE

    @staticmethod
    def residuals(scores, target):
        """Return ``ONE * y - P``, shape (1, n)."""
        places = np.clip(scores, -END, END) + END
        return ONE * target - _sigmoid()[places]


class Softmax:
    """K classes: e_y - p of K scores, p by exponentials from a public table.

    Parameters
    ----------
    n_classes : int

    Notes
    -----
    **Sensitivity** (add or remove one row): a row is in one cell and adds ``ONE * e_y - P`` to its
    K sums. P are integers >= 0, and as quotients that are rounded down they sum to at most ONE. So
    of a row of class y the entry y is ``a = ONE - P_y``, the others are at most 0 and sum to at
    least -a, hence their squares to at most a^2: together ``2 a^2 <= 2 ONE^2``.
    """

    step, one = STEP, ONE

    def __init__(self, n_classes):
        self.outputs = n_classes
        self.sensitivity = sqrt_up(2 * ONE**2)

    @staticmethod
    def residuals(scores, target):
        """Return ``ONE * e_y - P``, shape (K, n)."""
        below = np.minimum(scores.max(axis=0) - scores, END)
        parts = _exponentials()[below]
        residuals = -(ONE * parts // parts.sum(axis=0))
        residuals[target, np.arange(len(target))] += ONE
        return residuals


class Clipped:
    """A number: y - f, clipped to a released radius.

    Parameters
    ----------
    radius : int
        In steps of a score.

    Notes
    -----
    **Sensitivity** (add or remove one row): a row is in one cell and adds an integer of at most
    ``radius`` to it.
    """

    outputs, step, one = 1, 2**-16, 2**16

    def __init__(self, radius):
        self.radius = self.sensitivity = radius

    def residuals(self, scores, target):
        """Return the clipped differences, shape (1, n)."""
        return np.clip(target - scores, -self.radius, self.radius)


@cache
def _sigmoid():
    scores = (STEP * i for i in range(-END, END + 1))
    return np.array([round(ONE / (1 + math.exp(-x))) for x in scores], dtype=np.int64)


@cache
def _exponentials():
    return np.array([round(SCALE * math.exp(-STEP * i)) for i in range(END + 1)], dtype=np.int64)
