"""Tests of groups beside scipy's, hostile samples, bills, and private conclusions."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from skdp import config_context
from skdp.accounting import PrivacyLedger
from skdp.exceptions import BudgetExceeded, LowAccuracyWarning
from skdp.stats import (
    private_chi2_contingency,
    private_f_oneway,
    private_kruskal,
    private_ks_2samp,
    private_mannwhitneyu,
    private_pearsonr,
    private_proportions_test,
    private_spearmanr,
    private_ttest_1samp,
    private_ttest_ind,
    private_ttest_rel,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.WeakGuaranteeWarning"),
]
LITTLE = {"epsilon": 300.0, "random_state": 0}  # next to no noise
OF_TWO = private_mannwhitneyu, private_ttest_ind, private_ks_2samp
OF_MORE = private_kruskal, private_f_oneway
OF_PAIRS = private_ttest_rel, private_pearsonr, private_spearmanr


def _two(n=2000, shift=0.15, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(3, 1, n), rng.normal(3 + shift, 1.5, n // 2)


def _three(seed=0):
    x, y = _two(seed=seed)
    return x, y, np.random.default_rng(seed + 9).normal(3.1, 1, 700)


def test_with_little_noise_numbers_are_those_of_scipy():
    x, y = _two()
    ours, theirs = private_ttest_ind(x, y, **LITTLE), scipy_stats.ttest_ind(x, y, equal_var=False)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=0.05)
    assert 0.7 * theirs.df < ours.df < theirs.df  # the noise of variances takes some
    low, high = theirs.confidence_interval()
    assert np.allclose(ours.confidence_interval(), (low, high), atol=0.1 * (high - low))
    rank = private_mannwhitneyu(x, y, **LITTLE)
    u = scipy_stats.mannwhitneyu(x, y)
    assert rank.effect_size == pytest.approx(u.statistic / len(x) / len(y), abs=0.003)
    assert rank.pvalue == pytest.approx(u.pvalue, abs=0.03)
    one, other = private_ttest_1samp(x, 3.03, **LITTLE), scipy_stats.ttest_1samp(x, 3.03)
    assert one.statistic == pytest.approx(other.statistic, abs=0.2)
    assert np.allclose(one.confidence_interval(), other.confidence_interval(), atol=0.02)
    samples = _three()
    f, theirs = private_f_oneway(*samples, **LITTLE), scipy_stats.f_oneway(*samples)
    assert f.pvalue < 0.05 or theirs.pvalue > 0.01
    h, theirs = private_kruskal(*samples, **LITTLE), scipy_stats.kruskal(*samples)
    assert h.statistic == pytest.approx(theirs.statistic, rel=0.2)


def test_correlations_and_tables_with_little_noise():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = x + rng.normal(size=3000)
    less = LITTLE | {"epsilon": 3000.0}  # windows are as wide as noise allows
    pearson, theirs = private_pearsonr(x, y, **less), scipy_stats.pearsonr(x, y)
    assert pearson.statistic == pytest.approx(theirs.statistic, abs=0.01)
    assert np.allclose(pearson.confidence_interval(), theirs.confidence_interval(), atol=0.01)
    spearman, theirs = private_spearmanr(x, y, **LITTLE), scipy_stats.spearmanr(x, y)
    assert spearman.statistic == pytest.approx(theirs.statistic, abs=0.01)
    table = [[30, 70, 20], [50, 50, 40]]
    ours, theirs = private_chi2_contingency(table, **LITTLE), scipy_stats.chi2_contingency(table)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-2) and ours.df == theirs.dof
    assert ours.effect_size == pytest.approx(np.sqrt((theirs.statistic - 2) / 260), rel=0.02)
    a, b = rng.random(4000) < 0.3, rng.random(3000) < 0.25
    rates = private_proportions_test(a, b, **LITTLE)
    assert rates.effect_size == pytest.approx(a.mean() - b.mean(), abs=1e-3)
    low, high = scipy_stats.contingency.relative_risk(
        a.sum(), 4000, b.sum(), 3000
    ).confidence_interval()
    assert np.allclose(rates.risk_ratio()[1], (low, high), rtol=0.01)
    assert rates.odds_ratio()[1].low < rates.odds_ratio()[0] < rates.odds_ratio()[1].high


def test_of_one_side():
    x, y = _two(shift=0.6)
    for test in (private_ttest_ind, private_mannwhitneyu):
        less, greater = (
            test(x, y, alternative=side, random_state=0) for side in ("less", "greater")
        )
        assert less.pvalue < 0.01 and less.pvalue + greater.pvalue == pytest.approx(1)


@pytest.mark.parametrize("n", [1, 3, 8])
def test_few_rows_have_no_conclusion(n):
    x, y = np.arange(n) * 1.0, np.arange(n) + 1e6
    results = [(test, (x, y)) for test in (*OF_TWO, *OF_PAIRS)]
    results += [(test, (x, y, -y)) for test in OF_MORE] + [(private_ttest_1samp, (y, 0.0))]
    results += [(private_chi2_contingency, ([[n, 0], [0, n]],))]
    results += [(private_proportions_test, (x * 0, x * 0 + 1))]
    for test, samples in results:
        with pytest.warns(LowAccuracyWarning):
            result = test(*samples, random_state=0)
        assert result.pvalue == 1 and not result.reliable_
        assert "no conclusion" in result.conclusion and result.accuracy_warnings_
        low, high = result.confidence_interval()
        assert high - low >= 1 or test in OF_MORE


HOSTILE = {
    "constant": np.full(400, 7.0),
    "nearly constant": np.r_[np.full(380, 7.0), np.arange(20.0)],
    "zeros": np.zeros(400),
    "huge": 1e308 * np.linspace(-1, 1, 400),
    "tiny": np.arange(400) * 5e-324,
    "cauchy": np.random.default_rng(0).standard_cauchy(400) * 1e100,
    "integers": np.random.default_rng(0).integers(0, 3, 400).astype(float),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_samples_are_answered(name):
    x = HOSTILE[name]
    y = x[::-1].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowAccuracyWarning)
        for bounds in (None, (-5.0, 5.0)):
            for test in (*OF_TWO, *OF_PAIRS):
                result = test(x, y, bounds=bounds, random_state=0)
                assert 0 <= result.pvalue <= 1 and result.summary()
            assert 0 <= private_kruskal(x, y, x, bounds=bounds).pvalue <= 1
            assert 0 <= private_f_oneway(x, y, x, bounds=bounds).pvalue <= 1


def test_a_ledger_is_charged_once_and_persons_are_protected():
    x, y = _two()
    ledger = PrivacyLedger(0.7, 1e-5)
    private_ttest_ind(x, y, epsilon=0.6, ledger=ledger, random_state=0)
    with pytest.raises(BudgetExceeded):
        private_ttest_ind(x, y, epsilon=0.6, ledger=ledger, random_state=0)
    ids = np.arange(len(x)) // 2, np.arange(len(y)) // 2 + 10**6
    result = private_mannwhitneyu(x, y, groups=ids, random_state=0)
    assert result.privacy_report_.privacy_unit == "group"
    assert 0.3 < result.n_rows.sum() / 3000 < 0.7
    assert pickle.loads(pickle.dumps(result)).pvalue == result.pvalue


@pytest.mark.parametrize(
    "call",
    [
        lambda ledger: private_ttest_ind([[1.0]], [2.0], ledger=ledger),
        lambda ledger: private_ttest_ind(["a"], ["b"], ledger=ledger),
        lambda ledger: private_ttest_ind([np.nan, 1.0], [2.0], ledger=ledger),
        lambda ledger: private_ttest_rel([1.0, 2.0], [2.0], ledger=ledger),
        lambda ledger: private_kruskal([1.0, 2.0], ledger=ledger),
        lambda ledger: private_proportions_test([0, 2], [1, 1], ledger=ledger),
        lambda ledger: private_chi2_contingency([[0.5, 1], [1, 1]], ledger=ledger),
        lambda ledger: private_chi2_contingency([1, 2], ledger=ledger),
        lambda ledger: private_ttest_1samp([1.0], np.nan, ledger=ledger),
        lambda ledger: private_mannwhitneyu([1.0], [2.0], bounds=(2, 1), ledger=ledger),
        lambda ledger: private_mannwhitneyu([1.0], [2.0], groups=([1, 2], [1]), ledger=ledger),
        lambda ledger: private_mannwhitneyu([1.0], [2.0], groups=[1, 2], ledger=ledger),
    ],
)
def test_what_is_no_sample_is_refused_before_the_charge(call):
    ledger = PrivacyLedger(1.0, 1e-5)
    with pytest.raises(ValueError):
        call(ledger)
    assert ledger.spent().epsilon == 0


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_row_decides_on_a_warning_or_an_error_where_invalid_rows_are_ignored():
    x, y = np.zeros(50), np.ones(50)
    x[3] = y[3] = np.inf
    with config_context(invalid_rows="ignore"):
        private_ttest_rel(x, y, random_state=0)
        private_proportions_test(x, y, random_state=0)


def test_ids_of_other_types_are_other_persons():
    x, y = np.zeros(400), np.ones(400)
    groups = np.arange(400), np.arange(400).astype(str)
    both = [
        private_ttest_ind(x, y, groups=ids, bounds=(0, 1), epsilon=1e3, random_state=0)
        for ids in (groups, (groups[0], groups[0] + 400))
    ]
    assert both[0].statistic == pytest.approx(both[1].statistic)
