"""Which bin an entry lies in, or which category it is."""

import numpy as np

__all__ = ["cell_numbers", "n_cells"]


def n_cells(edges):
    """Return the number of cells of every feature.

    Parameters
    ----------
    edges : list of (ndarray of shape (m,) or int)
        Of a numeric feature the upper edges of all bins but the last: it has m + 2 cells, the last
        for what is missing. Of a categorical one the number of its codes.

    Returns
    -------
    n_cells : ndarray of int of shape (n_features,)
    """
    return np.array([len(e) + 2 if np.ndim(e) else int(e) for e in edges], dtype=np.intp)


def cell_numbers(X, edges):
    """Return the cell of every entry, a function of that entry alone.

    Parameters
    ----------
    X : ndarray of shape (n, >= n_features), float64 or float32
        Columns beyond the features are left out.
    edges : list of n_features
        As for :func:`n_cells`.

    Returns
    -------
    cells : ndarray of shape (n, n_features), Fortran-ordered, of the smallest unsigned integers
        Cell i of a numeric feature is ``(e[i-1], e[i]]``; NaN and infinity are in the last. What is
        no code of a categorical feature counts as its last one.
    """
    sizes = n_cells(edges)
    cells = np.empty((len(X), len(edges)), np.min_scalar_type(int(sizes.max(initial=1))), order="F")
    for j, (size, e) in enumerate(zip(sizes, edges, strict=True)):
        x = np.ascontiguousarray(X[:, j], dtype=np.float64)
        if np.ndim(e):
            cells[:, j] = np.where(np.isfinite(x), np.searchsorted(e, x, side="left"), size - 1)
        else:
            code = (x >= 0) & (x < size)
            cells[:, j] = np.where(code, x, size - 1)
    return cells
