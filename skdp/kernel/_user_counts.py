"""Counts to which every user contributes a bounded number of rows, whatever the table says."""

from fractions import Fraction
from functools import partial

import numpy as np

from skdp.chunks import map_merge

__all__ = ["capped_counts", "capped_sensitivity"]

AT_ONCE = 2**20  # rows that wait before what the caps leave out is forgotten


def capped_sensitivity(per_user, per_cell):
    """Return the sensitivities of :func:`capped_counts`: l1, and the square of l2.

    Parameters
    ----------
    per_user : int
        Largest number m of rows of one user.
    per_cell : int
        Largest number k of rows of one user in one cell, at most m.

    Returns
    -------
    l1, squared_l2 : Fraction

    Notes
    -----
    For adding or removing **all rows of one user**: the counts move by a vector c of integers
    with ``0 <= c_j <= k`` and ``sum c_j <= m``. So ``|c|_1 <= m``, and the convex ``|c|_2^2`` is
    largest at a vertex: ``m // k`` cells with k rows, one with the rest.

    For adding or removing **one row**: by the proof in :func:`capped_counts` the counts move by
    0, e_a or e_a - e_b, of lengths at most 2 (l1) and sqrt(2) (l2). The larger of the two bounds is
    used, so the guarantee holds for both kinds of neighbours. It makes a difference for m = 1 only.
    """
    m, k = int(per_user), int(per_cell)  # whose products cannot overflow
    squared = m // k * k**2 + (m % k) ** 2
    return Fraction(max(m, 2)), Fraction(max(squared, 2))


def capped_counts(rows, cells, coins, *, user, per_user, per_cell):
    """Count rows by cells, at most ``per_user`` of a user and ``per_cell`` of a user in a cell.

    Parameters
    ----------
    rows : ArrayRows
    cells : Cells
    coins : RowKeys
        Secret keys, one per row: a user with too many rows keeps a random selection.
    user : int
        The column that tells whose row it is; equal numbers are one user
        (:func:`skdp.denoising._user_ids.with_exact_users`).
    per_user, per_cell : int

    Returns
    -------
    counts : ndarray of the shape of the cells
        Exact. Not for release.

    Notes
    -----
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

    def kept(users, at, keys):
        order = np.lexsort((keys, at, users))
        order = order[_rank(users[order], at[order]) < per_cell]
        order = order[np.lexsort((at[order], keys[order], users[order]))]
        order = order[_rank(users[order]) < per_user]
        return users[order], at[order], keys[order]

    def statistic(start, block, keys):
        at = cells.index(block)
        inside = np.flatnonzero(at >= 0)
        users = np.asarray(block[inside, user], dtype=np.float64)
        return [(users, at[inside], keys[inside])]

    def joined(parts):
        return kept(*map(np.concatenate, zip(*parts, strict=True)))

    def merge(some, others):
        parts = [*some, *others]
        sizes = [len(at) for _, at, _ in parts]
        return parts if sum(sizes) <= 2 * max(sizes[0], AT_ONCE) else [joined(parts)]

    parts = map_merge(rows, statistic, merge, partial(coins.keys, use="rows of a user"))
    _, at, _ = joined(parts)
    return np.bincount(at, minlength=int(np.prod(cells.shape))).reshape(cells.shape)


def _rank(*columns):
    """Return the position of every entry in its run of equal entries."""
    n = len(columns[0])
    new = np.ones(n, dtype=bool)
    for column in columns:
        new[1:] &= column[1:] == column[:-1]
    new[1:] = ~new[1:]
    starts = np.flatnonzero(new)
    return np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n)))
