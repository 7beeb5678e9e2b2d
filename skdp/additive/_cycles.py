"""Cyclic Newton steps: one feature after the other, each on the released gradients of its cells."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from skdp.accounting import Step
from skdp.kernel._terms import FeatureCells, ResidualSum, TermScores

MOST_RELEASES = 10**6  # features times cycles
CELLS_COUNTED = Step("cell counts", at_most=0.1, of=(FeatureCells,))
GRADIENTS = Step("gradients", times=MOST_RELEASES, of=(ResidualSum,))
CYCLE_STEPS = CELLS_COUNTED, GRADIENTS
LARGEST = 2**40  # of an entry of a table, in steps of a score: far beyond any that counts
MOST = 4.0  # units of a score that a step of released curvature moves
KEPT = 0.3  # of the weight of curvatures from cycle to cycle: they change with the scores
LEAST_VARIED = 0.05  # of the squares of curvatures of cells, around what their numbers of rows tell


@dataclass
class Model:
    """Scores of rows: an intercept and a table per feature; everything in it is released."""

    intercept: np.ndarray  # shape (n_outputs, 1)
    # each of shape (n_outputs, n_cells): in steps of a score, so that the score of a row is an
    # exact sum
    tables: list
    # each of shape (n_outputs, n_cells): where the steps of all cycles have led, a mean by the
    # inverse variances of their noise
    seen: list
    # each of shape (n_outputs, n_cells): standard deviation of the noise of `seen`, in units of a
    # score
    noise: list
    # each of shape (n_outputs, n_cells): variance of the last step by what differs from row to row
    sampling: list
    # each of shape (n_outputs, n_cells): second derivatives of the cells at the last step
    weights: list
    pairs: tuple = ()  # the Pair of every table beyond those of the features
    # by how much the mean of all scores may be off, as noise and clipping tell, in steps
    off: float = 0.0

    @classmethod
    def start(cls, intercept, sizes):
        """Return a model of an intercept alone."""
        tables = [np.zeros((len(intercept), size), dtype=np.int64) for size in sizes]
        return cls(
            np.asarray(intercept, dtype=np.int64)[:, None],
            tables,
            [np.zeros(table.shape) for table in tables],
            [np.full(table.shape, math.inf) for table in tables],
            [np.zeros(table.shape) for table in tables],
            [np.ones(table.shape) for table in tables],
        )

    def with_pairs(self, pairs):
        """Return the same model with tables of zeros for pairs of features."""
        more = Model.start(self.intercept[:, 0], [pair.size for pair in pairs])
        lists = ("tables", "seen", "noise", "sampling", "weights")
        joined = {name: getattr(self, name) + getattr(more, name) for name in lists}
        return replace(self, pairs=self.pairs + tuple(pairs), **joined)

    def without_terms(self):
        """Return the same model with terms of zero."""
        return replace(self, tables=[0 * table for table in self.tables])

    def stretched(self, start, moves, factors):
        """Return the same model with scores ``start + move + factor (score - start)``.

        Shapes: start (n_outputs, 1); moves, factors (n_outputs,).
        """
        factors = factors[:, None]
        around = factors * (self.intercept - start) + moves[:, None]
        return replace(
            self,
            intercept=start + np.rint(around).astype(np.int64),
            tables=[np.rint(factors * table).astype(np.int64) for table in self.tables],
            seen=[factors * seen for seen in self.seen],
            noise=[factors * noise for noise in self.noise],
            sampling=[factors**2 * variance for variance in self.sampling],
        )

    @property
    def is_off(self):
        """Whether noise or clipping may move all predictions by more than they differ."""
        explained = sum(
            float(weights[0] @ np.square(table[0]) / weights[0].sum())
            for weights, table in zip(self.weights, self.tables, strict=True)
        )
        return self.off**2 > explained

    @property
    def scores(self):
        """The scores that it tells, as it is now."""
        return TermScores(self.intercept.copy(), tuple(table.copy() for table in self.tables))


def counted_cells(cells, *, share, floor):
    """Release the number of rows in every cell of every feature, at least ``floor`` sd."""
    sizes = cells.shape.sizes
    told = cells.ask(FeatureCells(sizes), CELLS_COUNTED, share=share)
    counts = np.maximum(told.value.astype(float), floor * told.scale)
    return np.split(counts, np.cumsum(sizes)[:-1])


@dataclass
class NewtonStep:
    """How a step follows from a gradient."""

    counts: list  # each of shape (n_cells,): released number of rows in each cell, > 0
    priors: list  # list of TermPrior
    # shape (n_outputs,): second derivative of the loss of a row; public or released
    of_row: np.ndarray
    # shape (n_outputs,): variance of what a row adds to a gradient; public or released
    spread: np.ndarray
    # list of tuples of int: in which order tables take their steps, those of one tuple at once:
    # public or released
    order: list
    unit: float = 1.0  # of a term
    # whether second derivatives are those that are released with the gradients
    released: bool = False
    gain: float | None = None  # of second derivatives; that of the link by default
    most: float = math.inf  # units of a score that a step moves

    def share_of(self, j, share):
        """Return what the step of a table takes of the share of a cycle."""
        return share / sum(map(len, self.order))

    def __post_init__(self):
        self._sums = [0.0] * len(self.counts)
        self._precisions = [0.0] * len(self.counts)

    def weights(self, j, sums, sd):
        """Return second derivatives of the cells of a feature, and the variances of their steps.

        Shapes: sums (n_outputs, n_cells).
        """
        number = self.counts[j]
        if not self.released:
            weights = self.of_row[:, None] * number
            return weights, (self.spread / self.of_row**2)[:, None] / number
        weights = self.released_weights(j, sums, sd, KEPT)
        return weights, 1 / weights

    def released_weights(self, j, sums, sd, kept):
        """Return released second derivatives, pulled to those that counts alone would tell."""
        number = self.counts[j]
        old = kept * self._precisions[j]
        self._precisions[j] = precision = old + 1 / sd**2
        self._sums[j] = seen = (old * self._sums[j] + sums / sd**2) / precision
        sd = 1 / math.sqrt(precision)
        total = np.maximum(seen.sum(axis=1, keepdims=True), 4 * sd)
        guess = total * (number / number.sum())
        excess = np.maximum((seen - guess) ** 2 - sd**2, 0) / np.maximum(guess, sd) ** 2
        varies = np.maximum(excess.mean(axis=1, keepdims=True), LEAST_VARIED) * guess**2
        weights = guess + varies / (varies + sd**2) * (seen - guess)
        return np.maximum(weights, sd / 2)


def run_cycle(model, cells, link, curvature, *, share):
    """Take one Newton step for every table, each with the scores that the last one has left.

    Those of one tuple of the order, which share no feature, step from the same scores: one pass.

    Notes
    -----
    A step leads from the table to where the gradient points; the mean of where the steps of all
    cycles have led has less noise than the last of them, and is smoothed as a whole.
    """
    for group in curvature.order:
        scores = model.scores
        asked = [
            (ResidualSum(scores, link, j), curvature.share_of(j, share), GRADIENTS.label)
            for j in group
        ]
        for j, told in zip(group, cells.ask_all(*asked), strict=True):
            _step(model, j, told, link, curvature)


def _step(model, j, told, link, curvature):
    """Take the Newton step of a table."""
    sums, sd = told.real, told.sd
    gradients, second = sums[: link.outputs], sums[link.outputs :]
    gain = curvature.gain or link.gain
    weights, sampling = curvature.weights(j, second / gain if gain else None, sd / (gain or 1))
    if link.outputs > 1:
        gradients = gradients - gradients.mean(axis=0)
        sd *= math.sqrt(1 - 1 / link.outputs)
    _move(model, j, gradients, sd, link.step, weights, sampling, curvature)


def _move(model, j, gradients, sd, step, weights, sampling, curvature):
    """Move a table to the posterior mean of what the steps of all cycles tell."""
    moves = np.clip(gradients / weights, -curvature.most, curvature.most)
    led, known = model.tables[j] * step + moves, np.square(weights / sd)
    precision = known + 1 / np.square(model.noise[j])
    model.seen[j] += (led - model.seen[j]) * known / precision
    model.noise[j], model.sampling[j], model.weights[j] = 1 / np.sqrt(precision), sampling, weights
    variances = np.square(model.noise[j]) + sampling
    means = curvature.priors[j].means(model.seen[j], variances, curvature.unit)
    for k, term in enumerate(means):
        term = (term - term @ (weights[k] / weights[k].sum())) / step
        model.tables[j][k] = np.rint(np.clip(term, -LARGEST, LARGEST)).astype(np.int64)


def false_alarm_bound(model, curvature):
    """Return a bound on the chance that noise alone tells as much as the cells have told.

    By chi-squared tests: one of all features together, one of each, of the cells whose noise is
    less than a unit; targets that have nothing to do with features are noise too. A move that all
    cells of a feature share is that of an intercept, and left out.
    """
    squares, free = [], []
    for seen, noise, sampling in zip(model.seen, model.noise, model.sampling, strict=True):
        weights = np.where(noise < curvature.unit, 1 / (np.square(noise) + sampling), 0.0)
        total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mean = (seen * weights).sum(axis=1, keepdims=True) / total
        squares.append(float((np.square(seen - mean) * weights).sum()))
        free.append(int(np.maximum(np.count_nonzero(weights, axis=1) - 1, 0).sum()))
    tests = [(f, x) for f, x in zip(free, squares, strict=True) if f]
    if not tests:
        return 1.0
    alone = min(chdtrc(f, x) for f, x in tests) * len(tests)
    return 2 * min(float(alone), float(chdtrc(*np.sum(tests, axis=0))))
