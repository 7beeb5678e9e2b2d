"""Means of a target by level, of all columns: released together, and smoothed."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.additive._classes import COUNTED, class_strength, count_classes, link_of, prior_model
from skdp.additive._cycles import CELL_COUNTS, Model
from skdp.additive._numbers import MOVES, NUMBER_STEPS, known_mean, mean_step, release_lengths
from skdp.additive._rules import FEW, share_of_look
from skdp.additive._smooth import TermPrior
from skdp.kernel._cells import Binned, Codes
from skdp.kernel._terms import Clipped, FeatureCells, ResidualSum

SUMS = Step("level sums", times=10**6, of=(ResidualSum,))
CLASS_MEANS, NUMBER_MEANS = (COUNTED, CELL_COUNTS, SUMS), (*NUMBER_STEPS, CELL_COUNTS, SUMS)
COUNTS = 0.1  # share of the counts of levels
CLEAR = 4.0  # noises: a number of rows that is clear of them


@dataclass(frozen=True)
class LevelMeans:
    """A released mean of all rows, shape (n_outputs,), and of every column what levels differ."""

    mean: np.ndarray
    moves: list  # each of shape (n_outputs, n_levels): means of levels less that of all
    noise: list  # of the same shapes: standard deviations
    # each of shape (n_levels,): released numbers of rows, infinite where a level is as the mean
    counts: list
    spread: np.ndarray  # shape (n_outputs,): standard deviation of the targets

    @classmethod
    def alone(cls, mean, sizes):
        """Return a mean that all levels have."""
        shapes = [(len(mean), size) for size in sizes]
        zeros, unknown = map(np.zeros, shapes), (np.full(shape, math.inf) for shape in shapes)
        counts = [np.full(size, math.inf) for size in sizes]
        return cls(mean, list(zeros), list(unknown), counts, np.full(len(mean), math.inf))

    def smoothed(self, smooth):
        """Return the means of levels, pulled to that of all."""
        return [self.mean[:, None] + self._pulled(j, smooth) for j in range(len(self.moves))]

    def _pulled(self, j, smooth):
        moves, counts = self.moves[j], self.counts[j]
        if smooth != "auto":
            return moves / (1 + smooth / counts)
        seen = np.isfinite(counts)
        if not seen.any():
            return moves
        unit = np.maximum(self.spread, np.finfo(float).tiny)[:, None]
        variances = np.square(self.noise[j][:, seen] / unit) + 1 / counts[seen]
        prior, pulled = TermPrior(counts[seen], ordered=False), np.zeros(moves.shape)
        pulled[:, seen] = unit * np.array(prior.means(moves[:, seen] / unit, variances))
        return pulled


def number_means(table, sizes, place, n):
    """Release the LevelMeans of numbers in a place, public or released; alone if it has no unit.

    ``sizes``: the number of levels of every column of a table of codes.
    """
    sizes, step = tuple(sizes), Clipped.step
    if not place.unit or n * table.budget.mu < FEW:
        model, _ = known_mean(table, place, n=n, edges=sizes)
        return LevelMeans.alone(place.centre + place.unit * step * model.intercept[:, 0], sizes)
    cells = table.map(Binned(sizes, place.steps(Clipped.one)))
    left, mu = float(table.remaining), table.budget.mu
    counts = _level_counts(cells, COUNTS * left)
    model, look = Model.start([0], sizes), min(share_of_look(n * mu), left / 8)
    lengths = release_lengths(
        cells, model.scores, around=Clipped.one, share=look, least=place.least(Clipped.one)
    )
    moves = sum(min(size, MOVES) for size in sizes)
    noise = math.sqrt(moves * len(sizes)) / (mu * math.sqrt(left - 2 * look))
    link = Clipped(lengths.radius(noise))
    spread = np.full(1, math.sqrt(lengths.mean_square(link.radius)) * step)
    model.intercept += mean_step(model, cells, link, n=n, share=look)
    means, noise = _level_sums(cells, model, link, counts)
    mean = place.centre + place.unit * step * model.intercept[:, 0]
    means, noise = ([place.unit * one for one in some] for some in (means, noise))
    return LevelMeans(mean, means, noise, counts, place.unit * spread)


def class_means(table, sizes, n_classes):
    """Release the LevelMeans of classes: rates, of two classes that of the second."""
    sizes = tuple(sizes)
    if n_classes < 2:
        return LevelMeans.alone(np.ones(n_classes), sizes)
    number = count_classes(table, n_classes)
    first = 1 if n_classes == 2 else 0
    if class_strength(number, table.budget.mu) < FEW:
        return LevelMeans.alone((number / number.sum())[first:], sizes)
    cells = table.map(Binned(sizes, Codes(n_classes)))
    counts = _level_counts(cells, COUNTS * float(table.remaining))
    model, (link, _) = prior_model(number, sizes), link_of(number)
    of_first = link.residuals(model.intercept, np.zeros(1, dtype=np.int64))[: link.outputs, 0]
    mean = (np.arange(first, n_classes) == 0) - of_first / link.one
    means, noise = _level_sums(cells, model, link, counts)
    return LevelMeans(mean, means, noise, counts, np.sqrt(mean * (1 - mean)))


def _level_counts(cells, share):
    """Release the number of rows in every level; infinite where it is not clear of its noise."""
    sizes = cells.shape.sizes
    told = cells.ask(FeatureCells(sizes), CELL_COUNTS, share=share)
    counts = np.where(told.value > CLEAR * told.scale, told.value, np.inf)
    return np.split(counts, np.cumsum(sizes)[:-1])


def _level_sums(cells, model, link, counts):
    """Release sums of residuals in all levels; return means of levels, and their noise.

    **Privacy** (add or remove one row): a row is in one level of a column, so that all levels of it
    cost what one costs; columns divide what is left.
    """
    share = float(cells.remaining) / len(counts)
    asked = [(ResidualSum(model.scores, link, j), share, SUMS.label) for j in range(len(counts))]
    means, noise = [], []
    for told, n in zip(cells.ask_all(*asked), counts, strict=True):
        means.append(told.real[: link.outputs] / n)
        sd = np.where(np.isfinite(n), told.sd / n, np.inf)
        noise.append(np.broadcast_to(sd, means[-1].shape))
    return means, noise
