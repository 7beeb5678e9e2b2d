"""The rows of each person one after the other, without a sort."""

import numpy as np
from scipy.sparse import csr_array

__all__ = ["by_code"]


def by_code(codes, n):
    """Return the places of the rows of number 0, then of those of number 1, and so on.

    Shapes: codes (n_rows,); places (n_kept,); starts (n + 1,).
    """
    kept = np.flatnonzero(codes >= 0)
    table = (np.ones(len(kept), dtype=bool), codes[kept], np.arange(len(kept) + 1))
    columns = csr_array(table, shape=(len(kept), n)).tocsc()
    return kept[columns.indices], columns.indptr
