"""What rows that no count shows may do to a mean: how far a tail leans, and what it may hide."""

import math

import numpy as np

__all__ = ["lean", "may_hide"]

LEANS = 1.0, 2.0  # skewness of what is seen: none of an even column, 2 of an exponential one
MISSING = 3.0, 0.02  # standard deviations, and part of the rows, that the seen cells lack
NEARLY_ALL, OTHERS = 0.85, 20  # zeros, and rows beside them in noise units of a sum
MANY, FEW, SPREAD = 0.6, 700, 0.5  # zeros, rows in noise units, and what is no single level
SURE = 1.7  # standard deviations of a count: what rows beside the largest level may be more


def lean(sizes, counts):
    """Return how far a released histogram leans to either side: from -1 to 1.

    Below a skewness of 1 it does not, from 2 on wholly: so do columns whose tails go on farther
    than is seen.
    """
    weight = np.maximum(counts, 0.0)
    farthest = np.abs(sizes).max(initial=0.0)
    if not weight.any() or not farthest:
        return 0.0
    weight, x = weight / weight.sum(), sizes / farthest
    x = x - weight @ x
    spread = math.sqrt(weight @ np.square(x))
    skewness = float(weight @ x**3) / spread**3 if spread > 0 else 0.0
    low, high = LEANS
    part = float(np.clip((abs(skewness) - low) / (high - low), 0.0, 1.0))
    return math.copysign(part, skewness)


def may_hide(counts, middle, seen, sd, *, n, rows):
    """Return whether many rows may lie where they are not seen.

    They may if the seen cells lack rows; if next to all rows are equal and the others are too few
    to stand out; and if most rows are equal, the others are few and not of one size.
    """
    missing = n - counts[seen].sum()
    if missing > max(MISSING[0] * sd * math.sqrt(np.count_nonzero(seen)), MISSING[1] * n):
        return True
    others = n - counts[middle]
    largest = np.delete(counts, middle).max()
    spread = others - largest + SURE * sd > SPREAD * largest
    few = rows < FEW and others < (1 - MANY) * n and spread
    return bool(few or (others < (1 - NEARLY_ALL) * n and others / n * rows < OTHERS))
