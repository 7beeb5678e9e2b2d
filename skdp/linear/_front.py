"""What a linear model finds out first, places and units of columns, and its line in these units."""

import math
from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.covariance._distance_histogram import release_distance_histogram
from skdp.covariance._engine import covariance_plan
from skdp.covariance._release import release_moments
from skdp.covariance._run import HELD_ENTRIES, CovarianceRun, DrawnRows, identity_frame
from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import FeatureBox, SomeColumns
from skdp.kernel._sums import BallProducts, Distances
from skdp.location._clip import joined
from skdp.location._release import RowCount
from skdp.scales._column_noise import COARSE, RANGE, farthest_window, noise_sum_quantile

LEVERAGE = 0.005  # part of the rows that have less weight than the others
SIZES = 0.002, 0.02  # least and largest share of a histogram of norms
NORMS = Step("norms", at_most=SIZES[1], of=(Distances,))
GRAM = Step("Gram", of=(BallProducts,))
KNOWN = 4.0  # units in a public range
FEW = 200.0  # rows times mu, below which a histogram of norms would be noise
TYPICAL = 0.8  # root mean squares of a norm: the radius that stands for what is not seen

# of a second look at columns whose places and units are known
RANGES = 0.003, 0.04  # least and largest share
COLUMN_RANGES = Step("column ranges", at_most=RANGES[1], of=(ColumnBins,))
OCTAVES = LogBins(1, low=-2, high=40)
WIDTHS = 1, 2, 4, 8
BEYOND = 4.0  # times the edge of the highest cell that stands out: tails go on
LEAST = 4.0  # units that a range reaches at least, on either side
FAR = 1.3  # units of root mean square above which a unit is too small
MIDDLE = 0.7  # of an octave, in root mean square, the upper edge is 1

TARGET = 0.005, 0.03  # least and largest share
TARGET_RANGE = Step("target range", at_most=TARGET[1], of=(ColumnBins,))
CELLS, PER_OCTAVE, FINE = LogBins(8, low=-5, high=40), 8, 57  # fine up to 4 units, then octaves
HIDDEN = 0.0005, 0.005  # parts of the rows that are to stand out, and that have to
CLEAR = 4.0  # standard deviations that stand out

COARSE_SCALES = Step("octaves", at_most=0.25, of=(ColumnBins,))
RING = 20.0  # standard deviations of a histogram of differences that a table must have in rows
RING_SHARE = 0.12
AROUND_ZERO = LogBins(1, low=-60, high=60)
COARSE_WIDTHS = 1, 2, 3, 4, 6, 8
MOST = 0.75  # part of the rows that a column shows
REACH = 4.0  # units to which rows are clipped

LOST = 2.0**-10  # of a column, in directions that were dropped: rounding is far smaller


@dataclass(frozen=True)
class FeaturePreprocessing:
    """What is released of the features, and of the target's place."""

    count: RowCount  # released number of rows
    # low, high: shape (d,): what is visible of the features: rows are clipped to it
    low: np.ndarray
    high: np.ndarray
    # center, unit: shape (d + 1,): of the features and the target; 0 and 1 for a target whose place
    # is not asked for
    center: np.ndarray
    unit: np.ndarray
    found: bool  # whether any of the columns that were searched for has shown a scale

    @property
    def frame(self):
        """The frame that divides the features by their units."""
        return identity_frame(self.center[:-1], self.unit[:-1])

    def whitened(self, table, *, fit_intercept=True):
        """Return a frame in which the clipped features are about spherical."""
        box = table.map(FeatureBox(np.stack([self.low, self.high])))
        run = CovarianceRun(box, assume_centered=not fit_intercept)
        run.n, run.n_sd, run.frame = self.count.n, self.count.sd, self.frame
        size = min(2500 * math.sqrt(5 * run.d) / run.mu, HELD_ENTRIES / run.d)
        sample = box.sample(max(1000.0, size), self.count.n)
        run.sample = DrawnRows(sample, sample.n)
        run.whiten()
        return run.frame, run.apart


def front_plan(budget, *, fit_intercept=True):
    """Return the plan of a count.

    :func:`release_preprocessing`, ``whitened`` and :func:`weighted_gram`.

    A model adds its own steps.
    """
    plan = covariance_plan(budget, assume_centered=not fit_intercept)
    steps = [step for step in plan.steps if not step.label.startswith("final")]
    steps += [COLUMN_RANGES, NORMS, GRAM]
    return replace(plan, steps=tuple(steps))


def release_preprocessing(table, *, count, known, target=True, fit_intercept=True):
    """Release places, units and visible ranges of the columns.

    Shapes: known (2, d + 1).

    Notes
    -----
    **Privacy** (add or remove one row (x, y)): every release is that of a public function of the
    row and of releases, with the sensitivity proved where it is made. The failure events are those
    of the private mean that finds the centre.
    """
    given = np.isfinite(known).all(axis=0)
    wanted = ~given
    wanted[-1] &= target
    searched = np.flatnonzero(wanted)
    low, high = np.where(given, known, 0.0)
    center = (low / 2 + high / 2) * fit_intercept
    unit = np.where(given, (high / 2 - low / 2) * (2 / KNOWN), 1.0)
    view = table.map(SomeColumns(searched)) if searched.size else table
    run = CovarianceRun(view, assume_centered=not fit_intercept)
    run.n, run.n_sd = count.n, count.sd
    if searched.size:
        run.find_columns()
        center[searched], unit[searched] = run.frame.center, run.frame.unit
    found = not searched.size or run.found
    features = searched[searched < len(given) - 1]
    if features.size and found:
        reach, unit[features] = release_column_ranges(
            table.map(SomeColumns(features)), center[features], unit[features], n=run.n
        )
        low[features], high[features] = center[features] - reach, center[features] + reach
    low, high = np.nan_to_num([low[:-1], high[:-1]])
    return FeaturePreprocessing(count, low, high, center, unit, found)


@dataclass(frozen=True)
class WeightedGram:
    """The mean of w v v^T over the rows, with w = min(1, R / |v|)^2, and its noise."""

    gram: np.ndarray  # shape (K, K)
    sd: float  # of the noise on the diagonal, off it divided by sqrt(2)
    radius: float  # R


def size_share(n, mu):
    """Return the share of a histogram of norms in which a part of 1 / 150 of the rows is one sd."""
    return float(np.clip((150 / (n * mu)) ** 2, *SIZES))


def weighted_gram(table, design, *, n, share, most_noise=0.1):
    """Release the Gram matrix of the rows v of a design, far ones with less weight.

    Notes
    -----
    **Privacy**: of the norms, a row falls into one cell: sensitivity 1. A row of weight w adds
    q q^T, q = sqrt(w) v on a grid, of length at most R: see
    :func:`skdp.covariance._release.release_moments`.
    """
    drawn, mu = DrawnRows(table, n), table.budget.mu
    K = design.dims
    radius = TYPICAL * math.sqrt(K)
    if n * mu > FEW:
        spread = release_distance_histogram(
            drawn, design, per_octave=8, share=size_share(n, mu), step=NORMS
        )
        if not spread.empty:
            most = math.sqrt(most_noise * n * mu * math.sqrt(share / (2 * K)))
            radius = max(spread.quantile(0.5), min(spread.quantile(LEVERAGE), most))
    moments = release_moments(drawn, design, radius=radius, share=share, sum_share=0, steps=(GRAM,))
    return WeightedGram(moments.gram / n, moments.noise(n), radius)


def release_column_ranges(table, center, unit, *, n):
    """Release how far the columns reach, and units that are not too small.

    Rows beyond what is seen are few: they are to be clipped, column by column.
    """
    wanted = 60 * math.sqrt(table.n_features) / (n * table.budget.mu)
    share = float(np.clip(wanted**2, *RANGES))
    told = table.ask(ColumnBins(center, unit, OCTAVES), COLUMN_RANGES, share=share)
    tops, roots = np.transpose([_read(row, told.scale, n) for row in told.value])
    factor = np.where(roots > FAR, roots, 1.0)
    unit = unit * factor
    return np.maximum(BEYOND * tops / factor, LEAST) * unit, unit


def _last_visible(counts, sd):
    """Return the last cell that stands out of the noise, -1 if none does."""
    levels = {w: noise_sum_quantile(RANGE, w, scale=sd) for w in WIDTHS}
    return farthest_window(counts.astype(float), levels)


def _read(counts, sd, n):
    """Return where the visible mass of a column ends, and its root mean square, in units."""
    edges = np.array([OCTAVES.upper_edge(i) for i in range(max(_last_visible(counts, sd), 0) + 1)])
    seen = np.where(counts[: len(edges)] > 2 * sd, counts[: len(edges)], 0.0)
    return edges[-1], math.sqrt(seen @ np.square(MIDDLE * edges) / n)


def release_target_range(table, center, unit, *, n):
    """Release a range that holds what is visible of the target, LEAST units if nothing is."""
    wanted = CLEAR / (HIDDEN[0] * n * table.budget.mu)
    share = float(np.clip(wanted**2, *TARGET))
    starts, edges = joined(CELLS, FINE, PER_OCTAVE)
    target = table.map(SomeColumns(np.array([table.n_features - 1])))
    question = ColumnBins(np.array([center]), np.array([unit]), CELLS, "apart", starts)
    told = target.ask(question, TARGET_RANGE, share=share)
    sides = told.value.reshape(2, -1)[:, :-1]
    tops = [_last_visible(row, told.scale) for row in sides]
    below, above = (_reach(max(top, 0), edges) for top in tops)
    if max(tops) < 0:
        below = above = LEAST
    elif CLEAR * told.scale > HIDDEN[1] * n:  # too coarse to tell: leave room
        below, above = below + (below + above), above + (below + above)
    with np.errstate(over="ignore"):
        low, high = center - below * unit, center + above * unit
    return tuple(np.nan_to_num([low, high]).tolist())


def _reach(top, edges):
    return float(edges[top]) * (1 if top < FINE else BEYOND)


def is_small(d, n, mu):
    """Return whether n rows of d columns are too few to look for their scales by differences."""
    return RING * math.sqrt(5 * d / RING_SHARE) / mu > n


def release_coarse_preprocessing(table, *, count):
    """Release where the columns lie, within a factor of about two of their size.

    A table that is too small for random differences of its rows still shows in which octaves the
    entries are. Columns far from zero and narrow are taken for wider than they are.
    """
    d = table.n_features - 1
    features = table.map(SomeColumns(np.arange(d)))
    asked = ColumnBins(np.zeros(d), np.ones(d), AROUND_ZERO, "in line")
    told = features.ask(asked, COARSE_SCALES)
    pairs = [_place(row, told.scale, count.n) for row in told.value.astype(float)]
    center, unit = np.transpose(pairs)
    seen = unit > 0
    reach = REACH * unit
    return FeaturePreprocessing(
        count,
        center - reach,
        center + reach,
        np.append(center, 0.0),
        np.append(np.where(seen, unit, 1.0), 1.0),
        bool(seen.any()),
    )


def _place(counts, sd, n):
    """Return a place and a unit of one column, both 0 where nothing but zeros shows."""
    m = AROUND_ZERO.n_bins
    tops = np.array([AROUND_ZERO.upper_edge(i) for i in range(m - 1)] + [2.0**AROUND_ZERO.high])
    low, high = np.append(0.0, tops[:-1]), tops
    low, high = np.append(-high[:0:-1], low), np.append(-low[:0:-1], high)
    zeros, others = max(counts[m - 1], 0.0), counts.copy()
    others[m - 1] = -math.inf
    for width in COARSE_WIDTHS:
        windows = np.convolve(np.maximum(others, -1e300), np.ones(width), "valid")
        at = int(np.argmax(windows))
        noise = sd * math.sqrt(width)
        if windows[at] > COARSE * noise and windows[at] + zeros > MOST * n - noise:
            chosen = np.append(np.arange(at, at + width), m - 1)
            weights = np.maximum(counts[chosen], 0.0) / np.maximum(counts[chosen], 0.0).sum()
            middle = (low[chosen] + high[chosen]) / 2
            center = weights @ middle
            wide = np.square(high[chosen] - low[chosen]) / 12
            return center, math.sqrt(weights @ (np.square(middle - center) + wide))
    return 0.0, 0.0


# --- a released line in the units of its table: coefficients, and how sure they are


def coefficients(line, n_features):
    """Return slopes and an intercept, and the standard deviations of their errors."""
    if line.design is None:
        values = np.append(np.zeros(n_features), line.center)
        sd = np.append(np.full(n_features, np.inf), np.sqrt(line.covariance[0, 0]))
        return values, sd, np.full(n_features + 1, np.inf)
    with np.errstate(all="ignore"):
        T = _in_units(line, n_features)
        values = T @ line.b
        values[-1] += line.center
        noise, sampling = (
            np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", T, C, T), 0.0))
            for C in (line.covariance, line.sampling)
        )
    noise[_unsupported_slopes(line)] = sampling[_unsupported_slopes(line)] = np.inf
    return np.nan_to_num(values), *(np.nan_to_num(sd, posinf=np.inf) for sd in (noise, sampling))


def from_least_squares(line, n_features):
    """Return how far least squares are from slopes and intercept, as far as it was released."""
    if line.squares is None or not line.squares.told:
        nothing = np.full(n_features + 1, np.inf)
        return np.zeros(n_features + 1), nothing, nothing, nothing
    shift, *sizes = line.squares.beside(_in_units(line, n_features))
    return shift, *(np.where(_unsupported_slopes(line), np.inf, size) for size in sizes)


def spread(line):
    """Return released units of the features, over that of the target: near standard deviations."""
    return line.design.frame.unit / line.unit


def unseen_columns(frame):
    """Tell of which slopes nothing is told, as of a column that is not seen to vary.

    Rows lie near the range of P. What a slope is alone, and not beside others, is told by rows
    that move along its column: if that lies in the range, P A leaves it as it is.
    """
    lost = np.linalg.norm(np.eye(len(frame.unit)) - frame.P @ frame.A, axis=0)
    return (lost > LOST) & (frame.dims < len(frame.unit))


def _unsupported_slopes(line):
    """Tell the same of slopes and the intercept, which a slope that is not told would move."""
    still = unseen_columns(line.design.frame)
    return np.append(still, still.any())


def _in_units(line, n_features):
    """Return the matrix that makes slopes, and an intercept less the centre, of coefficients."""
    frame, unit = line.design.frame, line.unit
    T = np.zeros((n_features + 1, line.design.dims))
    T[:-1, : frame.dims] = frame.A.T * (unit / frame.unit)[:, None]
    T[-1, : frame.dims] = -frame.center @ T[:-1, : frame.dims]
    T[-1, frame.dims :] = unit
    return np.nan_to_num(T)
