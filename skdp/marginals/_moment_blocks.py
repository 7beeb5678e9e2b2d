"""Second moments of attributes with any levels, and the cells of tables, as convex cones."""

from itertools import pairwise

import numpy as np

from skdp.marginals._paired_blocks import positive_part
from skdp.marginals._parities import coordinates, helmert, synthesis, transform

__all__ = ["LARGEST_ORDER", "CellBlocks", "MomentBlock", "moments_order"]

LARGEST_ORDER = 600  # of a matrix of second moments


def moments_order(layout):
    """Return the order of the matrix of second moments of the attributes that are there."""
    return 1 + sum(layout.levels[i] - 1 for i in layout.subsets[1][:, 0])


class MomentBlock:
    """The matrix ``E v v'`` of ``v = (1, H_i e(x_i) for every i)``, e the unit vectors of levels.

    Parameters
    ----------
    layout : Layout
        With all pairs of the attributes that are there.

    Notes
    -----
    One-hot codes are ``H' (H e) + 1 / L``, so this matrix is positive semidefinite exactly if
    that of the codes is; but no row of it follows from others. The blocks (i, j) are the
    residuals of pairs, row 0 those of single attributes. The block (i, i) is ``H Diag(p) H'`` for
    the table ``p = H' r + 1 / L``: of ``Diag(u)`` with ``u = H' r`` of sum 0 it is the part
    orthogonal to ones, of squared length ``(1 - 2 / L) |r|^2``. So the Gram matrix is diagonal.
    """

    def __init__(self, layout):
        self.columns = layout.subsets[1][:, 0]
        free = np.array(layout.levels)[self.columns] - 1
        self.starts = 1 + np.concatenate([[0], np.cumsum(free)])
        self.order, self.size = int(self.starts[-1]), int(layout.starts[-1])
        self.number = np.zeros((self.order, self.order), dtype=np.int64)
        singles = np.arange(1, self.order)
        self.number[0, 1:] = self.number[1:, 0] = singles
        pairs = np.searchsorted(self.columns, layout.subsets[2])
        first = 1 + len(self.columns)
        for k, (i, j) in enumerate(pairs.tolist()):
            a, b = slice(*self.starts[i : i + 2]), slice(*self.starts[j : j + 2])
            at = np.arange(*layout.starts[first + k : first + k + 2]).reshape(free[i], free[j])
            self.number[a, b], self.number[b, a] = at, at.T
        self.corner = np.zeros(self.number.shape, dtype=bool)
        self.bases = []
        for i, levels in enumerate(free + 1):
            here = slice(*self.starts[i : i + 2])
            self.corner[here, here] = True
            self.bases.append((here, helmert(levels)))
        counts = np.bincount(self.number[~self.corner], minlength=self.size).astype(float)
        counts[singles] += np.repeat(1 - 2 / (free + 1), free)
        self.gram = counts

    def forward(self, x):
        """Return the matrix, shape (N, N), of residuals."""
        M = x[self.number]
        for here, H in self.bases:
            p = x[here] @ H + x[0] / H.shape[1]
            M[here, here] = (H * p) @ H.T
        return M

    def adjoint(self, Z):
        """Return the transpose of the linear part of ``forward``, applied."""
        outside = ~self.corner
        total = np.bincount(self.number[outside], Z[outside], self.size)
        for here, H in self.bases:
            total[here] += H @ np.einsum("al,ab,bl->l", H, Z[here, here], H)
            total[0] += np.trace(Z[here, here]) / H.shape[1]
        return total

    def onto(self, W):
        """Return the positive part."""
        return positive_part(W)


class CellBlocks:
    """The cells of tables, each table times its number of cells.

    Parameters
    ----------
    layout : Layout
        Has these sets and their subsets.
    groups : list of ndarray
        Sets of attributes, those of one shape together, each an array of shape (m, k).
    """

    def __init__(self, layout, groups):
        self.size = int(layout.starts[-1])
        self.index = [coordinates(layout, sets) for sets in groups]
        self.shapes = [index.shape for index in self.index]
        ends = np.cumsum([0, *(index.size for index in self.index)])
        self.slices = [slice(a, b) for a, b in pairwise(ends)]
        self.gram = np.zeros(self.size)
        for index in self.index:
            cells = index[0].size
            inside = np.indices(index.shape[1:]) > 0
            levels = np.reshape(index.shape[1:], (-1, *(1,) * (index.ndim - 1)))
            squares = cells**2 / np.prod(np.where(inside, 1, levels), axis=0)
            self.gram += np.bincount(
                index.ravel(), np.broadcast_to(squares, index.shape).ravel(), self.size
            )

    def forward(self, x):
        """Return the cells of all tables, flat."""
        parts = []
        for index in self.index:
            tables = transform(x[index], [synthesis(n) for n in index.shape[1:]])
            parts.append(tables.ravel() * index[0].size)
        return np.concatenate(parts)

    def adjoint(self, Z):
        """Return the transpose of ``forward``, applied."""
        total = np.zeros(self.size)
        for index, here in zip(self.index, self.slices, strict=True):
            tables = Z[here].reshape(index.shape) * index[0].size
            back = transform(tables, [synthesis(n).T for n in index.shape[1:]])
            total += np.bincount(index.ravel(), back.ravel(), self.size)
        return total

    def onto(self, W):
        """Return the cells that are not negative, the others put to zero."""
        return np.maximum(W, 0.0)
