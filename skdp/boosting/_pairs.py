"""Pairs of features: how many rows pay for them, their merged cells, what their terms look like.

Everywhere ``strength`` is n mu, of classes 4 p (1 - p) times as much, their mean.
"""

import math

import numpy as np

from skdp.additive._rules import posterior
from skdp.kernel._cells import Pair

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

VARIANCES = 4.0 ** np.arange(-7, 3)  # of a term, in squares of its unit
SHORT, LONG = 0.3, 2.0  # over which a term varies, as a part of all rows
# lengths of two ordered sides, and the part of the variance that has no length
BOTH = (
    *((SHORT, SHORT, 0.0), (SHORT, SHORT, 0.2), (LONG, LONG, 0.0), (LONG, LONG, 0.2)),
    *((SHORT, LONG, 0.05), (LONG, SHORT, 0.05)),
)
ONE = tuple((length, length, rough) for length in (SHORT, LONG) for rough in (0.0, 0.2))
MAIN = 0.9  # part of the variance of a pair that is a main effect which the features missed
TELLS, NOT = 0.3, 3.0  # pairs that are known to tell something, or nothing, before any is seen
SURE = 50.0  # log-odds beyond which a pair is certain


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


# --- terms of two features: merged cells, and what such a term may look like


def merged(counts, ordered, most):
    """Return the merged cell of every cell: neighbours of equal mass, or the commonest levels."""
    if len(counts) <= most + 1:
        return np.arange(len(counts))
    if not ordered:
        cells = np.full(len(counts), most - 1)
        cells[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
        return cells
    mass = counts[:-1]
    middles = (np.cumsum(mass) - mass / 2) / mass.sum()
    cells = np.unique(np.minimum((most * middles).astype(int), most - 1), return_inverse=True)[1]
    return np.append(cells, cells.max() + 1)


def pair_of(features, counts, ordered, most, spike):
    """Return the Pair of two features, the parts of all rows of its cells, and its PairPrior."""
    maps = [merged(counts[j], ordered[j], most) for j in features]
    sides = [
        _Side(np.bincount(cells, counts[j]), ordered[j])
        for j, cells in zip(features, maps, strict=True)
    ]
    expected = np.outer(sides[0].parts, sides[1].parts).ravel()
    return Pair(*features, *maps), expected, PairPrior(sides, spike)


def disjoint_groups(pairs, most):
    """Return groups of the numbers of pairs that share no feature, each of so many at most."""
    groups = []
    for number, features in pairs:
        for group, taken in groups:
            if len(group) < most and not taken & set(features):
                group.append(number)
                taken |= set(features)
                break
        else:
            groups.append(([number], set(features)))
    return [tuple(group) for group, _ in groups]


class _Side:
    """One feature of a pair: the parts of all rows of its merged cells, and their places."""

    def __init__(self, counts, ordered):
        self.parts = counts / counts.sum()
        self.ordered = ordered and len(counts) > 3
        places = np.cumsum(self.parts) - self.parts / 2
        places[-1] = math.inf  # missing entries
        with np.errstate(invalid="ignore"):
            apart = np.abs(places[:, None] - places)
        self._apart = np.nan_to_num(apart, nan=0.0, posinf=math.inf)

    def kernel(self, length):
        """Return correlations of the cells, those of names none."""
        if not self.ordered:
            return np.eye(len(self.parts))
        return np.exp(-self._apart / length)


class Spike:
    """How many pairs tell anything, learned from all that have been looked at."""

    def __init__(self):
        self.alive = {}  # PairPrior: its probability

    def log_odds(self, prior):
        """Return the log-odds that a pair tells anything, by what the others do."""
        others = [p for other, p in self.alive.items() if other is not prior]
        return math.log((TELLS + sum(others)) / (NOT + len(others) - sum(others)))


class PairPrior:
    """A term of two features: zero, or a mixture of Gaussian priors.

    The product of the correlations of its sides, a part without correlation, and main effects that
    the features missed. Variances and shapes have few values each, all of them equally likely.
    Whether it is zero is told by its evidence, and by how many pairs have told anything.
    """

    def __init__(self, sides, spike):
        self._sides, self._spike = sides, spike
        self.evidence = 0.0  # log of the Bayes factor against zero

    @property
    def log_odds(self):
        """Log-odds that the pair tells anything."""
        return self._spike.log_odds(self) + self.evidence

    def _shapes(self):
        """Yield correlations of the entries, None for none: built at every step, to save memory."""
        first, second = self._sides
        yield None
        lengths = BOTH if first.ordered and second.ordered else ONE
        alone = np.eye(len(first.parts) * len(second.parts))
        if first.ordered or second.ordered:
            for one, other, rough in lengths:
                product = np.kron(first.kernel(one), second.kernel(other))
                yield (1 - rough) * product + rough * alone
        ones = [np.ones((len(side.parts),) * 2) for side in self._sides]
        main = np.kron(first.kernel(SHORT), ones[1]) + np.kron(ones[0], second.kernel(SHORT))
        yield MAIN / 2 * main + (1 - MAIN) * alone

    def means(self, values, variances, unit=1.0):
        """Return the posterior means of the terms of all outputs, shape (n_outputs, n_cells)."""
        shapes, outputs = list(self._shapes()), len(values)
        found = [
            posterior(*each, shapes, VARIANCES, unit)
            for each in zip(values, variances, strict=True)
        ]
        told = sum(evidence for _, evidence, _ in found)
        # gradients of K classes sum to zero: they tell as much as K - 1
        self.evidence = told * (outputs - 1) / outputs if outputs > 1 else told
        alive = 1 / (1 + math.exp(-min(max(self.log_odds, -SURE), SURE)))
        self._spike.alive[self] = alive
        self.moves = alive * np.array([moves for _, _, moves in found])
        return [alive * mean for mean, _, _ in found]
