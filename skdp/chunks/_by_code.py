"""The rows of each person one after the other, without a sort."""

import numpy as np
from scipy.sparse import csr_array

__all__ = ["by_code"]


def by_code(codes, n):
    """Return the places of the rows of number 0, then of those of number 1, and so on.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        Below n; rows with a negative one are left out.
    n : int

    Returns
    -------
    places : ndarray of int of shape (n_kept,)
        Those of one number rise.
    starts : ndarray of int of shape (n + 1,)
        Where the places of every number start, and where the last ones end.
    """
    kept = np.flatnonzero(codes >= 0)
    table = (np.ones(len(kept), dtype=bool), codes[kept], np.arange(len(kept) + 1))
    columns = csr_array(table, shape=(len(kept), n)).tocsc()
    return kept[columns.indices], columns.indptr
