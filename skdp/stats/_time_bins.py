"""Bins of time, public or found, and released numbers of events and of others in them."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._sums import Count
from skdp.kernel.applied._scores import ScoreCells
from skdp.metrics._strategy import GAIN, prefix_strategy
from skdp.stats._search import LEVEL_NOISE, ROWS, SEARCH, find_quantiles

__all__ = [
    "COUNTS",
    "GAIN",
    "Counts",
    "cells_of_times",
    "find_edges",
    "n_bins_of",
    "release_counts",
    "release_rows",
]

COUNTS = Step("events", of=(ScoreCells,))
FOUND = 0.15  # of the budget, for the place of the bins
KNOTS = (0.25, 0.5)  # quantiles of all times, between which bins have one width
LEVEL = 0.02, 0.25  # of the last one, from above
FEWEST, MOST = 12, 64  # bins
ROWS_OF_BIN = 4.0  # noises of a count: rows of a group for each bin
FARTHEST = 1.7e308
APART = 2.0**-40  # of the horizon: no two edges are closer


def release_rows(table):
    """Return the released number of rows."""
    return max(float(table.ask(Count(), ROWS).value[0]), 2.0)


def n_bins_of(n, mu):
    """Return how many bins a curve of n rows has: more rows, more bins, else these bias it."""
    return int(np.clip(n * mu / ROWS_OF_BIN, FEWEST, MOST))


def find_edges(table, n_rows, n_bins):
    """Return edges of bins that fit the times of all rows, None if these were not found.

    Equal steps between a few quantiles; from the last one as far as a constant hazard would take
    to where a part LEVEL[0] of the rows is left.
    """
    mu = table.budget.mu * math.sqrt(FOUND)
    level = float(np.clip(LEVEL_NOISE / mu / n_rows, *LEVEL))
    times = table.child(SEARCH.label, FOUND).map(SomeColumns(np.array([0])))
    seen = find_quantiles(times, [*KNOTS, 1 - level], None)
    at = np.nan_to_num(seen.location[:, 0])
    far = at[-1] * math.log(LEVEL[0]) / math.log(level)
    if not (seen.found[0] and at[-1] > 0 and np.isfinite(far)):
        return None
    knots = np.unique([0.0, *np.maximum(at, 0.0), far])
    knots = knots[np.append(True, np.diff(knots) > APART * far)]
    parts = np.linspace(0, len(knots) - 1, n_bins + 1)
    return np.interp(parts, np.arange(len(knots)), knots)


@dataclass(frozen=True)
class Counts:
    """Released numbers of events and of others by group and bin, the last of others beyond all."""

    edges: np.ndarray  # (L + 1,)
    events: np.ndarray  # (k, L)
    others: np.ndarray  # (k, L + 1)
    event_noise: np.ndarray  # (L, L): what multiplies standard normal numbers in them
    other_noise: np.ndarray  # (L + 1, L + 1)

    @property
    def n_rows(self):
        """The number of rows of every group."""
        return self.events.sum(axis=1) + self.others.sum(axis=1)


def cells_of_times(edges, event, other, beyond, n_columns):
    """Return the question for sums of q integers of every row, by its time and whether it is one.

    ``event`` and ``other``: pairs of (q, L), at the left and the right end of bins; ``beyond``:
    (q,), of rows that are later than all bins, or leave at their end without an event. An event at
    an edge is in the bin that ends there.
    """
    q, bins = event[0].shape
    ends = np.zeros((2, n_columns, q, 2, bins + 2), dtype=np.int64)
    for out, of_event, of_other in zip(ends, event, other, strict=True):
        out[0, :, 1, :bins], out[0, :, 0, :bins] = of_event, of_other
        out[0, :, 1, bins], out[0, :, 0, bins] = event[1][:, -1], beyond
        out[0, :, :, bins + 1] = beyond[:, None]
    last = edges[-1]
    inner = np.nextafter(edges[1:-1], np.inf)
    fine = np.concatenate([edges[:1], inner, [last, np.nextafter(last, np.inf), FARTHEST]])
    return ScoreCells(np.tile(fine, (n_columns, 1)), (1,) * n_columns, *ends)


def release_counts(parts, n_groups, edges, n_columns, step, share):
    """Return the :class:`Counts` of disjoint groups: one release, whose prefix sums are least off.

    **Privacy** (add or remove one row): it is in one group, and a :class:`ScoreCells` bounds what
    it adds there: a column of one of two integer matrices, of length GAIN.
    """
    bins = len(edges) - 1
    (C, inverse), (C_other, inverse_other) = prefix_strategy(bins), prefix_strategy(bins + 1)
    event, other = np.zeros((2, 2 * bins + 1, bins), dtype=np.int64)
    event[:bins], other[bins:] = C, C_other[:, :-1]
    beyond = np.concatenate([np.zeros(bins, dtype=np.int64), C_other[:, -1]])
    asked = cells_of_times(edges, (event, event), (other, other), beyond, n_columns)
    told = parts.ask(dict.fromkeys(range(n_groups), asked), share=share, label=step.label)
    y = np.array([told[g].real[: 2 * bins + 1] for g in range(n_groups)])
    sd = float(told[0].sd)
    return Counts(
        edges,
        y[:, :bins] @ inverse.T,
        y[:, bins:] @ inverse_other.T,
        sd * inverse,
        sd * inverse_other,
    )
