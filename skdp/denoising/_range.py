"""A private range of every column: a rough centre, then how far rows lie below and above it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.chunks import weighed_sum
from skdp.chunks._strips import strips
from skdp.denoising._count_noise import released
from skdp.kernel._ranks import float_of_order, order_of_floats
from skdp.scales import LogBins, count_rows, read_scale
from skdp.scales._bisection import LEVELS

__all__ = ["RANGE_SHARE", "private_ranges", "range_steps"]

SHARES = {"row count": Fraction(1, 100), "centre": Fraction(12, 100), "reach": Fraction(7, 100)}
RANGE_SHARE = sum(SHARES.values())
BITS = 16, 16, 14  # of LEVELS, that are counted in one pass
TAIL = 0.002  # part of the rows that may lie beyond each end


def range_steps(step, law):
    """Return the planned steps of :func:`private_ranges`, made by ``step`` (the class Step)."""
    times = {"row count": 1, "centre": LEVELS, "reach": 1}
    return tuple(step(label, law, SHARES[label] / times[label], times[label]) for label in SHARES)


def private_ranges(rows, columns, curator, law):
    """Release a range for some columns that holds nearly all rows, at a fifth of the budget.

    Parameters
    ----------
    rows : ArrayRows
    columns : list of int
    curator : Curator
        With the steps of :func:`range_steps`.
    law : {"gaussian", "laplace"}

    Returns
    -------
    low, high : ndarrays of shape (len(columns),)

    Notes
    -----
    **Privacy** (add or remove one row; c columns). The row count moves by 1. Given the thresholds
    t, which are released, ``2 #{x <= t} - n`` moves by exactly 1 in every column. Given the
    centres, a row is counted once per column, in the histogram of distances below or above its
    centre. So the sensitivities are 1, c and c (l1), 1, sqrt(c) and sqrt(c) (l2).
    """
    c = len(columns)
    n, _ = released(curator, law, count_rows(rows), l1=1, squared_l2=1, **_step("row count"))
    centre = _centres(rows, columns, curator, law)
    bins = LogBins(2)
    counts = weighed_sum(rows, lambda start, block: _reach(block, columns, centre, bins))
    noisy, scale = released(curator, law, counts, l1=c, squared_l2=c, **_step("reach"))

    def top(side):
        return read_scale(side, scale, max(n, 1.0), bins, tail=TAIL, law=law).scale

    reach = np.array([[top(side) for side in pair] for pair in noisy])
    if not reach.any(axis=1).all():
        curator.doubt("too few rows, or rows all alike: a range is one unit wide")
    return centre - reach[:, 0], centre + reach[:, 1]


def _step(label):
    return {"share": SHARES[label], "label": label}


def _centres(rows, columns, curator, law):
    """Release a value near the median of every column, by bisection on the order of all floats.

    Thresholds of a few levels are ends of cells of equal width, so that one pass counts for all.
    """
    c, shift = len(columns), 64
    low, high = np.zeros(c, np.uint64), np.full(c, 2**64 - 1, np.uint64)
    for bits in BITS:
        shift -= bits
        upto = _counts(rows, columns, high, bits, shift)
        for _ in range(bits):
            middle = low + (high - low) // np.uint64(2)
            value, _ = released(
                curator,
                law,
                2 * upto(middle) - upto.n_rows,
                l1=c,
                squared_l2=c,
                share=SHARES["centre"] / LEVELS,
                label="centre",
            )
            high, low = np.where(value > 0, middle, high), np.where(value > 0, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))


@dataclass(frozen=True)
class _UpTo:
    """How many entries of every column are at most a threshold, the last number of a cell."""

    first: np.ndarray
    shift: int
    counts: np.ndarray

    @property
    def n_rows(self):
        return int(self.counts[0, -1])

    def __call__(self, threshold):
        cell = _cells(threshold, self.shift) + 1 - self.first
        return np.take_along_axis(self.counts, cell[:, None], axis=1)[:, 0]


def _counts(rows, columns, high, bits, shift):
    """Count the entries of the 2^bits cells of 2^shift numbers, of which ``high`` ends the last."""
    first = _cells(high, shift) + 1 - 2**bits
    size = 2**bits + 2  # and what lies below, and above

    def statistic(start, block):
        counts = np.zeros((len(columns), size), dtype=np.int64)
        for strip in strips(block, columns):
            cells = _cells(order_of_floats(strip + 0.0), shift)  # no -0.0
            at = np.clip(cells - (first - 1)[:, None], 0, size - 1)
            for of_column, i in zip(counts, at, strict=True):
                of_column += np.bincount(i, minlength=size)
        return counts

    return _UpTo(first, shift, weighed_sum(rows, statistic).cumsum(axis=1))


def _cells(order, shift):
    return (order >> np.uint64(shift)).astype(np.int64)


def _reach(block, columns, centre, bins):
    """Return histograms of the distances below and above the centres, shape (c, 2, n_bins)."""
    counts = np.zeros((len(columns), 2, bins.n_bins), dtype=np.int64)
    for strip in strips(block, columns):
        for of_column, x, c in zip(counts, strip, centre, strict=True):
            x = x - c
            at = bins.index(np.abs(x)) + bins.n_bins * (x >= 0)
            of_column += np.bincount(at, minlength=of_column.size).reshape(of_column.shape)
    return counts
