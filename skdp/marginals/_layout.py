"""Which residuals a workload of tables needs, and where they stand in the vector of a release."""

import math
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

import numpy as np

from skdp.kernel._layout import (
    LARGEST,
    WIDEST,
    Layout,
    by_shape,
    largest_tables,
    set_keys,
    set_numbers,
)

__all__ = [
    "Layout",
    "Measurement",
    "all_subsets",
    "by_shape",
    "largest_tables",
    "margins",
    "set_keys",
    "set_numbers",
    "workload_layout",
]


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy residuals, their noise, and what errors cost. Released.

    Parameters
    ----------
    layout : Layout
    values : ndarray of shape (n_coordinates,)
        Residuals plus independent Gaussian noise, in rows.
    sd : ndarray of shape (n_sets,)
        Standard deviation of the noise in each coordinate of a residual, or its root mean square.
    weights : ndarray of shape (n_sets,)
        The loss of an estimate is the sum over sets of weight times squared error of its residual:
        the weighted squared error of all cells of the workload.
    factors : dict of int to ndarray of shape (L - 1, L - 1), default=None
        Of attributes whose noise is correlated, that of ranges: it is the matrix times independent
        standard normal numbers.

    See Also
    --------
    Layout, skdp.marginals.published.published_projection

    Notes
    -----
    **Privacy**: released: everything computed from it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout, Measurement
    >>> layout = Layout((2,), (np.zeros((1, 0), dtype=int), np.array([[0]])))
    >>> Measurement(layout, values=np.array([100.0, 7.0]), sd=np.ones(2), weights=np.ones(2)).values
    array([100.,   7.])
    """

    layout: Layout
    values: np.ndarray
    sd: np.ndarray
    weights: np.ndarray
    factors: dict | None = None


def margins(sets):
    """Yield (numbers of sets of one size, attributes of a margin of each, the other attributes)."""
    sizes = np.array([len(attributes) for attributes in sets])
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        members = np.array([sets[i] for i in which], dtype=np.int64)
        for j in range(size + 1):
            for inside in map(list, combinations(range(size), j)):
                outside = [i for i in range(size) if i not in inside]
                yield which, members[:, inside], members[:, outside]


def all_subsets(d, k):
    """Return the sets of at most k of d attributes."""
    return tuple(
        np.fromiter(chain.from_iterable(combinations(range(d), j)), np.int64).reshape(-1, j)
        if j
        else np.zeros((1, 0), np.int64)
        for j in range(k + 1)
    )


def workload_layout(levels, sets, weights=None):
    """Return the residuals that a workload of tables needs, and the weight of each in its loss.

    Notes
    -----
    The loss of estimated tables is ``sum over S of weight_S * sum over cells of (error)^2``:
    divide it by ``sum over S of weight_S * cells of S`` for a mean. As the Helmert rows and
    ``1 / sqrt(L)`` are an orthonormal basis (Parseval), it is ``sum over T of v_T |e_T|^2`` with

        v_T = sum over S containing T of weight_S * product over i in S without T of 1 / L_i

    for errors e_T of residuals. For all k-way tables that is the elementary symmetric polynomial
    of order k - |T| in the numbers 1 / L_i of the other attributes, which is found by dividing
    the factors (1 + z / L_i), i in T, out of their product. With two levels everywhere:
    ``(d - |T| choose k - |T|) / 2^(k - |T|)``.
    """
    levels = tuple(int(number) for number in levels)
    if not levels or min(levels) < 2:
        raise ValueError("a workload needs attributes, of at least two levels each. Leave others.")
    if isinstance(sets, (int, np.integer)):
        if weights is not None:
            raise ValueError("weights go with a list of sets. Pass the sets one by one.")
        return _all_tables(levels, int(sets))
    return _listed_tables(levels, sets, weights)


def _all_tables(levels, k):
    d = len(levels)
    if not 0 <= k <= d:
        raise ValueError(f"tables of {k} attributes need 0 <= k <= {d}, the number of attributes.")
    _check_width(k)
    free = [1] + [0] * k
    for number in levels:  # elementary symmetric polynomials of L_i - 1: coordinates by order
        free = [free[0], *(e + (number - 1) * below for below, e in pairwise(free))]
    _check_size(sum(free))
    layout = Layout(levels, all_subsets(d, k))
    inverse = 1 / np.array(levels, dtype=float)
    whole = np.zeros(k + 1)
    whole[0] = 1
    for x in inverse:
        whole[1:] += x * whole[:-1]
    parts = []
    for j, attributes in enumerate(layout.subsets):
        if layout.binary:
            parts.append(np.full(len(attributes), math.comb(d - j, k - j) / 2.0 ** (k - j)))
            continue
        rest = np.tile(whole[: k - j + 1, None], len(attributes))
        for column in attributes.T:
            for power in range(1, k - j + 1):
                rest[power] -= inverse[column] * rest[power - 1]
        parts.append(rest[-1])
    return layout, np.concatenate(parts)


def _listed_tables(levels, sets, weights):
    d, sets = len(levels), [tuple(sorted(int(i) for i in attributes)) for attributes in sets]
    if not sets:
        raise ValueError("a workload needs at least one set of attributes. Got an empty list.")
    for attributes in sets:
        if len(set(attributes)) < len(attributes) or not all(0 <= i < d for i in attributes):
            raise ValueError(f"sets hold distinct attributes in 0..{d - 1}. Got {attributes}.")
        _check_width(len(attributes))
        _check_size(math.prod(levels[i] for i in attributes))
    weights = np.ones(len(sets)) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (len(sets),) or not np.all((weights > 0) & (weights < np.inf)):
        raise ValueError(
            f"weights must be positive and finite, one for each of {len(sets)} sets. Leave out "
            "sets that nobody wants."
        )
    inverse, found = 1 / np.array(levels, dtype=float), {}
    for which, inside, outside in margins(sets):
        cost = weights[which] * np.prod(inverse[outside], axis=1)
        found.setdefault(inside.shape[1], []).append((inside, cost))
    subsets, parts = [], []
    for _, pieces in sorted(found.items()):
        rows, cost = (np.concatenate(part) for part in zip(*pieces, strict=True))
        _, first, number = np.unique(set_keys(rows, d), return_index=True, return_inverse=True)
        subsets.append(rows[first])
        parts.append(np.bincount(number, weights=cost))
    layout = Layout(levels, tuple(subsets))
    _check_size(layout.starts[-1])
    return layout, np.concatenate(parts)


def _check_width(width):
    if width > WIDEST:
        raise ValueError(
            f"tables have at most {WIDEST} attributes. Got {width}: ask for smaller tables."
        )


def _check_size(size):
    if size > LARGEST:
        raise ValueError(
            f"this workload needs {size} numbers, or cells of one table; at most {LARGEST} are "
            "allowed. Ask for fewer or smaller tables, or merge levels."
        )
