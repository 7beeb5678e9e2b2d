"""The estimators behind the tests: one release each, and what it says of a null hypothesis."""

import math
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._histograms import HistogramCounts
from skdp.kernel.applied._scores import ScoreMoments
from skdp.stats._laws import (
    CLEAR,
    GroupSums,
    Rates,
    chi_squared,
    cramers_v,
    distance_of_groups,
    f_of_means,
    means,
    rank_difference,
    ranks_of_groups,
    sparse,
)
from skdp.stats._result import FEW, Around, OfMean, TestResult, Whole, p_value
from skdp.stats._search import find_ranks, find_windows, search_steps
from skdp.table._levels import coded_classes
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import bounds_vectors, stores_parameters

SUMS = Step("sums by group", of=(ScoreMoments,))
CELLS = Step("cells", of=(HistogramCounts,))
POWER = 2.8  # deviations: what a test at 5 % finds with probability .8
DROWNED = 0.9  # part of a variance that is noise: so much says little
MOSTLY_NOISE = (
    "the statistic is mostly privacy noise, and only large effects show. Use a larger epsilon or "
    "more rows"
)
SPARSE = (
    "many cells are expected to hold less than their noise: the p-value is approximate. Join "
    "levels, or use a larger epsilon or more rows"
)
CUT = (
    "no conclusion: some rows lie far away from the others, and the mean would leave them out. "
    "Pass bounds that hold them"
)
SAME_LAW = "the rows of all groups have the same distribution"
SAME_MEAN = "the groups have the same mean"
FARTHEST = float(np.finfo(np.float64).max)


class Test(PrivateEstimator):
    """Base of tests: the last column of the table is the code of a row's group."""

    _target = "class"
    __test__ = False

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "bounds": ["array-like", None],
        "n_groups": [Interval(Integral, 1, 2**16, closed="both")],
        "tails": [StrOptions({"light", "heavy"})],
        "alternative": [StrOptions({"two-sided", "less", "greater"})],
        "options": [dict, None],
    }

    @stores_parameters
    def __init__(
        self,
        n_groups=2,
        *,
        bounds=None,
        tails="light",
        alternative="two-sided",
        options=None,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    _steps = (SUMS,)

    @property
    def classes(self):
        """The codes of the groups."""
        return list(range(self.n_groups))

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a test."""
        budget = self._budget(Budget.gaussian)
        return Plan(budget, (*self._search_steps(budget), *self._steps))

    def _search_steps(self, budget):
        return search_steps(budget, bounded=self.bounds is not None)

    def _check_public(self, n_features):
        bounds_vectors(self.bounds, n_features)

    def _release(self, table):
        _, rows = coded_classes(table, self.classes)
        result = self._result(rows)
        if not result.told:
            rows.doubt(*(result.accuracy_warnings_ or (FEW,)))
        elif result.noise_share > DROWNED:
            rows.doubt(MOSTLY_NOISE)
        return {"result_": result if result.told else unknown(result)}

    def _options(self):
        return self.options or {}


def unknown(result):
    """Return a result of too few rows: it speaks against nothing, and knows no effect."""
    ends = getattr(result.interval, "low", -math.inf), getattr(result.interval, "high", math.inf)
    return replace(result, pvalue=1.0, interval=Whole(*ends), detectable=math.inf)


def columns_of(table):
    """Return the table without the codes of groups; rows of no group are absent."""
    return table.map(SomeColumns(np.arange(table.n_features - 1)))


def group_sums(table, found, n_groups, share):
    """Return :class:`GroupSums` of every column, of one release."""
    asked = ScoreMoments(found.scores, n_groups)
    told = table.ask(asked, SUMS, share=share)
    asked = replace(asked, bits=told.bits)
    grid, value = asked.grid, told.value.astype(np.float64)
    noise = told.scale / grid, told.scale / asked.constant
    whole = found.n, found.count_sd
    return [
        GroupSums(
            value[:, j] / grid,
            -value[:, asked.d + j] / grid,
            value[:, -1] / asked.constant,
            *noise,
            whole,
        )
        for j in range(asked.d)
    ]


class RankTest(Test):
    """Rank scores of two or more groups: Mann and Whitney, Kruskal and Wallis."""

    def _result(self, table):
        found = find_ranks(columns_of(table), self.bounds)
        (sums,) = group_sums(table, found, self.n_groups, table.remaining)
        return rank_result(sums, self.alternative, bool(found.found[0]))


def rank_result(sums, alternative, found):
    """Return what rank scores of groups say."""
    of, told = means(sums), sums.told and found
    public = {"n_rows": sums.n, "null": SAME_LAW, "told": told}
    if len(sums.n) == 2:
        z, share = rank_difference(sums)
        around = Around(
            float(of.mean[0] - of.mean[1]), math.sqrt(of.var.sum()), of.df, 0.5, 0.5, 0.0, 1.0
        )
        return TestResult(
            z,
            p_value(z, alternative),
            math.inf,
            float(np.clip(around.value, 0, 1)),
            "P(x > y), half of P(x = y) with it",
            noise_share=share,
            detectable=POWER * around.sd / 2,
            interval=around,
            interval_name="P(x > y)",
            **public,
        )
    q, df, p, share = ranks_of_groups(sums)
    n, _ = sums.rows
    effect = float(np.clip((q - df) / max(n - 1, 1), 0, 1))
    return TestResult(q, p, df, effect, "epsilon squared", noise_share=share, **public)


class MeanTest(Test):
    """Means of groups in one window, that all rows together have told."""

    def _search_steps(self, budget):
        single = self.n_groups == 1
        return search_steps(budget, bounded=self.bounds is not None, single=single)

    def _result(self, table):
        found = find_windows(columns_of(table), self.bounds, self.tails, self.n_groups)
        (sums,) = group_sums(table, found, self.n_groups, table.remaining)
        at, ok = self._options().get("popmean", 0.0), bool(found.found[0])
        result = mean_result(sums, found.middle[0], found.half[0], self.alternative, ok, at)
        return replace(result, accuracy_warnings_=(CUT,)) if any(found.cut) else result


def mean_result(sums, middle, half, alternative, found, popmean=0.0):
    """Return what sums of scores in a window say of the means of groups."""
    of, told, k = means(sums), sums.told and found, len(sums.n)
    public = {"n_rows": sums.n, "told": told, "noise_share": of.noise_share}
    if k > 2:
        F, df, p = f_of_means(means(sums, sums.first.sum() / max(sums.n.sum(), 2.0)))
        effect = float(np.clip((F - 1) * df[0] / max(sums.n.sum(), 1.0), 0, 1))
        name = "omega squared, about"
        return TestResult(F, p, df, effect, name, null=SAME_MEAN, **public)
    if k == 2:
        d, sd = float(of.mean[0] - of.mean[1]), math.sqrt(of.var.sum())
        null, name = SAME_MEAN, "difference of means"
        interval = Around(d, sd, of.df, half)
    else:
        at = (popmean - middle) / half
        d, sd = float(of.mean[0] - at), math.sqrt(means(sums, at).var[0])
        null, name = f"the mean is {popmean:g}", "mean"
        interval = OfMean(sums, of, half, middle)
    t = d / sd
    spread = math.sqrt(float(of.spread.mean()))
    return TestResult(
        float(t),
        p_value(t, alternative, of.df),
        of.df,
        float(d / spread),
        "Cohen's d",
        null=null,
        detectable=POWER * sd * half,
        interval=interval,
        interval_name=name,
        **public,
    )


class DistanceTest(Test):
    """The largest distance between two distribution functions, at pooled quantiles."""

    _steps = (CELLS,)

    def _result(self, table):
        found = find_ranks(columns_of(table), self.bounds)
        edges = np.concatenate([[-FARTHEST], found.scores.edges[0][1:-1], [FARTHEST]])
        counts, sd = released_cells(table, [(edges, False), codes_axis(2)], CELLS, table.remaining)
        return distance_result(counts, sd, bool(found.found[0]))


def distance_result(counts, sd, found):
    """Return what released counts between pooled quantiles say of two distributions."""
    distance, p, n = distance_of_groups(counts, sd)
    told = n.sum() > CLEAR * sd * math.sqrt(counts.size) and found
    share = sd**2 * len(counts) / 4 * np.sum(1 / n**2)
    share = float(share / (share + np.sum(1 / n) / 4))
    name = "largest distance of the distribution functions"
    public = {"n_rows": n, "noise_share": share, "told": bool(told)}
    return TestResult(distance, p, math.inf, distance, name, null=SAME_LAW, **public)


def codes_axis(n):
    """Return the axis of codes 0 to n - 1: levels."""
    return np.arange(float(n)), True


def released_cells(table, axes, step, share):
    """Return released counts of the product of axes of all columns, and the noise in each."""
    asked = HistogramCounts(tuple(range(len(axes))), *zip(*axes, strict=True))
    told = table.ask(asked, step, share=share)
    return told.real.reshape(asked.shape), told.sd


class CellTest(Test):
    """Counts of codes by group: independence, and rates of two groups."""

    _steps = (CELLS,)

    def _search_steps(self, budget):
        return ()

    def _result(self, table):
        axes = [codes_axis(self._options()["n_levels"]), codes_axis(self.n_groups)]
        counts, sd = released_cells(table, axes, CELLS, table.remaining)
        if self._options().get("rates"):
            return rate_result(counts, sd, self.alternative)
        if sparse(counts, sd):
            table.doubt(SPARSE)
        return cell_result(counts, sd)


def cell_result(counts, sd):
    """Return what a released table says of independence."""
    q, df, p, share = chi_squared(counts, sd)
    v, *_ = cramers_v(counts, sd)
    told = counts.sum() > CLEAR * sd * math.sqrt(counts.size)
    return TestResult(
        q,
        p,
        df,
        v,
        "Cramer's V",
        null="rows and columns of the table are independent",
        n_rows=np.array([counts.sum()]),
        noise_share=share,
        told=bool(told),
        interval=VInterval(counts, sd),
        interval_name="Cramer's V",
    )


class VInterval:
    """Intervals of Cramer's V of released counts."""

    low, high = 0.0, 1.0

    def __init__(self, counts, sd):
        self.counts, self.sd = counts, sd

    def at(self, level):
        """Return both ends."""
        return cramers_v(self.counts, self.sd, level)[1:]


def rate_result(counts, sd, alternative):
    """Return what successes (row 1) and failures (row 0) of two groups say of their rates."""
    arms = np.array([counts[::-1, 0], counts[::-1, 1]])
    q, _, _, share = chi_squared(arms, sd)
    rates = Rates(arms, sd)
    z = math.copysign(math.sqrt(q), rates.value)
    n = arms.sum(axis=1)
    told = n.sum() > CLEAR * sd * 2 and (n > 0).all()
    p = float(np.clip(arms[:, 0].sum() / max(n.sum(), 1.0), 0.01, 0.99))
    sizes = np.maximum(n, 1.0)
    var = np.sum(p * (1 - p) / sizes + sd**2 * (1 - 2 * p + 2 * p * p) / sizes**2)
    return TestResult(
        z,
        p_value(z, alternative),
        math.inf,
        rates.value,
        "difference of rates",
        null="both groups have the same rate",
        n_rows=n,
        noise_share=share,
        told=bool(told),
        detectable=float(POWER * math.sqrt(var)),
        interval=rates,
        interval_name="difference of rates",
        more={"risk_ratio": Rates(arms, sd, "ratio"), "odds_ratio": Rates(arms, sd, "odds")},
    )
