"""Graphs whose nodes are the coordinates of a vector, as sparse matrices."""

import numpy as np
from scipy import sparse

__all__ = ["edges_of", "read_graph"]


def read_graph(graph, n_nodes):
    """Return a symmetric adjacency without loops as a CSR matrix of ones.

    Parameters
    ----------
    graph : sparse matrix, ndarray, networkx graph or None
        Entries that are not zero are edges, in either direction. None is the path through all
        coordinates.
    n_nodes : int

    Returns
    -------
    adjacency : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
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
