"""Probabilities of classes from scores, by a table: each row by itself, to the last bit."""

import math

import numpy as np

__all__ = ["probabilities"]

STEPS = 1024  # of the table, per unit of a score
LARGEST = 2.0**40  # score, so that differences are finite
FARTHEST = 32  # units below the best class that are told apart
EXP = np.array([math.exp(-i / STEPS) for i in range(FARTHEST * STEPS + 1)])


def probabilities(scores):
    """Return the softmax of scores of K classes; of one score, the logistic function.

    **Privacy**: vectorised exponentials may differ in the last bit with the place of a row in a
    block. Here a score becomes an integer, its distance below that of the best class in steps of
    2^-10, and the exponential is read from a public table; sums go over the classes in order.
    """
    single = scores.shape[1] == 1
    scores = np.clip(np.nan_to_num(scores), -LARGEST, LARGEST)
    S = np.column_stack([np.zeros(len(scores)), scores]) if single else scores
    below = (S.max(axis=1, keepdims=True) - S) * STEPS
    E = EXP[np.rint(np.minimum(below, FARTHEST * STEPS)).astype(np.intp)]
    total = E[:, 0].copy()
    for column in E.T[1:]:
        total += column
    return (E[:, 1:] if single else E) / total[:, None]
