"""Differences of neighbours in a random cyclic order, for those who count them themselves."""

import numpy as np

from skdp.kernel.pairs._ring import ring_blocks, ring_order

__all__ = ["ring_differences"]


def ring_differences(Z, keys):
    """Return the differences of consecutive rows in the cyclic order of their keys.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Finite rows.
    keys : ndarray of uint64 of shape (n,)
        Secret keys, one per row, independent of the data and of one another.

    Returns
    -------
    differences : ndarray of shape (n, d), or (0, d) if n < 2

    See Also
    --------
    LogBins, skdp.mechanisms.RowKeys

    Notes
    -----
    **Privacy** (add or remove one row): let h count the differences by the bin of any function of
    them. Couple the keys so that common rows share theirs. Then the new row comes between two
    neighbours of the old order: one difference goes and two come, ``h' - h = e_a + e_b - e_c``. Its
    squared length is ``3 + 2 [a = b] - 2 [a = c] - 2 [b = c]``, at most 5 (a = b, other than c).
    From one row to two, two differences come, which is at most 4; functions that leave a
    difference out only drop unit vectors from the sum. So the l2 sensitivity of one histogram is
    sqrt(5), of d of them side by side sqrt(5 d).

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.scales import ring_differences
    >>> Z, keys = np.array([[1.0], [4.0], [9.0]]), np.array([5, 7, 6], dtype=np.uint64)
    >>> ring_differences(Z, keys).tolist()
    [[-3.0], [8.0], [-5.0]]
    """
    blocks = [block() for block in ring_blocks(Z, ring_order(keys), np.asarray)]
    return np.concatenate(blocks) if blocks else np.empty((0, Z.shape[1]))
