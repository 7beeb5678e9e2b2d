"""Private means of real columns: each clipped where its own noise and bias balance."""

import math
from dataclasses import replace

import numpy as np

from skdp.accounting import Step
from skdp.columns._locate import LOCATING_STEPS, locate_columns, survey_share
from skdp.columns._magnitude_histogram import CELLS, ENDS, release_magnitude_histograms
from skdp.kernel._sums import BallSum, Count
from skdp.kernel._views import Boxed
from skdp.location._counted import release_count
from skdp.location._release import MeanRelease
from skdp.scales import clipped_sum

FEW_ROWS, COARSE = 150, 30  # rows in noise units of a sum
COUNT_AGAIN = Step("row count again", at_most=0.04, of=(Count,))
FINAL_SUM = Step("final sum", of=(BallSum,))
COLUMN_STEPS = COUNT_AGAIN, *LOCATING_STEPS  # beyond those of other means
MOST_COLUMNS = 100  # a histogram over all floats for each
FEW_FOR_BOX, MANY_FOR_BOX = 30, 450  # rows in noise units of one of d sums
LEAST_SURE, SURE = 1.5, 0.6  # noise sds of a tail, the latter times sqrt(d): one of d is a chance
LONG = 10.0  # scales times sqrt(d): twice what light tails and a box of each column take
LONG_OF_NORMAL = 4.0  # of columns that may be normal: up to 2.5 if they are, from 7 if one is not
UNITS_ARE_FOUND = 200  # so many suffice to find the units of columns that are clipped together
NOTHING = "nothing found: too few rows to tell where a column lies; its location_ is a start"
ZEROS = "nothing but zeros stands out in a column: larger entries, if any, are clipped to [-1, 1]"
# Rows in noise units of a sum, times sqrt(d), with fewer of which tails stay unseen: of 4,876 means
# of columns of 212 tables 137 were off by half a deviation, one of them with more rows and a short
# interval.
UNSEEN = 45
HIDDEN = (
    "so few rows for this epsilon that a tail of a twentieth of them may stay unseen: the interval "
    "is that of the rows that are seen; pass bounds=(low, high) if known"
)
FEW_ROWS_TOLD = (
    "so few rows for this epsilon that the mean is coarse: pass bounds=(low, high) if known"
)
BOXED = "every column was clipped to an interval of its own"


def column_mean(counted):
    """Release the mean of one column: count, locate, and one clipped sum with all that is left.

    Notes
    -----
    **Privacy**: the sum of entries clipped to ``center`` +- ``radius``, both released, has
    sensitivity ``radius``; the rest is that of :func:`skdp.columns._locate.locate_columns`.
    """
    if counted.n * counted.mu < FEW_ROWS:
        again = release_count(counted.table, COUNT_AGAIN)
        counted = replace(counted, count=counted.count.pooled(again))
    (located,) = _located(counted)
    clip, n = located.clipping, counted.n
    if located.kind == "rows" and n * counted.mu < COARSE:
        counted.table.doubt(FEW_ROWS_TOLD)
    if located.kind == "nothing":
        return MeanRelease.unknown(np.zeros(1), n)
    total, sd = clipped_sum(
        counted.table,
        center=np.array([clip.center]),
        radius=clip.radius,
        share=counted.table.remaining,
        label=FINAL_SUM.label,
    )
    offset, noise = total / n, sd / n
    noise = np.hypot(noise, (np.abs(offset) + noise) * counted.count.sd / n)
    bias = np.array([[clip.below], [clip.above]])
    release = MeanRelease(np.nan_to_num(clip.center + offset), noise, bias, n)
    return counted.checked(with_deviation(release, [located]), clip.radius)


def with_deviation(release, located):
    """Return a MeanRelease with bounds of the deviations of columns, by their ColumnLocation."""
    told = [*zip(located, release.location, release.noise_scale, strict=True)]
    most = np.array([one.squares.deviation(float(m), float(sd)) for one, m, sd in told])
    least = np.array([one.squares.least(float(m), float(sd)) for one, m, sd in told])
    heavy, unseen = np.array([(one.clipping.heavy, one.hidden) for one in located]).T
    return replace(release, deviation=most, typical=least, heavy=heavy, unseen=unseen)


def _located(counted, **known):
    """Release where the columns lie, and say of which nothing was seen."""
    table, drawn = counted.table, counted.drawn
    more = drawn.n / counted.n  # times as many
    located = locate_columns(
        drawn.table, n=drawn.n, count_sd=more * counted.count.sd, worth=counted.n, **known
    )
    kinds = np.array([one.kind for one in located])
    table.doubt(NOTHING, columns=kinds == "nothing")
    table.doubt(ZEROS, columns=kinds == "zeros")
    few = drawn.n * drawn.mu < UNSEEN * np.sqrt(len(located))
    hidden = np.array([few or one.hidden for one in located])
    table.doubt(HIDDEN, columns=(kinds == "rows") & hidden)
    return [
        replace(one, clipping=_effective_clipping(one.clipping, more), hidden=bool(h))
        for one, h in zip(located, hidden, strict=True)
    ]


def _effective_clipping(clip, more):
    """Return a Clipping for the mean of fewer rows' worth: of it each may be a larger part."""
    return replace(clip, below=max(1.0, more) * clip.below, above=max(1.0, more) * clip.above)


def look_at_columns(counted):
    """Return the Surveys of the columns; None of so many, or of so few rows, that none can tell."""
    counted = counted.drawn
    d, rows = counted.d, _rows(counted)
    if d > MOST_COLUMNS or rows < FEW_FOR_BOX:
        return None
    share = survey_share(counted.table.budget, counted.n, d)
    share = share if rows > MANY_FOR_BOX else max(share, 0.05)
    return release_magnitude_histograms(counted.table, share=share)


def _rows(counted):
    """Return the number of rows in noise units of one of d sums."""
    return counted.n * counted.mu / np.sqrt(counted.d)


def prefer_column_clipping(counted, surveys, *, unlike=True):
    """Return whether the columns should be clipped one by one.

    They should if one of them is hard on others: if nothing, or nothing but zeros, is seen of it,
    if it is nearly always zero, or if many of its entries lie far above its bulk. With few rows
    different units are as hard if they are ``unlike`` what can be found.
    """
    counted = counted.drawn
    sure = max(LEAST_SURE, SURE * np.sqrt(counted.d))
    bulks = [_bulk(one, counted.n, sure) for one in surveys]
    units = [bulk for bulk in bulks if bulk]
    apart = unlike and _rows(counted) < UNITS_ARE_FOUND
    apart = apart and max(units, default=1) > 4 * min(units, default=1)
    return apart or not all(bulks)


def drowned(clip, where, seen):
    """Return whether one column is so hard on others that a box would have been better."""
    scaled = seen.laws is not None or seen.missed is not None
    spread = math.sqrt(len(where.scale)) if scaled else where.spread
    return clip.radius > (LONG_OF_NORMAL if seen.laws else LONG) * spread


def _bulk(survey, n, sure):
    """Return the size below which three quarters of a column lie, None if it is hard on others."""
    zeros = survey.counts[CELLS.n_side]
    if survey.kind != "rows" or zeros > 0.85 * n:
        return None
    bulk = survey.size(0.75)
    far = (ENDS.size / 2 > bulk) & (ENDS.size / 64 <= bulk)
    beyond = survey.counts[far].sum() - sure * survey.scale * np.sqrt(np.count_nonzero(far))
    return None if bulk == 0 or beyond > 0.03 * n else bulk


def boxed(counted, surveys):
    """Return the CountedTable with every column clipped to its interval, and the ColumnLocations.

    Notes
    -----
    **Privacy**: what is released of the rows in the box is released of functions of the rows.
    """
    located = list(_located(counted, surveys=surveys))
    counted.table.decide(BOXED)
    table = counted.table.map(Boxed(*_box([one.clipping for one in located])))
    return replace(counted, table=table), located


def unboxed(release, clips):
    """Return a MeanRelease of boxed rows in units of the table, the bias of the box included."""
    center, radius = _box(clips)
    bias = np.array([[clip.below for clip in clips], [clip.above for clip in clips]])
    return replace(
        release,
        location=np.nan_to_num(center + radius * release.location),
        noise_scale=radius * release.noise_scale,
        clipping_bound=radius * release.clipping_bound + bias,
        # the box has cut tails off, and tells of them
        hidden=bool(np.isinf(release.clipping_bound).any()),
    )


def _box(clips):
    center = np.array([clip.center for clip in clips])
    return center, np.array([clip.radius for clip in clips])
