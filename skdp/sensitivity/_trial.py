"""Ordered statistics of one's own, tried on made-up integers before any row is read."""

from itertools import combinations_with_replacement, pairwise
from numbers import Integral

import numpy as np

from skdp.sensitivity._windows import NAMED, SortedData

__all__ = ["check_own_statistic", "own_statistic_note", "own_statistic_problem"]

LEVELS = (-(2**20), -2, 0, 1, 2**20)
SMALL = [S for m in range(3) for S in combinations_with_replacement(LEVELS, m)]
LARGE = [tuple((k * k * 7919 + 13 * k) % 103 - 40 for k in range(m)) for m in range(3, 42, 6)]
FAR = 2**21
NUMBERS = (
    "weight(m) must be a positive integer, and total an integer of at most twice max(m, weight(m)) "
    "times the largest magnitude of the m entries"
)
WEIGHT = "weight(m) must be a function of m alone: of an int an int, of an array an array"
WINDOW = "total(data, i, j) must be a function of the entries data.s[i:j] alone, ints and arrays"
ORDERED = "it must not fall when an entry is exchanged for a larger one"
RISES = "with increasing=True an entry above all others must not lower it, nor one below raise it"


def own_statistic_note(statistic):
    """Return what a reader of a plan must know of a statistic, None of a named one."""
    if isinstance(statistic, str) or type(statistic) in NAMED:
        return None
    return (
        f"statistic {type(statistic).__name__}: bounded on your promise that it is ordered, never "
        "falling when an entry is exchanged for a larger one; tried on made-up integers alone"
    )


def own_statistic_problem(statistic):
    """Return which promise a statistic breaks on made-up integers, None if it breaks none.

    Notes
    -----
    **Privacy**: of public integers, always the same. Tried is what :func:`bounded_ordered` rests
    on: the quotient ``total / weight`` of an integer, small enough for 64 bits, and a positive
    integer of the size of the window, depends on the window alone, and is database-ordered:
    f(S + x) <= f(S + y) for x <= y. Its bracket also rests on ``increasing``. What passes may
    break a promise elsewhere: it stays a promise.
    """
    if own_statistic_note(statistic) is None:
        return None
    try:
        with np.errstate(all="ignore"):
            told = next(_broken(statistic), None)
    except Exception as error:  # of code that is not ours, on public integers
        told = f"it raised {type(error).__name__}"
    return told and (
        f"the statistic {type(statistic).__name__} breaks a promise on made-up integers: {told}. "
        "Its sensitivity would not be bounded. Correct it, or use one of skdp.sensitivity."
    )


def check_own_statistic(statistic):
    """Raise ValueError for a statistic that breaks a promise on made-up integers."""
    problem = own_statistic_problem(statistic)
    if problem:
        raise ValueError(problem)


def _broken(f):
    """Yield the promises that a statistic breaks."""
    for S in SMALL + LARGE:
        values = [_value(f, (*S, x)) for x in LEVELS]
        if None in values:
            yield NUMBERS
        if any(t * v > u * w for (t, w), (u, v) in pairwise(values)):
            yield ORDERED
        if not S:
            continue
        total, weight = _value(f, S)
        if getattr(f, "increasing", False):
            (low, v), (high, u) = _value(f, (-FAR, *S)), _value(f, (*S, FAR))
            if not (low * weight <= total * v and total * u <= high * weight):
                yield RISES
        m, frame = len(S), SortedData(np.array([-FAR, -FAR, *sorted(S), FAR]), wide=False)
        i, j = np.array([2, 2]), np.array([2 + m, 2 + m])
        if f.total(frame.one, 2, 2 + m) != total or list(f.total(frame, i, j)) != [total] * 2:
            yield WINDOW
        if np.shape(f.weight(j - i)) != (2,) or list(f.weight(j - i)) != [weight] * 2:
            yield WEIGHT


def _value(f, entries):
    """Return total and weight of some entries, None if they are no such numbers."""
    data, m = SortedData(np.array(sorted(entries)), wide=False), len(entries)
    total, weight = f.total(data.one, 0, m), f.weight(m)
    numbers = isinstance(total, Integral) and isinstance(weight, Integral) and weight >= 1
    if not numbers or abs(total) > 2 * max(m, weight) * max(map(abs, entries)):
        return None
    return int(total), int(weight)
