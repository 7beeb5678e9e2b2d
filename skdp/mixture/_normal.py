"""How moments of clipped normal vectors answer to their mean, scale and shape.

Let z be standard normal in d dimensions, t = |z|^2, and clip z at the length rho.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtri, gammaln

__all__ = ["Clipped", "quantile"]

SCALES = np.exp2(np.linspace(-6, 6, 1201))  # of sigma^2


def quantile(d, p):
    """Return the p-quantile of the squared length of a standard normal vector."""
    return float(chdtri(d, 1 - p))


@dataclass(frozen=True)
class Clipped:
    """Normal vectors clipped at the length ``rho``."""

    d: int
    rho: float

    @property
    def mean(self):
        """Derivative of ``E[z min(1, rho/|z|)]`` by the mean.

        By Stein's identity ``P(t < rho^2) + (1 - 1/d) rho E[1/|z|; t > rho^2]``.
        """
        d, square = self.d, self.rho**2
        if d == 1:
            return float(chdtr(1, square))
        inverse = math.exp(gammaln((d - 1) / 2) - gammaln(d / 2)) / math.sqrt(2)
        tail = 1 - chdtr(d - 1, square)
        return float(chdtr(d, square) + (d - 1) / d * self.rho * inverse * tail)

    def second(self, variance=1.0):
        """Return ``E[min(s t / rho^2, 1)]`` for the variance s: the trace of the second moment."""
        d, edge = self.d, self.rho**2 / variance
        return d / edge * chdtr(d + 2, edge) + 1 - chdtr(d, edge)

    def variance(self, trace):
        """Return the variance at which the trace is as given, inside [2^-6, 2^6]."""
        return float(np.interp(trace, self.second(SCALES), SCALES))

    @property
    def trace(self):
        """Derivative of the trace by the logarithm of the variance: ``E[s t / rho^2; inside]``."""
        return float(self.d / self.rho**2 * chdtr(self.d + 2, self.rho**2))

    @property
    def shape(self):
        """Derivative of ``E[u u^T]`` by a traceless change of the covariance.

        Let ``u u^T = min(t / rho^2, 1) z z^T / t``. The score of the covariance I + E at I is
        ``z^T E z / 2`` (no trace), and on the sphere ``E[v v^T (v^T E v)] = 2 E / (d (d + 2))``.
        So the derivative is ``E[min(t^2 / rho^2, t)] / (d (d+2))``; it grows as rho shrinks, to
        ``1 / (d + 2)``.
        """
        d, edge = self.d, self.rho**2
        inside = d * (d + 2) * chdtr(d + 4, edge) / edge
        return float((inside + d * (1 - chdtr(d + 2, edge))) / (d * (d + 2)))
