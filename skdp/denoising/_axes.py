"""The axes of the grid of PrivateHistogram, private ranges of columns, the noise of its counts."""

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

import numpy as np

from skdp.accounting import Budget, Step
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._histograms import Cells
from skdp.kernel._ranks import KeyRanks
from skdp.kernel._sums import Count
from skdp.scales import LogBins, read_scale
from skdp.scales._log_histogram import LEVELS, float_of_order

MOST_CELLS = 2**24
LARGEST = 2.0**1020  # edges stay below, so that their differences are finite


@dataclass(frozen=True)
class Axis:
    """One column: its public edges or levels, or the number of bins of a range that is searched."""

    size: int
    values: np.ndarray | None = None
    is_levels: bool = False

    @property
    def searched(self):
        """Whether the range is to be found privately."""
        return self.values is None


def read_axes(bins, range, categories, user, n_features):
    """Return an Axis for every column but that of users, or raise ValueError."""
    categories = dict(categories or {})
    columns = [c for c in np.arange(n_features).tolist() if c != user]
    _check_columns(categories, user, columns, n_features)
    n_bins = _per_column("bins", bins, n_features, isinstance(bins, str | Integral))
    ranges = _per_column("range", range, n_features, range is None or _is_pair(range))
    auto = min(64, max(2, int(4096 ** (1 / max(1, len(columns) - len(categories))) + 1e-9)))
    axes = {}
    for c in columns:
        if c in categories:
            axes[c] = _levels(categories[c])
        elif isinstance(n_bins[c], str):
            axes[c] = _binned(auto, ranges[c])
        elif isinstance(n_bins[c], Integral):
            axes[c] = _binned(int(n_bins[c]), ranges[c])
        else:
            axes[c] = _edges(n_bins[c])
    cells = 1
    for axis in axes.values():
        cells *= axis.size
    if not 0 < cells <= MOST_CELLS:
        raise ValueError(
            f"the grid would have more than {MOST_CELLS} cells, with {n_features} columns in X. "
            "Pass fewer bins, or fewer columns."
        )
    return axes


def range_is_public(bins, range):
    """Return whether no column needs a private range, as far as it is known without the table."""
    if isinstance(bins, str | Integral) or any(isinstance(b, str | Integral) for b in bins):
        return range is not None and (_is_pair(range) or all(r is not None for r in range))
    return True


def between(low, high, n_bins):
    """Return edges of ``n_bins`` bins of one width; a range without width is made one unit wide."""
    low, high = max(min(low, LARGEST), -LARGEST), max(min(high, LARGEST), -LARGEST)
    values = np.linspace(low, high, n_bins + 1)
    if not np.all(np.diff(values) > 0):
        half = max(0.5, 2.0**-40 * n_bins * max(abs(low), abs(high)))
        values = np.linspace(low - half, high + half, n_bins + 1)
    return values


def grid(axes, found):
    """Return the Cells of axes, given released ranges ``{column: (low, high)}``."""
    values = (
        between(*map(float, found[c]), axis.size) if axis.searched else axis.values
        for c, axis in axes.items()
    )
    return Cells(tuple(axes), tuple(values), tuple(axis.is_levels for axis in axes.values()))


def _check_columns(categories, user, columns, n_features):
    wrong = [c for c in categories if not isinstance(c, Integral) or c not in columns]
    if wrong or (user is not None and user >= n_features) or not columns:
        raise ValueError(
            f"categories and user must name different columns by their index, below {n_features}, "
            f"and leave a column to count by. Got categories for {list(categories)} and {user=}."
        )


def _per_column(name, value, n_features, common):
    """Return one entry per column of a parameter that may be common to all."""
    if common:
        return [value] * n_features
    entries = list(value)
    if len(entries) != n_features:
        raise ValueError(
            f"{name} must be common to all columns or have one entry per column of X, which has "
            f"{n_features}. Got {len(entries)} entries. Write those of one column as a list in a "
            f"list, {name}=[[low, ..., high]]."
        )
    return entries


def _is_pair(range):
    return len(range) == 2 and all(np.ndim(end) == 0 and end is not None for end in range)


def _binned(size, range):
    if range is None:
        return Axis(size)
    low, high = (float(end) for end in range)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"a range must be (low, high), finite, low < high. Got ({low}, {high}).")
    return Axis(size, between(low, high, size))


def _edges(edges):
    edges = np.asarray(edges, dtype=np.float64)
    fits = edges.ndim == 1 and edges.size >= 2
    if not (fits and np.isfinite(edges).all() and np.all(np.diff(edges) > 0)):
        raise ValueError(
            f"edges must be finite and increasing, at least two. Got shape {edges.shape}."
        )
    return Axis(edges.size - 1, edges)


def _levels(levels):
    values = np.unique(np.asarray(levels, dtype=np.float64))
    if not values.size or not np.isfinite(values).all():
        raise ValueError("the categories of a column must be finite numbers, at least one.")
    return Axis(values.size, values, True)


ROW_COUNT = Step("row count", at_most=Fraction(1, 100), of=(Count,))
CENTRE = Step("centre", at_most=Fraction(12, 100) / LEVELS, times=LEVELS, of=(KeyRanks,))
REACH = Step("reach", at_most=Fraction(7, 100), of=(ColumnBins,))
RANGE_STEPS = ROW_COUNT, CENTRE, REACH
RANGE_SHARE = sum(step.at_most * step.times for step in RANGE_STEPS)
TAIL = 0.002  # part of the rows that may lie beyond each end


def private_ranges(table, columns, law):
    """Release a range for some columns that holds nearly all rows, at a fifth of the budget.

    Notes
    -----
    **Privacy** (add or remove one row). The row count moves by 1. The others are answers to
    :class:`skdp.kernel._ranks.KeyRanks`, given released thresholds, and
    :class:`skdp.kernel._columns.ColumnBins`, given the released centres.
    """
    columns = tuple(int(c) for c in columns)
    n = float(table.ask(Count(), ROW_COUNT).value[0])
    centre = _centres(table, columns)
    bins = LogBins(2)
    seen = table.map(SomeColumns(np.array(columns)))
    noisy = seen.ask(ColumnBins(centre, np.ones(len(columns)), bins, "apart"), REACH)

    def top(side):
        return read_scale(side, noisy.scale, max(n, 1.0), bins, tail=TAIL, law=law).scale

    reach = np.array([[top(side) for side in pair] for pair in noisy.value])
    if not reach.any(axis=1).all():
        table.doubt("too few rows, or rows all alike: a range is one unit wide")
    return centre - reach[:, 0], centre + reach[:, 1]


def _centres(table, columns):
    """Release a value near the median of every column, by bisection on the order of all floats."""
    low, high = (np.full(len(columns), end, np.uint64) for end in (0, 2**64 - 1))
    for _ in range(LEVELS):
        middle = low + (high - low) // np.uint64(2)
        value = table.ask(KeyRanks(columns, middle), CENTRE).value
        high, low = np.where(value > 0, middle, high), np.where(value > 0, low, middle)
    return float_of_order(low + (high - low) // np.uint64(2))


LOUDEST = 2**45  # scale of noise, in grid units
TOO_LOUD = (
    "the noise would exceed 2^45 units and tell nothing. Pass a larger epsilon, or let single rows "
    "and users matter less."
)


def quieter_law(epsilon, delta, l1, squared_l2):
    """Return the law of less variance for these sensitivities, "laplace" or "gaussian"."""
    if delta == 0:
        return "laplace"
    laplace = 2 * (l1 / Budget.pure(epsilon).amount) ** 2
    return (
        "laplace" if laplace <= squared_l2 / Budget.gaussian(epsilon, delta).amount else "gaussian"
    )


def is_too_loud(budget, law, l1, squared_l2, share=1):
    """Return whether noise for these sensitivities is beyond what is drawn: a public fact."""
    amount = Fraction(share) * budget.amount
    return l1 > LOUDEST * amount if law == "laplace" else squared_l2 > LOUDEST**2 * amount
