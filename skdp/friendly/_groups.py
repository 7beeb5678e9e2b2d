"""Friends counted in random groups: a sample of the table for every row, at linear cost."""

import math
from functools import partial

import numpy as np

from skdp.kernel.pairs._public_numbers import real, whole
from skdp.readers._loop import threaded
from skdp.readers._takes import takes

__all__ = ["binomial_bound", "group_bits", "group_friends"]


def group_bits(n_rows, size):
    """Return b such that 2^b groups of n_rows rows have at least ``size`` rows on average."""
    return max(0, math.floor(math.log2(max(1.0, real(n_rows) / real(size)))))


def group_friends(rows, index, keys, bits, predicate):
    """Count for every row its friends in a random group of rows that it belongs to.

    Parameters
    ----------
    rows : ArrayRows
    index : array of shape (n,), int
        The rows to be counted, all finite.
    keys : array of shape (n,), uint64
        Their secret keys, independent of everything before: the group is the top ``bits`` bits.
    bits : int
    predicate : Predicate

    Returns
    -------
    counts, sizes : ndarrays of shape (n,), int64
        Friends in the group, the row itself included, and rows of the group.

    See Also
    --------
    noisy_filter, friendly_core, skdp.mechanisms.RowKeys

    Notes
    -----
    **Privacy** (add or remove a row; common rows keep their keys). The new row changes the counts
    and sizes of its own group alone, of each row there by one at most. The others of that group
    number Bin(n - 1, 2^-bits). Groups are counted apart from each other, on the threads that
    ``n_jobs`` asks for. Given the key of a row, each other row is in its group with
    probability 2^-bits, independently: the group is a Poisson sample of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows
    >>> from skdp.friendly import DistancePredicate, group_friends
    >>> rows, keys = ArrayRows(np.array([[0.0], [0.5], [9.0]])), np.zeros(3, dtype=np.uint64)
    >>> counts, sizes = group_friends(rows, np.arange(3), keys, 1, DistancePredicate(1.0))
    >>> counts.tolist(), sizes.tolist()
    ([2, 2, 1], [3, 3, 3])
    """
    bits = whole(bits)
    counts, sizes = np.empty((2, len(index)), dtype=np.int64)
    if bits == 0:
        counts[:], sizes[:] = predicate.friends(rows.take(index)), len(index)
        return counts, sizes
    labels = (keys >> np.uint64(64 - bits)).astype(np.uint32)
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels, minlength=2**bits))[:-1])
    groups = [group for group in groups if group.size]
    gathered = takes(rows, (index[group] for group in groups))
    friends = threaded(partial(predicate.friends, X) for X in gathered)
    for group, found in zip(groups, friends, strict=True):
        counts[group], sizes[group] = found, group.size
    return counts, sizes


def binomial_bound(n, q, log_p):
    """Return an integer k with P(Bin(n, q) > k) <= e^log_p, for q <= 1.

    With mean m = n q and k = (1 + x) m, Bennett's inequality bounds the probability by
    exp(-m ((1 + x) log(1 + x) - x)).
    """
    if q >= 1:
        return n
    mean, low, high = n * q, 0.0, 1.0
    enough = -log_p * (1 + 1e-9) / mean

    def exponent(x):
        return (1 + x) * math.log1p(x) - x

    while exponent(high) < enough:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if exponent(middle) < enough else (low, middle)
    return min(n, math.ceil(mean * (1 + high) * (1 + 1e-9)))
