"""Standard deviations of what is computed from noisy residuals, before any post-processing."""

from itertools import product
from math import prod, sqrt

import numpy as np
from scipy.special import ndtri

from skdp.marginals._layout import by_shape, set_numbers
from skdp.marginals._residuals import coordinates, helmert

__all__ = [
    "CONFIDENCE",
    "cell_scales",
    "correlated_noise",
    "count_scale",
    "largest_scale",
    "noise_promise",
    "noise_scale",
]

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
