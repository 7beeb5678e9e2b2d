"""Columns located: where to clip each of them, found privately without bounds."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.columns._clipping import Clipping, best_clipping
from skdp.columns._hiding import lean, may_hide
from skdp.columns._squares import Squares, mean_square
from skdp.columns._survey import COLUMNS, survey_columns
from skdp.columns._tail import read_tail
from skdp.columns._zoom import ZOOM, Bulk, zoom_columns
from skdp.kernel._bins import OctaveCells
from skdp.kernel._columns import ColumnCells
from skdp.scales._column_noise import ColumnNoise

__all__ = ["LOCATING_STEPS", "Located", "locate_columns", "survey_share"]

HALVINGS = 1
BELOW, ABOVE = 4, 24  # octaves of the tails, around the bulk and beyond its entries
LARGEST = float(np.finfo(np.float64).max)
PRIOR = 1.0  # scale of a column of which only zeros are seen
MOST_TAILS = 0.45  # part of what is left that tails take
FINAL = 0.4  # share that is left over for what follows, at least
TAILS = Step("tails", at_most=0.22, of=(ColumnCells,))
LOCATING_STEPS = COLUMNS, ZOOM, TAILS


def survey_share(budget, n, d):
    """Return the share of the first histograms of d columns of n rows, a released number."""
    return float(np.clip(ColumnNoise(budget).share(n / 30, d), 0.02, 0.25))


@dataclass(frozen=True)
class Located:
    """A column: "nothing" or "zeros" seen of it, or "rows", and where to clip it."""

    kind: str  # {"nothing", "zeros", "rows"}
    clipping: Clipping  # of "nothing" the interval from -1 to 1, with infinite bounds
    squares: Squares  # how far the entries lie from a point
    hidden: bool = False  # whether many rows may lie where they are not seen


def locate_columns(table, *, n, count_sd, surveys=None, worth=None):
    """Find where to clip every column so that noise and bias of its mean balance.

    Notes
    -----
    **Privacy**: every release is one histogram of every column, whose cells are public or made of
    earlier releases. All else is made of what they release; what is released next, and with which
    share, is told by them too.
    """
    noise, d = ColumnNoise(table.budget), table.n_features
    if surveys is None:
        surveys = survey_columns(table, share=survey_share(table.budget, n, d))
    there = [one if one.kind == "rows" else None for one in surveys]
    if not any(there):
        return [_unseen(one) for one in surveys]
    bulks = zoom_columns(table, there, n=n, least=FINAL + 0.15)
    at = np.array([j for j, bulk in enumerate(bulks) if bulk is not None])
    cells = [_tail_cells(bulks[j], surveys[j]) for j in at]
    share = float(np.clip(noise.share(n / 60, at.size), 0.10 if d == 1 else 0.18, 0.22))
    share = min(share, MOST_TAILS * float(table.remaining))
    centers = np.array([bulks[j].center for j in at])
    asked = ColumnCells(at, tuple(cells), centers)
    release = table.ask(asked, TAILS, share=share)
    sd = noise.deviation(release.scale)
    final = noise.deviation(noise.scale(float(table.remaining), d)) / (worth or n)
    located = [None if there[j] else _unseen(surveys[j]) for j in range(d)]
    for j, one, counts in zip(at, cells, release.value.astype(float), strict=True):
        unit = _power(max(bulks[j].width, one.edges[1]))
        counts = counts[: one.n_cells]
        up, down = _sides(one, counts, sd, bulks[j], unit, n)
        seen = (one.low >= -down.top * unit) & (one.high <= up.top * unit)
        leaning = lean(one.low[seen] / 2 + one.high[seen] / 2, counts[seen])
        clipping = best_clipping(
            bulks[j].center, unit, up, down, leaning, n=n, noise=final, sd=sd, count_sd=count_sd
        )
        hidden = may_hide(counts, one.n_side, seen, sd, n=n, rows=n * noise.strength / math.sqrt(d))
        squares = mean_square(counts[seen], one.size[seen] / unit, sd, n)
        squares = Squares(bulks[j].center, unit, *squares)
        located[j] = Located("rows", clipping, squares, hidden)
    return located


def _tail_cells(bulk: Bulk, survey):
    """Return cells around the bulk, as far as anything was seen, and beyond what is likely."""
    likely = max(bulk.width, abs(bulk.center)) * 2.0**ABOVE
    far = max(survey.farthest / 2 + abs(bulk.center) / 2, min(likely, LARGEST / 2))
    above = int(np.log2(far) - np.log2(bulk.width)) + 2
    return OctaveCells.around(bulk.width, below=BELOW, above=above, halvings=HALVINGS)


def _power(length):
    """Return the largest power of two that is not above a length: log2 rounds up to 1024."""
    return math.ldexp(0.5, math.frexp(length)[1])


def _sides(cells, counts, sd, bulk, unit, n):
    """Return the Tails above and below the centre; entries near it count half for each."""
    edges = cells.edges / unit
    edges = np.concatenate([[0.0], edges]) if edges[0] > 0 else edges
    middle, size = counts[cells.n_side], len(edges) - 1
    first = [middle / 2] if cells.edges[0] > 0 else []
    up = np.concatenate([first, counts[cells.n_side + 1 :]])
    down = np.concatenate([first, counts[: cells.n_side][::-1]])
    width = max(bulk.width / unit, edges[1])
    equal = abs(bulk.center) / unit if bulk.equal else None
    return (
        read_tail(edges, side[:size], sd, width, n=n, per_octave=1 << HALVINGS, entry=equal)
        for side in (up, down)
    )


def _unseen(survey):
    """Return what is known of a column without rows, or with nothing but zeros that are seen."""
    squares = Squares(0.0, PRIOR, 1.0, 0.0)  # of entries clipped to [-1, 1]
    return Located(survey.kind, Clipping(0.0, PRIOR, np.inf, np.inf), squares)
