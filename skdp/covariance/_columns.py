"""Scales of the columns from random differences, sparse and heavy columns included."""

import math

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import is_significant
from skdp.kernel._friends import RingColumns, RingEntries, SparseRing
from skdp.kernel.pairs._ring import RING_SQUARED
from skdp.scales import LogBins, top_scale

__all__ = [
    "BINS",
    "COLUMN_SCALES",
    "EVEN",
    "SPARSE_ROWS",
    "SPARSE_SCALES",
    "column_units",
    "significant_cells",
    "significant_mean_square",
]

BINS = LogBins(1)
TYPICAL = 2.5  # upper edge of nine tenths of the differences, in standard deviations
EVEN = 7 / 12  # mean square of what is spread evenly over an octave, the upper edge is 1
MANY = 0.2  # part of the differences that are zero
FAR = 5  # octaves above the bulk of a column: what lies beyond are outliers
CROWDED = 0.05  # part of the differences that may have more entries than are counted
COLUMN_SCALES = Step("column scales", at_most=0.1, of=(RingColumns,))
SPARSE_ROWS = Step("sparse rows", at_most=0.002, of=(RingEntries,))
SPARSE_SCALES = Step("sparse scales", at_most=0.05, of=(SparseRing,))
LEAST = 0.002  # share of the look at sparse columns


def column_units(sample, step, *, share):
    """Release a scale for every column, near its standard deviation.

    Where the bulk of the differences of a column varies, its scale is that of the bulk or the root
    mean square of everything that is seen up to five octaves above it, the larger one. A column
    most of whose differences are zero is sparse, or constant: :func:`sparse_squares` looks at these
    more closely. One in which nothing is seen but a point takes the smallest scale of the sparse
    columns, or of all: its entries, if it has others, are fewer than can be seen, and clipped with
    their rows. A column that shows nothing takes the largest: dividing by a scale that is too small
    would let it drown all others.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingColumns`.
    """
    release = sample.ask(RingColumns(BINS, sample.n_features), step, share=share)
    tops = [_top(row.astype(float), release.scale, sample.n) for row in release.value]
    points = np.array([top == 0 for top in tops])
    units = np.zeros(len(tops))
    for j in np.flatnonzero(~points):
        units[j] = math.nan if tops[j] is None else _unit(release, j, tops[j], sample.n)
    if points.any():
        squares = sparse_squares(sample, points)
        units[points] = np.sqrt(squares)
    found = units[units > 0]
    if not found.size:
        return None
    sparse = units[points & (units > 0)]
    units[np.isnan(units)] = found.max()
    units[units == 0] = (sparse if sparse.size else found).min()
    return np.maximum(units, BINS.upper_edge(1))


def _top(row, sd, n):
    """Return the scale of the bulk, 0 where most differences are zeros, None for nothing.

    Beside many zeros a scale is one only if something stands out there: what is summed up above
    them is noise else, now and then enough of it, in bins of 2^-1000.
    """
    top = top_scale(row, sd, n, BINS)
    if top and row[0] > max(MANY * n, 3 * sd):
        at = int(BINS.index(np.array([top]))[0])
        if not _standing(row, sd)[max(at - FAR, 1) : at + 2].any():
            return 0.0
    return top


def _unit(release, j, top, n):
    """Return the scale of a column from the top of the bulk of its differences and all it shows."""
    row = release.value[j].astype(float)
    near = int(BINS.index(np.array([top]))[0]) + FAR
    square = significant_mean_square(row[:near], release.scale, n) / 2
    return max(top / TYPICAL, math.sqrt(square))


def sparse_squares(sample, points):
    """Release half the mean squared difference of columns most of whose differences are zero.

    A difference of two rows has few entries other than zero in such columns. Those with more than
    a released number L of them are left out.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingEntries` and ``SparseRing``; ``points``, L are
    released.
    """
    columns = tuple(np.flatnonzero(points).tolist())
    numbers = sample.ask(RingEntries(columns), SPARSE_ROWS)
    L = _most_entries(numbers.value, numbers.scale, sample.n)
    wanted = 450 * math.sqrt(RING_SQUARED * L) / (sample.n * sample.budget.mu)
    share = float(np.clip(wanted**2, LEAST, SPARSE_SCALES.at_most))
    release = sample.ask(SparseRing(columns, L, BINS), SPARSE_SCALES, share=share)
    return np.array(
        [
            significant_mean_square(row.astype(float), release.scale, sample.n) / 2
            for row in release.value
        ]
    )


def _most_entries(numbers, sd, n):
    """Return a number >= 1 of entries that few of the differences exceed."""
    above = np.cumsum(numbers[::-1])[::-1]
    clear = np.maximum(CROWDED * n, 2 * sd * np.sqrt(np.arange(len(numbers), 0, -1)))
    crowded = np.flatnonzero(above > clear)
    return max(int(crowded[-1]) if crowded.size else 0, 1)


def significant_cells(counts, sd):
    """Return the numbers of the bins that hold rows, by released counts.

    The highest is one with three standard deviations of its own: of a wide window that stands out
    the outer bins hold noise, which squares of lengths would make much of.
    """
    at = np.flatnonzero(_standing(counts, sd))
    full = np.flatnonzero(counts[at] > 3 * sd)
    return at[: full[-1] + 1] if full.size else at[:0]


def _standing(counts, sd):
    octave = BINS.low + np.arange(len(counts))
    octave[0] = 0
    return is_significant(counts, octave, sd)


def significant_mean_square(counts, sd, n):
    """Return the mean square of all that stands out of the noise in released bins."""
    at = significant_cells(counts, sd)
    at = at[at > 0]
    parts = np.clip(counts[at] / n, 0.0, 1.0)
    roots = np.array([BINS.upper_edge(i) for i in at])
    top = float(roots.max(initial=0.0))
    if top == 0:
        return 0.0
    return float(min(top * top, 1e300) * EVEN * (parts @ np.square(roots / top)))
