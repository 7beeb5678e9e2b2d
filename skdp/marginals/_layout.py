"""Which residuals a workload of tables needs, and where they stand in the vector of a release."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, pairwise

import numpy as np

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

LARGEST = 2**24  # coordinates of a release, and cells of a table
WIDEST = 16  # attributes of a table


@dataclass(frozen=True, eq=False)
class Layout:
    """Residuals of sets of attributes, one after the other in a flat vector.

    The residual of the set T is ``r_T = (H_i for i in T, tensor product) . (T-marginal)``, of
    length ``prod(L_i - 1)``, in C order. ``H_i`` has ``L_i - 1`` orthonormal rows that are
    orthogonal to the vector of ones; of a binary attribute it is ``(1, -1) / sqrt(2)``, so that
    ``r_T`` is the parity of T over ``2^(|T| / 2)``, for x = 1 - 2 bit.

    Parameters
    ----------
    levels : tuple of int
        Number of levels of every attribute, at least 2.
    subsets : tuple of ndarray
        Entry j has shape (m_j, j): the sets of j attributes, each increasing, in lexicographic
        order. With every set all of its subsets are there.

    See Also
    --------
    Measurement, skdp.MarginalReleaser

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> pair = (np.zeros((1, 0), dtype=int), np.array([[0], [1]]), np.array([[0, 1]]))
    >>> layout = Layout(levels=(2, 3), subsets=pair)
    >>> layout.lengths.tolist()  # of the residuals of the sets (), (0,), (1,), (0, 1)
    [1, 1, 2, 2]
    """

    levels: tuple
    subsets: tuple

    @cached_property
    def lengths(self):
        """Number of entries of every residual, set by set."""
        free = np.array(self.levels) - 1
        return np.concatenate(
            [np.prod(free[sets], axis=1, dtype=np.int64) for sets in self.subsets]
        )

    @cached_property
    def starts(self):
        """Where every residual starts in the flat vector; one more entry for the end."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def orders(self):
        """Number of attributes of every set."""
        return np.repeat(np.arange(len(self.subsets)), [len(sets) for sets in self.subsets])

    @cached_property
    def firsts(self):
        """Number of the first set of every order; one more entry for the end."""
        return np.cumsum([0, *map(len, self.subsets)])

    @cached_property
    def position(self):
        """Number of every set, by the tuple of its attributes."""
        sets = (tuple(row) for level in self.subsets for row in level.tolist())
        return {attributes: number for number, attributes in enumerate(sets)}

    @cached_property
    def row_lengths(self):
        """Squared length c_T = product over T of (1 - 1 / L_i) of any row's residual, by set."""
        rest = 1 - 1 / np.array(self.levels, dtype=float)
        return np.concatenate([np.prod(rest[sets], axis=1) for sets in self.subsets])

    @cached_property
    def groups(self):
        """Sets of one shape together: a list of (levels, sets of shape (m, j), their numbers)."""
        return list(by_shape(self.levels, self.subsets))

    def places(self, numbers):
        """Return where the residuals of sets of one shape stand, an array of shape (m, length)."""
        length = self.lengths[numbers[0]] if len(numbers) else 0
        return self.starts[numbers][:, None] + np.arange(length)

    @property
    def binary(self):
        """Whether all attributes have two levels."""
        return all(levels == 2 for levels in self.levels)

    def spread(self, per_set):
        """Return one entry per coordinate from one entry per set."""
        return np.repeat(per_set, self.lengths)


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


def by_shape(levels, sets_by_order):
    """Yield (levels, sets of shape (m, j), their numbers) of sets, those of one shape together."""
    levels, first = np.array(levels), 0
    for sets in sets_by_order:
        shapes, which = np.unique(levels[sets], axis=0, return_inverse=True)
        for number, shape in enumerate(shapes.tolist()):
            members = np.flatnonzero(which.reshape(-1) == number)
            yield tuple(shape), sets[members], first + members
        first += len(sets)


def set_keys(sets, d):
    """Return one integer per set, in the order of the sets; Python integers beyond 64 bits."""
    order = sets.shape[1]
    base = np.array([d**power for power in range(order - 1, -1, -1)], dtype=object)
    if d**order < 2**62:
        return sets @ base.astype(np.int64)
    return sets.astype(object) @ base


def set_numbers(layout, sets):
    """Return the numbers in the layout of sets of one size, given as an array of shape (m, j).

    Attributes must increase along a row. A set that is not in the layout raises a KeyError.
    """
    sets = np.asarray(sets, dtype=np.int64)
    j, d = sets.shape[1], len(layout.levels)
    if j >= len(layout.subsets):
        raise KeyError("sets of so many attributes are not in the layout.")
    keys, wanted = set_keys(layout.subsets[j], d), set_keys(sets, d)
    number = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    if not np.all(keys[number] == wanted):
        raise KeyError("a set of attributes is not in the layout.")
    return number + layout.firsts[j]


def largest_tables(layout):
    """Return the sets that are in no other set, as a list of (levels, sets of shape (m, j))."""
    largest = np.ones(len(layout.lengths), dtype=bool)
    for order in range(1, len(layout.subsets)):
        for inside in combinations(range(order), order - 1):
            largest[set_numbers(layout, layout.subsets[order][:, list(inside)])] = False
    tables = ((shape, sets[largest[numbers]]) for shape, sets, numbers in layout.groups)
    return [(shape, sets) for shape, sets in tables if len(sets)]


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
    """Return the sets of at most k of d attributes.

    Parameters
    ----------
    d : int
        Number of attributes.
    k : int
        Largest number of attributes of a set, at most d.

    Returns
    -------
    subsets : tuple of k + 1 ndarrays
        Entry j has shape (d choose j, j), in lexicographic order.
    """
    return tuple(
        np.fromiter(chain.from_iterable(combinations(range(d), j)), np.int64).reshape(-1, j)
        if j
        else np.zeros((1, 0), np.int64)
        for j in range(k + 1)
    )


def workload_layout(levels, sets, weights=None):
    """Return the residuals that a workload of tables needs, and the weight of each in its loss.

    Parameters
    ----------
    levels : sequence of int
        Number of levels of every attribute, at least 2.
    sets : int or sequence of sequences of int
        The tables: k for all tables of k attributes, or one tuple of attributes per table. A
        set that is listed twice counts twice.
    weights : sequence of float, default=None
        Weight of each listed set, positive; None for 1 each. Not for all k-way tables.

    Returns
    -------
    layout : Layout
        All subsets of the sets.
    loss_weights : ndarray of shape (n_sets,)
        v_T of every set of the layout, see the notes.

    Raises
    ------
    ValueError
        For sets that are not sets of attributes, weights that are not positive, and workloads of
        more than 2^24 residual coordinates, or with a table of more than 16 attributes.

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
