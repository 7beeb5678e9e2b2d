"""The distribution over the whole domain whose residuals are nearest to released ones."""

import math

import numpy as np

from skdp.marginals._residuals import helmert
from skdp.scales._simplex import onto_simplex

__all__ = ["Domain"]


class Domain:
    """The whole domain of few attributes, and the maps between its tables and residuals.

    Notes
    -----
    Every axis of a table is multiplied by the orthonormal matrix with the rows ``1 / sqrt(L)`` and
    H: for two levels the Walsh-Hadamard transform over sqrt(2). A residual of the set T is the
    coefficient times ``sqrt(product of L_i, i not in T)``. The axes are taken in two halves, one
    product of matrices for each.
    """

    def __init__(self, layout):
        self.layout = layout
        levels = layout.levels
        parts = np.cumprod((1, *levels))
        half = int(np.argmin(np.abs(np.log(parts) - math.log(parts[-1]) / 2)))
        self.left, self.right = (_tensor_basis(part) for part in (levels[:half], levels[half:]))
        self.cells = int(parts[-1])
        self.places = np.empty(layout.starts[-1], dtype=np.int64)
        strides = (parts[-1] // parts[1:]).astype(np.int64)
        for shape, sets, numbers in layout.groups:
            at = np.zeros((len(sets), 1), dtype=np.int64)
            for size, column in zip(shape, sets.T, strict=True):
                step = strides[column][:, None, None] * np.arange(1, size)
                at = (at[:, :, None] + step).reshape(len(sets), -1)
            self.places[layout.places(numbers)] = at
        others = [np.prod(np.delete(levels, row)) for sets in layout.subsets for row in sets]
        self.stretch = layout.spread(np.sqrt(others))

    def residuals(self, table):
        """Return the residuals of a table of all cells, flat."""
        table = table.reshape(len(self.left), len(self.right))
        return (self.left @ table @ self.right.T).ravel()[self.places] * self.stretch

    def adjoint(self, residuals):
        """Return the transpose of ``residuals``, applied."""
        table = np.zeros(self.cells)
        table[self.places] = residuals * self.stretch
        table = table.reshape(len(self.left), len(self.right))
        return (self.left.T @ table @ self.right).ravel()

    def nearest(self, target, weight, start=None, *, tol=1e-4, max_steps=2000):
        """Return the distribution p of least ``sum weight (residuals(p) - target)^2 / 2``.

        Shapes: target (n_coordinates,); weight (n_coordinates,); start (n_cells,); p (n_cells,).

        Notes
        -----
        Accelerated projected gradients, restarted when the objective rises. The Hessian is
        diagonal in the orthonormal basis, so its largest eigenvalue is known: max of weight times
        stretch^2. The gap is ``g.p - min g`` for the gradient g: the objective is convex, and its
        tangent plane is least at a vertex of the simplex.
        """
        weight = np.concatenate([[0.0], weight[1:]])
        scale = float(np.max(weight * np.square(self.stretch)))
        p = np.full(self.cells, 1 / self.cells) if start is None else start

        def slope(point):
            error = self.residuals(point) - target
            return self.adjoint(weight * error), float(weight @ np.square(error)) / 2

        before, ahead, momentum = p, p, 1.0
        gradient, _ = slope(p)
        for step in range(1, max_steps + 1):
            p = onto_simplex(ahead - gradient / scale)
            if step % 10 == 0:
                there, value = slope(p)
                gap = float(there @ p - there.min())
                if gap <= tol * value + 1e-12 * scale or step == max_steps:
                    break
            if gradient @ (p - before) > 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = p + (momentum - 1) / following * (p - before)
            before, momentum = p, following
            gradient, _ = slope(ahead)
        return p, value, gap


def _tensor_basis(levels):
    """Return the orthonormal basis of tables with these axes, rows in C order."""
    basis = np.ones((1, 1))
    for number in levels:
        axis = np.vstack([np.full(number, number**-0.5), helmert(number)])
        basis = np.kron(basis, axis)
    return basis
