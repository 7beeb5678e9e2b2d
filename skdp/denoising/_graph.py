"""Graphs whose nodes are coordinates of a vector: random trees, wavelets on them, trend filters."""

import heapq
import math

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
    reverse_cuthill_mckee,
)
from scipy.sparse.linalg import splu

from skdp.utils._threads import one_thread

WORDS = 2**14


def read_graph(graph, n_nodes):
    """Return a symmetric adjacency without loops as a CSR matrix of ones.

    Shapes: adjacency (n_nodes, n_nodes).
    """
    if graph is None:
        ones = np.ones(max(n_nodes - 1, 0))
        graph = sparse.diags_array([ones], offsets=[1], shape=(n_nodes, n_nodes))
    elif hasattr(graph, "number_of_nodes"):
        from networkx import to_scipy_sparse_array

        graph = to_scipy_sparse_array(graph, weight=None)
    graph = sparse.coo_array(graph)
    if graph.shape != (n_nodes, n_nodes):
        raise ValueError(
            f"the graph must have one node per coordinate, {n_nodes}. Got an adjacency of shape "
            f"{graph.shape}."
        )
    edge = (graph.data != 0) & (graph.row != graph.col)
    i, j = graph.row[edge], graph.col[edge]
    both = (np.ones(2 * i.size), (np.append(i, j), np.append(j, i)))
    adjacency = sparse.csr_array(both, shape=(n_nodes, n_nodes))
    adjacency.sum_duplicates()
    adjacency.data[:] = 1.0
    return adjacency


def edges_of(adjacency):
    """Return the two ends of every edge, i < j."""
    upper = sparse.triu(adjacency, k=1, format="coo")
    return upper.row.astype(np.int64), upper.col.astype(np.int64)


def spanning_forest(adjacency, entropy):
    """Return the parents of a random spanning forest; roots are their own parents.

    Shapes: adjacency (n, n); parent (n,).

    Notes
    -----
    Wilson's algorithm (1996): every tree is equally likely, so a cut of the graph loses in
    expectation only the effective resistance of its edges. Walks on long cycles take long; after
    ``60 n log n`` steps the answer is the least tree of random edge weights in its place.
    """
    n = adjacency.shape[0]
    roots = np.unique(connected_components(adjacency, directed=False)[1], return_index=True)[1]
    parent = _walks(adjacency, roots, entropy, 1000 + int(60 * n * math.log(n + 1)))
    return _least_tree(adjacency, roots, entropy) if parent is None else parent


def _walks(adjacency, roots, entropy, steps):
    first = adjacency.indptr.tolist()
    degree = np.diff(adjacency.indptr).tolist()
    neighbour = adjacency.indices.tolist()
    parent = [-1] * adjacency.shape[0]
    for root in roots.tolist():
        parent[root] = root
    done = [p >= 0 for p in parent]
    words, at = [], 0
    for start in range(len(parent)):
        node = start
        while not done[node]:
            if at == len(words):
                steps -= at
                if steps < 0:
                    return None
                words, at = (entropy.words(WORDS) >> np.uint64(33)).tolist(), 0
            parent[node] = node = neighbour[first[node] + words[at] * degree[node] // 2**31]
            at += 1
        node = start
        while not done[node]:
            done[node] = True
            node = parent[node]
    return np.array(parent)


def _least_tree(adjacency, roots, entropy):
    i, j = np.asarray(edges_of(adjacency), dtype=np.int32)  # trees of old scipy take no others
    weight = 1.0 + (entropy.words(i.size) >> np.uint64(11)).astype(float)
    tree = minimum_spanning_tree(sparse.csr_array((weight, (i, j)), shape=adjacency.shape))
    parent = np.arange(adjacency.shape[0])
    for root in roots:
        order, before = breadth_first_order(tree, root, directed=False)
        parent[order[1:]] = before[order[1:]]
    return parent


def tree_wavelets(parent):
    """Return the basis of a spanning forest.

    Shapes: parent (n,); basis (n, n).

    Notes
    -----
    After Sharpnack, Singh, Krishnamurthy (2013). A piece of the tree is cut at its centroid, which
    goes with the smallest branch, so every branch has at most half of the nodes, up to one. The
    branches A, B, ... are merged two by two, and each merge gives ``c (1_A / |A| - 1_B / |B|)``
    with ``c = sqrt(|A| |B| / (|A| + |B|))``: of length one, orthogonal to what is constant on A
    and B. A signal that changes over s edges of the tree has O(s log(degree) log(n)) coefficients
    other than zero.
    """
    pieces, neighbours = _pieces(parent)
    n_constant = len(pieces)
    rows = [(piece, np.full(len(piece), len(piece) ** -0.5)) for piece in pieces]
    alive = [0] * len(parent)  # the piece that a node is in
    stamp = 0
    while pieces:
        piece = pieces.pop()
        if len(piece) == 1:
            continue
        stamp += 1
        branches = _branches(piece, neighbours, alive, stamp)
        pieces += branches
        rows += _merges(branches)
    nodes = np.concatenate([np.asarray(part, dtype=np.int32) for part, _ in rows])
    values = np.concatenate([value for _, value in rows])
    ends = np.cumsum([0] + [len(part) for part, _ in rows])
    return csr_array((values, nodes, ends), shape=(len(parent),) * 2), n_constant


def _pieces(parent):
    """Return the trees of a forest as lists of nodes, and the neighbours of every node."""
    neighbours = [[] for _ in parent]
    roots = []
    for node, above in enumerate(parent.tolist()):
        if node == above:
            roots.append(node)
        else:
            neighbours[node].append(above)
            neighbours[above].append(node)
    seen = [False] * len(neighbours)
    pieces = []
    for root in roots:
        piece = [root]
        seen[root] = True
        for node in piece:
            for other in neighbours[node]:
                if not seen[other]:
                    seen[other] = True
                    piece.append(other)
        pieces.append(piece)
    return pieces, neighbours


def _branches(piece, neighbours, alive, stamp):
    """Cut a piece at its centroid; return the branches, the centroid with the smallest."""
    for node in piece:
        alive[node] = stamp
    order, above = [piece[0]], {piece[0]: -1}
    for node in order:
        for other in neighbours[node]:
            if alive[other] == stamp and other != above[node]:
                above[other] = node
                order.append(other)
    size, half = dict.fromkeys(order, 1), len(order) / 2
    centroid = order[0]
    for node in reversed(order):
        if size[node] >= half:
            centroid = node
            break
        size[above[node]] += size[node]
    alive[centroid] = 0
    branches = []
    for start in neighbours[centroid]:
        if alive[start] != stamp:
            continue
        branch = [start]
        alive[start] = 0
        for node in branch:
            for other in neighbours[node]:
                if alive[other] == stamp:
                    alive[other] = 0
                    branch.append(other)
        branches.append(branch)
    if len(branches) == 1:
        return [*branches, [centroid]]
    min(branches, key=len).append(centroid)
    return branches


def _merges(branches):
    """Yield the wavelets that merge branches, the two smallest first."""
    heap = [(len(branch), k, branch) for k, branch in enumerate(branches)]
    heapq.heapify(heap)
    for k in range(len(heap), 2 * len(heap) - 1):
        a, _, A = heapq.heappop(heap)
        b, _, B = heapq.heappop(heap)
        c = math.sqrt(a * b / (a + b))
        yield A + B, np.repeat([c / a, -c / b], [a, b])
        heapq.heappush(heap, (a + b, k, A + B))


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
