"""Survival beside lifelines' definitions, traps, hostile rows, sources, persons, and log-rank."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import stats as scipy_stats

from skdp.accounting import PrivacyLedger
from skdp.audit import check_statistic
from skdp.exceptions import BudgetExceeded, LowAccuracyWarning
from skdp.kernel._statistic import Shape
from skdp.kernel.applied._scores import GAIN, OfLevel
from skdp.stats import (
    PrivateCoxRegression,
    PrivateSurvival,
    SurvivalDisplay,
    private_logrank_test,
)
from skdp.stats._logrank_laws import Residuals
from skdp.stats._survival_input import Counts, cells_of_times

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.WeakGuaranteeWarning"),
]
LITTLE = {"epsilon": 300.0, "random_state": 0}  # next to no noise
ARMS = ["drug", "placebo"]


def _trial(n=3000, ratio=1.0, ends=(30.0, 30.0), seed=0):
    """Return durations, events and arms; the hazard of the drug is ``ratio`` times."""
    rng = np.random.default_rng(seed)
    drug = rng.random(n) < 0.5
    life = rng.exponential(10 / np.where(drug, ratio, 1.0))
    left = rng.uniform(0, np.where(drug, *ends))
    return np.minimum(life, left), life <= left, np.where(drug, *ARMS)


def _classical(t, e, arm):
    drug = arm == "drug"
    groups = (
        scipy_stats.CensoredData(uncensored=t[e & one], right=t[~e & one]) for one in (drug, ~drug)
    )
    return scipy_stats.logrank(*groups)


@pytest.mark.parametrize(
    "bins", [{"horizon": 24.0}, {}, {"bins": np.arange(0, 25, 1.0)}, {"bins": 48}]
)
def test_with_little_noise_the_curve_is_that_of_scipy(bins):
    t, e, _ = _trial()
    fit = PrivateSurvival(**LITTLE, **bins).fit(t, e)
    theirs = scipy_stats.ecdf(scipy_stats.CensoredData(uncensored=t[e], right=t[~e])).sf
    exact = theirs.evaluate(fit.times_)
    assert np.allclose(fit.survival_function_, exact, atol=0.006)
    assert np.allclose(np.exp(-fit.cumulative_hazard_), exact, atol=0.006)
    assert fit.median_ == pytest.approx(theirs.quantiles[theirs.probabilities <= 0.5][0], rel=0.02)
    inner = fit.times_[1:-1]
    low, high = (end[1:-1] for end in fit.interval())
    ends = theirs.confidence_interval(method="log-log")
    assert np.allclose(low, ends.low.evaluate(inner), atol=0.012)
    assert np.allclose(high, ends.high.evaluate(inner), atol=0.012)
    grid = np.linspace(0, 12, 4001)
    area, (low, high) = fit.restricted_mean(12.0)
    assert area == pytest.approx(np.trapezoid(theirs.evaluate(grid), grid), rel=0.005)
    assert low < area < high and high - low < 0.5


def test_events_at_an_edge_and_rows_that_leave_at_the_horizon():
    t = np.repeat([1.0, 2.0, 3.0, 3.0, 5.0], 400)
    e = np.repeat([True, True, True, False, True], 400)
    fit = PrivateSurvival(bins=[1.0, 2.0, 3.0], **LITTLE).fit(t, e)
    assert np.allclose(fit.survival_function_, [1, 0.8, 0.6, 0.4], atol=0.002)
    assert fit.at_risk_[-1] == pytest.approx(1200, abs=2) and fit.n_events_ == pytest.approx(
        1200, abs=3
    )


def test_tied_times_and_scales_far_apart_are_found():
    rng = np.random.default_rng(0)
    for t in (rng.geometric(0.1, size=4000) * 1.0, rng.lognormal(0, 3, size=4000)):
        fit = PrivateSurvival(random_state=0).fit(t, np.ones(4000))
        at = np.searchsorted(np.sort(t), fit.times_, side="right")
        assert np.nanmax(np.abs(fit.survival_function_ - 1 + at / len(t))) < 0.1


def test_many_rows_have_many_bins_that_bias_no_curve():
    t, e, _ = _trial(200)
    few = PrivateSurvival(horizon=24.0, random_state=0).fit(t, e)
    t, e, _ = _trial(8000)
    many = PrivateSurvival(horizon=24.0, random_state=0).fit(t, e)
    assert len(few.times_) <= 20 and len(many.times_) == 65


def test_groups_have_their_own_curves_and_quantiles():
    t, e, arm = _trial(6000, ratio=0.5)
    fit = PrivateSurvival(horizon=24.0, levels=ARMS, random_state=0).fit(t, e, arm)
    assert fit.levels_ == tuple(ARMS) and fit.survival_function_.shape == (2, len(fit.times_))
    drug, placebo = (fit.quantile(group=one) for one in ARMS)
    assert drug[1].low > placebo[1].high and placebo[1].low < 6.93 < placebo[1].high
    assert fit.restricted_mean(group="drug")[0] > fit.restricted_mean(group="placebo")[0]
    band, point = fit.interval(simultaneous=True), fit.interval()
    assert (band[0] <= point[0] + 1e-12).all() and (band[1] >= point[1] - 1e-12).all()
    rows = fit.interval(sampling=False)
    assert (rows[0][:, 1:] > point[0][:, 1:]).all()
    table = fit.results()
    assert list(table.columns) == ["group", "time", "value", "low", "high", "n", "reliable"]
    assert set(table.group) == set(ARMS) and table.reliable.all()
    for wrong in ({"group": "other"}, {"q": 1.0, "group": "drug"}, {}):
        with pytest.raises(ValueError):
            fit.quantile(**wrong)
    with pytest.raises(ValueError):
        fit.restricted_mean(25.0, group="drug")


def test_a_curve_that_stays_high_has_no_median():
    t, e, _ = _trial(4000)
    fit = PrivateSurvival(horizon=4.0, random_state=0).fit(t, e)
    assert fit.median_ == np.inf and fit.quantile()[1].high == np.inf
    assert fit.quantile(0.2)[1].low < 2.23 < fit.quantile(0.2)[1].high


@pytest.mark.parametrize("n", [1, 3, 20])
@pytest.mark.parametrize("horizon", [None, 24.0])
def test_few_rows_have_no_conclusion(n, horizon):
    t, e, arm = _trial(n)
    arm[: n // 2], arm[n // 2 :] = ARMS
    with pytest.warns(LowAccuracyWarning):
        fit = PrivateSurvival(horizon=horizon, random_state=0).fit(t, e)
    low, high = fit.interval()
    assert not fit.reliable_ and np.isnan(fit.survival_function_[1:]).all()
    assert np.isnan(fit.median_) and (low[1:] == 0).all() and (high[1:] == 1).all()
    assert fit.quantile()[1] == (0, np.inf) and not fit.results().reliable[1:].any()
    fit.plot()
    with pytest.warns(LowAccuracyWarning):
        given = {"levels": ARMS, "horizon": horizon, "random_state": 0}
        result = private_logrank_test(t, e, arm, **given)
    assert result.pvalue == 1 and not result.reliable_ and "no conclusion" in result.conclusion
    assert result.confidence_interval() == (0, np.inf) and result.summary()


HOSTILE = {
    "constant": np.full(600, 7.0),
    "zeros": np.zeros(600),
    "negative": np.linspace(-5, 5, 600),
    "huge": 1e308 * np.linspace(0, 1, 600),
    "tiny": np.arange(600) * 5e-324,
}


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("horizon", [None, 4.0, 1e300])
def test_hostile_durations_are_answered(name, horizon):
    t, e = HOSTILE[name], np.arange(600) % 3 > 0
    arm = np.where(np.arange(600) % 2 > 0, *ARMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowAccuracyWarning)
        for events in (e, np.ones(600, dtype=bool), np.zeros(600, dtype=bool)):
            fit = PrivateSurvival(horizon=horizon, random_state=0).fit(t, events)
            S = fit.survival_function_[np.isfinite(fit.survival_function_)]
            low, high = fit.interval(simultaneous=True)
            assert (np.diff(S) <= 0).all() and (low <= high).all()
            result = private_logrank_test(t, events, arm, horizon=horizon, random_state=0)
            assert 0 <= result.pvalue <= 1 and result.summary()


def test_sources_persons_and_ledgers():
    t, e, arm = _trial(2000)
    frame = pd.DataFrame({"time": t, "arm": arm, "event": e.astype(int)})
    given = {"horizon": 24.0, "random_state": 0}
    fits = [
        PrivateSurvival(**given).fit(frame[["time", "arm"]], frame["event"]),
        PrivateSurvival(**given).fit(frame, "event"),
        PrivateSurvival(**given).fit(polars.from_pandas(frame), "event"),
        PrivateSurvival(**given).fit(t, e, arm),
    ]
    for fit in fits:
        assert np.array_equal(fit.survival_function_, fits[0].survival_function_, equal_nan=True)
    again = pickle.loads(pickle.dumps(fits[0]))
    assert np.array_equal(again.interval()[0], fits[0].interval()[0])
    persons = PrivateSurvival(**given).fit(t, e, groups=np.arange(2000) // 2)
    assert persons.privacy_report_.privacy_unit == "group" and 700 < persons.n_rows_ < 1300
    ledger = PrivacyLedger(0.7, 1e-5)
    private_logrank_test(t, e, arm, epsilon=0.6, ledger=ledger, **given)
    with pytest.raises(BudgetExceeded):
        private_logrank_test(t, e, arm, epsilon=0.6, ledger=ledger, **given)


@pytest.mark.parametrize(
    "given, call",
    [
        ({"horizon": -1.0}, {}),
        ({"bins": 1}, {}),
        ({"bins": [3.0, 2.0]}, {}),
        ({"bins": [1.0, np.inf]}, {}),
        ({}, {"by": np.arange(50), "event_observed": np.ones(50)}),
        ({}, {"event_observed": None}),
        ({}, {"event_observed": np.full(50, 2)}),
    ],
)
def test_wrong_parameters_are_refused(given, call):
    with pytest.raises(ValueError):
        PrivateSurvival(**given).fit(np.arange(50.0), **({"event_observed": np.ones(50)} | call))
    with pytest.raises(ValueError):
        private_logrank_test(np.arange(50.0))


def test_dates_and_other_events_are_refused_with_the_way_out():
    days, dead = np.arange(1.0, 51.0), np.arange(50) % 2
    spans = pd.to_timedelta(days, "D")
    cox = PrivateCoxRegression(horizon=60)
    for call in (
        lambda: PrivateSurvival(horizon=60).fit(spans, dead),
        lambda: PrivateSurvival(horizon=60).fit(spans, dead, np.where(dead, "a", "b")),
        lambda: private_logrank_test(pd.Timestamp("2020") + spans, dead, np.where(dead, "a", "b")),
        lambda: cox.fit(days[:, None], dead, spans),
    ):
        with pytest.raises(ValueError, match="Timedelta"):
            call()
    for call in (
        lambda: PrivateSurvival(horizon=60).fit(dead, days),
        lambda: PrivateSurvival(horizon=60).fit(days),
        lambda: cox.fit(days[:, None], days, dead),
    ):
        with pytest.raises(ValueError, match="1 or True for an event"):
            call()


def test_a_log_rank_test_with_little_noise_is_that_of_scipy():
    """Of rows whose pooled hazard stays below 1, beyond which none counts."""
    t, e, arm = _trial(3000, ratio=0.8, ends=(9.0, 6.0))
    result, theirs = (
        private_logrank_test(t, e, arm, levels=ARMS, horizon=9.0, **LITTLE),
        _classical(t, e, arm),
    )
    assert result.statistic == pytest.approx(theirs.statistic, abs=0.15)
    assert result.pvalue == pytest.approx(theirs.pvalue, rel=0.5)
    low, high = result.confidence_interval()
    assert low < 0.8 < high and high - low < 0.3
    less, greater = (
        private_logrank_test(t, e, arm, alternative=side, horizon=9.0, random_state=0).pvalue
        for side in ("less", "greater")
    )
    assert less < 0.05 and less + greater == pytest.approx(1)
    turned = private_logrank_test(t, e, arm, levels=ARMS[::-1], horizon=9.0, **LITTLE)
    assert turned.effect_size == pytest.approx(1 / result.effect_size, rel=0.02)


@pytest.mark.slow
def test_unequal_censoring_makes_no_false_alarms():
    """The cheap form, with one share at risk, has up to 43 % of them."""
    rows = [_trial(2000, ends=(40.0, 7.0), seed=seed) for seed in range(60)]
    given = {"levels": ARMS, "horizon": 20.0}
    p = [
        private_logrank_test(*row, **given, random_state=seed).pvalue
        for seed, row in enumerate(rows)
    ]
    assert np.sum(np.array(p) < 0.05) <= 10  # of 60: more once in 1e4 runs at .05


def _of_three(n, ends, seed=0, ratios=(1.0, 1.0, 1.0)):
    rng, group = np.random.default_rng(seed), np.arange(n) % 3
    life = rng.exponential(10 / np.array(ratios)[group])
    left = rng.uniform(0, np.array(ends)[group])
    return np.minimum(life, left), life <= left, group


def test_a_log_rank_test_of_three_groups_with_little_noise_is_the_classical_one():
    t, e, group = _of_three(4000, (9.0, 6.0, 7.0), ratios=(1.0, 0.85, 1.1))
    result = private_logrank_test(t, e, group, levels=[0, 1, 2], horizon=9.0, **LITTLE)
    order = np.argsort(t)
    e_, one = e[order], np.eye(3)[group[order]]
    p = np.cumsum(one[::-1], axis=0)[::-1] / np.arange(len(t), 0, -1)[:, None]
    d, cov = (e_ @ (one - p)), np.diag(e_ @ p) - (p * e_[:, None]).T @ p
    q = d[:2] @ np.linalg.solve(cov[:2, :2], d[:2])
    assert result.statistic == pytest.approx(q, rel=0.1) and result.df == 2
    assert result.pvalue == pytest.approx(scipy_stats.chi2.sf(q, 2), rel=0.6)
    turned = private_logrank_test(t, e, group, levels=[2, 0, 1], horizon=9.0, **LITTLE)
    assert turned.statistic == pytest.approx(result.statistic, rel=0.05)
    assert result.summary() and not np.isfinite(result.confidence_interval().low)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [20.0, None])
def test_unequal_censoring_of_three_groups_makes_no_false_alarms(horizon):
    """By a found horizon rows at risk of some groups are lost in noise: later bins tell nothing."""
    ends = (40.0, 7.0, 15.0) if horizon else (80.0, 3.0, 6.0)
    rows = [_of_three(4000, ends, seed) for seed in range(200)]
    given = {"levels": [0, 1, 2], "horizon": horizon}
    p = [
        private_logrank_test(*row, **given, random_state=seed).pvalue
        for seed, row in enumerate(rows)
    ]
    assert np.sum(np.array(p) < 0.05) <= 21  # of 200: more once in 1e3 runs at .05


def test_groups_of_a_log_rank_test_are_found_and_few_rows_have_no_conclusion():
    t, e, group = _of_three(6000, (30.0, 30.0, 30.0), ratios=(1.0, 0.5, 1.0))
    names = np.array(["a", "b", "c"])[group]
    result = private_logrank_test(t, e, names, horizon=20.0, random_state=0)
    assert result.pvalue < 0.01 and len(result.n_rows) == 3 and 0 < result.effect_size < 0.2
    with pytest.warns(LowAccuracyWarning):
        side = private_logrank_test(t, e, names, alternative="less", horizon=20.0, random_state=0)
    with pytest.warns(LowAccuracyWarning):
        few = private_logrank_test(t[:30], e[:30], group[:30], levels=[0, 1, 2], random_state=0)
    for one in (side, few):
        assert one.pvalue == 1 and not one.reliable_ and "no conclusion" in one.conclusion
    with pytest.raises(ValueError):
        private_logrank_test(t, e, group, levels=[0, 1, 2], alternative="less")
    with pytest.raises(ValueError):
        private_logrank_test(t, e, group, levels=[0])


def _counts(bins=6, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    events, others = rng.uniform(5, 60, (2, bins)), rng.uniform(5, 60, (2, bins + 1))
    eye = noise * np.eye(bins), noise * np.eye(bins + 1)
    return Counts(np.linspace(0, 3, bins + 1), events, others, *eye)


def test_residuals_are_bounded_by_the_kernel_whatever_was_released():
    rng = np.random.default_rng(0)
    times = np.append(rng.uniform(-1, 4, size=60), [0.0, 3.0, np.nextafter(3, 4), 1e308, np.nan])
    block = np.column_stack([times, rng.choice([0.0, 1.0, 1.0, 2.0], size=len(times))])
    for seed in range(4):
        asked = Residuals(_counts(int(rng.integers(2, 33)), seed=seed)).question(1)
        assert check_statistic(asked, block) <= 1
        assert asked.l2 <= 256 * (GAIN + 1)  # a row adds 1, in its unit
        whole = asked.total(block) / 256 / GAIN
        assert np.isfinite(whole).all()


def test_a_row_is_in_the_bin_of_its_time():
    edges = np.array([0.0, 1.0, 2.5])
    event, other = np.array([[1, 2]]), np.array([[30, 40]])
    asked = cells_of_times(edges, (event, event), (other, other), np.array([500]), 1)
    rows = {(0.0, 1): 1, (1.0, 1): 1, (1.1, 1): 2, (2.5, 1): 2, (2.6, 1): 500}
    rows |= {(-3.0, 0): 30, (2.0, 0): 40, (2.5, 0): 500, (9e307, 0): 500, (1.0, np.nan): 0}
    for row, wanted in rows.items():
        assert asked.total(np.array([row])).tolist() == [256 * wanted], row


def test_a_row_decides_by_itself_in_which_group_it_is():
    rule = OfLevel(1, 3)
    rule.check(Shape(3))
    X = np.array([[1, 0, 1], [2, 2, 0], [3, 3, 1], [4, 0.5, 0], [5, -1, 1], [6, np.inf, 0]])
    X = np.vstack([X, [[np.nan, 1, 1], [7, 1, 0], [8, 1, np.nan]]])
    alone = [int(rule(X[i : i + 1])[0]) for i in range(len(X))]
    assert alone == rule(X).tolist() == [0, 2, -1, -1, -1, -1, -1, 1, -1]
    for wrong in (OfLevel(3, 2), OfLevel(-1, 2), OfLevel(0, 0), OfLevel(0, 2**17)):
        with pytest.raises(ValueError):
            wrong.check(Shape(3))


def test_a_display_draws_every_group():
    t, e, arm = _trial(2000)
    fit = PrivateSurvival(horizon=24.0, levels=ARMS, random_state=0).fit(t, e, arm)
    display = fit.plot(simultaneous=False)
    assert isinstance(display, SurvivalDisplay) and len(display.ax_.lines) == 2
    assert [text.get_text() for text in display.ax_.get_legend().texts] == ARMS
    display.figure_.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_intervals_and_bands_cover(epsilon):
    rng, points, bands, medians = np.random.default_rng(1), [], [], []
    for seed in range(150):
        life, left = rng.weibull(1.3, size=1000), rng.uniform(0.2, 2.0, size=1000)
        fit = PrivateSurvival(horizon=1.6, epsilon=epsilon, random_state=seed)
        fit.fit(np.minimum(life, left), life <= left)
        truth = np.exp(-(fit.times_**1.3))
        point, band = (
            (low <= truth) & (truth <= high)
            for low, high in (fit.interval(), fit.interval(simultaneous=True))
        )
        points.append(point[1:].mean())
        bands.append(band.all())
        low, high = fit.quantile()[1]
        medians.append(low <= np.log(2) ** (1 / 1.3) <= high)
    assert np.mean(points) > 0.92 and np.mean(medians) > 0.89 and np.mean(bands) > 0.87
