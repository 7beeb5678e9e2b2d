"""Sets of attributes and where their residuals stand in the vector of a release."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from skdp.kernel._plain import public, refuse

LARGEST = 2**24  # coordinates of a release, and cells of a table
WIDEST = 16  # attributes of a table


@public
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
        sizes = [np.prod(free[sets], axis=1, dtype=np.int64) for sets in self.subsets]
        return np.concatenate(sizes)

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


def check_layout(layout, n_features):
    """Raise ValueError unless sets, each with all of its subsets, fit so many columns of codes."""
    levels, d = layout.levels, len(layout.levels)
    wrong = not levels or not all(type(n) is int and 2 <= n <= LARGEST for n in levels)
    refuse(wrong or d != n_features, "whole numbers of levels, two at least, for every column")
    refuse(not 1 <= len(layout.subsets) <= WIDEST + 1, "sets of at most 16 attributes")
    for order, sets in enumerate(layout.subsets):
        fits = isinstance(sets, np.ndarray) and sets.dtype == np.int64
        refuse(not fits or sets.shape != (len(sets), order), "sets of one size are an array")
        refuse(((sets < 0) | (sets >= d)).any(), "sets of columns")
        refuse((np.diff(sets, axis=1) <= 0).any(), "attributes of a set rise")
        keys = set_keys(sets, d)
        refuse(len(sets) < 1 or (keys[1:] <= keys[:-1]).any(), "sets differ, in their order")
        cells = np.array(levels, dtype=np.float64)[sets].prod(axis=1)
        refuse(cells.max() > LARGEST, "a table has at most 2^24 cells")
    refuse(sum(map(len, layout.subsets)) > LARGEST, "at most 2^24 sets")
    refuse(layout.starts[-1] > LARGEST, "at most 2^24 coordinates")
    for below, sets in zip(layout.subsets, layout.subsets[1:], strict=False):
        known = set_keys(below, d)
        for inside in combinations(range(sets.shape[1]), below.shape[1]):
            wanted = set_keys(sets[:, list(inside)], d)
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            refuse((known[at] != wanted).any(), "with every set all of its subsets")
