"""Which bin an entry lies in, or which category it is."""

import numpy as np

__all__ = ["cell_numbers", "n_cells"]


def n_cells(edges):
    """Return the number of cells of every feature."""
    return np.array([len(e) + 2 if np.ndim(e) else int(e) for e in edges], dtype=np.intp)


def cell_numbers(X, edges):
    """Return the cell of every entry, a function of that entry alone."""
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
