"""Columns located: where to clip each of them, found privately without bounds."""

import math
from dataclasses import dataclass

import numpy as np

from skdp.accounting import Step
from skdp.columns._magnitude_histogram import (
    COLUMNS,
    ZOOM,
    CentralInterval,
    OctaveEnds,
    look_again,
    octaves_around,
    release_magnitude_histograms,
    release_refined_intervals,
)
from skdp.columns._tail import ALONE, SEVERAL, Squares, mean_square, read_tail
from skdp.kernel._columns import ColumnCells
from skdp.scales._column_noise import ColumnNoise

# --- what rows that no count shows may do to a mean: how far a tail leans, and what it may hide

LEANS = 1.0, 2.0  # skewness of what is seen: none of an even column, 2 of an exponential one
MISSING = 3.0, 0.02  # standard deviations, and part of the rows, that the seen cells lack
NEARLY_ALL, OTHERS = 0.85, 20  # zeros, and rows beside them in noise units of a sum
MANY, FEW, SPREAD = 0.6, 700, 0.5  # zeros, rows in noise units, and what is no single level
SURE = 1.7  # standard deviations of a count: what rows beside the largest level may be more


def lean(sizes, counts):
    """Return how far a released histogram leans to either side: from -1 to 1.

    Below a skewness of 1 it does not, from 2 on wholly: so do columns whose tails go on farther
    than is seen.
    """
    weight = np.maximum(counts, 0.0)
    farthest = np.abs(sizes).max(initial=0.0)
    if not weight.any() or not farthest:
        return 0.0
    weight, x = weight / weight.sum(), sizes / farthest
    x = x - weight @ x
    spread = math.sqrt(weight @ np.square(x))
    skewness = float(weight @ x**3) / spread**3 if spread > 0 else 0.0
    low, high = LEANS
    part = float(np.clip((abs(skewness) - low) / (high - low), 0.0, 1.0))
    return math.copysign(part, skewness)


def may_hide(counts, middle, seen, sd, *, n, rows):
    """Return whether many rows may lie where they are not seen.

    They may if the seen cells lack rows; if next to all rows are equal and the others are too few
    to stand out; and if most rows are equal, the others are few and not of one size.
    """
    missing = n - counts[seen].sum()
    if missing > max(MISSING[0] * sd * math.sqrt(np.count_nonzero(seen)), MISSING[1] * n):
        return True
    others = n - counts[middle]
    largest = np.delete(counts, middle).max()
    spread = others - largest + SURE * sd > SPREAD * largest
    few = rows < FEW and others < (1 - MANY) * n and spread
    return bool(few or (others < (1 - NEARLY_ALL) * n and others / n * rows < OTHERS))


# --- where to clip a column: the centre and the radius at which noise and bias balance

WEIGHT = 0.7  # of an expected bias beside noise
ROUNDING = 2.0**-40  # of sums on a grid, and of floats
SHORTEST, LONGEST = 2.0**-900, 2.0**900  # radii whose squares and quotients are ordinary numbers
# Deviations of a count that a leaning tail may hold at the top, beyond what its law expects: with 0
# 86 % of reliable intervals of mostly zero columns held, with 2 91 %, with 3 92 %, with 4 no more.
FURTHER = 3.0
TOWARDS = np.array([0.05, 0.1, 0.2, 0.35])


@dataclass(frozen=True)
class Clipping:
    """Entries are clipped to ``center`` +- ``radius``; ``below``, ``above``: bounds of the bias.

    As a rule the mean of the entries lies at most ``below`` under that of the clipped ones, and at
    most ``above`` over it; both are infinite for entries so far apart that the radius ends first.
    Centre and radius are finite, the radius is in [2^-900, 2^900]. ``heavy`` tails may hold more.
    """

    center: float
    radius: float
    below: float
    above: float
    heavy: bool = False


def best_clipping(center, unit, up, down, lean=0.0, *, n, noise, sd, count_sd):
    """Return the Clipping of the least expected error of a mean."""
    offset = (up.expected[0] - down.expected[0]) / n
    mean = np.clip(offset, -down.top, up.top)
    error = 0.6 * sd * np.hypot(up.top, down.top) / n
    even = np.linspace(-down.top, up.top, 33)
    towards = mean + ((up.top - down.top) / 2 - mean) * TOWARDS
    centers = np.unique(np.concatenate([[0.0, mean], even, towards]))
    ends = np.concatenate([up.cuts, -down.cuts])
    radii = np.abs(ends - centers[:, None])
    bias = np.maximum(
        _bias(up, "likely", centers[:, None] + radii, n),
        _bias(down, "likely", radii - centers[:, None], n),
    )
    loss = np.square(noise * radii) + np.square(WEIGHT * bias)
    loss += np.square((np.abs(mean - centers) + error) * count_sd / n)[:, None]
    loss[~(radii > 0)] = np.inf
    i, j = np.unravel_index(np.argmin(loss), loss.shape)
    c, radius = centers[i], radii[i, j]
    middle, reach = float(center + c * unit), float(radius * unit)
    if reach > LONGEST:
        return Clipping(float(np.nan_to_num(middle)), LONGEST, np.inf, np.inf)
    reach = max(reach, SHORTEST)
    further = FURTHER * sd * max(up.top, down.top) / n
    rounding = ROUNDING * (abs(middle) + reach)
    return Clipping(
        center=middle,
        radius=reach,
        below=float(_bias(down, "most", radius - c, n) + further * max(-lean, 0)) * unit + rounding,
        above=float(_bias(up, "most", c + radius, n) + further * max(lean, 0)) * unit + rounding,
        heavy=up.heavy or down.heavy,
    )


def _bias(tail, what, distances, n):
    """Return what clipping at distances takes from a mean; short of the centre half of all rows."""
    return tail.at(what, np.maximum(distances, 0.0)) / n + np.maximum(-distances, 0.0) / 2


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
class ColumnLocation:
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
        surveys = release_magnitude_histograms(table, share=survey_share(table.budget, n, d))
    surveys = look_again(table, surveys, n=n)
    there = [one if one.kind == "rows" else None for one in surveys]
    if not any(there):
        return [_default_location(one) for one in surveys]
    bulks = release_refined_intervals(table, there, n=n, least=FINAL + 0.15)
    at = np.array([j for j, bulk in enumerate(bulks) if bulk is not None])
    cells = [_tail_cells(bulks[j], surveys[j]) for j in at]
    share = float(np.clip(noise.share(n / 60, at.size), 0.10 if d == 1 else 0.18, 0.22))
    share = min(share, MOST_TAILS * float(table.remaining))
    centers = np.array([bulks[j].center for j in at])
    asked = ColumnCells(at, tuple(cells), centers)
    release = table.ask(asked, TAILS, share=share)
    sd = noise.deviation(release.scale)
    final = noise.deviation(noise.scale(float(table.remaining), d)) / (worth or n)
    located = [None if there[j] else _default_location(surveys[j]) for j in range(d)]
    for j, one, counts in zip(at, cells, release.value.astype(float), strict=True):
        ends = OctaveEnds(one)
        unit = _power(max(bulks[j].width, ends.edges[1]))
        counts = counts[: one.n_cells]
        up, down = _tail_sides(ends.edges, counts, sd, bulks[j], unit, n, alone=d == 1)
        seen = (ends.low >= -down.top * unit) & (ends.high <= up.top * unit)
        leaning = lean(ends.low[seen] / 2 + ends.high[seen] / 2, counts[seen])
        clipping = best_clipping(
            bulks[j].center, unit, up, down, leaning, n=n, noise=final, sd=sd, count_sd=count_sd
        )
        hidden = may_hide(counts, one.n_side, seen, sd, n=n, rows=n * noise.strength / math.sqrt(d))
        squares = mean_square(counts[seen], ends.size[seen] / unit, sd, n)
        told = np.stack([ends.low[seen] / unit, ends.high[seen] / unit, counts[seen] / n])
        squares = Squares(bulks[j].center, unit, *squares, told, sd / n)
        located[j] = ColumnLocation("rows", clipping, squares, hidden)
    return located


def _tail_cells(bulk: CentralInterval, survey):
    """Return cells around the bulk, as far as anything was seen, and beyond what is likely."""
    likely = max(bulk.width, abs(bulk.center)) * 2.0**ABOVE
    far = max(survey.farthest / 2 + abs(bulk.center) / 2, min(likely, LARGEST / 2))
    above = int(np.log2(far) - np.log2(bulk.width)) + 2
    return octaves_around(bulk.width, below=BELOW, above=above, halvings=HALVINGS)


def _power(length):
    """Return the largest power of two that is not above a length: log2 rounds up to 1024."""
    return math.ldexp(0.5, math.frexp(length)[1])


def _tail_sides(ends, counts, sd, bulk, unit, n, *, alone):
    """Return the Tails above and below the centre; entries near it count half for each."""
    edges, n_side = ends / unit, len(ends) - 1
    edges = np.concatenate([[0.0], edges]) if edges[0] > 0 else edges
    middle, size = counts[n_side], len(edges) - 1
    first = [middle / 2] if ends[0] > 0 else []
    up = np.concatenate([first, counts[n_side + 1 :]])
    down = np.concatenate([first, counts[:n_side][::-1]])
    width = max(bulk.width / unit, edges[1])
    equal = abs(bulk.center) / unit if bulk.equal else None
    known = {"n": n, "entry": equal, "shown": np.inf if equal else ALONE if alone else SEVERAL}
    return (read_tail(edges, side[:size], sd, width, **known) for side in (up, down))


def _default_location(survey):
    """Return what is known of a column without rows, or with nothing but zeros that are seen."""
    squares = Squares(0.0, PRIOR, 1.0, 0.0)  # of entries clipped to [-1, 1]
    return ColumnLocation(survey.kind, Clipping(0.0, PRIOR, np.inf, np.inf), squares)
