"""Rows that a released distribution stands for, without chance."""

import math

import numpy as np

__all__ = ["systematic_rows"]

GOLDEN = (math.sqrt(5) - 1) / 2


def systematic_rows(joint, n_rows):
    """Return rows whose numbers in all cells are as near to a distribution as integers can be.

    Parameters
    ----------
    joint : ndarray of shape (L_1, ..., L_d)
        Cells >= 0, not all of them zero; released.
    n_rows : int

    Returns
    -------
    rows : ndarray of int of shape (n_rows, d)
        Level numbers.

    Notes
    -----
    Row i is the cell in which the share (i + 1/2) / n_rows of all falls, counted in C order: so a
    cell, and every run of cells, has its expected number of rows to within one. The rows then come
    in the order of the multiples of the golden ratio, which visits all parts of the table evenly:
    the first m rows are a sample too. It takes no random numbers, and none are needed: all of it is
    post-processing.
    """
    shares = np.cumsum(joint, axis=None, dtype=np.float64)
    points = (np.arange(n_rows) + 0.5) / max(n_rows, 1) * shares[-1]
    cells = np.searchsorted(shares, points, side="right").clip(max=joint.size - 1)
    order = np.argsort(np.arange(1, n_rows + 1) * GOLDEN % 1.0, kind="stable")
    return np.column_stack(np.unravel_index(cells[np.argsort(order, kind="stable")], joint.shape))
