"""What is released of held-out rows, and of how many rows there are."""

import numpy as np

from skdp.accounting import Plan, Step
from skdp.kernel._sums import HALF, ScoreSum, table_of_numbers
from skdp.kernel._terms import ClassCounts
from skdp.scales._column_noise import with_law

__all__ = ["release_score", "release_strength", "score_plan", "size_plan"]

SCORE = Step("score", of=(ScoreSum,))
SIZE = Step("rows of a search", of=(ClassCounts,))


def release_score(scores, curator):
    """Release the mean of scores in [0, 1].

    Notes
    -----
    **Privacy** (add or remove one row): see :class:`skdp.kernel._sums.ScoreSum`; the score of a
    row knows no other row.
    """
    release = table_of_numbers(scores, curator).ask(ScoreSum(), SCORE)
    total, count = (float(entry) for entry in release.value)
    return min(max(0.5 + total / max(count, HALF) / 2, -1.0), 2.0)


def score_plan(budget):
    """Return the plan of :func:`release_score`."""
    return Plan(budget, with_law(budget, SCORE))


def release_strength(codes, n_classes, curator):
    """Release n, of rows with one code, or n times 4 p (1 - p), the mean over classes.

    ``codes`` are those of classes, a number for each row, -1 of what is none of them.
    """
    told = table_of_numbers(codes, curator).ask(ClassCounts(n_classes), SIZE)
    counts = np.maximum(told.real, 0.0)
    n = max(float(counts.sum()), 1.0)
    return n if n_classes < 2 else float(4 * n * np.mean(counts / n * (1 - counts / n)))


def size_plan(budget):
    """Return the plan of :func:`release_strength`."""
    return Plan(budget, with_law(budget, SIZE))
