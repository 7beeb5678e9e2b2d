"""Cells of a grid: every row falls into one of them or none, by itself."""

from dataclasses import dataclass

import numpy as np

from skdp.chunks import weighed_sum
from skdp.chunks._by_norm import by_norm
from skdp.chunks._statistics import Counts
from skdp.chunks._strips import strips
from skdp.mechanisms import finite_rows

__all__ = ["Cells", "Edges", "Levels"]

LARGEST = 2.0**1020  # edges stay below, so that their differences are finite


@dataclass(frozen=True)
class Edges:
    """Bins between public or released edges; the last one is closed, as in numpy's histogram."""

    values: np.ndarray

    @classmethod
    def between(cls, low, high, n_bins):
        """Return ``n_bins`` bins of one width; a range without width is made one unit wide."""
        low, high = max(min(low, LARGEST), -LARGEST), max(min(high, LARGEST), -LARGEST)
        values = np.linspace(low, high, n_bins + 1)
        if not np.all(np.diff(values) > 0):
            half = max(0.5, 2.0**-40 * n_bins * max(abs(low), abs(high)))
            values = np.linspace(low - half, high + half, n_bins + 1)
        return cls(values)

    @property
    def size(self):
        """Number of bins."""
        return len(self.values) - 1

    def index(self, x):
        """Return the bin of every value, -1 outside."""
        at = np.searchsorted(self.values, x, side="right") - 1
        at[x == self.values[-1]] = self.size - 1
        at[(at >= self.size) | np.isnan(x)] = -1
        return at


@dataclass(frozen=True)
class Levels:
    """A public set of values, in increasing order."""

    values: np.ndarray

    @property
    def size(self):
        """Number of levels."""
        return len(self.values)

    def index(self, x):
        """Return the level of every value, -1 for others."""
        at = np.minimum(np.searchsorted(self.values, x), self.size - 1)
        return np.where(self.values[at] == x, at, -1)


@dataclass(frozen=True)
class Cells:
    """The product of the axes of some columns.

    Parameters
    ----------
    axes : dict of int to Edges or Levels
        By column.
    """

    axes: dict

    @property
    def shape(self):
        """Number of bins along every axis."""
        return tuple(axis.size for axis in self.axes.values())

    def index(self, block):
        """Return the flat cell of every row of a block, -1 for rows in none.

        A row with NaN or infinity, in whatever column, is in none. Elementwise: a function of the
        row and the edges.
        """
        columns = np.asarray(block[:, list(self.axes)].T, dtype=np.float64)
        return np.where(finite_rows(block), self._flat(columns), -1)

    def _flat(self, columns):
        """Return the flat cell of every row, -1 for rows in none, from the columns of the axes."""
        flat, outside = 0, False
        for axis, x in zip(self.axes.values(), columns, strict=True):
            at = axis.index(x)
            outside |= at < 0
            flat = flat * axis.size + at
        flat[outside] = -1
        return flat

    def counts(self, rows):
        """Return the exact counts of all cells. Not for release."""
        return weighed_sum(rows, Counts(self._places, self.size)).reshape(self.shape)

    def weighed(self, rows, law):
        """Return rows that count with weights for the one release of :meth:`counts`.

        Notes
        -----
        **Privacy**: one row adds 1 to one cell, a person a vector of counts, whose length in l2,
        rounded up, or l1, for Laplace noise, is what its weight is made of; see
        :func:`skdp.chunks._by_norm.by_norm`.
        """

        def norms(persons):
            if law == "laplace":
                return persons.numbers(persons.columns[0] >= 0)
            squares = persons.squares(persons.columns[0], self.size)
            return np.sqrt(squares) * (1 + 2.0**-50)

        return by_norm(rows, lambda block: self._places(block)[:, None], norms)

    @property
    def size(self):
        """Number of cells."""
        return int(np.prod(self.shape))

    def _places(self, block):
        at = np.full(len(block), -1)
        found = [self._flat(strip) for strip in strips(block, list(self.axes))]
        at[finite_rows(block)] = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return at
