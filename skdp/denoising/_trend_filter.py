"""Graph trend filtering: least squares with an l1 penalty on differences along the edges."""

import math

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from skdp.denoising._graph import edges_of

__all__ = ["TrendFilter"]

JOINED = 1e-3  # noise scales below which neighbours count as equal
CHECK = 25  # steps between two looks at the duality gap


class TrendFilter:
    """The problem ``min sum w_i (y_i - x_i)^2 / 2 + lambda |D x|_1`` on one graph.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    order : {0, 1}
        D is the incidence matrix (pieces of constant value) or the Laplacian (linear pieces).
    weights : ndarray of shape (n,)
        The w above, of mean about one: inverse variances.

    Notes
    -----
    The dual is a box problem, ``min |y - W^-1 D' u|^2_W`` over ``|u| <= lambda``, and ``x = y -
    W^-1 D' u``. It is solved by accelerated projected gradient steps (FISTA) that restart where
    momentum points uphill, of length 1 / ``|D W^-1 D'|``, which is at most 2 max degree / min w for
    the incidence matrix and the square of the first factor for the Laplacian.
    """

    def __init__(self, adjacency, order, weights):
        i, j = edges_of(adjacency)
        n, m = adjacency.shape[0], i.size
        at, sign = np.repeat(np.arange(m), 2), np.tile([1.0, -1.0], m)
        D = sparse.csr_array((sign, (at, np.stack([i, j], axis=1).ravel())), shape=(m, n))
        largest = 2.0 * np.diff(adjacency.indptr).max(initial=0)
        if order == 1:
            D, largest = (D.T @ D).tocsr(), largest**2
        self.order, self.weights = order, weights
        self._D, self._Dt, self._edges, self._n = D, D.T.tocsr(), (i, j), n
        self._step = weights.min() / max(largest, 1.0)

    def solve(self, y, penalty, u=None, *, tolerance=1e-3, most=3000):
        """Return x and the dual vector u, which the next, larger or smaller penalty can start from.

        Parameters
        ----------
        y : ndarray of shape (n,)
        penalty : float
        u : ndarray, default=None
            Where to start.
        tolerance : float, default=1e-3
            Root mean square distance to the minimum, in units of y: from the duality gap.
        most : int, default=3000
            Largest number of steps.

        Returns
        -------
        x : ndarray of shape (n,)
        u : ndarray
        """
        D, Dt, step, w = self._D, self._Dt, self._step, self.weights
        u = np.zeros(D.shape[0]) if u is None else np.clip(u, -penalty, penalty)
        v, t = u, 1.0
        for k in range(most):
            x = y - (Dt @ v) / w
            slope = D @ x
            new = np.clip(v + step * slope, -penalty, penalty)
            if (v - new) @ (new - u) > 0:  # momentum points uphill
                t = 1.0
            later = (1 + math.sqrt(1 + 4 * t * t)) / 2
            v = new + (t - 1) / later * (new - u)
            u, t = new, later
            if k % CHECK == CHECK - 1:
                x = y - (Dt @ u) / w
                slope = D @ x
                gap = penalty * np.abs(slope).sum() - u @ slope
                if 2 * gap <= w.min() * self._n * tolerance**2:  # w |x - x*|^2 <= 2 gap
                    break
        return y - (Dt @ u) / w, u

    def smooth(self, x, unit):
        """Return x with nearly equal neighbours made equal, and D_i x_i at the minimum.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Near a minimum.
        unit : float
            Typical noise scale.

        Returns
        -------
        slope : ndarray of shape (n,)

        Notes
        -----
        Tibshirani and Taylor (2012): x projects y on the null space of the rows of D that vanish.
        Incidence: means over the connected pieces of equal value, ``w_i / sum of w in the piece``.
        Laplacian: functions harmonic at the nodes where it vanishes; their dimension is the number
        of the other nodes, plus one for each component of the graph that has none. The trace
        is all that is known then, and it is spread evenly.
        """
        i, j = self._edges
        if self.order == 0:
            equal = np.abs(x[i] - x[j]) <= JOINED * unit
            piece = _components(i[equal], j[equal], self._n)
            return self.weights / np.bincount(piece, weights=self.weights)[piece]
        bent = np.abs(self._D @ x) > JOINED * unit
        component = _components(i, j, self._n)
        straight = np.bincount(component, weights=bent) == 0
        return np.full(self._n, (bent.sum() + straight.sum()) / self._n)


def _components(i, j, n):
    graph = sparse.csr_array((np.ones(i.size), (i, j)), shape=(n, n))
    return connected_components(graph, directed=False)[1]
