"""The fit of numbers: cells, and cycles of a clip radius, a mean, and Newton steps."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.additive._cycles import Model, NewtonStep, counted_cells, false_alarm_bound, run_cycle
from skdp.additive._rules import (
    CELL_COUNTS,
    FLOOR_OF_NUMBERS,
    UNLIKELY,
    cycle_shares,
    numbers_first,
    share_of_look,
)
from skdp.additive._smooth import term_priors
from skdp.kernel._cells import Binned, n_cells
from skdp.kernel._terms import FARTHEST, Clipped, ResidualLengths, ResidualSum
from skdp.scales._significance import RESIDUALS

STEP = Clipped.step
MEAN_RESIDUAL = Step("mean residual", times=101, of=(ResidualSum,))
RESIDUAL_LENGTHS = Step("residual lengths", at_most=0.1, times=100, of=(ResidualLengths,))
NUMBER_STEPS = RESIDUAL_LENGTHS, MEAN_RESIDUAL
MOVES = 2  # of a term that smoothing leaves

BELOW, ABOVE = 5, 16  # octaves around the last radius
LARGEST = 2**30  # radius in steps of a score: sums of a block stay exact
GROWS = 2  # of a radius, from cycle to cycle at most
# Of 400 fits to tables that nothing was tuned on, 161 are reliable; 5 of them are worse than a
# constant, by less than 5 % of the variance.
HIDDEN = 1.0  # noise sds of the rows that the octave beyond may hold without being seen
NOISES = 2.0  # noise sds by which a mean may be off
ROOM = 2.0  # units that rows may be away where none is seen farther: most are there as a rule
MEANS = 3  # times the share of a look that the last mean takes, on which all predictions rest
ALIGNED = 0.3  # part of what clipping takes that moves scores one way


def fit_numbers(table, place, *, n, edges, ordered, n_cycles, priors_of=term_priors):
    """Return the Model of numbers.

    The released cell counts, and whether the terms tell anything.
    """
    cells = table.map(Binned(tuple(edges), place.steps(Clipped.one)))
    sizes = cells.shape.sizes
    left = float(table.remaining)
    counts = counted_cells(cells, share=CELL_COUNTS * left, floor=FLOOR_OF_NUMBERS)
    priors = priors_of(counts, ordered)
    model, mu = Model.start([0], sizes), table.budget.mu
    left = float(table.remaining)
    look, around = min(share_of_look(n * mu), left / (8 * n_cycles)), int(1 / STEP)
    moves = sum(min(size, MOVES) for size in sizes)
    means = [look] * (n_cycles - 1) + [min(MEANS * look, left / 8)]
    shares = cycle_shares(left - look * n_cycles - sum(means), n_cycles)
    for cycle, (share, of_mean) in enumerate(zip(shares, means, strict=True)):
        lengths = release_lengths(
            cells, model.scores, around=around, share=look, least=place.least(Clipped.one)
        )
        noise = math.sqrt(moves * len(sizes)) / (mu * math.sqrt(share))
        around = next_radius(lengths.radius(noise), around if cycle else None)
        link = Clipped(around)
        spread = np.full(1, lengths.mean_square(around) * STEP**2)
        curvature = NewtonStep(counts, priors, np.ones(1), spread, numbers_first(ordered))
        move_to_mean(model, cells, lengths, n=n, share=of_mean)
        run_cycle(model, cells, link, curvature, share=share)
    informative = false_alarm_bound(model, curvature) < UNLIKELY
    return model if informative else model.without_terms(), counts, informative


def known_mean(table, place, *, n, edges):
    """Return a Model without terms, of the mean of targets that lie in a public place, and counts.

    If the place has no unit, its centre is all that is known.
    """
    edges = tuple(edges)
    sizes = n_cells(edges).tolist()
    model = Model.start([0], sizes)
    if place.unit:
        cells = table.map(Binned(edges, place.steps(Clipped.one)))
        link = Clipped(int(1 / STEP))
        model.intercept += mean_step(model, cells, link, n=n, share=cells.remaining)
    return model, [np.ones(size) for size in sizes]


def move_to_mean(model, cells, lengths, *, n, share):
    """Move the intercept by the mean of the residuals, and note how far off it may be.

    Clipped are those beyond a radius of its own: a step of a term may be short, the mean may not.
    """
    noise = 1 / (cells.budget.mu * math.sqrt(share))
    radius = lengths.radius(noise, aligned=1.0)
    model.intercept += mean_step(model, cells, Clipped(radius), n=n, share=share)
    model.off = (lengths.most_cut(radius) + NOISES * noise * radius) / n


def mean_step(model, cells, link, *, n, share):
    """Release the mean of the clipped residuals, in steps of a score."""
    told = cells.ask(ResidualSum(model.scores, link), MEAN_RESIDUAL, share=share)
    return int(np.clip(round(told.value[0] / n), -link.radius, link.radius))


@dataclass(frozen=True)
class Lengths:
    """A released histogram: ``counts`` of integers up to each of the ``edges``, by octaves."""

    counts: np.ndarray
    edges: np.ndarray
    sd: float
    around: int  # the radius that is believed where nothing is seen
    least: int  # radius: rows are known to lie there

    @property
    def top(self):
        """Place of the highest cell that is seen, or of ``around``; at least 1."""
        seen = np.flatnonzero(self.counts > RESIDUALS * self.sd)
        return max(1, int(seen[-1] if seen.size else np.searchsorted(self.edges, self.around)))

    @property
    def middles(self):
        """Lengths of the rows of every cell that is seen, about."""
        edges = self.edges[: self.top + 1].astype(float)
        return np.sqrt(np.maximum(np.append(0.0, edges[:-1]), edges / 2) * edges)

    def mean_square(self, radius):
        """Return the mean square of the lengths that are seen, clipped to a radius."""
        counts = np.maximum(self.counts[: self.top + 1], 0).astype(float)
        lengths = np.minimum(self.middles, radius)
        return float(counts @ np.square(lengths) / max(counts.sum(), 1.0))

    def beyond(self, cuts):
        """Return the sums of what lengths that are seen have beyond cuts, of shape (n,)."""
        lost = np.maximum(self.middles - np.asarray(cuts)[:, None], 0)
        return np.maximum(lost @ self.counts[: self.top + 1], 0)

    def most_cut(self, radius):
        """Return what clipping takes off all lengths, with rows that noise hides beyond the top."""
        top = max(float(self.edges[self.top]), ROOM * self.least)
        return float(self.beyond([radius])[0]) + HIDDEN * self.sd * (2 * top - min(radius, top))

    def radius(self, noise, aligned=ALIGNED):
        """Return the edge C at which noise of sd ``noise * C`` and the loss by clipping balance.

        ``aligned`` is the part of what clipping takes off lengths that counts.
        """
        edges = self.edges[: self.top + 1].astype(float)
        lost = np.maximum.accumulate(self.beyond(edges)[::-1])[::-1]
        return max(int(edges[np.argmin(np.hypot(noise * edges, aligned * lost))]), self.least)


def next_radius(radius, last):
    """Return a radius that is at most twice the last: residuals become shorter, noise does not."""
    return radius if last is None else min(radius, GROWS * last)


def release_lengths(cells, scores, *, around, share, least):
    """Release how many rows have residuals of which length: see :class:`Lengths`."""
    question = ResidualLengths(scores, Clipped(FARTHEST), _edges(around))
    told = cells.ask(question, RESIDUAL_LENGTHS, share=share)
    return Lengths(told.value, question.edges, told.scale, around, least)


def _edges(around):
    edges = np.clip(np.ceil(around * 2.0 ** np.arange(-BELOW, ABOVE + 1)), 1, LARGEST)
    return np.unique(edges.astype(np.int64))
