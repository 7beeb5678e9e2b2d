"""Graph trend filtering: least squares with an l1 penalty on differences along the edges."""

import math

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from skdp.denoising._graph import edges_of
from skdp.utils._threads import one_thread

__all__ = ["TrendFilter"]

JOINED = 1e-3  # noise scales below which neighbours count as equal
TOLERANCES = 1e-3, 1e-2  # of orders 0 and 1, whose pieces are told by x and by u
CHECK, CHECK_SPLIT = 25, 10  # steps between two looks at the duality gap
MOST = 10**8  # entries of a factor
OVER = 1.7  # relaxation
STIFF = 3.0  # rho, in penalties: few steps for penalties from 0.5 to 64


class TrendFilter:
    """The problem ``min sum w_i (y_i - x_i)^2 / 2 + lambda |D x|_1`` on one graph.

    Notes
    -----
    The dual is a box problem, ``min |y - W^-1 D' u|^2_W`` over ``|u| <= lambda``, and ``x = y -
    W^-1 D' u``. It is solved by accelerated projected gradient steps (FISTA) that restart where
    momentum points uphill, of length 1 / ``|D W^-1 D'|``, which is at most 2 max degree / min w for
    the incidence matrix and the square of the first factor for the Laplacian. For the Laplacian
    these steps are small, so a graph that is thin enough is left to :class:`Splitting`.
    """

    def __init__(self, adjacency, order, weights):
        i, j = edges_of(adjacency)
        n, m = adjacency.shape[0], i.size
        ends, sign = np.stack([i, j], axis=1).ravel().astype(np.int32), np.tile([1.0, -1.0], m)
        D = sparse.csr_array((sign, ends, np.arange(0, 2 * m + 1, 2, dtype=np.int32)), shape=(m, n))
        largest = 2.0 * np.diff(adjacency.indptr).max(initial=0)
        if order == 1:
            D, largest = (D.T @ D).tocsr(), largest**2
        self.order, self.weights = order, weights
        self._D, self._Dt, self._edges, self._n = D, D.T.tocsr(), (i, j), n
        self._step = weights.min() / max(largest, 1.0)
        self._splitting = Splitting(D, weights) if order == 1 and is_thin(adjacency) else None

    def solve(self, y, penalty, u=None, *, tolerance=None, most=None):
        """Return x and the dual vector u.

        Which the next, larger or smaller penalty can start from.
        """
        tolerance = TOLERANCES[self.order] if tolerance is None else tolerance
        u = np.zeros(self._D.shape[0]) if u is None else np.clip(u, -penalty, penalty)
        with one_thread():  # many short vector operations: threads only wait
            if self._splitting is None:
                return self._descend(y, penalty, u, tolerance, most or 3000)
            return self._splitting.solve(y, penalty, u, tolerance, most or 600)

    def _descend(self, y, penalty, u, tolerance, most):
        D, Dt, step, w = self._D, self._Dt, self._step, self.weights
        v, t = u.copy(), 1.0
        for k in range(most):
            x = y - (Dt @ v) / w
            new = D @ x
            new *= step
            new += v
            np.clip(new, -penalty, penalty, out=new)
            moved = new - u
            v -= new
            if v @ moved > 0:  # momentum points uphill
                t = 1.0
            later = (1 + math.sqrt(1 + 4 * t * t)) / 2
            moved *= (t - 1) / later
            u, v, t = new, np.add(new, moved, out=v), later
            if k % CHECK == CHECK - 1:
                x = y - (Dt @ u) / w
                slope = D @ x
                gap = penalty * np.abs(slope).sum() - u @ slope
                if 2 * gap <= w.min() * self._n * tolerance**2:  # w |x - x*|^2 <= 2 gap
                    break
        return y - (Dt @ u) / w, u

    def slopes(self, x, u, penalty):
        """Return D_i x_i at the minimum.

        Notes
        -----
        Tibshirani and Taylor (2012): x projects y on the null space of the rows of D that vanish.
        Incidence: means over the connected pieces of equal value, ``w_i / sum of w in the piece``.
        Laplacian: functions harmonic at the nodes where it vanishes, which are those of ``|u| <
        lambda``; their dimension is the number of the other nodes, plus one for each component of
        the graph that has none. The trace is all that is known then. Every slope is at most
        one (P is a projection in the metric of W), so the estimate of the risk is largest where the
        noise is largest: there the trace goes. That is exact for equal noise, and no
        underestimate otherwise.
        """
        i, j = self._edges
        if self.order == 0:
            equal = np.abs(x[i] - x[j]) <= JOINED
            piece = _components(i[equal], j[equal], self._n)
            return self.weights / np.bincount(piece, weights=self.weights)[piece]
        bent = np.abs(u) > (1 - 1e-9) * penalty
        component = _components(i, j, self._n)
        straight = np.bincount(component, weights=bent) == 0
        trace = int(bent.sum() + straight.sum())
        if self.weights.min() == self.weights.max():
            return np.full(self._n, trace / self._n)
        return np.bincount(np.argsort(self.weights)[:trace], minlength=self._n).astype(float)


def _components(i, j, n):
    graph = sparse.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    return connected_components(graph, directed=False)[1]


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
            if k % CHECK_SPLIT == 0:
                fitted, dual = y - x, (L @ u) / w
                # |y|^2 / 2 - |y - D' u|^2 / 2 is the value of the dual problem
                gap = w @ (fitted * fitted / 2 + dual * (dual / 2 - y))
                gap += penalty * np.abs(L @ x).sum()
                if 2 * gap <= w.min() * y.size * tolerance**2:
                    break
        return x, u
