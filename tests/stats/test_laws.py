"""False alarms, power and coverage of private tests, by simulation; and laws without rows."""

import numpy as np
import pytest
from scipy.special import ndtr

from skdp.stats import (
    expected_power,
    private_kruskal,
    private_ks_2samp,
    private_mannwhitneyu,
    private_pearsonr,
    private_proportions_test,
    private_spearmanr,
    private_ttest_1samp,
    private_ttest_ind,
)
from skdp.stats._laws import (
    GroupSums,
    PairSums,
    Rates,
    chi_squared,
    cramers_v,
    distance_of_groups,
    means,
    rank_difference,
)
from skdp.stats._tests import mean_result

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
REPS = 300
MOST = 29  # of 300: a true rate of .055 has more once in 1e3 runs, one of .15 fewer in 1 %


def alarms(run, reps=REPS, seed=0):
    rng = np.random.default_rng(seed)
    return sum(run(rng, seed + i) <= 0.05 for i in range(reps))


def lognormal(rng, n):
    return rng.lognormal(size=n)


def ties(rng, n):
    return rng.poisson(0.7, size=n) * 1.0


NULLS = {
    "ranks": lambda rng, s: (
        private_mannwhitneyu(lognormal(rng, 60), lognormal(rng, 240), random_state=s).pvalue
    ),
    "ranks of ties": lambda rng, s: (
        private_mannwhitneyu(ties(rng, 600), ties(rng, 600), epsilon=0.1, random_state=s).pvalue
    ),
    "three groups": lambda rng, s: (
        private_kruskal(
            lognormal(rng, 100), lognormal(rng, 200), lognormal(rng, 400), random_state=s
        ).pvalue
    ),
    "distance": lambda rng, s: (
        private_ks_2samp(lognormal(rng, 200), lognormal(rng, 400), random_state=s).pvalue
    ),
    "means, other spreads": lambda rng, s: (
        private_ttest_ind(rng.normal(size=600), 2 * rng.normal(size=300), random_state=s).pvalue
    ),
    "means, normal and exponential": lambda rng, s: (
        private_ttest_ind(
            rng.normal(size=1500), rng.exponential(size=1500) - 1, random_state=s
        ).pvalue
    ),
    "one sample": lambda rng, s: (
        private_ttest_1samp(rng.exponential(size=1500), 1.0, random_state=s).pvalue
    ),
    "rates of 2 %": lambda rng, s: (
        private_proportions_test(
            rng.random(300) < 0.02, rng.random(300) < 0.02, random_state=s
        ).pvalue
    ),
    "spearman": lambda rng, s: (
        private_spearmanr(lognormal(rng, 400), lognormal(rng, 400), random_state=s).pvalue
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_false_alarms_stay_at_the_level(name):
    assert alarms(NULLS[name]) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    "test, n, bounds", [(private_mannwhitneyu, 141, (-10, 10)), (private_mannwhitneyu, 166, None)]
)
def test_power_is_that_of_the_classical_test_with_fewer_rows(test, n, bounds):
    """Classical: 64 rows a group. A power of .8 has fewer than 140 of 200 once in 1e3 runs."""

    def run(rng, seed):
        return test(
            rng.normal(size=n), rng.normal(0.5, size=n), bounds=bounds, random_state=seed
        ).pvalue

    assert alarms(run, 200) >= 140


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_intervals_of_correlations_cover(rho):
    """Of 200 of 95 %, fewer than 178 cover once in 1e3 runs."""
    rng, covered = np.random.default_rng(2), 0
    for seed in range(200):
        x = rng.normal(size=1500)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=1500)
        low, high = private_pearsonr(x, y, random_state=seed).confidence_interval()
        covered += low <= rho <= high
    assert covered >= 178


@pytest.mark.slow
def test_intervals_of_differences_and_of_probabilities_cover():
    """Of 200 of 95 %, fewer than 178 cover once in 1e3 runs; P(x > y) is .3618 for half a sd."""
    rng, covered = np.random.default_rng(3), np.zeros(2)
    for seed in range(200):
        x, y = rng.normal(size=800), rng.normal(0.5, size=500)
        low, high = private_ttest_ind(x, y, random_state=seed).confidence_interval()
        covered[0] += low <= -0.5 <= high
        low, high = private_mannwhitneyu(x, y, random_state=seed).confidence_interval()
        covered[1] += low <= 0.3618 <= high
    assert (covered >= 178).all()


# --- laws of released sums, vectors of simulated releases


def _sums(rng, t, noise):
    first, short = (f(t).sum(axis=1) for f in (lambda t: t, lambda t: 1 - t * t))
    n = np.full(2, t.shape[1]) + 3 * noise * rng.normal(size=2)
    return GroupSums(
        first + noise * rng.normal(size=2),
        short + noise * rng.normal(size=2),
        n,
        noise,
        3 * noise,
    )


def test_rank_statistics_are_normal_whatever_the_scores():
    rng = np.random.default_rng(0)
    bad = [
        rank_difference(_sums(rng, rng.beta(0.5, 3, (2, 300)) * 2 - 1, 5.0)) for _ in range(3000)
    ]
    z = np.array([one[0] for one in bad])
    assert 0.9 < z.std() < 1.05 and abs(z.mean()) < 0.07


def test_chi_squared_of_noisy_counts_is_chi_squared():
    """5 % of 2000, more than 130 once in 1e3 runs; with the noise ignored it is over 400."""
    rng, rejected, naive = np.random.default_rng(1), 0, 0
    p = np.outer([0.2, 0.8], [0.1, 0.3, 0.6]).ravel()
    for _ in range(2000):
        counts = rng.multinomial(600, p).reshape(2, 3) + 8 * rng.normal(size=(2, 3))
        rejected += chi_squared(counts, 8.0)[2] <= 0.05
        naive += chi_squared(counts, 0.01)[2] <= 0.05
    assert rejected <= 130 and naive > 400


@pytest.mark.parametrize("scale, truth", [("difference", -0.1), ("ratio", 2 / 3), ("odds", 7 / 12)])
def test_intervals_of_noisy_rates_cover(scale, truth):
    """Of 1000 of 95 %, fewer than 928 cover once in 1e3 runs."""
    rng, covered = np.random.default_rng(2), 0
    for _ in range(1000):
        yes = rng.binomial([500, 400], [0.2, 0.3])
        counts = np.column_stack([yes, np.array([500, 400]) - yes]) + 4 * rng.normal(size=(2, 2))
        low, high = Rates(counts, 4.0, scale).at(0.95)
        covered += low <= truth <= high
    assert covered >= 928


def test_the_distance_of_drowned_groups_says_nothing():
    rng = np.random.default_rng(3)
    p = [distance_of_groups(20 + 30 * rng.normal(size=(4, 2)), 30.0)[1] for _ in range(100)]
    assert np.mean(np.array(p) <= 0.05) < 0.1
    assert distance_of_groups(np.array([[900, 10], [10, 900.0]]), 5.0)[1] < 0.001


@pytest.mark.parametrize("sd", [0.0, 6.0])
def test_the_distance_of_two_cells_is_normal(sd):
    counts = np.array([[38.0, 112], [22, 128]])
    n, p = counts.sum(axis=0), 0.5
    var = p * (1 - p) * 300 * (300 / 299) / n.prod()
    var += sd**2 * np.sum(1 / n**2) * (p * p + (1 - p) ** 2)
    distance, ours, _ = distance_of_groups(counts, sd)
    assert distance == pytest.approx(38 / 60 - 112 / 240)
    assert ours == pytest.approx(2 * ndtr(-distance / np.sqrt(var)), abs=0.006)


def test_cramers_v_is_wide_where_the_noise_hides_it_and_short_where_not():
    assert cramers_v(np.full((3, 3), 10.0), 40.0)[1:] == (0.0, 1.0)
    value, low, high = cramers_v(np.array([[900.0, 100], [100, 900]]), 1.0)
    assert low < value < high < 0.86 and low > 0.74 and value == pytest.approx(0.8, abs=0.01)


def test_the_mean_of_scores_knows_its_noise():
    rng = np.random.default_rng(4)
    told = [means(_sums(rng, rng.uniform(-1, 1, (2, 400)), 6.0)) for _ in range(1000)]
    z = [float(np.diff(one.mean)[0] / np.sqrt(one.var.sum())) for one in told]
    assert 0.92 < np.std(z) < 1.08


def _released(rng, sizes, t, sd):
    """Return sums of scores that are -1 or t, the mean of which is -.6, with noise."""
    hits = rng.binomial(sizes, 0.4 / (1 + t))
    sums = np.array([t * hits - (sizes - hits), (1 - t * t) * hits, 1.0 * sizes])
    sums += rng.normal(size=sums.shape) * [[sd], [sd], [sd / 0.3]]
    return GroupSums(*sums, sd, sd / 0.3)


@pytest.mark.parametrize("sizes", [(600,), (300, 300, 2400)])
def test_means_far_from_the_middle_of_their_window_have_no_false_alarms(sizes):
    """At a mean of its own, whose number of rows came out too large, noise would seem small."""
    rng, alarms = np.random.default_rng(4), 0
    for _ in range(2000):
        sums = _released(rng, np.array(sizes), 0.2, 40.0)
        alarms += mean_result(sums, 0.0, 1.0, "two-sided", True, -0.6).pvalue <= 0.05
    assert alarms < 0.055 * 2000


@pytest.mark.parametrize("bounds", [(0, 10), None])
def test_the_window_of_one_sample_is_not_cut_where_many_rows_are_alike(bounds):
    """Quantiles of counts are their median as well, or lie in a gap that a search has left."""
    rng, alarms = np.random.default_rng(6), 0
    for seed in range(60):
        x = rng.poisson(0.7, size=300)
        alarms += private_ttest_1samp(x, 0.7, bounds=bounds, random_state=seed).pvalue <= 0.05
    assert alarms <= 8  # of 3; 38 % and 12 % were rejected when the window was cut


@pytest.mark.parametrize(("n", "sd"), [(600, 40.0), (3000, 40.0), (100, 4.0)])
def test_the_interval_of_a_mean_is_that_of_its_test(n, sd):
    rng, covered = np.random.default_rng(5), 0
    for _ in range(500):
        sums = _released(rng, np.array([n]), 0.2, sd)
        low, high = mean_result(sums, 0.0, 1.0, "two-sided", True, -0.6).confidence_interval()
        covered += low <= -0.6 <= high
        for end in (low, high):
            if -1 < end < 1:
                told = mean_result(sums, 0.0, 1.0, "two-sided", True, end)
                assert told.pvalue == pytest.approx(0.05, abs=1e-6)
    assert covered > 0.93 * 500


def test_expected_power_is_what_simulations_have_shown():
    """300 tables each: .80 at 256 rows for ranks, .89 to .93 at 512 for means."""
    assert 0.72 < expected_power("mannwhitneyu", 0.5, 256) < 0.88
    assert 0.84 < expected_power("ttest_ind", 0.5, 512) < 0.97


def test_windows_of_light_tails_are_no_wider_than_correlations_need():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20000)
    y = 0.5 * x + 0.75**0.5 * rng.normal(size=20000)
    for a, b, wide in ((x, y, 0.04), (np.exp(x), np.exp(y), 0.3)):
        result = private_pearsonr(a, b, random_state=0)
        low, high = result.confidence_interval()
        exact = np.corrcoef(a, b)[0, 1]
        assert low - 0.01 < exact < high + 0.01 and high - low < wide
    assert private_pearsonr(x, y, random_state=1).reliable_
    low, high = private_pearsonr(np.exp(x), np.exp(y), random_state=1).confidence_interval()
    assert high - low > 0.06  # noise of a window that holds the tail


def test_the_noise_of_a_covariance_holds_that_of_the_number_of_rows():
    """Far from the middle of windows the number of rows moves it most; 4 % is 6 deviations."""
    rng, n = np.random.default_rng(0), 20000.0
    product, first, sd = 0.6 * n, np.array([-0.8, -0.7]) * n, np.array([40.0, 30.0, 60.0, 50.0])

    def sums(noise):
        told = product + 40 * noise[0], first + 30 * noise[1:3], np.full(2, 0.1 * n)
        whole = n + 90 * noise[3], 90.0
        return PairSums(*told, n + 50 * noise[4], sd, whole, 1e-4, False)

    drawn = [sums(noise)._covariance() for noise in rng.normal(size=(10000, 5))]
    assert np.std(drawn) == pytest.approx(sums(np.zeros(5))._noise() ** 0.5, rel=0.04)


@pytest.mark.parametrize(("rho", "truth"), [(0.3, 0.275), (0.8, 0.767)])
def test_intervals_of_rank_correlations_cover_where_columns_are_far_out_together(rho, truth):
    """Of a t law of 3 degrees of freedom; 400 tables, 95 % of which are 380."""
    rng, n, covered = np.random.default_rng(8), 400, 0
    for _ in range(400):
        z = rng.normal(size=(n, 2))
        z[:, 1] = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
        z /= np.sqrt(rng.chisquare(3, size=(n, 1)))
        t, u = (2 * np.argsort(np.argsort(z, axis=0), axis=0).T + 1) / n - 1
        sums = t @ u, np.array([t.sum(), u.sum()]), np.array([n - t @ t, n - u @ u]), float(n)
        low, high = PairSums(*sums, np.zeros(4), (n, 1.0), 0.15, True).at(0.95)
        covered += low <= truth <= high
    assert covered >= 0.93 * 400


def test_a_mean_has_a_conclusion():
    """Of 20 tables of 1,500 normal rows 3 may have none: 2 % are lost to a count of far rows."""
    tests = [
        private_ttest_1samp(np.random.default_rng(s).normal(0.3, 1, 1500), 0.0, random_state=s)
        for s in range(20)
    ]
    assert sum(test.pvalue <= 0.05 for test in tests) >= 17


def test_rows_beyond_the_window_of_a_mean():
    """Nothing is told of a mean that leaves rows out; bounds hold them."""
    rows = np.random.default_rng(0).normal(size=3000)
    rows[:90] += 30
    test = private_ttest_1samp(rows, 0.9, random_state=0)
    assert test.pvalue == 1 and "far away" in test.conclusion and not test.reliable_
    test = private_ttest_1samp(rows, 0.9, bounds=(-50, 50), random_state=0)
    low, high = test.confidence_interval()
    assert low < rows.mean() < high < 2
