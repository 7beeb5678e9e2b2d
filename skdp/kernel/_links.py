"""What a row adds to a gradient: integers, of the row's target and of a score that is one too."""

import math
from functools import cache

import numpy as np

from skdp.kernel._statistic import public, refuse

__all__ = ["Clipped", "Link", "Logistic", "Softmax"]

ONE = 2**15  # a probability of one
STEP = 2**-10  # of a score
END = 16 * 2**10  # scores beyond are as good as infinite
SCALE = 2**30  # of a table of exponentials
FARTHEST = 2**40  # of a clip radius


class Link:
    """How the residual of a row follows from its scores and its target."""

    def check(self):
        """Raise ValueError for fields that are no link."""


@public
class Logistic(Link):
    """Two classes: y - p of one score, p from a public table.

    **Privacy** (add or remove one row). A row adds ``r = ONE * y - P`` to the gradient, where
    ``0 <= P <= ONE``, and the integer part of ``gain P (ONE - P) / ONE`` to the curvature. With
    ``x = |r| / ONE`` the squares sum to at most ``ONE^2 x^2 (1 + gain^2 (1 - x)^2)``. That is at
    most ``ONE^2`` for all x in [0, 1] if ``gain^2 <= ((1 + sqrt 5) / 2)^5 = 11.0902``, the least of
    ``(1 + x) / (x^2 (1 - x))``, where ``x^2 + x = 1``.
    """

    outputs, step, one = 1, STEP, ONE
    gain, squared_l2 = 3.33, ONE**2

    @staticmethod
    def residuals(scores, target):
        """Return ``ONE * y - P`` and the curvature, shape (2, n)."""
        P = _sigmoid()[np.clip(scores, -END, END) + END]
        return np.concatenate([ONE * target - P, 333 * P * (ONE - P) // (100 * ONE)])


@public
class Softmax(Link):
    """K classes: e_y - p of K scores, p by exponentials from a public table.

    **Privacy** (add or remove one row). A row adds ``ONE * e_y - P`` to its K gradients, and the
    integer parts of ``2 P_k (ONE - P_k) / ONE`` to their curvatures. P are integers >= 0, and as
    quotients that are rounded down they sum to at most ONE. With ``p = P / ONE``,
    ``p^2 + 4 p^2 (1 - p)^2 <= p``, since ``4 p (1 - p) <= 1``. So the classes other than that of
    the row add squares that sum to at most ``ONE^2 (1 - p_y)``, and its own, with ``1 - p_y`` for
    p, adds no more: together at most ``2 ONE^2``.
    """

    n_classes: int  # A target beyond is that of the last class

    step, one = STEP, ONE
    gain, squared_l2 = 2.0, 2 * ONE**2

    def check(self):
        refuse(not isinstance(self.n_classes, int) or self.n_classes < 1, "classes are counted")

    @property
    def outputs(self):
        """The number of classes."""
        return self.n_classes

    def residuals(self, scores, target):
        """Return ``ONE * e_y - P`` and the curvatures, shape (2 K, n)."""
        below = np.minimum(scores.max(axis=0) - scores, END)
        parts = _exponentials()[below]
        P = ONE * parts // parts.sum(axis=0)
        residuals = np.concatenate([-P, 2 * P * (ONE - P) // ONE])
        residuals[np.clip(target, 0, self.n_classes - 1), np.arange(len(target))] += ONE
        return residuals


@public
class Clipped(Link):
    """A number: y - f, clipped to a released radius.

    **Privacy** (add or remove one row): a row adds an integer of at most ``radius``.
    """

    radius: int  # in steps of a score

    outputs, step, one, gain = 1, 2**-16, 2**16, None

    def check(self):
        wrong = not isinstance(self.radius, int) or not 0 < self.radius <= FARTHEST
        refuse(wrong, "a radius is a whole number of steps, from 1 to 2^40")

    @property
    def squared_l2(self):
        return self.radius**2

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
