"""Terms of two features: merged cells, and what such a term may look like."""

import math

import numpy as np

from skdp.additive._smooth import posterior
from skdp.kernel._cells import Pair

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
