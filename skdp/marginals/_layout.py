"""Which residuals a release holds, and where they stand in its vector."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Layout", "Measurement"]


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
        groups, first, levels = [], 0, np.array(self.levels)
        for sets in self.subsets:
            shapes, which = np.unique(levels[sets], axis=0, return_inverse=True)
            for number, shape in enumerate(shapes):
                members = np.flatnonzero(which.reshape(-1) == number)
                groups.append((tuple(shape.tolist()), sets[members], first + members))
            first += len(sets)
        return groups

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
        Standard deviation of the noise in each coordinate of a residual; None if it is not known.
    weights : ndarray of shape (n_sets,)
        The loss of an estimate is the sum over sets of weight times squared error of its residual:
        the weighted squared error of all cells of the workload.
    """

    layout: Layout
    values: np.ndarray
    sd: np.ndarray
    weights: np.ndarray
