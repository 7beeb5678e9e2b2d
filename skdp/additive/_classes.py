"""The fit of classes: counts, cells, and a few cyclic Newton steps."""

from functools import partial

import numpy as np

from skdp.accounting import Step
from skdp.additive._cells import CellRows, held
from skdp.additive._cycles import Curvature, Model, chance, counted_cells, run_cycle
from skdp.additive._links import STEP, Logistic, Softmax
from skdp.additive._rules import (
    CELL_COUNTS,
    CLASS_COUNTS,
    CURVATURE,
    FLOOR_OF_CLASSES,
    UNLIKELY,
    cycle_shares,
    numbers_first,
)
from skdp.additive._smooth import TermPrior
from skdp.chunks import weighed_sum

__all__ = ["class_steps", "count_classes", "fit_classes", "prior_model"]


def class_steps():
    """Return the steps of this fit alone."""
    return (Step("class counts", at_most=CLASS_COUNTS),)


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
    curvature = Curvature(counts, priors, of_row, of_row, numbers_first(ordered))
    model = prior_model(number, cells.sizes)
    for share in cycle_shares(float(curator.remaining), n_cycles):
        run_cycle(
            model,
            cells,
            curator,
            link,
            curvature,
            share=share,
        )
    return model, counts, chance(model, curvature) < UNLIKELY
