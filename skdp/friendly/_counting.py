"""Counting friends by matrix products that decide nearly all pairs with a proof.

Rows within T = r 2^b / sqrt(d + 8) of a pivot row p are its *core*, rows within T + 2r are *near*.
All friends of a core row are near, so products of core rows and near rows count them. Rows that are
left take another pivot from among themselves; a pivot is in its own core, hence this ends. The
first pivots have b = 14; if rows are left, they are far apart, and b = 22 follows.

Write a = fl(x - p), b = fl(y - p), D = |x - y|, S for the sum that the rule compares with
R = fl(r r), 1 <= r < 2; u = 2^-53, g_k = k u / (1 - k u), (z) for z as computed, N = |a| + |b|.

*Near is enough.* For friends |y - p| <= |x - p| + D with D <= r (1 + (d + 4) u). Subtractions and
squared norms, in any order, cost at most 3 g_(d+4) (T + r) < r between (|a|^2) <= T^2 and
(|b|^2) <= (T + 2r)^2.

*Margin.* E is the product of [a, (|a|^2 - R)/2, 1] and [b, -1, -|b|^2/2], computed as sums of
products in any order, with or without fused operations:

    |E - (R - |a - b|^2)/2|   <= g_(d+2) (N^2 + R)/2 + g_d N^2/2 + u (N^2 + R)/2
                                 (the d + 2 products, the squared norms, the subtraction of R)
    ||a - b|^2 - D^2| / 2     <= 1.01 u N^2, as |(a - b) - (x - y)| <= u N / (1 - u)
    |S - D^2|                 <= g_(d+2) D^2: if S <= R, D^2 <= R (1 + 1.01 g_(d+2)) and
                                 if S > R, D^2 >= R (1 - g_(d+2))

Together less than 1.01 (d + 8) u (N^2 + R), where N^2 <= 4.1 (T + 2r)^2 <= 8.2 T^2 + 33 r^2: less
than R (1.05 2^(2b-50) + 35 (d + 8) 2^-53) < R (2^(2b-49) + (d + 8) 2^-47), the margin. Underflow
(2^-1022 an operation) and the roundings of T and of the margin vanish in that gap. So E > margin
proves S <= R, E < -margin proves S > R, and the rule itself decides the other pairs.

*Groups.* Rows that are farther than T from one another would take a pivot each, so rows are first
divided at gaps: columns in turn, where sorted entries of a group are more than 5/2 apart in units.
Rounding is monotone: all pairs across a gap have |fl(x_k - y_k)| >= fl(gap) > 5/2, S >= 25/4 > R,
and are no friends. Groups of a few rows are decided together, by the rule itself.
"""

import numpy as np

from skdp.mechanisms import finite_rows

__all__ = ["count_between", "count_within"]

PANEL = 2**17  # pairs decided together: they stay in the second-level cache
COLUMNS = 2**10  # of a panel; below 2^16, for sums in 16 bits
CELLS = 2**18  # cells of a block of rows
NARROW, WIDE = 14, 22  # b of the reach of a pivot
PIVOTS = 8  # of narrow reach
GAP = 2.5  # in units, between the entries of rows that are no friends
FEW = 16  # rows of a group that is decided together with others


def count_within(X, predicate):
    """Count the friends of every row among all rows."""
    counts = np.zeros(len(X), dtype=np.int64)
    index = _finite(X, predicate)
    if index.size == 0:
        return counts
    near = _Near(X, index, X[index[:1]], predicate)
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
    for part in _slices(0, len(members), max(1, PANEL // size**2)):
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
    while left.size:
        near = _Near(X, left, X[left[:1]], predicate)
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
    for part in _slices(0, len(finite), max(1, CELLS // A.shape[1])):
        left = finite[part]
        while left.size:
            if near is None:
                bits, pivots = NARROW if pivots < PIVOTS else WIDE, pivots + 1
                near = _Near(B, everyone, A[left[:1]], predicate, bits)
            core, counts[left[core]] = near.count(predicate.rows(A[left]))
            left = left[~core]
            near = None if left.size else near  # kept for the next part
    return counts


class _Near:
    """The rows of X[index] near a pivot, ready for products."""

    def __init__(self, X, index, pivot, predicate, bits=NARROW):
        self.X, self.predicate, self.pivot = X, predicate, predicate.rows(pivot)
        d, r = X.shape[1], np.sqrt(predicate.limit)
        self.margin = predicate.limit * (2.0 ** (2 * bits - 49) + (d + 8) * 2.0**-47)
        core = r * 2.0**bits / np.sqrt(d + 8)
        self.core_square = core**2
        right = np.empty((len(index), d + 2))
        predicate.rows(X if len(index) == len(X) else X[index], out=right[:, :d])
        right[:, :d] -= self.pivot
        squares = np.einsum("ij,ij->i", right[:, :d], right[:, :d])
        right[:, d], right[:, d + 1] = -1, squares / -2
        near = squares <= (core + 2 * r) ** 2
        whole = near.all()
        self.index = index if whole else index[near]
        self.right = right if whole else right[near]
        self.squares = squares if whole else squares[near]
        self.core = self.squares <= self.core_square

    def rows(self, i):
        """Return near rows in units."""
        return self.predicate.rows(self.X[self.index[i]])

    def count(self, rows):
        """Tell which rows are in the core and count their friends."""
        left = rows - self.pivot
        squares = np.einsum("ij,ij->i", left, left)
        core = squares <= self.core_square
        rows, left = (rows, left) if core.all() else (rows[core], left[core])
        left = self._left(left, squares[core])
        friends = np.zeros(len(left), dtype=np.int64)
        for i in _slices(0, len(left), max(1, PANEL // max(1, min(COLUMNS, len(self.index))))):
            for j in _slices(0, len(self.index), COLUMNS):
                panel = self._panel(left[i], j, rows[i].__getitem__)
                friends[i] += np.add.reduce(panel, axis=1, dtype=np.uint16)
        return core, friends

    def count_within(self):
        """Count the friends of all near rows among themselves, all of them in the core."""
        d, n = self.X.shape[1], len(self.index)
        friends = np.zeros(n, dtype=np.int64)
        for i in _slices(0, n, max(1, PANEL // COLUMNS)):
            left = self._left(self.right[i, :d], self.squares[i])
            for j in _slices(i.start, n, COLUMNS):
                panel = self._panel(left, j, lambda k, i=i: self.rows(i.start + k))
                friends[i] += np.add.reduce(panel, axis=1, dtype=np.uint16)
                new = slice(max(i.stop, j.start), max(i.stop, j.stop))
                panel = panel[:, max(i.stop - j.start, 0) :]
                friends[new] += np.add.reduce(panel, axis=0, dtype=np.uint16)
        return friends

    def _left(self, rows, squares):
        d = rows.shape[1]
        left = np.empty((len(rows), d + 2))
        left[:, :d], left[:, d], left[:, d + 1] = rows, (squares - self.predicate.limit) / 2, 1
        return left

    def _panel(self, left, j, rows):
        """Return 1 for friends, 0 for others; `rows` gives rows of the left in units."""
        product = left @ self.right[j].T
        friends = product > self.margin
        possible = product >= -self.margin
        doubts = np.count_nonzero(possible) - np.count_nonzero(friends)
        if 16 * doubts > friends.size:  # then the whole panel is the quicker
            friends = self.predicate.rule_for_all(rows(np.arange(len(left))), self.rows(j))
        elif doubts:
            x, y = np.nonzero(possible & ~friends)
            for k in _slices(0, doubts, max(1, CELLS // self.X.shape[1])):
                friends[x[k], y[k]] = self.predicate.rule(rows(x[k]), self.rows(j.start + y[k]))
        return friends.view(np.uint8)


def _finite(X, predicate):
    """Return the indices of rows that the rule can see."""
    finite = np.empty(len(X), dtype=bool)
    for part in _slices(0, len(X), max(1, CELLS // X.shape[1])):
        finite[part] = finite_rows(predicate.rows(X[part]))
    return np.flatnonzero(finite)


def _slices(start, stop, step):
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))
