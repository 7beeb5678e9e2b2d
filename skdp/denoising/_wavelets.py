"""An orthonormal basis of differences of averages over the pieces of a spanning tree."""

import heapq
import math

import numpy as np
from scipy.sparse import csr_array

__all__ = ["tree_wavelets"]


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
