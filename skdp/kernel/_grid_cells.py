"""Cells of a grid: every row falls into one of them or none, by itself."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.chunks import ArrayRows, weighed_sum
from skdp.chunks._by_norm import by_norm
from skdp.chunks._statistics import Counts
from skdp.chunks._strips import strips
from skdp.kernel._grid_bits import unit_bits
from skdp.kernel._statistic import MOST_CELLS, Statistic, public, refuse
from skdp.mechanisms import finite_rows

__all__ = ["Cells", "CountsOnGrid", "Edges", "HistogramCounts", "Levels", "check_axes"]

LARGEST = 2.0**1020  # edges stay below, so that their differences are finite
MOST_BITS = 30  # of the grid and of weights together


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
        return len(self.values)

    def index(self, x):
        """Return the level of every value, -1 for others."""
        at = np.minimum(np.searchsorted(self.values, x), self.size - 1)
        return np.where(self.values[at] == x, at, -1)


@dataclass(frozen=True)
class Cells:
    """The product of the axes of some columns."""

    axes: dict  # dict of int to Edges or Levels: by column

    @classmethod
    def of(cls, columns, values, levels):
        """Return the cells of columns whose axes are levels, or edges of bins."""
        axes = zip(columns, values, levels, strict=True)
        return cls({c: (Levels if is_levels else Edges)(x) for c, x, is_levels in axes})

    def fields(self):
        """Return what :meth:`of` makes the same cells of."""
        axes = self.axes.values()
        return {
            "columns": tuple(self.axes),
            "values": tuple(np.asarray(axis.values, dtype=np.float64) for axis in axes),
            "levels": tuple(isinstance(axis, Levels) for axis in axes),
        }

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

    def weighed(self, rows, law):
        """Return rows that count with weights for one release of :class:`HistogramCounts`.

        **Privacy**: one row adds 1 to one cell, a person a vector of counts, whose length in l2,
        rounded up, or l1, for Laplace noise, is what its weight is made of; see
        :func:`skdp.chunks._by_norm.by_norm`.
        """

        def norms(persons):
            if law == "laplace":
                return persons.numbers(persons.columns[0] >= 0)
            squares = persons.squares(persons.columns[0], self.size)
            return np.sqrt(squares) * (1 + 2.0**-50)

        return by_norm(rows, lambda block: self.places(block)[:, None], norms)

    @property
    def size(self):
        return int(np.prod(self.shape))

    def places(self, block):
        at = np.full(len(block), -1)
        found = [self._flat(strip) for strip in strips(block, list(self.axes))]
        at[finite_rows(block)] = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        return at


class CountsOnGrid(Statistic):
    """Counts in multiples of ``2^-bits``, on which the noise is drawn.

    A subclass has the bounds ``most`` of the sum of the counts that move, and ``most_squared`` of
    that of their squares, and the fields ``bits`` and ``pure``: whether the noise is Laplace's.
    """

    def at(self, offer):
        pure = offer.budget.unit == "pure"
        amount = float(Fraction(offer.share) * offer.budget.amount)
        scale = float(self.most) / amount if pure else math.sqrt(float(self.most_squared) / amount)
        bits = int(np.clip(10 - math.floor(math.log2(scale)), 0, 20))
        bits = max(0, min(bits, MOST_BITS - unit_bits(offer.unit)))
        return replace(self, bits=bits, pure=pure)

    @property
    def squared_l2(self):
        return self.most_squared * 4**self.bits

    @property
    def l1(self):
        return self.most * 2**self.bits if self.pure else None

    @property
    def step(self):
        return 2.0**-self.bits


def check_axes(columns, values, levels, n_features):
    """Raise ValueError unless the axes of so many columns are those of a grid."""
    fits = len(columns) == len(values) == len(levels) > 0 and len(set(columns)) == len(columns)
    refuse(not fits, "an axis for every column")
    refuse(not all(type(c) is int and 0 <= c < n_features for c in columns), "no such column")
    size = 1
    for axis, is_levels in zip(values, levels, strict=True):
        fits = isinstance(axis, np.ndarray) and axis.dtype == np.float64 and axis.ndim == 1
        refuse(not fits or len(axis) < 2 - bool(is_levels), "edges or levels of an axis")
        refuse(not (axis[1:] > axis[:-1]).all(), "values that rise")
        size *= len(axis) - 1 + bool(is_levels)
    refuse(size > MOST_CELLS, "a histogram has at most 2^24 cells")


@public
class HistogramCounts(CountsOnGrid):
    """How many rows lie in each of the cells of a grid.

    **Privacy** (add or remove one row): it is in one cell or none. A person adds what
    :meth:`Cells.weighed` proves, in l1 only if weighed for it.
    """

    columns: tuple
    values: tuple  # edges of the bins of every column, or its levels, rising
    levels: tuple  # which of them are levels
    bits: int | None = None
    pure: bool = False  # whether persons are weighed for Laplace noise. Chosen by the kernel
    most = most_squared = 1

    @classmethod
    def of(cls, cells):
        """Return the counts of :class:`Cells`."""
        return cls(**cells.fields())

    def check(self, shape):
        super().check(shape)
        check_axes(self.columns, self.values, self.levels, shape.n_features)

    def over(self, rows):
        cells = Cells.of(self.columns, self.values, self.levels)
        if rows.unit != 1:
            rows = cells.weighed(rows, "laplace" if self.pure else "gaussian")
        counts = weighed_sum(rows, Counts(cells.places, cells.size))
        return counts.reshape(cells.shape) << self.bits

    def total(self, block):
        """Return the counts, of the shape of the grid."""
        return self.over(ArrayRows(np.asarray(block)))
