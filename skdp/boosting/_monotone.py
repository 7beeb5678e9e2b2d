"""Terms that rise or fall with a feature: the nearest such ones, free post-processing."""

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import isotonic_regression

from skdp.additive._smooth import term_priors

ROUNDS = 20  # of the projections of both sides in turn


@dataclass(frozen=True)
class Monotone:
    """Of every feature 1 if predictions rise with it, -1 if they fall, 0 if nothing is asked."""

    signs: tuple

    def of_features(self, counts, ordered):
        """Return the priors of the terms of features."""
        priors = term_priors(counts, ordered)
        return [
            self._bent(prior, (j,), (len(number) - 1,), (len(number),), number, ordered)
            for j, (prior, number) in enumerate(zip(priors, counts, strict=True))
        ]

    def of_pairs(self, pairs, priors, expected, ordered):
        """Return the priors of the terms of pairs."""
        bent = []
        for pair, prior, parts in zip(pairs, priors, expected, strict=True):
            maps = pair.left, pair.right
            sizes = tuple(int(cells.max()) + 1 for cells in maps)
            ends = tuple(size - 1 for size in sizes)  # but for missing entries
            bent.append(self._bent(prior, (pair.first, pair.second), ends, sizes, parts, ordered))
        return bent

    def _bent(self, prior, features, ends, sizes, weights, ordered):
        signs = tuple(self.signs[j] * bool(ordered[j]) for j in features)
        return _Bent(prior, signs, ends, sizes, weights) if any(signs) else prior


@dataclass(frozen=True)
class _Bent:
    """A prior whose means are moved to the nearest table that rises, or falls, along its axes."""

    prior: object
    signs: tuple  # of every axis
    ends: tuple  # of every axis the number of cells that lie in an order
    sizes: tuple
    weights: np.ndarray  # of the cells

    def means(self, values, variances, unit=1.0):
        """Return the posterior means, bent."""
        return [self._bend(mean) for mean in self.prior.means(values, variances, unit)]

    @property
    def moves(self):
        """Those of the prior that is bent."""
        return self.prior.moves

    def _bend(self, mean):
        table, weights = mean.reshape(self.sizes), self.weights.reshape(self.sizes)
        axes = [axis for axis, sign in enumerate(self.signs) if sign]
        for _ in range(ROUNDS if len(axes) > 1 else 1):
            for axis in axes:
                table = self._along(axis, table, weights)
        ends = [self._ends(axes, table, way) for way in (np.maximum, np.minimum)]
        return (sum(ends) / 2).ravel()

    def _along(self, axis, table, weights):
        """Return the nearest table that is monotone along an axis."""
        table, end, rising = table.copy(), self.ends[axis], self.signs[axis] > 0
        rows = np.moveaxis(table, axis, 0)[:end].reshape(end, -1)
        parts = np.moveaxis(weights, axis, 0)[:end].reshape(end, -1)
        bent = [
            isotonic_regression(row, sample_weight=part, increasing=rising)
            for row, part in zip(rows.T, parts.T, strict=True)
        ]
        view = np.moveaxis(table, axis, 0)[:end]
        view[...] = np.transpose(bent).reshape(view.shape)
        return table

    def _ends(self, axes, table, way):
        """Return the least table above, or the largest below, that is monotone along all axes."""
        table = table.copy()
        for axis in axes:
            view = np.moveaxis(table, axis, 0)[: self.ends[axis]]
            forward = (self.signs[axis] > 0) == (way is np.maximum)
            view = view if forward else view[::-1]
            view[...] = way.accumulate(view, axis=0)
        return table
