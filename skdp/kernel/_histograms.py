"""Counts of the cells of a grid, of rows and of users with a bounded number of rows."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from skdp.kernel._bounded import OnGrid
from skdp.kernel._plain import (
    Checked,
    ColumnNumber,
    ColumnTuple,
    distinct,
    each,
    made_of,
    once,
    public,
    refuse,
    within,
)
from skdp.kernel._statistic import MOST_CELLS, RowMap, unit_bits
from skdp.mechanisms import finite_rows
from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.readers._loop import Counts, strips
from skdp.readers._norm_weights import weights_from_norms

MOST_BITS = 30  # of the grid and of weights together


@dataclass(frozen=True)
class Cells(Checked):
    """The product of the axes of some columns: bins between rising edges, or rising levels.

    The last of some bins is closed, as in numpy's histogram.
    """

    columns: Annotated[ColumnTuple, once]
    # edges of the bins of every column, or its levels: public or released
    values: Annotated[tuple, "k", made_of(np.ndarray), each(distinct)]
    levels: Annotated[tuple, "k", made_of(bool)]  # which of them are levels

    def check(self, shape):
        super().check(shape)
        fits = min(self.shape) > 0 and self.size <= MOST_CELLS
        refuse(not fits, "a histogram has from 1 to 2^24 cells")

    @property
    def shape(self):
        """Number of cells along every axis."""
        axes = zip(self.values, self.levels, strict=True)
        return tuple(len(values) - 1 + is_levels for values, is_levels in axes)

    @property
    def size(self):
        return math.prod(self.shape)

    def places(self, block):
        """Return the flat cell of every row of a block, -1 for rows in none.

        A row with NaN or infinity, in whatever column, is in none. Elementwise: a function of the
        row and the edges.
        """
        at = np.full(len(block), -1)
        found = [self._flat(strip) for strip in strips(block, list(self.columns))]
        at[finite_rows(block)] = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return at

    def _flat(self, columns):
        """Return the flat cell of every row, -1 for rows in none, from the columns of the axes."""
        flat, outside = 0, False
        for x, values, is_levels in zip(columns, self.values, self.levels, strict=True):
            at = np.searchsorted(values, x, side="right") - 1
            if is_levels:
                outside |= (at < 0) | (values[at] != x)
                flat = flat * len(values) + at
            else:
                at[x == values[-1]] -= 1
                outside |= (at < 0) | (at > len(values) - 2)
                flat = flat * (len(values) - 1) + at
        flat[outside] = -1
        return flat

    def weighed(self, rows, law):
        """Return rows that count with weights for one release of :class:`HistogramCounts`.

        **Privacy**: one row adds 1 to one cell, a person a vector of counts, whose length in l2,
        rounded up, or l1, for Laplace noise, is what its weight is made of; see
        :func:`skdp.readers._norm_weights.weights_from_norms`.
        """

        def norms(persons):
            if law == "laplace":
                return persons.numbers(persons.columns[0] >= 0)
            squares = persons.squares(persons.columns[0], self.size)
            return np.sqrt(squares) * (1 + 2.0**-50)

        return weights_from_norms(rows, lambda block: self.places(block)[:, None], norms)


class CountsOnGrid(OnGrid):
    """Counts in multiples of ``2^-bits``, on which the noise is drawn.

    A subclass has the bounds ``most`` of the sum of the counts that move, and ``most_squared`` of
    that of their squares, and the fields ``bits`` and ``pure``: whether the noise is Laplace's.
    """

    def at(self, offer):
        pure = offer.budget.measure == "pure"
        amount = float(Fraction(offer.share) * offer.budget.amount)
        scale = float(self.most) / amount if pure else math.sqrt(float(self.most_squared) / amount)
        bits = int(np.clip(10 - math.floor(math.log2(scale)), 0, 20))
        bits = max(0, min(bits, MOST_BITS - unit_bits(offer.unit)))
        return replace(self, bits=bits, pure=pure)

    @property
    def squared_l2(self):
        return self.most_squared * 4**self.bits

    @property
    def l1(self):
        return self.most * 2**self.bits if self.pure else None


@public
class HistogramCounts(Cells, CountsOnGrid):
    """How many rows lie in each of the cells of a grid.

    **Privacy** (add or remove one row): it is in one cell or none. A person adds what
    :meth:`Cells.weighed` proves, in l1 only if weighed for it.
    """

    bits: int | None = None
    pure: bool = False  # whether persons are weighed for Laplace noise. Chosen by the kernel
    most = most_squared = 1

    def over(self, rows):
        if rows.unit != 1:
            rows = self.weighed(rows, "laplace" if self.pure else "gaussian")
        counts = weighed_sum(rows, Counts(self.places, self.size))
        return counts.reshape(self.shape) << self.bits

    def total(self, block):
        """Return the counts, of the shape of the grid."""
        return self.over(ArrayRows(np.asarray(block)))


AT_ONCE = 2**20  # rows that wait before what the caps leave out is forgotten
MOST_ROWS = 2**62


def capped_sensitivity(per_user, per_cell):
    """Return the sensitivities of :class:`UserCounts`: l1, and the square of l2.

    For adding or removing **all rows of one user**: the counts move by a vector c of integers
    with ``0 <= c_j <= k`` and ``sum c_j <= m``. So ``|c|_1 <= m``, and the convex ``|c|_2^2`` is
    largest at a vertex: ``m // k`` cells with k rows, one with the rest.

    For adding or removing **one row**: by the proof in :class:`OfUsers` the counts move by
    0, e_a or e_a - e_b, of lengths at most 2 (l1) and sqrt(2) (l2). The larger of the two bounds is
    used, so the guarantee holds for both kinds of neighbours. It makes a difference for m = 1 only.
    """
    m, k = int(per_user), int(per_cell)  # whose products cannot overflow
    squared = m // k * k**2 + (m % k) ** 2
    return Fraction(max(m, 2)), Fraction(max(squared, 2))


class Capped(Checked):
    """What counts a bounded number of rows of a user, and of those in one cell."""

    def check(self, shape):
        super().check(shape)
        refuse(not 1 <= self.per_cell <= self.per_user <= MOST_ROWS, "at least a row of a user")


@public
class OfUsers(Capped, Cells, RowMap):
    """The cells of at most ``per_user`` rows of every user, ``per_cell`` of them in a cell.

    A row of the view is a user; a user with too many rows keeps a random selection, by secret keys.

    **Privacy.** Rows in no cell are absent. Order the rows of a user by (key, cell). Every cell
    keeps its first k; of what is kept the first m are counted. The result is a function of
    the set of the user's triples (user, cell, key), and a user's rows do not touch those of
    others: removing a user removes one vector c of :func:`capped_sensitivity`.

    Let a row be added in cell a. The first rule then keeps one row more in a, or another in place
    of a later one of a. In the list that the second rule cuts, a row is put in, and perhaps a later
    one of the same cell is taken out. If the one taken out had been counted, nothing changes: the
    number of rows before the cut, and their cells, are the same. Else at most one row of a comes
    in, and at most one, the last of m, goes.

    **Memory**: three numbers for each of at most m rows of a user, or for 2^20 rows if that is
    more, and as many again, since what two parts of a table keep is all that the whole can keep.
    For let x be kept of A and B together, and be in A. Of each cell the number of rows before x
    that pass the first rule, the smaller of k and all of them, is not larger in A than in both: x
    passes both rules in A. So what is kept of all, K, is among what is kept of A or of B, U, and
    passes both rules there, by the same comparison. And a row x of U that is not in K is not kept
    of U: if m rows of K stand before it, they fill the list; else k rows of its cell do, which all
    are in K, and so in U.
    """

    # the column that tells whose row it is; equal numbers are one user
    # (:func:`skdp.denoising._user_ids.with_exact_users`)
    user: ColumnNumber
    per_user: int
    per_cell: int
    kind = "numbers"
    keyed = "rows of a user"  # secret keys decide which of them a user keeps

    def over(self, rows, coins):
        def statistic(start, block, keys):
            at = self.places(block)
            inside = np.flatnonzero(at >= 0)
            users = np.asarray(block[inside, self.user], dtype=np.float64)
            return [(users, at[inside], keys[inside])]

        def joined(parts):
            users, at, keys = map(np.concatenate, zip(*parts, strict=True))
            kept = _kept(users, at, keys, self.per_user, self.per_cell)
            return users[kept], at[kept], keys[kept]

        def merge(some, others):
            parts = [*some, *others]
            sizes = [len(at) for _, at, _ in parts]
            return parts if sum(sizes) <= 2 * max(sizes[0], AT_ONCE) else [joined(parts)]

        parts = map_merge(rows, statistic, merge, partial(coins.keys, use=OfUsers.keyed))
        users, at, _ = joined(parts)
        return UserRows(UserBlock(np.flatnonzero(np.diff(users, prepend=np.nan) != 0), at))


class UserRows:
    """What :class:`OfUsers` shows: users as rows, in memory."""

    kind, n_features, unit, cap, heads = "users", 1, 1, 1, None

    def __init__(self, block):
        self._block = block

    def map_merge(self, statistic, merge, beside=None):
        return statistic(0, self._block)


class UserBlock:
    """Users and the cells of their rows.

    ``starts``: (n_users,): where the cells of a user begin.
    """

    n_features = 1

    def __init__(self, starts, cells):
        self.starts, self.cells = starts, cells
        self.sizes_of = np.diff(np.append(starts, len(cells)))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, users):
        starts, sizes = self.starts[users], self.sizes_of[users]
        first = np.cumsum(sizes) - sizes
        at = np.arange(sizes.sum()) + np.repeat(starts - first, sizes)
        return UserBlock(first, self.cells[at])


@public
class UserCounts(Capped, CountsOnGrid):
    """How many rows lie in each cell, of every user a bounded number.

    **Privacy** (add or remove all rows of a user, or one row): :func:`capped_sensitivity`. Caps are
    applied here again, to what a view shows of every user.
    """

    size: Annotated[int, within(1, MOST_CELLS)]  # number of cells
    # largest number of rows of a user, and of those in one cell
    per_user: int
    per_cell: int
    bits: int | None = None
    pure: bool = False  # whether the noise is Laplace's. Chosen by the kernel
    kind = "users"

    @property
    def most(self):
        return int(capped_sensitivity(self.per_user, self.per_cell)[0])

    @property
    def most_squared(self):
        return int(capped_sensitivity(self.per_user, self.per_cell)[1])

    def total(self, block):
        """Return the counts, shape (size,)."""
        users, at = np.repeat(np.arange(len(block)), block.sizes_of), np.asarray(block.cells)
        inside = (at >= 0) & (at < self.size)
        users, at = users[inside], at[inside]
        kept = _kept(users, at, np.zeros(len(at)), self.per_user, self.per_cell)
        return np.bincount(at[kept], minlength=self.size).astype(np.int64) << self.bits


def _kept(users, at, keys, per_user, per_cell):
    """Return the places of the rows that pass both caps, ordered by user."""
    order = np.lexsort((keys, at, users))
    order = order[_rank(users[order], at[order]) < per_cell]
    order = order[np.lexsort((at[order], keys[order], users[order]))]
    return order[_rank(users[order]) < per_user]


def _rank(*columns):
    """Return the position of every entry in its run of equal entries."""
    n = len(columns[0])
    new = np.ones(n, dtype=bool)
    for column in columns:
        new[1:] &= column[1:] == column[:-1]
    new[1:] = ~new[1:]
    starts = np.flatnonzero(new)
    return np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n)))
