"""Means of rows that take up a small part of their bounds."""

import math

import numpy as np
import pytest

from skdp import PrivateMean, PrivateStandardScaler, PrivateVariance
from skdp.exceptions import SeededNoiseWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
assert SeededNoiseWarning
MU = 0.2361  # of (1, 1e-6)


def searched(mean):
    return "sum inside" in {one.label for one in mean.privacy_report_.charges}


def noise_of_moments(x, low, high):
    """Return the least noise of sums of both distances to the bounds."""
    return math.hypot(x.mean() - low, high - x.mean()) / (len(x) * MU)


ROWS = {
    "normal": (lambda rng: rng.normal(170, 7, 3000), (100, 250)),
    "wages": (lambda rng: np.exp(rng.normal(2.5, 0.6, 10000)), (0, 200)),
    "far": (lambda rng: rng.normal(0, 1, 5000), (-1000, 1000)),
}


@pytest.mark.parametrize("name", ROWS)
def test_wide_bounds_do_not_hurt(name):
    draw, bounds = ROWS[name]
    x = draw(np.random.default_rng(5))
    clipped = np.clip(x, *bounds)
    alone, errors, halves = [], [], []
    for seed in range(10):
        mean = PrivateMean(bounds=bounds, random_state=seed).fit(x[:, None])
        assert searched(mean)
        assert mean.moments_ is None
        low, high = mean.interval()
        assert bounds[0] <= low[0] <= mean.location_[0] <= high[0] <= bounds[1]
        errors.append(mean.location_[0] - clipped.mean())
        halves.append((high[0] - low[0]) / 2)
        free = PrivateMean(random_state=seed).fit(x[:, None])
        alone.append(free.location_[0] - x.mean())
    least = noise_of_moments(clipped, *bounds)
    assert np.sqrt(np.mean(np.square(errors))) < 0.75 * least
    assert np.sqrt(np.mean(np.square(errors))) < 2.5 * np.sqrt(np.mean(np.square(alone)))
    assert np.median(halves) < 1.15 * 1.96 * least


@pytest.mark.slow
@pytest.mark.parametrize("rows_at_the_bound", [0, 25, 90])
def test_no_tail_escapes_the_interval(rows_at_the_bound):
    """The search sees 40 rows at best; intervals hold whatever lies between the bounds."""
    rng = np.random.default_rng(3)
    x = rng.normal(10, 1, (3000, 1))
    x[:rows_at_the_bound] = 100
    held = found = 0
    for seed in range(150):
        mean = PrivateMean(bounds=(0, 100), random_state=seed).fit(x)
        low, high = mean.interval()
        held += low[0] <= x.mean() <= high[0]
        found += searched(mean)
    assert found > 80
    assert held >= 134  # of 142.5: three standard deviations less


def test_tight_bounds_keep_their_moments():
    rng = np.random.default_rng(0)
    for x, bounds in (
        (rng.uniform(0, 1, 3000), (0, 1)),
        ((rng.random(5000) < 0.3) * 1.0, (0, 1)),
        (rng.normal(5, 1, 3000), (1, 9)),
        (rng.normal(5, 1, 200), (0, 1000)),  # too few to be looked at
    ):
        mean = PrivateMean(bounds=bounds, random_state=0).fit(x[:, None])
        assert not searched(mean)
        assert mean.moments_.shape == (3, 1)


def test_columns_with_gaps_are_searched_by_their_entries():
    rng = np.random.default_rng(1)
    X = rng.normal([40, -3, 0.5], [2, 0.1, 0.02], (20000, 3))
    X[::3, 0] = np.nan
    mean = PrivateMean(bounds=([0, -50, 0], [1000, 50, 1]), random_state=0).fit(X)
    assert searched(mean)
    truth = np.nanmean(X, axis=0)
    assert (np.abs(mean.location_ - truth) < 4 * mean.noise_scale_).all()
    assert (mean.noise_scale_ < [1.0, 0.05, 0.001]).all()
    assert np.abs(mean.n_rows_ - np.isfinite(X).sum(axis=0)).max() < 300
    low, high = mean.interval(0.999, simultaneous=True)
    assert ((low <= truth) & (truth <= high)).all()
    low, high = mean.interval(sampling=True)
    assert ((high - low) / 2 >= mean.noise_scale_ * 1.95).all()
    assert np.rint(mean.n_rows_).tolist() in mean.results().to_numpy().T.tolist()


@pytest.mark.parametrize(
    "bounds",
    [(0, 1e-310), (-(2.0**998), 2.0**998), (1e16, 1e16 + 4), (-1e300, 1e-300), (-5e-324, 5e-324)],
)
@pytest.mark.parametrize("place", ["low", "middle", "beyond"])
def test_all_bounds_are_taken(bounds, place):
    x = {"low": bounds[0], "middle": bounds[0] / 2 + bounds[1] / 2, "beyond": 1e308}[place]
    mean = PrivateMean(bounds=bounds, random_state=0).fit(np.full((2000, 1), x))
    low, high = mean.interval()
    assert np.isfinite(mean.location_).all()
    last = 1e-15 * max(map(abs, bounds))  # the last bits of ends, and of what lies between them
    told = [bounds[0], low[0], mean.location_[0], high[0], bounds[1]]
    assert (np.diff(told) >= -last).all()


def test_a_second_fit_forgets_the_first():
    rng = np.random.default_rng(2)
    x = rng.normal(170, 7, (3000, 1))
    mean = PrivateMean(bounds=(100, 250), random_state=0).fit(x)
    assert searched(mean)
    tight = mean.set_params(bounds=(150, 190)).fit(x)
    assert tight.moments_ is not None
    assert tight.interval()[1] <= 190
    free = mean.set_params(bounds=None).fit(x + 1000)
    assert free.interval()[1] > 1160


def test_persons_and_pure_budgets_are_not_searched():
    x = np.random.default_rng(2).normal(170, 7, (3000, 1))
    pure = PrivateMean(bounds=(100, 250), delta=0, random_state=0).fit(x)
    assert not searched(pure)
    persons = PrivateMean(bounds=(100, 250), random_state=0).fit(x, groups=np.arange(3000) // 2)
    assert not searched(persons)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_wide_bounds_do_not_hurt_variances(name):
    draw, bounds = ROWS[name]
    x = draw(np.random.default_rng(5))[:, None]
    errors, alone, scales, missed = [], [], [], 0
    for seed in range(15):
        fit = PrivateVariance(bounds=bounds, random_state=seed).fit(x)
        low, high = fit.interval()
        assert 0 <= low[0] <= fit.var_[0] <= high[0] <= (bounds[1] / 2 - bounds[0] / 2) ** 2
        missed += not low[0] <= x.var() <= high[0]
        errors.append(abs(fit.var_[0] / x.var() - 1))
        alone.append(abs(PrivateVariance(random_state=seed).fit(x).var_[0] / x.var() - 1))
        scaler = PrivateStandardScaler(bounds=bounds, random_state=seed).fit(x)
        scales.append(abs(scaler.scale_[0] / x.std() - 1))
    assert missed <= 2  # of intervals of 95 %: more with a chance of 0.036
    assert np.median(errors) < 1.5 * np.median(alone) + 0.005
    assert np.median(scales) < 0.1


@pytest.mark.parametrize(
    "rows_at_the_bound", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 12, 25))]
)
def test_rows_that_no_search_sees_are_in_the_interval_of_a_variance(rows_at_the_bound):
    """Without bounds nothing tells of them, and 0 % of intervals hold."""
    x = np.random.default_rng(3).normal(10, 1, (3000, 1))
    x[:rows_at_the_bound] = 100
    held = found = 0
    for seed in range(40):
        fit = PrivateVariance(bounds=(0, 100), random_state=seed).fit(x)
        low, high = fit.interval()
        held += low[0] <= x.var() <= high[0]
        found += fit.moments_ is None
        scaler = PrivateStandardScaler(bounds=(0, 100), random_state=seed).fit(x)
        assert scaler.accuracy_warnings_ or abs(scaler.scale_[0] / x.std() - 1) < 0.5
    assert found > 20
    assert held >= 34  # of 38: three standard deviations less


def test_variances_of_columns_with_gaps_and_tight_bounds_keep_their_moments():
    rng = np.random.default_rng(1)
    X = rng.normal([40, -3], [2, 0.1], (5000, 2))
    wide = {"bounds": ([0, -50], [1000, 50]), "random_state": 0}
    fit = PrivateVariance(**wide).fit(X)
    assert fit.moments_ is None
    assert np.allclose(fit.var_, X.var(axis=0), rtol=0.2)
    X[::3, 0] = np.nan
    assert PrivateVariance(**wide).fit(X).moments_.shape == (3, 2)
    assert (
        PrivateVariance(bounds=(0, 1), random_state=0).fit(rng.random((3000, 1))).moments_
        is not None
    )
    assert PrivateVariance(**wide, delta=0).fit(X).moments_ is not None
