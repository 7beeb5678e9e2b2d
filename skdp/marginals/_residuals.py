"""Residuals of a workload: which it needs, exact maps from and to tables, strategies and noise.

Everything is a tensor product. Of a table with k axes, :func:`integer_residuals_of` multiplies
every axis by the square matrix (ones; H_i), H_i in integers, and :func:`table_of` by the inverse
(1 / L_i, H_i transposed). For two levels these are Walsh-Hadamard transforms up to scale.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, pairwise, product
from math import prod, sqrt

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.special import ndtri

from skdp.kernel._layout import LARGEST, WIDEST, Layout, by_shape, set_keys, set_numbers
from skdp.kernel._residual_sums import coordinates, integer_helmert, squared_lengths


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


def helmert(levels):
    """Return the matrix H, shape (levels - 1, levels), of orthonormal Helmert rows."""
    return integer_helmert(levels) / np.sqrt(squared_lengths(levels))[:, None]


def transform(arrays, matrices):
    """Apply one matrix to each axis but the first: the tensor product, table by table."""
    for axis, matrix in enumerate(matrices, start=1):
        arrays = np.moveaxis(np.tensordot(arrays, matrix, axes=(axis, 1)), -1, axis)
    return arrays


def synthesis(levels):
    """Return the inverse of (ones; H): a column 1 / L and H transposed."""
    return np.column_stack([np.full(levels, 1 / levels), helmert(levels).T])


def tables_of(layout, values, sets):
    """Return the tables of sets of one shape from the flat vector of residuals.

    Shapes: values (n_coordinates,); sets (m, k); tables (m, L_1, ..., L_k).
    """
    index = coordinates(layout, sets)
    return transform(np.asarray(values)[index], [synthesis(n) for n in index.shape[1:]])


def table_of(layout, values, columns):
    """Return the table of some attributes from the flat vector of residuals.

    Shapes: values (n_coordinates,); table (L_i for i in columns).
    """
    columns = np.array(columns, dtype=np.int64)
    order = np.argsort(columns)
    table = tables_of(layout, values, columns[order][None])[0]
    return np.transpose(table, np.argsort(order))


CELLS = 2**22  # at a time
CONFIDENCE = 0.95


def noise_scale(measurement, places, chosen=None):
    """Return the standard deviation of a count in a raw table.

    Notes
    -----
    The table is ``sum over T in S of (H_i^T for i in T, 1 / L_i for others) r_T`` with independent
    noise of variance ``sd_T^2`` in the coordinates of r_T. The count of the rows whose levels are
    in given sets is its scalar product with the tensor product of their indicators a_i, and

        |H_i a_i|^2 = |a_i|^2 - (1 . a_i)^2 / L_i = m_i - m_i^2 / L_i

    because the rows of H_i and ``1 / sqrt(L_i)`` are orthonormal. So the variance is the sum over T
    of ``sd_T^2``, times ``m_i - m_i^2 / L_i`` for i in T, times ``(m_i / L_i)^2`` for i not in T.
    """
    layout = measurement.layout
    levels = [layout.levels[place] for place in places]
    chosen = [1] * len(levels) if chosen is None else chosen
    variance = 0.0
    for inside in product((False, True), repeat=len(levels)):
        subset = sorted(place for place, i in zip(places, inside, strict=True) if i)
        sd = measurement.sd[set_numbers(layout, [subset])[0]]
        pairs = zip(chosen, levels, inside, strict=True)
        variance += sd**2 * prod(m - m * m / n if i else (m / n) ** 2 for m, n, i in pairs)
    return sqrt(variance)


def correlated_noise(measurement, places):
    """Return N with noise ``N z`` of the cells, z standard normal, but for the number of rows.

    Of shape (L, L - 1), for a column whose noise is correlated; None for any other table.
    """
    factor = (measurement.factors or {}).get(places[0]) if len(places) == 1 else None
    return None if factor is None else helmert(len(factor) + 1).T @ factor


def count_scale(measurement, places, chosen):
    """Return the standard deviation of the number of rows with certain levels.

    Before processing.
    """
    noise = correlated_noise(measurement, places)
    if noise is None:
        return noise_scale(measurement, places, [len(levels) for levels in chosen])
    rows = measurement.sd[0] * len(chosen[0]) / len(noise)
    return sqrt(rows**2 + np.sum(np.square(noise[chosen[0]].sum(axis=0))))


def cell_scales(measurement, places):
    """Return the standard deviation of the cells of a table, one for all or an array."""
    noise = correlated_noise(measurement, places)
    if noise is None:
        return noise_scale(measurement, places)
    return np.hypot(measurement.sd[0] / len(noise), np.sqrt(np.sum(np.square(noise), axis=1)))


def largest_scale(layout, workload, sd):
    """Return the largest standard deviation of a cell of the raw tables of a workload.

    Notes
    -----
    The formula of :func:`noise_scale`, axis by axis: a cell has the weights ``1 / L_i`` and, in the
    coordinates of the residual, the entries of a column of H_i, here the first one.
    """
    variance, largest = layout.spread(np.square(sd)), 0.0
    for shape, sets, _ in by_shape(layout.levels, workload):
        for part in np.array_split(sets, 1 + sets.shape[0] * prod(shape) // CELLS):
            cells = variance[coordinates(layout, part)]
            for levels in reversed(shape):
                cells = cells @ np.square(np.append(1 / levels, helmert(levels)[:, 0]))
            largest = max(largest, float(cells.max(initial=0.0)))
    return sqrt(largest)


def noise_promise(tables, sd, *, miss=1 - CONFIDENCE):
    """Return a number of rows that no cell of the tables as released is off by.

    Notes
    -----
    The cells of a table have normal noise of one standard deviation. With M cells in all and s the
    largest of these, none is off by more than z s but with probability ``2 M Phi(-z)``.
    """
    levels = np.array(tables.layout.levels, dtype=float)
    cells = sum(
        float(np.prod(levels[np.unique(sets, axis=0)], axis=1).sum()) for sets in tables.sets
    )
    largest = largest_scale(tables.layout, tables.sets, sd)
    return float(-ndtri(miss / (2 * cells)) * largest)


RANGES = ("ranges", "prefixes")
GAP, ROUNDS = 0.03, 20  # relative, of the mean squared error; rounds of the search


@dataclass(frozen=True, eq=False)
class Strategy:
    """Linear measurements of the residual of a column."""

    # shape (L - 1, L - 1): C: what is measured is C r, r the orthonormal residual
    matrix: np.ndarray
    # mean squared error of the queries, but for that of the number of rows, with noise of standard
    # deviation 1 in C r
    error: float
    least: float  # no other C has a smaller one


def ranges_of(levels, kind):
    """Return the Gram matrix of all ranges or prefixes of levels, and how many there are.

    Entry (a, b) is the number of queries that count both levels.
    """
    a = np.arange(levels, dtype=float)
    low, high = np.minimum.outer(a, a), np.maximum.outer(a, a)
    if kind == "prefixes":
        return levels - high, levels
    return (low + 1) * (levels - high), levels * (levels + 1) // 2


@lru_cache(maxsize=8)
def range_strategy(levels, kind):
    """Return the best Strategy for a kind of queries, to within 3 %.

    Notes
    -----
    With H the Helmert rows, ``G = H (Gram matrix) H^T`` and ``X = C^T C`` the squared error of all
    queries is ``tr G X^-1``, and a row of level x has the squared length ``(H^T X H)_xx``. So the
    best X minimises the first, which is convex, for a largest entry 1 of the second. For any
    weights v of the levels, with ``K = H diag(v) H^T = B B^T``,

        tr G X^-1 + tr K X >= 2 tr S,  S = (B^T G B)^(1/2),  with equality for X = B^-T S B^-1,

    and ``tr K X = sum of v_x (H^T X H)_xx <= sum v``; so, as X may be scaled,

        (tr S)^2 / sum v <= least error <= tr S * max_x (H^T X H)_xx.

    Weights of levels whose rows are long grow until both ends meet: ``v_x <- v_x (H^T X H)_xx^2``.
    This is the optimum of the matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi, VLDB Journal
    2015; the iteration is that of Denisov, McMahan, Rush, Smith, Thakurta, NeurIPS 2022, squared)
    among those that measure the number of rows by itself. Public numbers only.
    """
    H, (gram, n_queries) = helmert(levels), ranges_of(levels, kind)
    G, v, best = H @ gram @ H.T, np.ones(levels), None
    for _ in range(ROUNDS):
        low = cholesky((H * v) @ H.T, lower=True)
        squares, vectors = eigh(low.T @ G @ low)
        root = np.sqrt(np.maximum(squares, 0.0))
        C = np.sqrt(root)[:, None] * solve_triangular(low, vectors, lower=True, trans="T").T
        lengths = np.sum(np.square(C @ H), axis=0)
        error, least = root.sum() * lengths.max(), root.sum() ** 2 / v.sum()
        if best is None or error < best.error * n_queries:
            best = Strategy(C / np.sqrt(lengths.max()), error / n_queries, least / n_queries)
        if error <= (1 + GAP) * least:
            break
        v = v * np.square(lengths)
        v /= v.mean()
    return best
