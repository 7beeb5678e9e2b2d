"""Pairs of rows near a pivot, decided in panels by matrix products that nearly always are a proof.

Write a = fl(x - p), b = fl(y - p) in float64, D = |x - y|, S for the sum that the rule compares
with R = fl(r r), 1 <= r < 2; u = 2^-53, v = 2^-24, g_k = k u / (1 - k u), h_k = k v / (1 - k v),
(z) for z as computed, N >= |a| + |b|.

*Margin.* E is the product of [a, (|a|^2 - R)/2, 1] and [b, -1, -|b|^2/2], computed as sums of
products in any order, with or without fused operations:

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

BLOCK = 240  # rows; below 2^8, for sums in 8 bits
PANEL = 2**18  # pairs decided together: they stay in the second-level cache
SMALL = 10**6  # multiplications of a product of two blocks: BLAS packs larger matrices
CELLS = 2**15  # of the rows of pairs in doubt, decided together
DOUBT = 2.0**-10  # largest margin of float32, in units of R
UNITS = {np.float32: 2.0**-24, np.float64: 2.0**-52}


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
