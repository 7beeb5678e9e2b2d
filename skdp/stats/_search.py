"""Before a test: samples as groups of one table, and what is released of pooled rows first."""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.columns import find_quantiles, rank_steps
from skdp.kernel._columns import EdgeCells
from skdp.kernel._sums import Count
from skdp.kernel.applied._scores import COUNT, Scores
from skdp.readers._entries import arrays_of
from skdp.readers._ids import UnitCodes
from skdp.readers._raw import library
from skdp.table._schema import require_type
from skdp.utils._config import get_config
from skdp.utils._numbers import bounds_vectors

PUBLIC = "alternative", "bounds", "tails", "epsilon", "delta", "random_state", "ledger"

ONE_DIMENSION = (
    "a sample must be an array or a series of numbers, of one dimension. Pass one column, "
    "for instance frame['age']."
)
COUNTS = (
    "observed must be a table of whole numbers >= 0 with two rows and two columns at least, of at "
    "most 10 million rows in all. Pass numbers of rows, for instance by pandas.crosstab."
)
BINARY = "samples must hold 0 and 1, or truth values. Pass for instance frame['died'] == 1."
PAIRS = "both samples must have one length: a row is a pair. Pass columns of one table."
IDS = (
    "groups must be a sequence with one array of privacy IDs for each sample, of its length. Pass "
    "groups=(ids_of_x, ids_of_y)."
)
SAMPLES = "a comparison needs two samples at least. Pass them one after the other."
MOST_COUNTS = 10**7

ROWS = Step("rows", at_most=0.015, of=(Count,))
SEARCH = Step("search", "child", at_most=0.4)
BEYOND = Step("rows beyond the window", at_most=0.08, of=(EdgeCells,))  # of a single sample
# Rows times mu of the search: with fewer, windows are not found. The noise of the quantiles of a
# single sample moves its mean, those of two groups alike. So does a tail that is cut: its window
# reaches as far as SINGLE at least. Both were chosen on normal, exponential and lognormal rows.
FEW = {"single": 30.0, "groups": 9.0}
SINGLE = 4.0
LEVEL_NOISE = 8.0  # rows beyond a quantile that a search finds well, times mu of the search
LEVEL_NOISE_OF_ONE = 12.0  # of a single sample: with 8, 12 and 16 it had a conclusion alike
SEEN = 2.3  # deviations: of windows that leave out no rows, 2 % are said to
LEVELS = 3, 15  # of pooled quantiles, at least and at most
APART = 30.0  # rows between two of them, in noises of a count
STRETCH = 1.5  # of the ends of scores, beyond the last quantile
LEAST_SHARE = {True: 0.1, False: 0.2}  # of the search, by whether bounds are public
RANKS_NEED = {True: 5.0, False: 8.0}  # rows of mu^2 n that the search of ranks is worth
WINDOW_NEEDS = 6.0
TAILS = {"light": (0.05, 2.0), "heavy": (0.02, 4.0)}  # level of the quantiles, least reach
UNEVEN = 2.0  # of tails, at most: where many rows are alike, a quantile is the median as well
WIDEST, MOST_LEVEL = 8.0, 0.25
PART = 0.4  # of the sampling error, that the noise of a window may have
OUTER = 0.25  # of the level of a tail, at most: that of quantiles that tell how heavy it is
NORMAL, HEAVY = 1.1, 2.0  # growth of a tail beside a normal one: light, and heavy (3 of 2, t of 3)
LOST = 0.2  # of a variance: what its noise may be, which a count of weight 0.3 makes
Z = 1.645  # distance of the .05 quantile of a normal, in deviations


def as_array(x, *, labels=False):
    """Return a column as an array, whose type no entry decides: of a list of labels, objects."""
    require_type(x)
    if library(x) == "pandas" and getattr(getattr(x, "dtype", None), "kind", "O") in "iuf":
        return x.to_numpy(dtype=np.float64, na_value=np.nan)  # else a gap may make objects of it
    return np.asarray(x, dtype=None if hasattr(x, "__array__") or not labels else object)


def sample(x):
    """Return a column of numbers, or raise ValueError."""
    require_type(x)
    try:
        x = as_array(x)
        numeric = get_config()["invalid_rows"] == "error" or x.dtype.kind in "fiub"
        x = x.astype(np.float64) if numeric else np.empty((0, 0))
    except (TypeError, ValueError, OverflowError):
        x = np.empty((0, 0))
    if x.ndim != 1:
        raise ValueError(ONE_DIMENSION)
    return x


def public(given):
    """Return the public parameters among the arguments of a function."""
    return {name: given[name] for name in PUBLIC if name in given}


def fitted(test, X, code, groups):
    """Return the result of a test of rows with codes of groups."""
    test.fit(X, code, groups=groups)
    report, warned = test.privacy_report_, test.accuracy_warnings_
    return replace(test.result_, privacy_report_=report, accuracy_warnings_=warned)


def compared(make, samples, groups, given):
    """Return the result for samples that are the groups of one table."""
    samples = [sample(x) for x in samples]
    if len(samples) < 2:
        raise ValueError(SAMPLES)
    if groups is not None:
        ids = [array for one in groups for array in arrays_of(one)]
        if [one.shape for one in ids] != [x.shape for x in samples]:
            raise ValueError(IDS)
        groups = UnitCodes(*ids)  # an entry names the same person in every sample
    code = np.repeat(np.arange(len(samples)), [len(x) for x in samples])
    test = make(len(samples), **given)
    return fitted(test, np.concatenate(samples)[:, None], code, groups)


def single(make, columns, groups, given):
    """Return the result for rows of one group."""
    columns = [sample(x) for x in columns]
    if len({len(x) for x in columns}) > 1:
        raise ValueError(PAIRS)
    X = np.column_stack(columns)
    return fitted(make(1, **given), X, np.zeros(len(X), dtype=int), groups)


def finite(x):
    """Return a public number, or raise ValueError."""
    try:
        x = float(x)
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x):
        raise ValueError("popmean must be a finite number. Pass popmean=0.0.")
    return x


def differences(a, b):
    """Return the differences of pairs, which may not overflow."""
    a, b = sample(a), sample(b)
    if len(a) != len(b):
        raise ValueError(PAIRS)
    with np.errstate(all="ignore"):  # a warning that rows decide on would tell of them
        d, most = a - b, np.finfo(float).max
    return np.where(np.isfinite(a) & np.isfinite(b), np.clip(d, -most, most), d)


def of_counts(make, observed, given):
    """Return the result for the rows that a table counts."""
    try:
        table = np.asarray(observed, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    fits = table.ndim == 2 and min(table.shape) > 1
    whole = fits and np.isfinite(table).all() and (table >= 0).all() and (table % 1 == 0).all()
    if not whole or table.sum() > MOST_COUNTS:
        raise ValueError(COUNTS)
    row, column = (np.repeat(i.ravel(), table.astype(int).ravel()) for i in np.indices(table.shape))
    test = make(table.shape[1], options={"n_levels": table.shape[0]}, **given)
    return fitted(test, row[:, None].astype(float), column, None)


def binary(x):
    """Return a sample of zeros and ones; where invalid rows are ignored, others are absent."""
    x = sample(x)
    known = np.isin(x, (0.0, 1.0))
    if get_config()["invalid_rows"] == "ignore":
        return np.where(known, x, np.nan)
    if not known.all():
        raise ValueError(BINARY)
    return x


# --- what is released of pooled rows first, labels unseen: their scores, or a window of means


class Found:
    """Scores of d columns, which of them were found, and the released number of rows.

    Of windows also which were not found since rows are seen beyond them, ``cut``.
    """

    def __init__(self, edges, values, found, n, count_sd, cut=()):
        self.scores = Scores(tuple(edges), tuple(values))
        self.found, self.n, self.count_sd, self.cut = found, n, count_sd, cut

    @property
    def middle(self):
        """The entries with a score of 0, of windows."""
        return np.array([(x[0] + x[-1]) / 2 for x in self.scores.edges])

    @property
    def half(self):
        """Half of the widths of windows."""
        return np.array([(x[-1] - x[0]) / 2 for x in self.scores.edges])


def search_steps(budget, *, bounded, single=False):
    """Return the planned steps of the first stage; of a window of a single sample one more."""
    inner = rank_steps(budget, bounded=bounded)
    named = (replace(step, label=f"{SEARCH.label}/{step.label}") for step in inner)
    return (ROWS, SEARCH, *named, *([BEYOND] if single else ()))


def _count(table):
    told = table.ask(Count(), ROWS)
    return float(told.value[0]), float(told.scale)


def _share(need, n, budget, bounded):
    least = LEAST_SHARE[bounded]
    return float(np.clip(need / (budget.mu**2 * max(n, 1.0)), least, float(SEARCH.at_most)))


def _quantiles(table, q, bounds, share):
    return find_quantiles(table.child(SEARCH.label, share), q, bounds)


def find_ranks(table, bounds):
    """Return rank scores ``2 G(x) - 1``, G the released distribution of pooled rows.

    Tests hold for any G: a bad one costs power. Values that many rows share have the rank of their
    middle.
    """
    d, n_rows = table.n_features, _count(table)
    bounded = bounds is not None
    share = _share(RANKS_NEED[bounded], n_rows[0], table.budget, bounded)
    ranks = n_rows[0] * table.budget.mu * math.sqrt(share / d) / APART
    q = np.arange(1, _odd(ranks) + 1) / (_odd(ranks) + 1)
    seen = _quantiles(table, q, bounds_vectors(bounds, d) if bounded else None, share)
    pairs = [_rank_edges(seen.location[:, j], q) for j in range(d)]
    found = np.array([x is not None for x, _ in pairs]) & seen.found
    edges = [np.array([-1.0, 1.0]) if x is None else x for x, _ in pairs]
    values = [
        t if ok else np.zeros(len(x)) for x, (_, t), ok in zip(edges, pairs, found, strict=True)
    ]
    return Found(edges, values, found, *n_rows)


def _odd(n):
    return 2 * (int(np.clip(n, *LEVELS)) // 2) + 1


def _rank_edges(at, q):
    """Return rising edges and their scores, from quantiles of which some may be equal."""
    x, code = np.unique(np.nan_to_num(at), return_inverse=True)
    G = np.bincount(code, q) / np.bincount(code)
    width = x[-1] - x[0] if len(x) > 1 else max(abs(x[0]), 1.0) * 2.0**-20
    first, last = (x[1] - x[0], x[-1] - x[-2]) if len(x) > 1 else (width, width)
    inner = (G[1] - G[0], G[-1] - G[-2]) if len(x) > 1 else (1.0, 1.0)
    low = x[0] - max(STRETCH * first * G[0] / inner[0], width * 2.0**-20)
    high = x[-1] + max(STRETCH * last * (1 - G[-1]) / inner[1], width * 2.0**-20)
    edges, scores = np.array([low, *x, high]), np.array([-1.0, *(2 * G - 1), 1.0])
    fits = np.all(np.diff(edges) > 0) and np.isfinite(high - low)
    return (edges, scores) if fits else (None, np.zeros(2))


def find_windows(table, bounds, tails, n_groups=1, power=1):
    """Return scores that are linear in a window of every column, as wide as noise allows.

    Each side reaches a multiple of its own tail's distance from the median: symmetric multiples of
    a central spread cut the tail of skewed rows alone, and move means. Of products, the second
    ``power``, noise grows with the square of windows: those of light tails, which a second pair of
    quantiles tells, are no wider than they need.
    """
    d, bounded, (n, sd) = table.n_features, bounds is not None, _count(table)
    budget = table.budget
    share = _share(WINDOW_NEEDS, n, budget, bounded)
    level, least = TAILS[tails]
    single = n_groups == 1 and power == 1
    least, few = (max(least, SINGLE), FEW["single"]) if single else (least, FEW["groups"])
    mu = budget.mu * math.sqrt(share / d)
    outer = (LEVEL_NOISE_OF_ONE if single else LEVEL_NOISE) / mu / max(n, 1.0)
    level = float(np.clip(outer, level, MOST_LEVEL))
    ends = bounds_vectors(bounds, d) if bounded else None
    q = [level, 0.5, 1 - level]
    told = power == 2 and outer < OUTER * level
    seen = _quantiles(table, [outer, *q, 1 - outer] if told else q, ends, share)
    low, middle, high = seen.location[1:-1] if told else seen.location
    below, above = np.maximum(middle - low, 0), np.maximum(high - middle, 0)
    below, above = np.maximum(below, above / UNEVEN), np.maximum(above, below / UNEVEN)
    noise = budget.mu / math.sqrt(d), max(n, 1.0), n_groups, least
    reach = np.full((2, d), reach_of(*noise))
    if told:
        far = np.stack([middle - seen.location[0], seen.location[-1] - middle])
        reach *= (reach_of(*noise, power) / reach) ** _lightness(far, [below, above], outer, level)
    # of one sample as far as in lognormal rows: there a cut tail moves the mean
    stretch = math.expm1(Z) / math.expm1(-ndtri(level)) if single else Z / -ndtri(level)
    below, above = below * stretch, above * stretch
    low, high = middle - reach[0] * below, middle + reach[1] * above
    found = seen.found & (below + above > 0) & (n > few / mu)
    if bounded:
        low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        low, high = np.where(found, low, ends[0]), np.where(found, high, ends[1])
        found = np.ones(d, dtype=bool)
    else:
        low, high = np.where(found, low, middle - 1), np.where(found, high, middle + 1)
    low, high, found = _apart(low, high, found)
    cut = np.zeros(d, dtype=bool)
    if single:
        cut = _rows_beyond(table, low, high)
        if bounded:
            low, high, cut = np.where(cut, ends[0], low), np.where(cut, ends[1], high), ~found
    edges = [np.array(pair) for pair in zip(low, high, strict=True)]
    return Found(edges, [np.array([-1.0, 1.0])] * d, found & ~cut, n, sd, found & cut)


def _rows_beyond(table, low, high):
    """Return of which windows a released histogram sees rows beyond an end."""
    with np.errstate(all="ignore"):
        inner = zip(np.nextafter(low, -math.inf), high, strict=True)
    edges = tuple(np.array([-math.inf, *pair, math.inf]) for pair in inner)
    told = table.ask(EdgeCells(np.arange(len(edges)), edges, "entries"), BEYOND)
    return (told.value.reshape(-1, 3)[:, [0, 2]] > SEEN * told.scale).any(axis=1)


def _lightness(far, near, outer, level):
    """Return 1 for tails as light as those of a normal law, 0 for heavy ones."""
    with np.errstate(all="ignore"):
        steep = np.log(far / near) / math.log(ndtri(outer) / ndtri(level))
    return np.nan_to_num(np.clip((HEAVY - steep) / (HEAVY - NORMAL), 0, 1))


def reach_of(mu, n, n_groups=1, least=TAILS["light"][1], power=1):
    """Return how far windows reach, in distances of the .05 quantile from the median.

    As far as the noise stays a part of the sampling error, in means and in their variance: with h
    in deviations, h / (mu n) beside 1 / sqrt(n), and h^2 / (weight mu n) of a group beside 1. In
    means of products, the second ``power``, it is h^2 / (mu n).
    """
    of_means = (PART * mu * math.sqrt(n)) ** (1 / power)
    of_variances = math.sqrt(LOST * COUNT * mu * n / n_groups)
    return float(np.clip(min(of_means, of_variances) / Z, least, WIDEST))


def _apart(low, high, found):
    """Return windows that floats can tell from points; -1 to 1 where there is none."""
    with np.errstate(all="ignore"):
        fits = np.isfinite(high - low) & (low < (low / 2 + high / 2)) & (low / 2 + high / 2 < high)
    return np.where(fits, low, -1.0), np.where(fits, high, 1.0), found & fits
