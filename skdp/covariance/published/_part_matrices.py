"""One covariance matrix for every random part of a table, and exact averages of them."""

from fractions import Fraction

import numpy as np

from skdp.cluster.friendly._parts import part_order
from skdp.mechanisms import finite_rows
from skdp.readers._takes import takes

__all__ = ["average_distance", "exact_average", "part_matrices"]

ROWS = 256  # whose products are added together
LEAST, MOST, TINY = 2.0**-900, 2.0**900, 2.0**-1000


def part_matrices(rows, coins, n_parts, predicate, *, assume_centered=False):
    """Return the covariance matrix of every part of a table.

    Shapes: matrices (n_parts, d, d).

    Notes
    -----
    **Privacy** (add or remove one row; common rows keep their keys). A row belongs to the part that
    its key tells (:func:`skdp.cluster.friendly._parts.part_order`): one matrix is replaced. A
    matrix is a function of the finite rows of its part, in the order of their keys: products are
    added in that order, entry by entry. BLAS takes no part, so no bit depends on where the rows
    lie.

    The paper pairs the rows of a part, (x - x') / sqrt(2), to be rid of their mean. The average
    over all pairings is the sample covariance, with twice the information of one pairing. It is
    computed from differences to the first row.
    """
    order, stops = part_order(rows, coins, n_parts)
    matrices = np.empty((n_parts, rows.n_features, rows.n_features))
    with np.errstate(all="ignore"):
        for part, block in enumerate(takes(rows, np.split(order, stops[:-1]))):
            M = _covariance(block[finite_rows(block)], assume_centered)
            matrices[part] = M if _usable(M, predicate) else np.nan
    return matrices


def _covariance(X, assume_centered):
    """Return the second moments of rows, around their mean; NaN if they are too few."""
    m, d = X.shape
    freedom = m if assume_centered else m - 1
    if freedom < d:
        return np.full((d, d), np.nan)
    if not assume_centered:
        X = X - X[0]
        X -= np.add.reduce(X, axis=0) / m
    total = np.zeros((d, d))
    for start in range(0, m, ROWS):
        block = X[start : start + ROWS]
        total += np.add.reduce(block[:, :, None] * block[:, None, :], axis=0)
    total /= freedom
    return np.where(np.abs(total) < TINY, 0.0, total)


def _usable(M, predicate):
    diagonal = np.diag(M)
    ordinary = np.all((diagonal > LEAST) & (diagonal < MOST))
    return bool(ordinary and predicate.matrix(M[None], M[None])[0, 0])


def exact_average(matrices):
    """Return the average of symmetric float matrices, exact: an object array of Fractions.

    The identity if there are none.
    """
    if len(matrices) == 0:
        return np.vectorize(Fraction, otypes=[object])(np.eye(matrices.shape[1], dtype=int))
    fraction, exponent = np.frexp(matrices)
    lowest = exponent.min(axis=0)
    shifts = (exponent - lowest).astype(object)
    total = (np.ldexp(fraction, 53).astype(np.int64).astype(object) << shifts).sum(axis=0)
    units = [[Fraction(2) ** (int(e) - 53) / len(matrices) for e in row] for row in lowest]
    return total * np.array(units, dtype=object)


def average_distance(gamma, n):
    """Return the largest distance of two averages of n matrices that differ in one of them.

    Notes
    -----
    Let g = (1 + gamma)^2: any two satisfy M <= g M'. Let S be the average of the n - 1 in common,
    A and A' the two others; A <= g A' and, averaged, A <= g S. For s = (g - 1) / n

        A - (1 + s) A' <= (1 - (1 + s) / g) A <= (g - 1 - s) S = s (n - 1) S,

    which says that the average with A is at most 1 + s times the one with A'; and the other way
    round. If one set has no A', its average is S, which stands for A' as well.
    """
    return ((1 + gamma) ** 2 - 1) / n * (1 + 1e-12)
