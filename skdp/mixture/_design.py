"""Where to clip and how to weigh the moments: the least expected loss of log-likelihood."""

import numpy as np

from skdp.kernel._mixtures import FirstWeight
from skdp.mixture._normal import Clipped, quantile

__all__ = ["design", "noise_loss"]

QUANTILES = np.linspace(0.5, 0.98, 13)  # of the length of normal rows
FOREIGN = 0.02  # nats that are lost for every clipped row of components that are not normal


def design(kind, k, d, signal):
    """Return the reach and the weights for components that are close to normal.

    Notes
    -----
    Let the noise of the second moments have standard deviation s per row of a component, that of
    numbers and vectors s / a0 and s / a1; s is proportional to ``sqrt(1 + a0^2 + a1^2)``. To second
    order the loss per row is, for a component with a relative error e of its number, m of its mean,
    l of its log scale and E of its shape, ``e^2/2 + |m|^2/2 + d l^2/4 + |E|^2/4``. Its mean is
    ``(1 + a0^2 + a1^2) (A / a0^2 + B / a1^2 + C)``, least for ``a0^2 = sqrt(A/C)`` and
    ``a1^2 = sqrt(B/C)``, where it is ``(sqrt A + sqrt B + sqrt C)^2`` over the squared signal.
    Small reaches have the least noise, but what they tell of the covariance rests on the shape of a
    normal distribution: so the reach grows with the signal.
    """
    _, reach, A, B, C = _best(kind, k, d, signal)
    number, vector = (min(max((x / C) ** 0.25, 0.1), 2.0) for x in (A, B))
    return float(reach), FirstWeight(number, vector)


def noise_loss(kind, k, d, signal):
    """Return the expected loss of log-likelihood per row of :func:`design`, in nats."""
    return _best(kind, k, d, signal)[0]


def _best(kind, k, d, signal):
    choices = []
    for p in QUANTILES:
        clipped = Clipped(d, quantile(d, p) ** 0.5)
        A, B, C = _noise(kind, k, clipped)
        loss = (A**0.5 + B**0.5 + C**0.5) ** 2 / max(signal, 1.0) ** 2 + FOREIGN * (1 - p)
        choices.append((loss, clipped.rho, A, B, C))
    return min(choices)


def _noise(kind, k, clipped):
    d, entries = clipped.d, 1 if kind == "spherical" else clipped.d
    scale = d / 4 / clipped.trace**2
    free = {"spherical": 0, "diag": d - 1}.get(kind, d - 1 + d * (d - 1) / 2)
    A = 0.5 + scale * clipped.second() ** 2
    B = d / 2 * (clipped.rho / clipped.mean) ** 2
    C = entries * scale + free / 4 / clipped.shape**2
    return A, B, C / k**2 if kind == "tied" else C
