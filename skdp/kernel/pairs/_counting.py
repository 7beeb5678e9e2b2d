"""Counting friends by matrix products that decide nearly all pairs with a proof.

Rows within T = r 2^b / sqrt(d + 8) of a pivot row p are its *core*, rows within T + 2r are *near*.
All friends of a core row are near, so products of core rows and near rows count them. Rows that are
left take another pivot from among themselves; a pivot is in its own core, hence this ends. The
first pivots have b = 14; if rows are left, they are far apart, and b = 22 follows.

Write a = fl(x - p), b = fl(y - p), D = |x - y|, R = fl(r r), 1 <= r < 2, for what the rule compares
with; u = 2^-53, g_k = k u / (1 - k u), (z) for z as computed. How pairs of core rows and near rows
are decided: :mod:`skdp.kernel.pairs._panels`.

*Near is enough.* For friends |y - p| <= |x - p| + D with D <= r (1 + (d + 4) u). Subtractions and
squared norms, in any order, cost at most 3 g_(d+4) (T + r) < r between (|a|^2) <= T^2 and
(|b|^2) <= (T + 2r)^2.

*Groups.* Rows that are farther than T from one another would take a pivot each, so rows are first
divided at gaps: columns in turn, where sorted entries of a group are more than 5/2 apart in units.
Rounding is monotone: all pairs across a gap have |fl(x_k - y_k)| >= fl(gap) > 5/2, S >= 25/4 > R,
and are no friends. Groups of a few rows are decided together, by the rule itself.
"""

import numpy as np

from skdp.kernel.pairs._panels import Blocks, PairCount
from skdp.mechanisms import finite_rows
from skdp.mechanisms._norms import blocks

PANEL = 2**17  # pairs of few rows decided together: they stay in the second-level cache
CELLS = 2**18  # cells of a block of rows
NARROW, WIDE = 14, 22  # b of the reach of a pivot
PIVOTS = 8  # of narrow reach
GAP = 2.5  # in units, between the entries of rows that are no friends
FEW = 16  # rows of a group that is decided together with others
DIRECT = 2**15  # differences of entries in a group that the rule decides sooner than products


def count_within(X, predicate):
    """Count the friends of every row among all rows."""
    counts = np.zeros(len(X), dtype=np.int64)
    index = _finite(X, predicate)
    if index.size == 0:
        return counts
    near = _PivotBlock(X, index, X[index[:1]], predicate)
    if near.core.all() and len(near.index) == len(index):
        counts[index] = near.count_within()
        return counts
    Z = predicate.rows(X[index])
    order, starts, sizes = _groups(Z)
    for size in range(1, FEW + 1):
        members = order[starts[sizes == size][:, None] + np.arange(size)]
        counts[index[members]] = _count_few(Z, members, predicate.limit)
    del Z
    for start, size in zip(starts[sizes > FEW], sizes[sizes > FEW], strict=True):
        _count_group(X, index[np.sort(order[start : start + size])], predicate, counts)
    return counts


def _groups(Z):
    """Divide rows in units into groups without friends in other groups.

    Returns the rows in the order of their groups, where groups start in it, and their sizes.
    """
    labels = np.zeros(len(Z), dtype=np.int64)
    for column in Z.T:
        order = np.lexsort((column, labels))
        new = (np.diff(labels[order]) > 0) | (np.diff(column[order]) > GAP)
        labels[order[1:]] = np.cumsum(new)
        labels[order[0]] = 0
        if np.bincount(labels).max() <= FEW:
            break
    sizes = np.bincount(labels)
    return np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes, sizes


def _count_few(Z, members, limit):
    """Count friends in groups of equal sizes, rows of numbers in Z, by the rule itself."""
    counts, size = np.empty(members.shape, dtype=np.int64), members.shape[1]
    for part in blocks(members, max(1, PANEL // size**2)):
        group = Z[members[part]]
        total = np.zeros((len(group), size, size))
        for column in np.moveaxis(group, 2, 0):
            squares = column[:, :, None] - column[:, None, :]
            squares *= squares
            total += squares
        counts[part] = np.count_nonzero(total <= limit, axis=2)
    return counts


def _count_group(X, left, predicate, counts):
    """Write the numbers of friends among the rows X[left] into their counts."""
    if left.size**2 * X.shape[1] <= DIRECT:
        Z = predicate.rows(X[left])
        counts[left] = predicate.rule_for_all(Z, Z).sum(axis=1)
        return
    while left.size:
        near = _PivotBlock(X, left, X[left[:1]], predicate)
        if not near.core.all():  # not a group without friends outside
            counts[left] = count_between(X[left], X[left], predicate)
            break
        counts[near.index] = near.count_within()
        left = np.setdiff1d(left, near.index, assume_unique=True)


def count_between(A, B, predicate):
    """Count the friends of every row of A among the rows of B."""
    counts = np.zeros(len(A), dtype=np.int64)
    everyone, near, pivots = np.arange(len(B)), None, 0
    finite = _finite(A, predicate)
    for part in blocks(finite, max(1, CELLS // A.shape[1])):
        left = finite[part]
        while left.size:
            if near is None:
                bits, pivots = NARROW if pivots < PIVOTS else WIDE, pivots + 1
                near = _PivotBlock(B, everyone, A[left[:1]], predicate, bits)
            core, counts[left[core]] = near.count(predicate.rows(A[left]))
            left = left[~core]
            near = None if left.size else near  # kept for the next part
    return counts


class _PivotBlock:
    """The rows of X[index] near a pivot, ready for products."""

    def __init__(self, X, index, pivot, predicate, bits=NARROW):
        self.X, self.predicate, self.pivot = X, predicate, predicate.rows(pivot)
        d, r = X.shape[1], np.sqrt(predicate.limit)
        core = r * 2.0**bits / np.sqrt(d + 8)
        self.core_square = core**2
        rows = predicate.rows(X if len(index) == len(X) else X[index])
        rows -= self.pivot
        squares = np.einsum("ij,ij->i", rows, rows)
        near = squares <= (core + 2 * r) ** 2
        whole = near.all()
        self.index = index if whole else index[near]
        squares = squares if whole else squares[near]
        self.core = squares <= self.core_square
        self.blocks = Blocks(rows if whole else rows[near], squares, self.rows)

    def rows(self, i):
        """Return near rows in units."""
        return self.predicate.rows(self.X[self.index[i]])

    def count(self, rows):
        """Tell which rows are in the core and count their friends."""
        left = rows - self.pivot
        squares = np.einsum("ij,ij->i", left, left)
        core = squares <= self.core_square
        if not core.all():
            rows, left, squares = rows[core], left[core], squares[core]
        left = Blocks(left, squares, rows.__getitem__)
        return core, PairCount(left, self.blocks, self.predicate).friends()

    def count_within(self):
        """Count the friends of all near rows among themselves, all of them in the core."""
        return PairCount(self.blocks, self.blocks, self.predicate).friends()


def _finite(X, predicate):
    """Return the indices of rows that the rule can see."""
    finite = np.empty(len(X), dtype=bool)
    for part in blocks(X, max(1, CELLS // X.shape[1])):
        finite[part] = finite_rows(predicate.rows(X[part]))
    return np.flatnonzero(finite)
