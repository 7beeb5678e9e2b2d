"""Counting friends by matrix products that decide nearly all pairs with a proof.

Rows within T = r 2^b / sqrt(d + 8) of a pivot row p are its *core*, rows within T + 2r are *near*.
All friends of a core row are near, so products of core rows and near rows count them. Rows that are
left take another pivot from among themselves; a pivot is in its own core, hence this ends. The
first pivots have b = 14; if rows are left, they are far apart, and b = 22 follows.

Write a = fl(x - p), b = fl(y - p) in float64, D = |x - y|, S for the sum that the rule compares
with R = fl(r r), 1 <= r < 2; u = 2^-53, v = 2^-24, g_k = k u / (1 - k u), h_k = k v / (1 - k v),
(z) for z as computed, N >= |a| + |b|.

*Near is enough.* For friends |y - p| <= |x - p| + D with D <= r (1 + (d + 4) u). Subtractions and
squared norms, in any order, cost at most 3 g_(d+4) (T + r) < r between (|a|^2) <= T^2 and
(|b|^2) <= (T + 2r)^2.

*Groups.* Rows that are farther than T from one another would take a pivot each, so rows are first
divided at gaps: columns in turn, where sorted entries of a group are more than 5/2 apart in units.
Rounding is monotone: all pairs across a gap have |fl(x_k - y_k)| >= fl(gap) > 5/2, S >= 25/4 > R,
and are no friends. Groups of a few rows are decided together, by the rule itself.

*Margin.* How pairs of core rows and near rows are decided: E is the product of
[a, (|a|^2 - R)/2, 1] and [b, -1, -|b|^2/2], computed as sums of products in any order, with or
without fused operations:

    |E - (R - |a - b|^2)/2|   <= g_(d+2) (N^2 + R)/2 + g_d N^2/2 + u (N^2 + R)/2
                                 (the d + 2 products, the squared norms, the subtraction of R)
    ||a - b|^2 - D^2| / 2     <= 1.01 u N^2, as |(a - b) - (x - y)| <= u N / (1 - u)
    |S - D^2|                 <= g_(d+2) D^2: if S <= R, D^2 <= R (1 + 1.01 g_(d+2)) and
                                 if S > R, D^2 >= R (1 - g_(d+2))

Together less than 1.01 (d + 8) u (N^2 + R). In float32, factors of the product are rounded once
more, by a factor within 1 +- v each: that moves a . b by at most 2.01 v |a| |b| <= 0.51 v N^2 and
the squared norms by v (N^2 + R)/2; the products, whose absolute values add up to at most
(N^2 + R)(1 + 3 v)/2, cost h_(d+2) (N^2 + R)(1 + 3 v)/2 in place of the first g_(d+2). Together with
the rest, less than (0.52 (d + 5) + 0.01) v (N^2 + R). So with

    margin = (d + 8) (N^2 + R) unit,    unit = 2^-24 in float32 and 2^-52 in float64,

E > margin proves S <= R, E < -margin proves S > R, and the rule itself decides the other pairs.
Underflow (2^-1022 an operation, 2^-149 in float32, times N) and the roundings of N and of the
margin vanish in that gap. Float32 serves while its margin is a small part of R.

*Blocks.* Rows are sorted by |a|. Those of two blocks have D between the gap of their norms and
the sum of the largest: where (R - D^2)/2 is beyond the margin of float64 at either end, which
covers the roundings of the norms, the two blocks are decided at once.
"""

import numpy as np

from skdp.mechanisms import finite_rows
from skdp.mechanisms._norms import blocks

FEW_PAIRS = 2**17  # pairs of few rows decided together: they stay in the second-level cache
ROW_CELLS = 2**18  # cells of a block of rows
NARROW, WIDE = 14, 22  # b of the reach of a pivot
PIVOTS = 8  # of narrow reach
GAP = 2.5  # in units, between the entries of rows that are no friends
FEW = 16  # rows of a group that is decided together with others
DIRECT = 2**15  # differences of entries in a group that the rule decides sooner than products

BLOCK = 240  # rows; below 2^8, for sums in 8 bits
PANEL = 2**18  # pairs decided together: they stay in the second-level cache
SMALL = 10**6  # multiplications of a product of two blocks: BLAS packs larger matrices
CELLS = 2**15  # of the rows of pairs in doubt, decided together
DOUBT = 2.0**-10  # largest margin of float32, in units of R
UNITS = {np.float32: 2.0**-24, np.float64: 2.0**-52}


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
    for part in blocks(members, max(1, FEW_PAIRS // size**2)):
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
    for part in blocks(finite, max(1, ROW_CELLS // A.shape[1])):
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
    for part in blocks(X, max(1, ROW_CELLS // X.shape[1])):
        finite[part] = finite_rows(predicate.rows(X[part]))
    return np.flatnonzero(finite)


class Blocks:
    """Rows less a pivot, by rising norm, in blocks of one size.

    ``rows``: (n, d): less the pivot, in units of a predicate; ``squares``: (n,): their squared
    norms; ``original``: maps an array of numbers of rows to these rows in units, with the pivot.
    """

    def __init__(self, rows, squares, original):
        n, d = rows.shape
        most = max(1, min(BLOCK, max(96, int((SMALL / (d + 2)) ** 0.5))) // 8)
        self.size = 8 * -(-n // (8 * -(-n // (8 * most)))) if n else 8
        self.rows, self.squares, self._original = rows, squares, original
        self.order = np.argsort(squares, kind="stable")
        norms = np.sqrt(squares[self.order])
        self.starts = np.arange(0, n, self.size)
        self.stops = np.minimum(self.starts + self.size, n)
        self.shortest, self.longest = norms[self.starts], norms[self.stops - 1]
        self._single = None

    def original(self, places):
        """Return the rows at places of the order, in units."""
        return self._original(self.order[places])

    def left(self, i, limit, dtype):
        """Return the left factor of a block, shape (rows, d + 2)."""
        part, d = self.order[self.starts[i] : self.stops[i]], self.rows.shape[1]
        factor = np.empty((len(part), d + 2), dtype=dtype)
        factor[:, :d], factor[:, d] = self.rows[part], (self.squares[part] - limit) / 2
        factor[:, d + 1] = 1
        return factor

    def right(self, blocks, limit, dtype):
        """Return the right factors of a slice of blocks, shape (blocks, d + 2, size)."""
        if dtype == np.float64:
            return self._right(range(len(self.starts))[blocks], limit, dtype)
        if self._single is None:
            self._single = self._right(range(len(self.starts)), limit, dtype)
        return self._single[blocks]

    def _right(self, blocks, limit, dtype):
        d = self.rows.shape[1]
        factors = np.zeros((len(blocks), d + 2, self.size), dtype=dtype)
        factors[:, d], factors[:, d + 1] = -1, -4 * limit  # where no row is, nobody's friend
        for factor, i in zip(factors, blocks, strict=True):
            part = self.order[self.starts[i] : self.stops[i]]
            factor[:d, : len(part)] = self.rows[part].T
            factor[d + 1, : len(part)] = self.squares[part] / -2
        return factors


class PairCount:
    """The friends of every row of ``left`` among those of ``right``, or itself."""

    def __init__(self, left, right, predicate):
        self.left, self.right, self.predicate = left, right, predicate
        self.within = left is right
        self.limit, self.d = predicate.limit, left.rows.shape[1]
        pairs = left.size * right.size
        self.together = max(1, min(PANEL // pairs, len(right.starts), 255))
        self.memory = tuple(np.empty(self.together * pairs, t) for t in (np.float64, bool, bool))
        self.counts = np.zeros(len(left.starts) * left.size, dtype=np.int64)
        self.doubts, self.doubtful = [], 0

    def friends(self):
        for i in range(len(self.left.starts)):
            first = i if self.within else 0
            friends, strangers = self._at_once(i, first)
            self._add_blocks(i, first + np.flatnonzero(friends))
            unsure = first + np.flatnonzero(~(friends | strangers))
            if unsure.size:
                self._panels(i, unsure[0], unsure[-1] + 1)
        self._settle()
        friends = np.empty(len(self.left.order), dtype=np.int64)
        friends[self.left.order] = self.counts[: len(friends)]
        return friends

    def _margin(self, reach, dtype):
        return (self.d + 8) * (reach * reach + self.limit) * UNITS[dtype]

    def _at_once(self, i, first):
        """Tell with which blocks all pairs are friends, and with which none are."""
        shortest, longest = self.right.shortest[first:], self.right.longest[first:]
        reach = self.left.longest[i] + longest
        gap = np.maximum(self.left.shortest[i] - longest, shortest - self.left.longest[i])
        margin = self._margin(reach, np.float64)
        friends = (self.limit - reach * reach) / 2 > margin
        return friends, (self.limit - np.maximum(gap, 0) ** 2) / 2 < -margin

    def _add_blocks(self, i, blocks):
        left, right = self.left, self.right
        mine = slice(left.starts[i], left.stops[i])
        for j in blocks:
            self.counts[mine] += right.stops[j] - right.starts[j]
            if self.within and j > i:
                self.counts[right.starts[j] : right.stops[j]] += left.stops[i] - left.starts[i]

    def _panels(self, i, start, stop):
        """Count the pairs of one block of the left and of the right from ``start`` to ``stop``."""
        factors = {}
        for j in range(start, stop, self.together):
            blocks = slice(j, min(j + self.together, stop))
            reach = float(self.left.longest[i] + self.right.longest[blocks.stop - 1])
            single = self._margin(reach, np.float32) <= DOUBT * self.limit
            dtype = np.float32 if single else np.float64
            if dtype not in factors:
                factors[dtype] = self.left.left(i, self.limit, dtype)
            right = self.right.right(blocks, self.limit, dtype)
            self._panel(i, blocks, factors[dtype], right, dtype(self._margin(reach, dtype)))

    def _panel(self, i, blocks, left, right, margin):
        shape = len(right), len(left), self.right.size
        n = shape[0] * shape[1] * shape[2]
        product, friends, unsure = (
            m.view(t)[:n] for m, t in zip(self.memory, (left.dtype, bool, bool), strict=True)
        )
        np.matmul(left, right, out=product.reshape(shape))
        np.greater(product, margin, out=friends)
        np.greater_equal(product, -margin, out=unsure)
        np.not_equal(unsure, friends, out=unsure)
        words = unsure.view(np.uint64).nonzero()[0]
        if 16 * words.size > n:  # then all pairs are the quicker
            self._by_rule(i, blocks, friends.reshape(shape))
        elif words.size:
            self._doubt(i, blocks, unsure, shape, words)
        self._add(i, blocks, friends.view(np.uint8).reshape(shape))

    def _add(self, i, blocks, ones):
        size, start = self.right.size, self.left.starts[i]
        mine = np.add.reduce(ones, axis=0, dtype=np.uint8)
        self.counts[start : start + len(mine)] += np.add.reduce(mine, axis=1, dtype=np.uint16)
        if self.within:
            first = blocks.start == i  # pairs within one block come twice
            theirs = np.add.reduce(ones[first:], axis=1, dtype=np.uint8).reshape(-1)
            stop = blocks.stop * size
            self.counts[stop - theirs.size : stop] += theirs

    def _by_rule(self, i, blocks, friends):
        mine = self.left.original(np.arange(self.left.starts[i], self.left.stops[i]))
        for j, part in zip(range(blocks.start, blocks.stop), friends, strict=True):
            others = self.right.original(np.arange(self.right.starts[j], self.right.stops[j]))
            part[:, : len(others)] = self.predicate.rule_for_all(mine, others)

    def _doubt(self, i, blocks, unsure, shape, words):
        cells = (8 * words[:, None] + np.arange(8)).reshape(-1)
        block, x, y = np.unravel_index(cells[unsure[cells]], shape)
        block += blocks.start
        self.doubts.append((x + self.left.starts[i], y + block * self.right.size, block > i))
        self.doubtful += len(x)
        if self.doubtful * self.d > CELLS:
            self._settle()

    def _settle(self):
        """Let the rule decide the pairs in doubt."""
        if not self.doubts:
            return
        x, y, apart = (np.concatenate(parts) for parts in zip(*self.doubts, strict=True))
        self.doubts, self.doubtful = [], 0
        step = max(1, CELLS // self.d)
        for k in range(0, len(x), step):
            part = slice(k, k + step)
            hit = self.predicate.rule(self.left.original(x[part]), self.right.original(y[part]))
            np.add.at(self.counts, x[part][hit], 1)
            if self.within:
                np.add.at(self.counts, y[part][hit & apart[part]], 1)
