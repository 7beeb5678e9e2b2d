"""A private mean without bounds: locate the rows, approach their centre, sum them once."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.kernel._ranks import Balance
from skdp.kernel._sums import BallSum, KeptRows
from skdp.location._clip import (
    DISTANCES,
    FAR_COLUMNS,
    Clip,
    LawfulTail,
    Tail,
    release_distances,
    with_far_columns,
)
from skdp.location._column_scales import (
    LIKENESS,
    SCALE_LOOKS,
    SCALES_AGAIN,
    effective_columns,
    laws_come_first,
    laws_tell,
    shape_weights,
)
from skdp.location._column_strategies import (
    COLUMN_STEPS,
    FINAL_SUM,
    HIDDEN,
    boxed,
    column_mean,
    drowned,
    look_at_columns,
    prefer_column_clipping,
    unboxed,
    with_deviation,
)
from skdp.location._locate import (
    COLUMN_SCALES,
    CORE_COUNT,
    FRIENDS,
    NORMS,
    RING,
    SOFT_CORE,
    approach_schedule,
    release_norm_histogram,
    release_row_scale,
    release_soft_core_center,
    sample_scale,
)
from skdp.location._release import (
    CLOSER,
    NOTHING,
    ROW_COUNT,
    CountedTable,
    LocationEstimate,
    MeanRelease,
    RowCount,
    ball_around,
    bounded,
    noise_norm_quantile,
    release_count,
    release_refined_center,
)
from skdp.scales import private_median, top_scale
from skdp.scales._log_histogram import LEVELS

ROWS_KEPT = Step("rows kept", at_most=0.01, of=(KeptRows,))
TRIMMED = 6.0  # clip radii, beyond which rows are left out


def release_clipped_mean(counted, where, clip, *, trim=False):
    """Sum the rows around the centre with everything that is left."""
    share = counted.table.remaining - (Fraction(ROWS_KEPT.at_most) if trim else 0)
    asked = ball_around(where, clip.radius, drop=TRIMMED if trim else None)
    questions = [(BallSum(**asked), share, FINAL_SUM.label)]
    if trim:
        questions.append((KeptRows(**asked), ROWS_KEPT.at_most, ROWS_KEPT.label))
    told, *kept = counted.table.ask_all(*questions)
    total, sd = told.real, told.sd
    for release in kept:
        counted = replace(counted, count=RowCount(float(release.value[0]), release.scale))
    n, noise = counted.n, sd / counted.n
    ratio = np.nan_to_num(np.divide(noise, where.noise))  # both releases estimate the centre
    weight = float(1 / (1 + ratio * ratio))
    step = weight * total / n
    # the step is off by the relative error of the count as well
    noise = np.hypot(noise * math.sqrt(weight), step * counted.count.sd / n) * where.scale
    excess = np.tile(clip.excess * where.scale, (2, 1))
    location = replace(where, center=where.center + step).origin
    deviation = clip.spread * where.scale
    typical = deviation / math.sqrt(counted.d)
    release = MeanRelease(location, noise, excess, n, deviation, typical, hidden=clip.hidden)
    return counted.checked(release, clip.radius * where.scale)


def find_clip(counted, where, *, radius=None, trim=False, longest=math.inf):
    """Return the Clip, and the LocationEstimate with what clipping may have moved the centre by."""
    if radius:
        return Clip(radius + where.error, 0.0, radius + where.error), where
    around, d = bounded(where.reach), counted.d
    low, high = (0.02, 0.02) if d >= 20 else (0.05, 0.1)
    share = float(np.clip((120 / (counted.n * counted.mu)) ** 2, low, high))
    distances = release_distances(
        counted.table,
        center=where.origin,
        scale=where.scale,
        around=around,
        share=min(share, counted.left / 4),
    )
    distances = distances.up_to(longest + float(np.linalg.norm(where.center)))
    n = counted.n
    tail = Tail(distances, n, near=True) if trim else LawfulTail(distances, n, around)
    if tail.empty:
        return Clip(around, math.inf, math.inf, True), where
    # what is clipped off points half-way (in logarithms) between one direction and all of
    # them, but at least as much in one direction as the rows themselves
    alignment = max((where.columns or d) ** -0.25, min(2 * where.error / around, 1.0))
    # the centre is off by what its own clipping has moved it as well
    bias = alignment * float(tail.excess(where.clipped)[0]) if where.clipped else math.inf
    noise = math.hypot(where.noise, bias / math.sqrt(d))
    clip = tail.best(counted.noise / math.sqrt(counted.left), alignment)
    return clip, replace(where, noise=noise)


DROWNED = (
    "one column reaches so far that the noise it needs may drown the others: fit it by itself, or "
    "pass bounds=(low, high) if known"
)
THIN = (
    "a column is spread so thinly that its scale was not found and it got the noise of the widest: "
    "fit it by itself, or pass bounds=(low, high) if known"
)
LEAST_FOR_BOX = 0.35  # share of the budget that buys a zoom, tails, a clip and a sum
REACH = "no core found: approached the rows from the scale of their norms"
START = "no core found: started from a private median of every column"
MEDIAN = Step("median", at_most=0.01, times=LEVELS, of=(Balance,))
SHAPED = (0.02,)  # shares of steps in units of unlike weight
FAR = 0.05  # part of the rows that may lie beyond the distance that is taken for that of most


def mean_plan(budget: Budget) -> Plan:
    """Return the plan of :func:`private_mean`."""
    scales = COLUMN_SCALES, LIKENESS, SCALE_LOOKS, SCALES_AGAIN
    core = RING, *scales, NORMS, CORE_COUNT, FRIENDS, SOFT_CORE, MEDIAN, CLOSER
    steps = (ROW_COUNT, *COLUMN_STEPS, *core, DISTANCES, FAR_COLUMNS, FINAL_SUM, ROWS_KEPT)
    names = ("first count", "second count", "h-index")
    return Plan(budget, steps, tuple((name, budget.failure / 3) for name in names))


def private_mean(
    table,
    *,
    center=None,
    radius=None,
    diameter=None,
    trim=False,
    scale="auto",
    accuracy="alike",
):
    """Release the mean of the rows.

    Notes
    -----
    **Privacy** (add or remove one row): every release below is a function of the rows and of
    earlier releases, plus Gaussian noise for its proved sensitivity; the rest is post-processing.
    Shares may depend on earlier releases (user guide "Accounting", theorem 2). Failure events: the
    count bounds and the h-index bound, which the soft core rests on.
    """
    count = release_count(table, ROW_COUNT)
    counted = CountedTable(table, count)
    known = center is not None or radius or diameter or trim
    search = isinstance(scale, str) and scale == "auto"
    surveys = seen = None
    if search and not known:
        if counted.d == 1:
            return column_mean(counted)
        units = counted.drawn.n * counted.mu
        if laws_come_first(units, counted.d):
            seen = release_row_scale(counted, np.ones(counted.d), diameter=None, find_scales=True)
        if seen is None or seen.odd or seen.thin:
            surveys = look_at_columns(counted)
            unlike = bool(seen) or not laws_tell(units, counted.d)
            if surveys and prefer_column_clipping(counted, surveys, unlike=unlike):
                return _boxed_mean(counted, surveys)
    scale = np.ones(counted.d) if isinstance(scale, str) else scale
    if center is not None:
        where = _public_location(counted, center / scale, scale, radius)
        return _mean_of_located(counted, where, radius=radius, trim=trim)
    if seen is None:
        seen = release_row_scale(counted, scale, diameter=diameter, find_scales=search)
    if surveys and (seen.thin or (seen.odd and prefer_column_clipping(counted, surveys))):
        return _boxed_mean(counted, surveys)
    where = release_soft_core_center(counted, seen, radius=radius, diameter=diameter, trim=trim)
    where = where or release_far_start(counted, seen, radius=radius)
    if radius or diameter or not search:
        return _mean_of_located(counted, where, radius=radius, trim=trim)
    return _found_together(counted, where, seen, surveys, accuracy, trim=trim)


def _public_location(counted, center, scale, radius):
    """Return a LocationEstimate around a public centre, of a public radius if there is one."""
    if radius is not None:
        return LocationEstimate(center, scale, error=0.0, spread=radius)
    return release_far_start(counted, sample_scale(counted, scale), center=center)


def _boxed_mean(counted, surveys):
    """Release the mean of rows whose columns are clipped one by one, from the middle of the box."""
    inner, located = boxed(counted, surveys)
    where = _public_location(inner, np.zeros(counted.d), np.ones(counted.d), None)
    release = _mean_of_located(inner, where, longest=math.sqrt(counted.d))
    release = unboxed(release, [one.clipping for one in located])
    return with_deviation(release, located)


def _found_together(counted, where, seen, surveys, accuracy, *, trim):
    """Release the mean of columns that were found together, unless one would drown the others."""
    if not where.found:
        return _lost(counted, where)
    if seen.laws or accuracy != "alike":
        where = _shaped(counted, where, seen.laws, accuracy)
    clip, where = find_clip(counted, where, trim=trim)
    if drowned(clip, where, seen):
        if seen.laws and not surveys and counted.left > LEAST_FOR_BOX:
            surveys = look_at_columns(counted)
        if surveys and counted.left > LEAST_FOR_BOX:
            return _boxed_mean(counted, surveys)
        counted.table.doubt(DROWNED)
    if seen.missed is not None:
        counted.table.doubt(THIN, columns=seen.missed)
    clip = clip if trim else with_far_columns(counted, where, clip)
    return release_clipped_mean(counted, where, clip, trim=trim)


def _shaped(counted, where, laws, accuracy):
    """Return a LocationEstimate in units in which one noise is that of all columns."""
    d, scale = counted.d, where.scale
    if laws:
        laws.look_again(counted.table, where.origin, n=counted.n, left=counted.left)
        scale = laws.scales()
    weight = shape_weights(scale, accuracy)
    part = where.scale / weight
    size = float(np.sqrt(np.mean(np.square(part))))
    noise = where.noise * size
    shaped = replace(
        where,
        center=where.center * part,
        scale=weight,
        error=noise_norm_quantile(noise, d),
        spread=math.sqrt(d) if laws else where.spread,
        noise=noise,
        clipped=where.clipped and where.clipped * size,
        columns=effective_columns(scale, weight),
    )
    # a few columns make the length: what the centre is off in them is clipped off as well
    return shaped if shaped.columns > d / 2 else release_refined_center(counted, shaped, SHAPED)


def _mean_of_located(counted, where, **known):
    """Release the mean of rows that were found, or the centre that we have, worth nothing."""
    if not where.found:
        return _lost(counted, where)
    clip, where = find_clip(counted, where, **known)
    return release_clipped_mean(counted, where, clip, trim=known.get("trim", False))


def _lost(counted, where):
    counted.table.doubt(NOTHING)
    return MeanRelease.unknown(where.origin, counted.n)


def release_far_start(counted, seen, *, center=None, radius=None):
    """Come closer to the rows in equal clipped steps, from a start of which no error is known."""
    reach = None
    if center is None:
        center, reach = _start(counted, seen)
    if reach is None:
        at_most = min(0.25, counted.left / 4)
        reach = top_scale(*release_norm_histogram(counted, seen, center, at_most=at_most), tail=FAR)
    if reach is None:
        return LocationEstimate(center, seen.scale)
    reach = bounded(reach)
    spread = bounded(min(radius or seen.spread or reach, reach))
    left = max(counted.left - 0.05, counted.left / 2)
    plan = approach_schedule(reach, spread, counted.noise, left)
    where = LocationEstimate(center, seen.scale, reach, spread)
    return release_refined_center(counted, where, (plan.step,) * plan.n_steps)


def _start(counted, seen):
    """Return a point to start from, and the distance of most rows from it where that is known."""
    if counted.d <= 6 and seen.sample.n * counted.mu > 40 * np.sqrt(counted.d):
        counted.table.decide(START)
        share = 0.35 * counted.left
        return private_median(seen.sample, share=share, label=MEDIAN.label), None
    counted.table.decide(REACH)
    return np.zeros(counted.d), top_scale(*seen.norms, tail=FAR)


CLEAR = 2.0  # standard deviations of noise
# An interval is short if half of it is at most one part of the deviation or another of the mean.
SHORT, ALIKE = 0.5, 0.05
ONE_VALUE = 1e-9  # of a mean: the spread of a column of which one value was seen
WIDE = (
    "the interval of a mean is long beside the spread of the rows: use a larger epsilon, more "
    "rows, or bounds=(low, high)"
)
HEAVY = (
    "so heavy a tail that the mean may depend on rows too few to be seen: the interval is a guess. "
    "Pass bounds=(low, high) if known"
)


def doubt_mean(mean, table):
    """Doubt a MeanRelease, by released values, where many rows may hide or an interval is long.

    What else is doubted, nothing seen or rows too few, is said where it is found.
    """
    if mean.hidden:
        table.doubt(HIDDEN)
    heavy = np.zeros(len(mean.location), dtype=bool) if mean.heavy is None else mean.heavy
    table.doubt(HEAVY, columns=heavy)
    spread = mean.deviation if mean.typical is None else mean.typical
    if spread is None:
        return
    half = CLEAR * mean.noise_scale + np.max(mean.clipping_bound, axis=0)
    size = np.abs(mean.location)
    told = np.isfinite(mean.deviation) & (mean.deviation > ONE_VALUE * size)
    excuse = np.where(told, 0.0, ALIKE * size)  # of columns of which no spread is known
    long = np.isfinite(half) & (half > np.maximum(SHORT * spread, excuse))
    table.doubt(WIDE, columns=long & ~heavy)
