"""Trend filtering of order one by splitting, where the graph is thin enough for a factorisation."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from skdp.denoising._graph import edges_of

__all__ = ["Splitting", "is_thin"]

MOST = 10**8  # entries of a factor
OVER = 1.7  # relaxation
STIFF = 3.0  # rho, in penalties: few steps for penalties from 0.5 to 64
CHECK = 10  # steps between two looks at the duality gap


def is_thin(adjacency):
    """Tell whether ``L^2`` has a banded order, and so a factor of few entries.

    A grid of a hundred thousand nodes has one; a random graph of that size has not.
    """
    place = np.argsort(reverse_cuthill_mckee(adjacency, symmetric_mode=True))
    i, j = edges_of(adjacency)
    band = np.abs(place[i] - place[j]).max(initial=0)
    return 2 * int(band) * adjacency.shape[0] <= MOST


class Splitting:
    """The problem ``min sum w_i (y_i - x_i)^2 / 2 + lambda |L x|_1``, split by ``z = L x``.

    Parameters
    ----------
    L : csr_array of shape (n, n)
        Laplacian.
    weights : ndarray of shape (n,)

    Notes
    -----
    The alternating direction method of multipliers (Boyd et al. 2011, 3.4.3, over-relaxed)::

        x = (W + rho L^2)^-1 (W y + L (rho z - u))
        q = OVER L x + (1 - OVER) z
        u = the projection of u + rho q onto |u| <= lambda,  z = q + (what it was - u) / rho

    The multiplier u is a point of the dual problem, so the duality gap tells when to stop: x is at
    most ``sqrt(2 gap / min w)`` away from the minimum. Gradient steps would take the square of the
    condition number of L in their number, where this takes one factorisation.
    """

    def __init__(self, L, weights):
        self._L, self._w = L, weights

    def solve(self, y, penalty, u, tolerance, most):
        """Return x and u, from a start u with ``|u| <= penalty``; see :class:`TrendFilter`."""
        L, w, rho = self._L, self._w, STIFF * penalty
        factor = splu(
            (sparse.diags_array(w) + rho * (L @ L)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        z = L @ (y - (L @ u) / w)
        z -= np.clip(z, -penalty / rho, penalty / rho)
        for k in range(1, most + 1):
            x = factor.solve(w * y + L @ (rho * z - u))
            q = OVER * (L @ x) + (1 - OVER) * z
            moved = u + rho * q
            u = np.clip(moved, -penalty, penalty)
            z = (moved - u) / rho
            if k % CHECK == 0:
                fitted, dual = y - x, (L @ u) / w
                # |y|^2 / 2 - |y - D' u|^2 / 2 is the value of the dual problem
                gap = w @ (fitted * fitted / 2 + dual * (dual / 2 - y))
                gap += penalty * np.abs(L @ x).sum()
                if 2 * gap <= w.min() * y.size * tolerance**2:
                    break
        return x, u
