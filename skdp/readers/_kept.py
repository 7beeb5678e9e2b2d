"""Rows with weights, kept in memory: as an array, or as blocks of rows of one weight."""

import numpy as np

from skdp.readers._array import ArrayRows
from skdp.readers._persons import without_weights
from skdp.readers._rows import map_merge

__all__ = ["array_of", "blocks_by_weight"]


def array_of(rows):
    """Return rows of numbers as an array, with their weights if they have some."""
    plain, weights = without_weights(rows)
    array = ArrayRows(np.concatenate(map_merge(plain, _listed, list.__add__)))
    if weights is None:
        return array
    if len(array) != len(weights):
        raise ValueError("a view of fewer rows has no weights of its own.")
    return weights.with_rows(array)


def blocks_by_weight(rows):
    """Return what a view makes of the rows of each weight: {weight: [block, ...]}.

    A row is given its weight before the view sees it, so that the view may leave rows out.
    """
    plain, weights = without_weights(rows)

    def laid(start, stop):
        return weights.weights[start:stop]

    def statistic(start, block, c):
        return [(int(one), plain._mapped(block[c == one])) for one in np.unique(c[c > 0])]

    blocks = {}
    for weight, block in map_merge(plain._rows, statistic, list.__add__, laid):
        blocks.setdefault(weight, []).append(block)
    return blocks


def _listed(start, block):
    return [block]
