"""Predicates of one's own, tried on made-up rows before any row is read."""

import numpy as np

from skdp.kernel.pairs._distance import DistancePredicate

__all__ = ["check_own_predicate", "own_predicate_note"]

LEVELS = np.array([0.0, 1.0, -1.0, 2.0, 2.0, 8.0, -100.0, 1e6, 1e150])  # their squares are finite
COUNTS = "friends(A) must be an array of shape (n,) of integers from 0 to n"
PAIRS = "one row more must move the count of every other row by 0 or 1, the same beside any rows"
SYMMETRY = "if x is a friend of y, y must be a friend of x"
REPEATED = "friends(A) must be the same in every call"


def own_predicate_note(predicate):
    """Return what a reader of a plan must know of a predicate, None of what a radius stands for."""
    if predicate is None or type(predicate) is DistancePredicate:
        return None
    return (
        f"predicate {type(predicate).__name__}: on your promise that who is whose friend depends "
        "on the two rows alone and is symmetric; tried on made-up rows alone"
    )


def check_own_predicate(predicate, n_features):
    """Raise ValueError for a predicate that breaks a promise on made-up rows.

    Notes
    -----
    **Privacy**: of public integers, always the same. Tried is what :func:`noisy_filter` and
    :func:`group_friends` rest on: there is a symmetric relation of rows such that a row's count is
    the number of rows related to it, in every set of rows. What ``implies`` returns enters no
    release of a filter. What passes may break a promise elsewhere: it stays a promise.
    """
    if own_predicate_note(predicate) is None:
        return
    try:
        with np.errstate(all="ignore"):
            told = _broken(predicate, np.outer(LEVELS, 1 + np.arange(n_features) % 3))
    except Exception as error:  # of code that is not ours, on public rows
        told = f"it raised {type(error).__name__}"
    if told is not None:
        raise ValueError(
            f"the predicate {type(predicate).__name__} breaks a promise on made-up rows: {told}. "
            "The decisions of the filter would not be private. Correct it, or pass a radius."
        )


def _broken(predicate, A):
    """Return which promise is broken on subsets of the rows A, None if none is."""

    def friends(kept):
        counts = np.asarray(predicate.friends(A[kept].copy()))
        good = counts.shape == (len(kept),) and counts.dtype.kind in "iu"
        return counts if good and np.all((counts >= 0) & (counts <= len(kept))) else None

    every = np.arange(len(A))
    subsets = [every, every, *(every[every != i] for i in every)]
    subsets += [every[::-1], *(every[:k] for k in every[1:])]
    told = [friends(kept) for kept in subsets]
    if any(counts is None for counts in told):
        return COUNTS
    if np.any(told[0] != told[1]):
        return REPEATED
    related = np.zeros((len(A), len(A)), dtype=np.int64)
    for i, without in enumerate(told[2 : 2 + len(A)]):
        related[np.delete(every, i), i] = np.delete(told[0], i) - without
    if not np.isin(related, (0, 1)).all():
        return PAIRS
    if np.any(related != related.T):
        return SYMMETRY
    own = told[0] - related.sum(1)
    np.fill_diagonal(related, own)
    sums = (related[np.ix_(kept, kept)].sum(1) for kept in subsets)
    alike = all(np.array_equal(a, b) for a, b in zip(sums, told, strict=True))
    return None if alike and np.isin(own, (0, 1)).all() else PAIRS
