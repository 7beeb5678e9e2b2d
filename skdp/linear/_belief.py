"""What is believed of the error of a model, and the gain of a step along its gradient."""

import math

import numpy as np

__all__ = ["Belief"]

WIDE = 4.0  # times the size of the coefficients that the first gradient tells
SURPRISE = 4.0  # times the square of a gradient that is expected: the belief was too sure
FAINT = 0.25  # of the noise of the first gradient: what noise may hide


class Belief:
    """Independent normal errors along the eigenvectors of a released matrix.

    Steps b <- b + K h along noisy gradients h = S (b* - b) + noise, of which S is known but for the
    noise of its release: H = S + E. If the error b* - b has independent entries of variances m
    along the eigenvectors of H, with eigenvalues l, then h has the mean l (b* - b) and, beside
    that of its own noise, the variance of E (b* - b): (sum m + m_i) sd^2 / 2, sd the noise on the
    diagonal of H. The gain k = l m / (l^2 m + all of that) is that of least variance (Kalman).
    So the first steps are as short as what is not known of S demands, the last ones are averages
    weighted by precision, and where little is known of the coefficients they shrink towards 0.

    Notes
    -----
    Post-processing. That E is the same in all steps, and not independent of the errors, is left
    out; a step does not diverge for it: with many coordinates of like variance the largest gain
    k l is 1, and that for small l is 1 / (sd sqrt(2 K)), beside |E| of about sd sqrt(2 K).
    """

    def __init__(self, H, sd):
        values, self.vectors = np.linalg.eigh(H)
        K, mean, squares = len(H), float(np.mean(values)), float(values @ values)
        self._squares = max(squares - K * (K + 1) / 2 * sd * sd, K * mean * mean, 1e-300)
        self.values = np.maximum(values, 0.0)
        self._sd, self.variances = sd, None

    def step(self, gradient, sd):
        """Return by how much to move the coefficients for a gradient with noise ``sd``."""
        h, v = self.vectors.T @ gradient, sd * sd
        if self.variances is None:
            size = max(h @ h - len(h) * v, FAINT * len(h) * v) / self._squares
            self.variances = np.full(len(h), WIDE * size)
        m, values = self._wide_enough(h, v), self.values
        unknown = self._unknown(m, v)
        gain = values * m / np.maximum(values**2 * m + unknown, 1e-300)
        self.variances = np.square(1 - gain * values) * m + np.square(gain) * unknown
        return self.vectors @ (gain * h)

    def _unknown(self, m, v):
        return v + self._sd**2 / 2 * (m.sum() + m)

    def _wide_enough(self, h, v):
        """Return the variances, larger ones if a gradient is far longer than they explain."""
        m = self.variances
        expected = np.sum(np.square(self.values) * m + self._unknown(m, v))
        surprise = h @ h - SURPRISE * expected
        return m + max(surprise, 0.0) / self._squares

    def covariance(self, square=0.0):
        """Return the covariance of the error of the coefficients.

        ``square`` is the variance of a gradient of this table, of all its like, per unit of l.
        """
        tau = self._sd * math.sqrt(2 * len(self.values))
        m = self.variances + square * self.values / np.square(self.values + tau)
        return (self.vectors * m) @ self.vectors.T
