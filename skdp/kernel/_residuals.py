"""Residuals of many sets of columns at once: one vector of integers for each row."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from skdp.kernel._layout import Layout, check_layout, set_numbers
from skdp.kernel._plain import public, refuse
from skdp.kernel._residual_sums import are_codes, integer_residuals, squared_lengths
from skdp.kernel._statistic import ROOM, Statistic, unit_bits
from skdp.readers import ArrayRows
from skdp.readers._norm_weights import weights_from_norms

MOST_SETS = 500  # whose cells are looked at; where there are more, rows keep their weights
ROUNDING = 2.0**-50


def weighed_by_residuals(rows, layout, gains, squares, squared_sensitivity):
    """Return rows of codes with weights for the one release of their residuals.

    **Privacy.** The vector of a person is S, with the coordinates ``g_Tc q_Tc``, where q sums the
    integer residuals of its rows. With ``A_T = max_c g_Tc^2 P_Tc`` and the residual
    ``r_Tc = q_Tc / sqrt(P_Tc)``, ``|S|^2 <= sum_T A_T |r_T|^2``. The Helmert rows of an attribute
    are an orthonormal basis of what is orthogonal to ones, so two rows x and y have in T the scalar
    product ``prod_{i in T} ([x_i = y_i] - 1 / L_i)``, and summed over all pairs of rows

        |r_T|^2 = sum_{R in T} prod_{i in T - R} (-1 / L_i) sum_{cells of R} n(cell)^2,

    as pairs that agree in R are counted by the squares of numbers of rows in its cells. So
    ``|S|^2 <= sum_R alpha_R sum_cells n(cell)^2`` with public alpha: a bound that rounding up by a
    part of the sum of absolute values keeps, and elementwise arithmetic on integers of one person
    (:func:`skdp.readers._norm_weights.weights_from_norms`). Beyond a public number of sets the
    weights are those of :meth:`skdp.readers._persons.Persons.weights`, which need no norms.
    """
    if rows.unit == 1 or len(layout.lengths) > MOST_SETS:
        return rows
    alpha, size = _factors(layout, gains, squares)
    kind = np.min_scalar_type(max(layout.levels))
    least = math.sqrt(squared_sensitivity) * (1 - ROUNDING)

    def cells(block):
        known = are_codes(block, layout.levels)[:, None]
        return np.column_stack([np.where(known, block, 0), known]).astype(kind)

    def norms(persons):
        total, most = np.zeros(persons.n), np.zeros(persons.n)
        known = persons.columns[-1] > 0  # a row of no codes adds nothing to S
        parts = persons.codes, persons.columns
        codes, cells = parts if known.all() else (part[..., known] for part in parts)
        for shape, sets, numbers in layout.groups:
            for columns, number in zip(sets.tolist(), numbers.tolist(), strict=True):
                at = codes
                for levels, column in zip(shape, columns, strict=True):
                    at = at * levels
                    at += cells[column]
                pairs = persons.squares_at(at, math.prod(shape))
                total += alpha[number] * pairs
                most += size[number] * pairs
        rounding = (len(alpha) + 64) * 8 * ROUNDING
        return np.sqrt(np.maximum(total + rounding * most, 0.0)) * (1 + 8 * ROUNDING) / least

    return weights_from_norms(rows, cells, norms)


def _factors(layout, gains, squares):
    """Return alpha_R, set by set, and the sums of the absolute values of what they are made of."""
    largest = np.maximum.reduceat(gains.astype(np.float64) ** 2 * squares, layout.starts[:-1])
    largest *= 1 + 2.0**-40  # products of integers are rounded, and at most so much
    alpha, size = np.zeros(len(largest)), np.zeros(len(largest))
    for shape, sets, numbers in layout.groups:
        for inside in product((False, True), repeat=len(shape)):
            factor = math.prod(-1 / n for n, i in zip(shape, inside, strict=True) if not i)
            margins = set_numbers(layout, sets[:, np.flatnonzero(inside)])
            np.add.at(alpha, margins, factor * largest[numbers])
            np.add.at(size, margins, abs(factor) * largest[numbers])
    return alpha, size


FINEST = 30  # bits of the largest entry of a row's integer vector
COARSEST = 12  # at least, where rows have weights
WIDEST = 44  # bits of the largest noise, in grid units
MOST_LEVELS, LONGEST = 2**10, 2.0**60  # of columns of ranges: levels, and squared lengths


@public
class Residuals(Statistic):
    """The integer residuals of sets of attributes, times gains, of rows of codes.

    **Privacy** (add or remove one row). A row adds one vector of integers to the sums, or nothing.
    The integer residual of a row in the coordinate (T, c) is ``q = product of h_i`` with entries
    h_i of integer Helmert rows of squared length ``P = product of j_i (j_i + 1)``; the residual is
    ``q / sqrt(P)``. With gains ``g_Tc = round(G_T / sqrt(P))``, ``G_T^2 ~ part_T / c_T``, the
    vector of all ``g q`` has the squared length

        sum over T of u_T(x),  u_T(x) = sum over c of g_Tc^2 q_Tc(x)^2 <= max over cells of T

    and the last sum, of exact integers, is the bound. (Were gains not rounded, ``u_T`` would be
    ``G_T^2 c_T`` for every x.) Binary: ``q = +-1``, so ``u_T = g_T^2``, exactly.

    Entries are at most 2^30 + 2^23, so sums over 2^32 rows and their noise fit into 63 bits. The
    noise has the standard deviation ``|u| / mu``: as no table has more than 2^24 cells, at least
    2^30 2^-12 / 2^11 = 2^7 grid units for every mu up to 2^11 (epsilon up to 10^6), so that its
    rounding to the grid does not matter. Where it would be above 2^44 units the grid is coarser.
    Beyond 2^32 rows integers may wrap around. Addition modulo 2^64 is then a post-processing of
    the same release: accuracy is lost, privacy is not.

    A person adds what :func:`skdp.kernel._residuals.weighed_by_residuals` proves.
    """

    layout: Layout  # codes are 0 to L - 1. A row that holds anything else, as NaN, adds nothing
    parts: np.ndarray  # (n_sets,): of this release for each set, positive, sum 1
    bits: int | None = None  # of the gains. Chosen by the kernel

    def check(self, shape):
        super().check(shape)
        check_layout(self.layout, shape.n_features)
        parts = np.asarray(self.parts)
        refuse(parts.shape != self.layout.lengths.shape, "a part for every set")
        refuse(not (parts > 0).all() or not 0.5 < parts.sum() < 2, "positive parts, sum 1")

    def at(self, offer):
        budget, weight = offer.budget, unit_bits(offer.unit)
        cost = Fraction(offer.share) * budget.amount * (1 if budget.measure == "gdp" else 2)
        return replace(self, bits=residual_bits(self.layout, self.parts, math.sqrt(cost), weight))

    @cached_property
    def gains(self):
        """What every integer residual is multiplied by, of shape (n_coordinates,)."""
        return residual_gains(self.layout, self.parts, self.bits)

    @cached_property
    def squared_l2(self):
        return squared_sensitivity(self.layout, self.gains)

    def over(self, rows):
        layout, bound = self.layout, self.squared_l2
        squares = helmert_squares(layout)
        rows = weighed_by_residuals(rows, layout, self.gains, squares, bound)
        return self.gains * integer_residuals(rows, layout)

    def total(self, block):
        """Return the sum, shape (n_coordinates,)."""
        return self.over(ArrayRows(np.asarray(block)))


def residual_bits(layout, parts, mu, weight=0):
    """Return how fine gains are for given parts of the budget."""
    widest = math.log2(1 / (np.sqrt(parts / layout.row_lengths).max() * mu))  # noise, entries of 1
    finest = max(FINEST - weight, COARSEST) if weight else FINEST
    return max(0, min(finest, math.floor(min(WIDEST, ROOM - weight) - widest)))


def residual_gains(layout, parts, bits):
    """Return the integers that integer residuals are multiplied by: noise of one size for all."""
    scale = np.sqrt(parts / layout.row_lengths)
    roots = np.sqrt(helmert_squares(layout))
    gains = np.rint(layout.spread(scale / scale.max()) * 2.0**bits / roots)
    return np.maximum(gains, 1).astype(np.int64)


def helmert_squares(layout):
    """Return P = product of j (j + 1) for every coordinate."""
    squares = np.empty(layout.starts[-1])
    for shape, _, numbers in layout.groups:
        block = np.ones(1)
        for levels in shape:
            block = np.outer(block, squared_lengths(levels)).ravel()
        squares[layout.places(numbers)] = block
    return squares


def squared_sensitivity(layout, gains):
    """Return the sum over sets of the largest squared length in a cell, in exact integers."""
    total = 0
    for shape, sets, numbers in layout.groups:
        squares = gains[layout.places(numbers)] ** 2  # at most 2^60 / P, so that sums fit
        cells = squares.reshape(len(sets), *(levels - 1 for levels in shape))
        for axis in range(1, cells.ndim):
            cells = _squared_columns(cells, axis)
        total += sum(cells.reshape(len(sets), -1).max(axis=1).tolist())
    return total


def _squared_columns(arrays, axis):
    """Sum entries times squared integer Helmert rows: at level x, ``sum_{j > x} a_j + x^2 a_x``."""
    arrays = np.moveaxis(arrays, axis, -1)
    sums = np.zeros((*arrays.shape[:-1], arrays.shape[-1] + 1), dtype=np.int64)
    sums[..., :-1] = np.cumsum(arrays[..., ::-1], axis=-1)[..., ::-1]
    sums[..., 1:] += np.arange(1, sums.shape[-1]) ** 2 * arrays
    return np.moveaxis(sums, -1, axis)


@public
class RangeResiduals(Statistic):
    """The number of rows of codes, and public multiples of the residuals of every column.

    **Privacy** (add or remove one row). The sums q of the integer Helmert rows H_j of column j are
    exact integers, to which a row of level x_j adds the column x_j of H_j. With a public integer
    M_j, what is released of the column is ``M_j q_j``, and of the number of rows a multiple g. So a
    row adds the integer vector ``(g, column x_j of B_j = M_j H_j for all j)``, or nothing, of
    squared length at most

        g^2 + sum over j of max_x |B_j[:, x]|^2,

    which is computed in exact integers, from the rounded M_j. Sums wrap modulo 2^64 beyond 2^39
    rows: a post-processing.
    """

    # tuple of d int: codes of a column are 0 to L - 1. A row that holds anything else adds nothing
    levels: tuple
    gain: int  # what the number of rows is multiplied by
    # (L - 1, L - 1): what the sums of the integer Helmert rows of a column are multiplied by
    matrices: tuple

    def check(self, shape):
        super().check(shape)
        fits = all(type(n) is int and 2 <= n <= MOST_LEVELS for n in self.levels)
        refuse(not fits or len(self.levels) != shape.n_features, "levels for every column")
        refuse(type(self.gain) is not int or not 0 < self.gain**2 < LONGEST, "a gain above 0")
        refuse(len(self.matrices) != len(self.levels), "a matrix for every column")
        for n, matrix in zip(self.levels, self.matrices, strict=True):
            refuse(matrix.shape != (n - 1, n - 1) or matrix.dtype != np.int64, "square matrices")
            refuse((np.abs(matrix) > 2**40).any(), "entries of at most 2^40")  # sums fit
            squares = np.square(by_level(matrix), dtype=np.float64).sum(axis=0)
            refuse(not 0 < squares.max() < LONGEST, "columns of squared length below 2^60")

    @cached_property
    def squared_l2(self):
        squares = (np.square(of_column).sum(axis=0).max() for of_column in self._by_level)
        return self.gain**2 + sum(map(int, squares))

    @cached_property
    def _by_level(self):
        """What a row adds by its level in every column: B_j."""
        return [by_level(matrix) for matrix in self.matrices]

    def total(self, block):
        """Return the sum: times the gain the number of rows, then column after column."""
        return self.weighed_total(block, None)

    def weighed_total(self, block, weights):
        block = np.asarray(block)
        valid = are_codes(block, self.levels)
        weights = (np.ones(len(block)) if weights is None else weights)[valid].astype(np.int64)
        parts = [np.array([self.gain * int(weights.sum())])]
        columns = zip(block[valid].T, self.levels, self._by_level, strict=True)
        for column, n_levels, moves in columns:
            counts = np.bincount(column.astype(np.int64), weights, minlength=n_levels)
            parts.append(moves @ counts.astype(np.int64))
        return np.concatenate(parts)


def by_level(matrix):
    """Return ``matrix`` times the integer Helmert rows: what every level of a column adds.

    Row j of these is j ones, then -j: column x sums up columns j > x, less x times that of x.
    """
    columns = np.zeros((len(matrix), len(matrix) + 1), dtype=np.int64)
    columns[:, :-1] = np.cumsum(matrix[:, ::-1], axis=1)[:, ::-1]
    columns[:, 1:] -= np.arange(1, len(matrix) + 1) * matrix
    return columns
