"""Newton steps of a logistic regression: gradients that are released with second derivatives."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.kernel._gradients import LogitStep

__all__ = ["GRADIENT", "LARGEST", "NewtonStep", "floored", "inverse", "release_step"]

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
