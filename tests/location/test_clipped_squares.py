"""Variances of clipped rows: exact where nothing is clipped, and doubted where much may hide."""

import warnings

import numpy as np
import pytest

from skdp import PrivateVariance
from skdp.exceptions import LowAccuracyWarning
from skdp.preprocessing import PrivateStandardScaler

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

LEVELS = {
    "classes": ([1.0, 2.0, 3.0], [0.43, 0.23, 0.34]),
    "three equal": ([0.0, 1.0, 2.0], [1 / 3] * 3),
    "five": ([1.0, 2.0, 3.0, 4.0, 5.0], [0.3, 0.1, 0.2, 0.1, 0.3]),
    "far ends": ([-7.0, -1.0, 0.0, 1.0, 7.0], [0.35, 0.1, 0.1, 0.1, 0.35]),
    "two": ([0.0, 1.0], [0.5, 0.5]),
}


def quietly(estimator, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowAccuracyWarning)
        return estimator.fit(np.reshape(x, (len(x), -1)))


@pytest.mark.cases(10)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("name", LEVELS)
def test_columns_of_few_levels_keep_their_variance(name, epsilon, delta):
    levels, p = LEVELS[name]
    x = np.random.default_rng(0).choice(levels, p=p, size=50_000)
    given = {"epsilon": epsilon, "delta": delta, "random_state": 0}
    fit = quietly(PrivateVariance(**given), x)
    low, high = fit.interval()
    assert abs(fit.var_[0] / x.var() - 1) < 0.03
    assert low[0] <= x.var() <= high[0] and fit.reliable_
    scaler = quietly(PrivateStandardScaler(**given), x)
    assert abs(scaler.var_[0] / x.var() - 1) < 0.03
    assert abs(scaler.mean_[0] - x.mean()) < 0.03 * x.std()


def test_the_centre_of_the_interval_costs_no_accuracy():
    """A half of ones: noise of a square from the mean is a fraction of that from the median."""
    x = np.repeat([0.0, 1.0], 2500)
    errors = [quietly(PrivateVariance(random_state=i), x).var_[0] / 0.25 - 1 for i in range(20)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.002


def test_clipping_lowers_a_variance_and_the_interval_says_by_how_much():
    covered = []
    for seed in range(20):
        x = np.random.default_rng(seed).exponential(size=20_000)
        fit = quietly(PrivateVariance(random_state=seed), x)
        low, high = fit.interval()
        covered.append(low[0] <= x.var() <= high[0] < 2.5 * x.var())
    assert sum(covered) >= 17


def test_so_few_rows_that_a_tail_may_hide_are_doubted():
    """A tenth of the rows, which 500 of them do not show at epsilon .3, carry the variance."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(500) < 0.06, 3000.0, 100.0) + rng.normal(0, 30, 500)
    for seed in range(5):
        fit = quietly(PrivateVariance(epsilon=0.3, random_state=seed), x)
        assert not fit.reliable_ and np.isinf(fit.interval()[1][0])
    enough = quietly(PrivateVariance(random_state=0), rng.normal(170, 7, 20_000))
    assert enough.reliable_ and np.isfinite(enough.interval()[1][0])


def test_a_reliable_variance_is_at_most_half_of_what_its_interval_allows():
    rng = np.random.default_rng(1)
    columns = [rng.lognormal(0, s, n) for s in (0.5, 1.0, 2.0) for n in (3000, 30_000)]
    told = []
    for seed, x in enumerate(columns):
        fit = quietly(PrivateVariance(random_state=seed), x)
        told.append(fit.reliable_)
        if fit.reliable_:
            assert fit.var_[0] + fit.clipping_bias_bound_[0] <= 2 * fit.var_[0] * (1 + 1e-9)
            assert fit.var_[0] > x.var() / 2
    assert any(told) and not told[-1]
    names = quietly(PrivateVariance(random_state=0), columns[-1])
    assert "bounds=(low, high)" in str(names.accuracy_warnings_)
