"""What a fit with pairs does with how many rows: public functions of released numbers.

Everywhere ``strength`` is n mu, of classes 4 p (1 - p) times as much, their mean.
"""

import math

import numpy as np

# shares of what is left after the bins and cell counts
FIRST, SCOUTS = 0.25, (0.15, 0.2)  # of the cycles of features alone, and of pairs alone
LAST = (0.03, 0.01)  # of classes: of the sizes of terms, and of intercepts
FIRST_CYCLES, LAST_CYCLES = 3, 2
INTERCEPT = 0.004  # of a cycle of classes

ENOUGH_OF_CLASSES, ENOUGH_OF_NUMBERS = 160.0, 115.0  # strength per feature, from which pairs pay
FEW_FEATURES = 8  # what fewer features need as well: pairs have many cells
PER_SIDE, FEWEST, MOST_SIDE = 0.8, 8, 12  # cells of a side of a pair
LOUDEST = 0.3  # noise of an entry of a 4 x 4 table of a pair, in units of a score
LEAST_FEATURES = 4
STAYS = 2 / 3  # of the pairs, after the first look
UNLIKELY_PAIR = (-3.3, -2.3)  # log-odds of a pair after each look, below which it is left
LEAST_PART = 0.05  # of an even part of the rest: what a feature has, and below which a pair is left
AT_ONCE = 2  # pairs that step from the same scores: steps of more that tell the same could diverge


def has_enough_for_pairs(strength, n_features, classes):
    """Return whether the main effects are known well enough to look beyond them."""
    enough = ENOUGH_OF_CLASSES if classes else ENOUGH_OF_NUMBERS
    return n_features > 1 and strength > enough * max(n_features, FEW_FEATURES)


def sides(strength):
    """Return the number of cells of each side of a pair, at most."""
    return int(np.clip(round(PER_SIDE * math.sqrt(strength / 60)), FEWEST, MOST_SIDE))


def most_features(strength, n_features, share, classes):
    """Return the number of features whose pairs are looked at, at least four."""
    each = strength / 4 if classes else strength
    for k in range(n_features, LEAST_FEATURES, -1):
        if 16 * math.sqrt(k * (k - 1) / 2 / share) <= LOUDEST * each:
            return k
    return min(n_features, LEAST_FEATURES)


def parts_of_tables(losses, had, left):
    """Return what every table takes of what is left, so that noise costs all together the least.

    The noise of a table that has had a part b costs a loss l, and with x more ``l b / (b + x)``:
    the least sum is at ``x = max(0, t sqrt(l b) - b)`` for the one t that spends all.
    """
    losses, had = np.asarray(losses, dtype=float), np.asarray(had, dtype=float)
    roots = np.sqrt(np.maximum(losses * had, np.finfo(float).tiny))
    order = np.argsort(had / roots, kind="stable")
    levels = (left + np.cumsum(had[order])) / np.cumsum(roots[order])
    level = levels[np.flatnonzero(levels > (had / roots)[order])[-1]]
    return np.maximum(level * roots - had, 0.0)
