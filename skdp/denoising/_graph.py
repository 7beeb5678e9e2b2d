"""Graphs whose nodes are the coordinates of a vector, as sparse matrices; random trees in them."""

import math

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

__all__ = ["edges_of", "read_graph", "spanning_forest"]

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
