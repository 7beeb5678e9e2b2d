"""The fit of numbers: cells, and cycles of a clip radius, a mean, and Newton steps."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.additive._cycles import Model, NewtonStep, counted_cells, false_alarm_bound, run_cycle
from skdp.additive._radius import RESIDUAL_LENGTHS, next_radius, release_lengths
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
from skdp.kernel._terms import Clipped, ResidualSum

__all__ = ["NUMBER_STEPS", "fit_numbers", "known_mean", "mean_step"]

STEP = Clipped.step
MEAN_RESIDUAL = Step("mean residual", times=101, of=(ResidualSum,))
NUMBER_STEPS = RESIDUAL_LENGTHS, MEAN_RESIDUAL
MOVES = 2  # of a term that smoothing leaves


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
    shares = cycle_shares(left - 2 * look * n_cycles, n_cycles)
    for cycle, share in enumerate(shares):
        lengths = release_lengths(cells, model.scores, around=around, share=look)
        noise = math.sqrt(moves * len(sizes)) / (mu * math.sqrt(share))
        around = next_radius(lengths.radius(noise), around if cycle else None)
        link = Clipped(around)
        spread = np.full(1, lengths.mean_square(around) * STEP**2)
        curvature = NewtonStep(counts, priors, np.ones(1), spread, numbers_first(ordered))
        model.intercept += mean_step(model, cells, link, n=n, share=look)
        run_cycle(model, cells, link, curvature, share=share)
        model.cut = lengths.most_cut(around) / n
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


def mean_step(model, cells, link, *, n, share):
    """Release the mean of the clipped residuals, in steps of a score."""
    told = cells.ask(ResidualSum(model.scores, link), MEAN_RESIDUAL, share=share)
    return int(np.clip(round(told.value[0] / n), -link.radius, link.radius))
