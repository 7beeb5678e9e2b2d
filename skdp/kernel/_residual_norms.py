"""How long the residuals of all rows of a person are, together: what their weights hang on."""

from itertools import product
from math import prod, sqrt

import numpy as np

from skdp.chunks._by_norm import by_norm
from skdp.kernel._layout import set_numbers
from skdp.kernel._residual_sums import are_codes

__all__ = ["weighed_by_residuals"]

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
    (:func:`skdp.chunks._by_norm.by_norm`). Beyond a public number of sets the weights are those of
    :meth:`skdp.chunks._persons.Persons.weights`, which need no norms.
    """
    if rows.unit == 1 or len(layout.lengths) > MOST_SETS:
        return rows
    alpha, size = _factors(layout, gains, squares)
    kind = np.min_scalar_type(max(layout.levels))
    least = sqrt(squared_sensitivity) * (1 - ROUNDING)

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
                pairs = persons.squares_at(at, prod(shape))
                total += alpha[number] * pairs
                most += size[number] * pairs
        rounding = (len(alpha) + 64) * 8 * ROUNDING
        return np.sqrt(np.maximum(total + rounding * most, 0.0)) * (1 + 8 * ROUNDING) / least

    return by_norm(rows, cells, norms)


def _factors(layout, gains, squares):
    """Return alpha_R, set by set, and the sums of the absolute values of what they are made of."""
    largest = np.maximum.reduceat(gains.astype(np.float64) ** 2 * squares, layout.starts[:-1])
    largest *= 1 + 2.0**-40  # products of integers are rounded, and at most so much
    alpha, size = np.zeros(len(largest)), np.zeros(len(largest))
    for shape, sets, numbers in layout.groups:
        for inside in product((False, True), repeat=len(shape)):
            factor = prod(-1 / n for n, i in zip(shape, inside, strict=True) if not i)
            margins = set_numbers(layout, sets[:, np.flatnonzero(inside)])
            np.add.at(alpha, margins, factor * largest[numbers])
            np.add.at(size, margins, abs(factor) * largest[numbers])
    return alpha, size
