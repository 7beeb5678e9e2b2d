"""From the parameters of MarginalReleaser to the tables of its workload."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from skdp.marginals._allocation import optimal_shares
from skdp.marginals._layout import Layout
from skdp.marginals._workload import workload_layout
from skdp.marginals._worst_case import minimax_shares

__all__ = ["Tables", "by_shape", "read_workload"]

LIGHTEST = 1e-12  # part of the largest weight


@dataclass(frozen=True)
class Tables:
    """A workload.

    Parameters
    ----------
    layout : Layout
        The residuals that it needs.
    loss : ndarray of shape (n_sets,)
        What an error in each of them costs.
    sets : tuple of ndarray
        The tables, an array of shape (m_j, j) for every number j of columns that occurs.
    cells : float
        Number of cells of all tables, each times its weight.
    """

    layout: Layout
    loss: np.ndarray
    sets: tuple
    cells: float

    def shares(self, error):
        """Return the part of the budget for every residual, for the mean or the worst error."""
        if error == "mean" or (len(self.sets) == 1 and self._alike()):
            return optimal_shares(self.layout, self.loss)
        return minimax_shares(self.layout, [tuple(row) for rows in self.sets for row in rows])

    def _alike(self):
        """Whether all tables of one size are there, and alike: then all cells have one noise."""
        levels, tables = self.layout.levels, len(self.sets[0])
        every = comb(len(levels), self.sets[0].shape[1])
        return len(set(levels)) == 1 and tables == len(self.layout.subsets[-1]) == every


def read_workload(k, workload, weights, error, domain):
    """Return the Tables that a user describes, or raise ValueError.

    Parameters
    ----------
    k, workload, weights, error
        As in MarginalReleaser.
    domain : Domain
    """
    k, d = int(k), len(domain.levels)
    if weights is not None and error != "mean":
        raise ValueError("weights are for error='mean': the worst error has none. Leave them out.")
    if isinstance(workload, str) and k > d:
        raise ValueError(
            f"tables of k={k} columns need as many columns in X, or in the domain. Got "
            f"n_features = {d}."
        )
    if isinstance(workload, str) and weights is None:
        layout, loss = workload_layout(domain.levels, k)
        sets = (layout.subsets[k],)
        return Tables(layout, loss, sets, float(_cells(domain, sets[0]).sum()))
    if isinstance(workload, str):
        listed = list(combinations(range(d), k))
    else:
        listed = [tuple(sorted(domain.place(columns))) for columns in workload]
        if not listed or not all(listed):
            raise ValueError("the workload must list tables of at least one column each.")
    weights = np.ones(len(listed)) if weights is None else _scaled(weights, len(listed))
    layout, loss = workload_layout(domain.levels, listed, weights)
    sizes = np.array([len(columns) for columns in listed])
    sets, cells = [], 0.0
    for size in np.unique(sizes):
        sets.append(np.array([columns for columns in listed if len(columns) == size]))
        cells += weights[sizes == size] @ _cells(domain, sets[-1])
    return Tables(layout, loss, tuple(sets), float(cells))


def by_shape(levels, workload):
    """Yield (shape, sets) of the tables of a workload, shape by shape."""
    levels = np.array(levels)
    for sets in workload:
        shapes, which = np.unique(levels[sets], axis=0, return_inverse=True)
        for number, shape in enumerate(shapes.tolist()):
            yield tuple(shape), sets[which.reshape(-1) == number]


def _scaled(weights, n_tables):
    """Return weights of which the largest lies in [1/2, 1): only their ratios count."""
    weights = np.asarray(weights, dtype=float)
    fits = weights.shape == (n_tables,) and np.all((weights > 0) & (weights < np.inf))
    if fits:
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    if not fits or weights.min() < LIGHTEST:
        raise ValueError(
            "weights must be positive and finite, one for each table, the largest at most 1e12 "
            "times the smallest. Leave out tables that do not matter."
        )
    return weights


def _cells(domain, sets):
    """Return the number of cells of every table."""
    return np.prod(np.array(domain.levels, dtype=float)[sets], axis=1)
