"""Projection of residuals onto what tables of real rows can have, as far as the size allows."""

import math
from itertools import combinations

import numpy as np

from skdp.marginals._cones import (
    LARGEST_ORDER,
    CellBlocks,
    MomentBlock,
    PairedBlocks,
    moments_order,
    nearest_in_cones,
)
from skdp.marginals._layout import Layout, largest_tables, set_numbers
from skdp.marginals._pairs import PairMatrix, all_pairs, nearest_correlation
from skdp.marginals._residuals import helmert
from skdp.marginals._shrink import row_count
from skdp.scales._column_noise import onto_simplex

__all__ = ["Cones", "Domain", "Elliptope", "Polytope", "Simplices"]

LARGEST_PAIRED = 128  # attributes of paired blocks


class Elliptope:
    """Binary attributes, all pairs: the nearest correlation matrix, in the metric of the noise."""

    def __init__(self, measurement):
        self.pairs, self.dual = PairMatrix(measurement.layout, measurement.sd), None

    @staticmethod
    def fits(layout):
        """Whether the layout is what this class needs."""
        return layout.binary and len(layout.subsets) == 3 and all_pairs(layout)

    def __call__(self, values):
        X, n = self.pairs.moments(values)
        nearest = nearest_correlation(X, self.pairs.precision, self.dual)
        self.dual = nearest.dual
        return self.pairs.residuals(nearest.matrix, n)


class Polytope:
    """Few cells in the whole domain: the nearest distribution on it.

    The metric is the geometric mean of that of the noise and that of the loss. The number of rows
    times the last distribution is ``joint``, of shape levels.
    """

    def __init__(self, measurement):
        layout = measurement.layout
        self.domain, self.distribution, self.joint = Domain(layout), None, None
        metric = np.sqrt(measurement.weights) / measurement.sd
        self.weight = layout.spread(metric / metric.max())

    def __call__(self, values):
        n = row_count(values)
        p, _, _ = self.domain.nearest(values / n, self.weight, self.distribution)
        self.distribution = p
        self.joint = n * p.reshape(self.domain.layout.levels)
        return n * self.domain.residuals(p)


class Simplices:
    """Single attributes: the nearest nonnegative table of each."""

    def __init__(self, measurement):
        layout = measurement.layout
        self.tables = [
            (helmert(shape[0]), layout.places(numbers))
            for shape, _, numbers in layout.groups
            if len(shape) == 1
        ]

    def __call__(self, values):
        n, moved = row_count(values), values.copy()
        moved[0] = n
        for H, places in self.tables:
            moved[places] = onto_simplex(values[places] @ H + n / H.shape[1], n) @ H.T
        return moved


class Cones:
    """Semidefinite matrices of moments and nonnegative cells, by alternating directions.

    Notes
    -----
    The metric is that of the loss: in it no projection is farther from a truth that is in the
    cones. Pairs that were not measured are there, with the weight zero. The body is

    - for binary sets of three, all of them there: the paired blocks;
    - otherwise the second moments, up to matrices of order 600, and for more than pairs the cells.
    """

    def __init__(self, measurement, *, nonnegative=False):
        layout = measurement.layout
        whole, self.at = _with_all_pairs(layout)
        self.weight = np.zeros(whole.starts[-1])
        self.weight[self.at] = layout.spread(measurement.weights)
        self.weight /= self.weight.max()
        k, d = len(layout.subsets) - 1, len(layout.subsets[1])
        self.blocks, self.cells = [], None
        paired = k >= 3 and layout.binary and d <= LARGEST_PAIRED
        if paired and len(layout.subsets[3]) == d * (d - 1) * (d - 2) // 6:
            self.blocks.append(PairedBlocks(whole, np.float32))
        elif all_pairs(whole) and moments_order(layout) <= LARGEST_ORDER:
            self.blocks.append(MomentBlock(whole))
        if nonnegative or not self.blocks or k > 3 or (k == 3 and not paired):
            self.cells = CellBlocks(whole, [sets for _, sets in largest_tables(layout)])
            self.blocks.append(self.cells)
        self.nonnegative = nonnegative
        self.steps = 150 if k < 3 else 60 if d <= 40 else 40

    def __call__(self, values):
        n, y = row_count(values), np.zeros(len(self.weight))
        y[self.at] = values / n
        y[0] = 1.0
        x = nearest_in_cones(y, self.weight, self.blocks, tol=1e-4, max_steps=self.steps)
        if self.nonnegative:
            least = min(float(self.cells.forward(x).min()) - 1e-12, 0.0)
            x[1:] /= 1 - least
        return n * x[self.at]


def _with_all_pairs(layout):
    """Return the layout with all pairs of its attributes, and where its coordinates are in it."""
    columns = layout.subsets[1][:, 0]
    if len(layout.subsets) < 3 or all_pairs(layout) or moments_order(layout) > LARGEST_ORDER:
        return layout, np.arange(layout.starts[-1])
    pairs = np.array(list(combinations(columns.tolist(), 2)))
    whole = Layout(layout.levels, (*layout.subsets[:2], pairs, *layout.subsets[3:]))
    at = np.empty(layout.starts[-1], dtype=np.int64)
    for _, sets, numbers in layout.groups:
        at[layout.places(numbers)] = whole.places(set_numbers(whole, sets))
    return whole, at


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
