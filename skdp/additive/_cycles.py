"""Cyclic Newton steps: one feature after the other, each on the released gradients of its cells."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtrc

from skdp.accounting import Step
from skdp.additive._cells import cell_counts, cell_sums
from skdp.mechanisms._exact import sqrt_up

__all__ = ["Curvature", "Model", "chance", "counted_cells", "cycle_steps", "run_cycle"]

MOST_RELEASES = 10**6  # features times cycles
LARGEST = 2**40  # of an entry of a table, in steps of a score: far beyond any that counts


def cycle_steps():
    """Return the steps of the engine."""
    return (Step("cell counts", at_most=0.1), Step("gradients", times=MOST_RELEASES))


@dataclass
class Model:
    """Scores of rows: an intercept and a table per feature; everything in it is released.

    Attributes
    ----------
    intercept : ndarray of int64 of shape (n_outputs, 1)
    tables : list of ndarrays of int64 of shape (n_outputs, n_cells)
        In steps of a score, so that the score of a row is an exact sum.
    seen : list of ndarrays of shape (n_outputs, n_cells)
        Where the steps of all cycles have led, a mean by the inverse variances of their noise.
    precision : list of float
        Inverse variance of the noise of the sum behind each of them.
    noise : list of ndarrays of shape (n_outputs, n_cells)
        Standard deviation of the noise of ``seen``, in units of a score.
    """

    intercept: np.ndarray
    tables: list
    seen: list
    precision: list
    noise: list

    @classmethod
    def start(cls, intercept, sizes):
        """Return a model of an intercept alone."""
        tables = [np.zeros((len(intercept), size), dtype=np.int64) for size in sizes]
        return cls(
            np.asarray(intercept, dtype=np.int64)[:, None],
            tables,
            [np.zeros(table.shape) for table in tables],
            [0.0] * len(tables),
            [np.full(table.shape, math.inf) for table in tables],
        )

    def without_terms(self):
        """Return the same model with terms of zero."""
        return replace(self, tables=[0 * table for table in self.tables])

    def scores(self, block):
        """Return the scores of a block of cells, shape (n_outputs, n): each row by itself."""
        scores = np.repeat(self.intercept, len(block), axis=1)
        for table, cell in zip(self.tables, block.cells, strict=True):
            scores += table[:, cell]
        return scores

    def residuals(self, link, block):
        """Return what the rows of a block add to a gradient."""
        return link.residuals(self.scores(block), block.target)


def counted_cells(cells, curator, *, share, floor):
    """Release the number of rows in every cell of every feature, at least ``floor`` sd.

    Notes
    -----
    **Privacy** (add or remove one row): a row is in one cell of each of the F features, so the
    vector of all counts moves by sqrt(F) exactly.
    """
    exact = np.concatenate(cell_counts(cells))
    release = curator.gaussian(
        exact, sensitivity=sqrt_up(len(cells.sizes)), share=share, label="cell counts"
    )
    counts = np.maximum(release.value.astype(float), floor * release.scale)
    return np.split(counts, np.cumsum(cells.sizes)[:-1])


@dataclass(frozen=True)
class Curvature:
    """How a step follows from a gradient.

    Attributes
    ----------
    counts : list of ndarrays of shape (n_cells,)
        Released number of rows in each cell, > 0.
    priors : list of TermPrior
    of_row : ndarray of shape (n_outputs,)
        Second derivative of the loss of a row; public or released.
    spread : ndarray of shape (n_outputs,)
        Variance of what a row adds to a gradient; public or released.
    unit : float
        Of a term.
    order : list of int
        In which features take their steps: public.
    """

    counts: list
    priors: list
    of_row: np.ndarray
    spread: np.ndarray
    order: list
    unit: float = 1.0

    def sampling(self, j):
        """Return variances of the steps of a feature, of what differs from row to row."""
        return (self.spread / self.of_row**2)[:, None] / self.counts[j]


def run_cycle(model, cells, curator, link, curvature, *, share):
    """Take one Newton step for every feature, each with the scores that the last one has left.

    Parameters
    ----------
    model : Model
        Is moved.
    cells : CellRows or HeldCells
    curator : Curator
    link : Logistic, Softmax or Clipped
    curvature : Curvature
    share : float
        Of the budget, for the whole cycle.

    Notes
    -----
    **Privacy** (add or remove one row): tables and the link are functions of earlier releases, so
    that the score of a row is a function of that row and of releases, to the last bit. The row is
    in one cell of the feature and adds to its sums an integer vector whose length the link bounds:
    that bound is the sensitivity of each of the F releases, whose shares sum to ``share``.

    A step leads from the table to where the gradient points; the mean of where the steps of all
    cycles have led has less noise than the last of them, and is smoothed as a whole.
    """
    n_features = len(curvature.counts)
    for j in curvature.order:
        release = curator.gaussian(
            cell_sums(cells, j, partial(model.residuals, link)),
            sensitivity=link.sensitivity,
            share=share / n_features,
            label="gradients",
        )
        gradients, sd = release.value / link.one, release.scale / link.one
        if link.outputs > 1:
            gradients = gradients - gradients.mean(axis=0)
            sd *= math.sqrt(1 - 1 / link.outputs)
        _move(model, j, gradients, sd, link.step, curvature)


def _move(model, j, gradients, sd, step, curvature):
    """Move a table to the posterior mean of what the steps of all cycles tell."""
    number, weights = curvature.counts[j], curvature.of_row[:, None] * curvature.counts[j]
    precision = model.precision[j] + 1 / sd**2
    led = model.tables[j] * step + gradients / weights
    model.seen[j] += (led - model.seen[j]) / (sd**2 * precision)
    model.precision[j], model.noise[j] = precision, 1 / (math.sqrt(precision) * weights)
    sampling = curvature.sampling(j)
    for k, (values, noise) in enumerate(zip(model.seen[j], model.noise[j], strict=True)):
        term = curvature.priors[j].mean(values, noise**2 + sampling[k], curvature.unit)
        term = (term - term @ (number / number.sum())) / step
        model.tables[j][k] = np.rint(np.clip(term, -LARGEST, LARGEST)).astype(np.int64)


def chance(model, curvature):
    """Return a bound on the chance that noise alone tells as much as the cells have told.

    By chi-squared tests: one of all features together, one of each, of the cells whose noise is
    less than a unit; targets that have nothing to do with features are noise too. A move that all
    cells of a feature share is that of an intercept, and left out.
    """
    squares, free = [], []
    for j, (seen, noise) in enumerate(zip(model.seen, model.noise, strict=True)):
        variance = np.square(noise) + curvature.sampling(j)
        weights = np.where(noise < curvature.unit, 1 / variance, 0.0)
        total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mean = (seen * weights).sum(axis=1, keepdims=True) / total
        squares.append(float((np.square(seen - mean) * weights).sum()))
        free.append(int(np.maximum(np.count_nonzero(weights, axis=1) - 1, 0).sum()))
    tests = [(f, x) for f, x in zip(free, squares, strict=True) if f]
    if not tests:
        return 1.0
    alone = min(chdtrc(f, x) for f, x in tests) * len(tests)
    return 2 * min(float(alone), float(chdtrc(*np.sum(tests, axis=0))))
