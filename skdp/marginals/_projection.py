"""Projection of residuals onto what tables of real rows can have, as far as the size allows."""

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
from skdp.marginals._simplex import Domain
from skdp.scales._simplex import onto_simplex

__all__ = ["Cones", "Elliptope", "Polytope", "Simplices"]

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
