"""A certificate that many rows have many friends."""

import numpy as np

__all__ = ["h_index"]


def h_index(counts):
    """Return the largest k such that at least k rows have at least k friends.

    Parameters
    ----------
    counts : array-like of int of shape (n,)
        Number of friends of each row, itself included; see :meth:`DistancePredicate.friends`.

    Returns
    -------
    h : int
        Between 0 and n.

    See Also
    --------
    soft_core_average, DistancePredicate

    Notes
    -----
    **Privacy.** Adding a row moves h by 0 or 1: sensitivity 1. No old count falls, so h does not.
    If h = k >= 1 afterwards, k rows have k friends or more; k - 1 of them are old rows, whose
    counts grew by at most 1, so k - 1 old rows had k - 1 friends or more, and h was at least k - 1.
    A row without friends, not even itself, moves nothing.

    Examples
    --------
    >>> from skdp.friendly import h_index
    >>> int(h_index([5, 4, 3, 2, 1]))
    3
    """
    counts = np.sort(np.asarray(counts))[::-1]
    return int(np.count_nonzero(counts >= np.arange(1, len(counts) + 1)))
