"""Newton steps of a logistic regression: gradients that are released with second derivatives."""

import math
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.kernel._gradients import THIN, LogitCalibration, LogitIntercepts, LogitStep, probabilities
from skdp.kernel._sums import GRID

MOST_STEPS = 8
GRADIENT = Step("gradient", times=MOST_STEPS, of=(LogitStep,))
LARGEST = 2.0  # step, as the root of its mean square in units of a score
FLATTEST = 0.05  # curvature, of that without slopes, at least
STEEPEST = 8  # times its mean is the curvature of some rows of a rare class
KEPT = 0.25  # of the weight of second derivatives from step to step: they change with the model


class NewtonStep:
    """Second derivatives: what steps have released of them, and one number times a Gram matrix.

    Each counts by how little noise it has: one number may be wrong by half, the released matrices
    are those of the model of their step, so that later ones count for more.
    """

    def __init__(self, gram, noise, most):
        self._gram, self._gram_noise, self._most, self.mean = gram, noise, most, most
        self._largest = 0.25 if len(most) == 1 else 0.25 * len(most) / (len(most) - 1)
        self._sums, self._weight = 0.0, 0.0

    def add(self, matrices, sd):
        """Add the matrices of one step; ``sd`` is the noise of an entry on the diagonal."""
        self._sums = KEPT * self._sums + matrices / sd**2
        self._weight = KEPT * self._weight + 1 / sd**2
        size = max(np.trace(self._gram), 1e-300)
        seen = np.trace(self._sums, axis1=1, axis2=2) / self._weight / size
        self.mean = np.clip(seen, FLATTEST * self._most, self._most)

    def of(self, k, steepest=STEEPEST):
        """Return the matrix of column k, positive, and the largest eigenvalue of its noise.

        Where released ones are noise it is the mean curvature, ``steepest`` times.
        """
        mean = min(steepest * self.mean[k], self._largest)
        noise = math.sqrt(2 * len(self._gram) / self._weight)
        part = 1 / (1 + (noise / mean) ** 2)
        both = part * self._sums[k] / self._weight + (1 - part) * mean * self._gram
        noise = math.hypot(part * noise, (1 - part) * mean * self._gram_noise)
        return floored(both, 0.0), noise

    def inverse(self, k, penalty):
        """Return the inverse by which steps of column k go: nowhere longer than noise allows."""
        matrix, noise = self.of(k)
        return inverse(floored(matrix, noise / 2) + noise / 2 * np.eye(len(matrix)) + penalty)


def release_step(table, question, *, share):
    """Release the gradient of the log-likelihood and its second derivatives, clipped.

    Shapes: gradient (K, c); curvature (c, K, K).
    """
    told = table.ask(question, GRADIENT, share=share)
    curvature = told.value[:, :, 1:] * (told.step * question.radius / question.gain)
    symmetric = (curvature + curvature.transpose(0, 2, 1)) / 2
    return told.real[:, :, 0].T, symmetric, told.sd, told.bits


def inverse(S):
    """Return the inverse of a positive matrix, finite if it is singular."""
    values, V = np.linalg.eigh(S)
    return (V / np.maximum(values, 1e-14 * np.max(values))) @ V.T


def floored(S, least):
    """Return a symmetric matrix with eigenvalues of at least ``least``."""
    values, V = np.linalg.eigh(S)
    return (V * np.maximum(values, least)) @ V.T


LAST = 0.02, 0.1  # least and largest part of the steps for a last one of the intercepts, and before
# it for one of the size of all slopes
CALIBRATION = Step("calibration", at_most=LAST[1], of=(LogitCalibration,))
INTERCEPT = Step("intercept", of=(LogitIntercepts,))
CLEAR = 3  # sd of the noise of a curvature, below which no step is divided by it
COSTLY = 0.05  # of the entropy of the classes: noise of the intercepts that costs more is doubted
REACH = 2.5, 4.0  # standard deviations of the scores that a calibration looks at, around their mean
QUIET = 0.05  # noise of a factor for which it looks farther
FACTORS = 0.5, 2.0  # least and largest of a calibration
STEEP = 0.75  # factor below which a step from there is no guide: curvatures grow as slopes shrink
APART, SETTLED = 0.5, 3.0  # beforehand: deviation of factors from 1, and odds that there is none
RATES = (
    "class frequencies are lost in noise: probabilities may be far off. Use a larger epsilon or"
    " more rows"
)
UNSETTLED = (
    "the fit has not converged: slopes may be far off. Use a larger epsilon, or leave out "
    "columns that explain little"
)


def ended(table, design, radius, B, start, *, mean, spread, n, bits, share):
    """Release both, say what is doubtful, and return B after them; see :func:`_calibrated`.

    ``start`` are the intercepts of a model without slopes, ``bits`` those of the grid of steps; the
    intercepts take all that ``share`` leaves.
    """
    told, share = {"mean": mean, "spread": spread, "n": n}, Fraction(share)
    B, cost, held = _calibrated(table, design, radius, B, share=share, **told)
    move, error = _last_step(table, design, radius, B, bits)
    B[-1] += move
    if _is_costly(start, error, cost):
        table.doubt(RATES)
    if held:
        table.doubt(UNSETTLED)
    return B


def share_of_last(strength, start):
    """Return the part of the steps for a last one of the intercepts, whose residuals are whole.

    Noise of a tenth of the rows of the rarest class is little beside what clipping takes of them.
    """
    rarest = float(np.min([prior := probabilities(start[None]), 1 - prior]))
    return float(np.clip((10 / (strength * rarest)) ** 2, *LAST))


def _last_step(table, design, radius, B, bits):
    """Release a Newton step of the intercepts of all rows, clipped by nothing, and its noise."""
    question = LogitIntercepts(design, radius, B, bits)
    told = table.ask(question, INTERCEPT, share=table.remaining)
    (gradient, second), sd = told.value, told.scale
    second, noise = second / question.gain, CLEAR * sd / question.gain
    if B.shape[1] > 1:  # diag(p) - p p^T is at most twice its diagonal
        gradient, second = gradient - gradient.mean(), 2 * second
    second = np.maximum(second, noise)
    return np.clip(gradient / second, -LARGEST, LARGEST), sd / second


def _calibrated(table, design, radius, B, *, mean, spread, n, share):
    """Release by which factor all slopes are too steep, or not steep enough.

    Shapes: B (K, c); mean (c,); B (K, c).
    """
    columns, sd = B.shape[1], max(math.sqrt(spread / B.shape[1]), 1e-3)
    strength = n * table.budget.mu * math.sqrt(share) * sd / 4
    width = sd * float(np.clip(QUIET * strength, *REACH))
    question = LogitCalibration(design, radius, B, GRID["most"], mean, width)
    told = table.ask(question, CALIBRATION, share=share)
    second = told.value[2:] / (THIN * question.gain) * (1 + (columns > 1))
    g, sd = told.value[:2], told.scale
    least = CLEAR * sd / question.gain
    weight = np.maximum(second[0], least)
    middle = np.clip(second[1] / weight, -1.0, 1.0)
    gradient = float(np.sum(g[1] - middle * (g[0] - g[0].mean() * (columns > 1))))
    steep = max(float(np.sum(second[2] - middle * second[1])), least)
    noise = sd * math.sqrt(columns + float(middle @ middle)) / (steep * width)
    off = gradient / (steep * width)
    believed = 1 / (1 + (noise / APART) ** 2)
    likely = noise / math.hypot(noise, APART) * math.exp(min(believed * (off / noise) ** 2 / 2, 99))
    factor = 1 + believed * off / (1 + SETTLED / likely)
    B = B * (kept := float(np.clip(factor, *FACTORS)))
    B[-1] += (1 - kept) * (mean + width * middle)
    cost = believed * (2 * noise) ** 2 - max(1 + off - 2 * noise, 0.0) ** 2
    cost *= steep * width**2 * question.step / n / 2
    return B, cost, factor < STEEP


def _is_costly(start, error, cost):
    """Tell whether errors of intercepts, p (1 - p) / 2 of their squares, or a cost are much."""
    p = probabilities(start[None])[0]
    both = np.append(p, 1 - p) if len(p) == 1 else p
    entropy = -both @ np.log(np.maximum(both, 1e-300))
    return bool(max((p * (1 - p)) @ np.square(error) / 2, cost) > COSTLY * entropy)
