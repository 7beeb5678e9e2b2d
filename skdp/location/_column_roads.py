"""Private means of real columns: each clipped where its own noise and bias balance."""

from dataclasses import replace

import numpy as np

from skdp.accounting import Step
from skdp.columns import (
    CELLS,
    BoxedRows,
    locate_columns,
    locating_steps,
    survey_columns,
    survey_share,
)
from skdp.location._column_noise import ColumnNoise
from skdp.location._release import MeanRelease, bounded, told_number
from skdp.scales import clipped_sum, count_rows

__all__ = ["box_is_better", "boxed", "column_mean", "column_steps", "unboxed"]

COUNT_AGAIN, FEW_ROWS, COARSE = 0.04, 150, 30  # rows in noise units of a sum
MOST_COLUMNS = 100  # a histogram over all floats for each
FEW_FOR_BOX, MANY_FOR_BOX = 30, 450  # rows in noise units of one of d sums
UNITS_ARE_FOUND = 200  # so many suffice to find the units of columns that are clipped together
NOTHING = "nothing found: too few rows to tell where a column lies; its location_ is a start"
ZEROS = "nothing but zeros stands out in a column: larger entries, if any, are clipped to [-1, 1]"
FEW_ROWS_TOLD = (
    "so few rows for this epsilon that the mean is coarse: pass bounds=(low, high) if known"
)
BOXED = "every column was clipped to an interval of its own"


def column_steps():
    """Return the planned steps of both roads beyond those of other means."""
    return (Step("row count again", at_most=COUNT_AGAIN), *locating_steps())


def column_mean(run):
    """Release the mean of one column: count, locate, and one clipped sum with all that is left.

    Parameters
    ----------
    run : MeanRun
        With the released number of rows.

    Returns
    -------
    release : MeanRelease

    Notes
    -----
    **Privacy**: the sum of entries clipped to ``center`` +- ``radius``, both released, has
    sensitivity ``radius``; the rest is that of :func:`skdp.columns.locate_columns`.
    """
    curator = run.curator
    if run.n * run.mu < FEW_ROWS:
        _count_again(run)
    located = locate_columns(run.rows, ColumnNoise(curator), n=run.n, count_sd=run.n_sd)[0]
    _tell(curator, [located])
    if located.kind == "rows" and run.n * run.mu < COARSE:
        curator.doubt(FEW_ROWS_TOLD)
    clip = located.clipping
    if located.kind == "nothing":
        unknown = np.full(1, np.inf)
        return MeanRelease(np.zeros(1), unknown, np.full((2, 1), np.inf), run.n)
    total, sd, _ = clipped_sum(
        run.rows,
        curator,
        center=np.array([clip.center]),
        radius=bounded(clip.radius),
        share=curator.remaining,
        label="final sum",
    )
    offset, noise = total / run.n, sd / run.n
    noise = np.hypot(noise, (np.abs(offset) + noise) * run.n_sd / run.n)
    bias = np.array([[clip.below], [clip.above]])
    return run.checked(MeanRelease(clip.center + offset, noise, bias, run.n), clip.radius)


def _count_again(run):
    """Release the number of rows once more, and pool both counts by their variances."""
    release = run.curator.gaussian(
        [count_rows(run.rows)], sensitivity=1, share=COUNT_AGAIN, label="row count again"
    )
    weight = release.scale**2 / (release.scale**2 + run.n_sd**2)
    told = weight * run.told + (1 - weight) * float(release.value[0])
    sd = release.scale * run.n_sd / np.hypot(release.scale, run.n_sd)
    run.told, run.n_sd = told, sd
    run.n, run.few = told_number(told, sd)


def box_is_better(run):
    """Return the Surveys of the columns if they should be clipped one by one, else None.

    They should if one of them is hard on others: if nothing, or nothing but zeros, is seen of it,
    if it is nearly always zero, or if many of its entries lie far above its bulk. With few rows
    different units are as hard.
    """
    d, rows = run.d, run.n * run.mu / np.sqrt(run.d)
    if d > MOST_COLUMNS or rows < FEW_FOR_BOX:
        return None
    noise = ColumnNoise(run.curator)
    share = survey_share(noise, run.n, d) if rows > MANY_FOR_BOX else 0.05
    share = max(share, survey_share(noise, run.n, d))
    surveys = survey_columns(run.rows, noise, share=share, again=False)
    bulks = [_bulk(one, run.n) for one in surveys]
    units = [bulk for bulk in bulks if bulk]
    apart = rows < UNITS_ARE_FOUND and max(units, default=1) > 4 * min(units, default=1)
    return surveys if apart or not all(bulks) else None


def _bulk(survey, n):
    """Return the size below which three quarters of a column lie, None if it is hard on others."""
    zeros = survey.counts[CELLS.n_side]
    if survey.kind != "rows" or zeros > 0.85 * n:
        return None
    mass, size = survey.masses, np.maximum(np.abs(CELLS.low), np.abs(CELLS.high))
    order = np.argsort(size, kind="stable")
    part = np.cumsum(mass[order]) / mass.sum()
    bulk = float(size[order][np.searchsorted(part, 0.75)])
    far = (size / 2 > bulk) & (size / 64 <= bulk)
    beyond = survey.counts[far].sum() - 1.5 * survey.scale * np.sqrt(np.count_nonzero(far))
    return None if bulk == 0 or beyond > 0.03 * n else bulk


def boxed(run, surveys):
    """Return the table with every column clipped to its interval, and the Clippings.

    Notes
    -----
    **Privacy**: what is released of the rows in the box is released of functions of the rows.
    """
    curator = run.curator
    located = locate_columns(
        run.rows, ColumnNoise(curator), n=run.n, count_sd=run.n_sd, surveys=surveys
    )
    _tell(curator, located)
    curator.decide(BOXED)
    clips = [one.clipping for one in located]
    center = np.array([clip.center for clip in clips])
    radius = np.array([bounded(clip.radius) for clip in clips])
    return BoxedRows(run.rows, center, radius), clips


def unboxed(release, clips):
    """Return a MeanRelease of boxed rows in units of the table, the bias of the box included."""
    center = np.array([clip.center for clip in clips])
    radius = np.array([bounded(clip.radius) for clip in clips])
    bias = np.array([[clip.below for clip in clips], [clip.above for clip in clips]])
    return replace(
        release,
        location=center + radius * release.location,
        noise_scale=radius * release.noise_scale,
        clipping_bound=radius * release.clipping_bound + bias,
    )


def _tell(curator, located):
    kinds = np.array([one.kind for one in located])
    curator.doubt(NOTHING, columns=kinds == "nothing")
    curator.doubt(ZEROS, columns=kinds == "zeros")
