"""The fit of classes: counts, cells, and a few cyclic Newton steps."""

import math
from functools import partial

import numpy as np

from skdp.accounting import Step
from skdp.additive._cells import CellRows, held
from skdp.additive._cycles import Curvature, Model, chance, counted_cells, run_cycle
from skdp.additive._links import ONE, STEP, Logistic, Softmax
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
)
from skdp.additive._smooth import TermPrior
from skdp.chunks import weighed_sum
from skdp.mechanisms._exact import exact, sqrt_up

__all__ = ["class_steps", "count_classes", "fit_classes", "prior_model"]

FAR = 4 * round(1 / STEP)  # units of a score that the calibration looks at, around the start
FIRST = 2 * FAR  # entry of every row beside its score: intercepts count for more than slopes
LONGEST = math.isqrt(FIRST**2 + FAR**2) + 1  # above the length of such a row
CLEAR = 3  # sd of the noise of a curvature, below which no step is divided by it
FACTORS, MOVES = (0.5, 2.0), (-2.0, 2.0)  # least and largest of a calibration
MOST_CYCLES = 10**4


def class_steps():
    """Return the steps of this fit alone."""
    return (
        Step("class counts", at_most=CLASS_COUNTS),
        Step("calibration", times=MOST_CYCLES),
    )


def count_classes(rows, curator, n_classes):
    """Release the number of rows of every class, at least two sd.

    Notes
    -----
    **Privacy** (add or remove one row): a row is of one class, so that the counts move by 1.
    """
    exact = weighed_sum(rows, partial(_counts, n_classes))
    release = curator.gaussian(exact, sensitivity=1, share=CLASS_COUNTS, label="class counts")
    return np.maximum(release.value.astype(float), 2 * release.scale)


def prior_model(number, sizes):
    """Return the Model that gives every row the frequencies of the classes."""
    logs = np.log(number / number.sum())
    start = [logs[1] - logs[0]] if len(logs) == 2 else logs
    return Model.start(np.rint(np.array(start) / STEP), sizes)


def _counts(n_classes, start, block):
    y = block[:, -1]
    return np.bincount(y[np.isfinite(y)].astype(np.intp), minlength=n_classes)


def codes(y):
    """Return codes of classes as integers."""
    return y.astype(np.int64)


def fit_classes(rows, curator, *, edges, ordered, number, n_cycles):
    """Return the Model of classes, the released cell counts, and whether the terms tell anything.

    Parameters
    ----------
    rows : Rows
        The last column is the code of the class.
    curator : Curator
    edges : list
        Of the cells of every feature.
    ordered : list of bool
        Whether they lie in an order.
    number : ndarray of shape (n_classes,)
        Released number of rows of each class, > 0.
    n_cycles : int
    """
    cells = held(CellRows(rows, edges, codes))
    counts = counted_cells(cells, curator, share=CELL_COUNTS, floor=FLOOR_OF_CLASSES)
    prior = number / number.sum()
    link = Logistic() if len(prior) == 2 else Softmax(len(prior))
    of_row = CURVATURE * (prior * (1 - prior))[: link.outputs]
    priors = [TermPrior(n, ordered=o) for n, o in zip(counts, ordered, strict=True)]
    told = number.sum() * curator.budget.mu * 4 * of_row.mean() / CURVATURE
    curvature = Curvature(
        counts,
        priors,
        of_row,
        of_row,
        numbers_first(ordered),
        released=has_own_curvature(told, len(counts)),
    )
    start = prior_model(number, cells.sizes)
    model, left = start, float(curator.remaining)
    last = share_of_calibration(told)
    shares = cycle_shares((1 - 2 * last - INTERCEPT * (n_cycles - 1)) * left, n_cycles)
    for cycle, share in enumerate(shares):
        if cycle:
            model = calibrated(
                model, cells, curator, link, start, share=INTERCEPT * left, slope=False
            )
        run_cycle(model, cells, curator, link, curvature, share=share)
    model = calibrated(model, cells, curator, link, start, share=last * left, slope=True)
    model = calibrated(model, cells, curator, link, start, share=curator.remaining, slope=False)
    return model, counts, chance(model, curvature) < UNLIKELY


def calibrated(model, cells, curator, link, start, *, share, slope):
    """Return the model after a Newton step of its intercepts, and of the size of its terms.

    Parameters
    ----------
    model, start : Model
        What the cycles have made of the scores, and where they began.
    cells : CellRows or HeldCells
    curator : Curator
    link : Logistic or Softmax
    share : float
        Of the budget.
    slope : bool
        Whether all terms may be stretched.

    Notes
    -----
    **Privacy** (add or remove one row): with ``c`` the score less its start, cut to ``FAR``, a row
    has the vector ``v = (FIRST, c)``, or ``(FIRST, 0)``, at most ``longest`` long. It adds
    ``r_k v`` for each gradient and the integer parts of ``q_k v v^T / longest`` for each curvature
    of the link: squares that sum to at most ``|v|^2 (sum r_k^2 + sum q_k^2)``, so its length is at
    most the link's sensitivity times ``longest``.
    """
    longest = LONGEST if slope else FIRST
    release = curator.gaussian(
        weighed_sum(cells, partial(_calibration, model, link, start.intercept, slope, longest)),
        sensitivity=sqrt_up((exact(link.sensitivity) * longest) ** 2),
        share=share,
        label="calibration",
    )
    to_second = longest / (FIRST * link.gain)
    sums, sd = release.value / (ONE * FIRST), release.scale / (ONE * FIRST)
    gradients, second = sums[:, :, 0], to_second * sums[:, :, 1:]
    second = (second + second.transpose(0, 2, 1)) / 2
    if link.outputs > 1:  # diag(p) - p p^T is at most twice its diagonal
        gradients, second = gradients - gradients.mean(axis=0), 2 * second
    steps = []
    for g, S in zip(gradients, second, strict=True):
        values, V = np.linalg.eigh(S)
        steps.append(V @ (V.T @ g / np.maximum(values, CLEAR * sd * to_second)))
    moves, factors = np.transpose(steps)
    factors = np.clip(1 + slope * factors / (FIRST * STEP), *FACTORS)
    return model.stretched(start.intercept, np.clip(moves, *MOVES) / STEP, factors)


def _calibration(model, link, start, slope, longest, first, block):
    """Return sums of shape (n_outputs, 2, 3): gradients, and second derivatives."""
    scores = model.scores(block)
    residuals, curvatures = np.split(link.residuals(scores, block.target), 2)
    around = np.clip(scores - start, -FAR, FAR) * slope
    total = np.empty((link.outputs, 2, 3), dtype=np.int64)
    for sums, r, q, c in zip(total, residuals, curvatures, around, strict=True):
        v = np.stack([np.full_like(c, FIRST), c])
        x = q * v[:, None] * v
        sums[:, 0] = v @ r
        sums[:, 1:] = (np.sign(x) * (np.abs(x) // longest)).sum(axis=2)
    return total
