"""The fit of classes: counts, cells, and a few cyclic Newton steps."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.additive._cycles import (
    MOST,
    Model,
    NewtonStep,
    counted_cells,
    false_alarm_bound,
    run_cycle,
)
from skdp.additive._rules import (
    CELL_COUNTS,
    CLASS_COUNTS,
    CURVATURE,
    FLOOR_OF_CLASSES,
    INTERCEPT,
    UNLIKELY,
    cycle_shares,
    has_own_curvature,
    numbers_first,
    share_of_calibration,
    share_of_counts,
)
from skdp.additive._smooth import term_priors
from skdp.kernel._cells import Binned, Codes
from skdp.kernel._terms import FIRST, STEP, Calibration, ClassCounts, Logistic, Softmax

CLEAR = 3  # sd of the noise of a curvature, below which no step is divided by it
FACTORS, MOVES = (0.5, 2.0), (-2.0, 2.0)  # least and largest of a calibration
COUNTED = Step("class counts", at_most=CLASS_COUNTS[1], of=(ClassCounts,))
CALIBRATED = Step("calibration", times=10**4, of=(Calibration,))
CLASS_STEPS = COUNTED, CALIBRATED


def count_classes(table, n_classes, strength=math.inf):
    """Release the number of rows of every class, at least two sd."""
    told = table.ask(ClassCounts(n_classes), COUNTED, share=share_of_counts(strength))
    return np.maximum(told.value.astype(float), 2 * told.scale)


def prior_model(number, sizes):
    """Return the Model that gives every row the frequencies of the classes."""
    logs = np.log(number / number.sum())
    start = [logs[1] - logs[0]] if len(logs) == 2 else logs
    return Model.start(np.rint(np.array(start) / STEP), sizes)


def link_of(number):
    """Return the link of classes, and the second derivative of a row under their frequencies."""
    prior = number / number.sum()
    link = Logistic() if len(prior) == 2 else Softmax(len(prior))
    return link, CURVATURE * (prior * (1 - prior))[: link.outputs]


def class_strength(number, mu):
    """Return n mu times 4 p (1 - p), the mean of the outputs."""
    _, of_row = link_of(number)
    return number.sum() * mu * 4 * of_row.mean() / CURVATURE


def fit_classes(table, *, edges, ordered, number, n_cycles, priors_of=term_priors):
    """Return the Model of classes.

    The released cell counts, and whether the terms tell anything.
    """
    cells = table.map(Binned(tuple(edges), Codes(len(number))))
    counts = counted_cells(cells, share=CELL_COUNTS, floor=FLOOR_OF_CLASSES)
    link, of_row = link_of(number)
    priors = priors_of(counts, ordered)
    told = class_strength(number, table.budget.mu)
    own = has_own_curvature(told, len(counts))
    order = numbers_first(ordered)
    most = MOST if own else math.inf
    curvature = NewtonStep(counts, priors, of_row, of_row, order, released=own, most=most)
    start = prior_model(number, cells.shape.sizes)
    model, left = start, float(table.remaining)
    last = share_of_calibration(told)
    shares = cycle_shares((1 - 2 * last - INTERCEPT * (n_cycles - 1)) * left, n_cycles)
    for cycle, share in enumerate(shares):
        if cycle:
            model = calibrated(model, cells, link, start, share=INTERCEPT * left, slope=False)
        run_cycle(model, cells, link, curvature, share=share)
    model = calibrated(model, cells, link, start, share=last * left, slope=True)
    model = calibrated(model, cells, link, start, share=cells.remaining, slope=False)
    return model, counts, false_alarm_bound(model, curvature) < UNLIKELY


def calibrated(model, cells, link, start, *, share, slope):
    """Return the model after a Newton step of its intercepts, and of the size of its terms.

    A step of intercepts alone is as short as its noise makes likely, of a move of about one.
    """
    question = Calibration(model.scores, link, start.intercept, slope)
    told = cells.ask(question, CALIBRATED, share=share)
    # how many times larger the unit of a second derivative of intercepts is
    to_second, sums, sd = question.longest / (FIRST * link.gain), told.real, told.sd
    gradients, second = sums[:, :, 0], to_second * sums[:, :, 1:]
    second = (second + second.transpose(0, 2, 1)) / 2
    if link.outputs > 1:  # diag(p) - p p^T is at most twice its diagonal
        gradients, second = gradients - gradients.mean(axis=0), 2 * second
    steps = []
    for g, S in zip(gradients, second, strict=True):
        values, V = np.linalg.eigh(S)
        values = np.maximum(values, CLEAR * sd * to_second)
        if not slope:
            values += sd**2 / values
        steps.append(V @ (V.T @ g / values))
    moves, factors = np.transpose(steps)
    factors = np.clip(1 + slope * factors / (FIRST * STEP), *FACTORS)
    return model.stretched(start.intercept, np.clip(moves, *MOVES) / STEP, factors)
