"""Moments and sums between public bounds: sensitivities in exact integers, and true intervals."""

import numpy as np
import pytest

from skdp import (
    PrivateCount,
    PrivateMean,
    PrivateMinMax,
    PrivateStandardScaler,
    PrivateSum,
    PrivateVariance,
    config_context,
)
from skdp.accounting import Budget, Plan, Step
from skdp.columns import bounded_moments
from skdp.columns._pair import _of_pairs, _of_powers, bounded_sums
from skdp.exceptions import LowAccuracyWarning
from skdp.kernel._bounded import Bernstein, Powers
from skdp.kernel._table import Table
from skdp.location._bounded_moments import BoundedColumns
from skdp.readers import ArrayRows
from tests._curators import CannedCurator

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

READ = {Powers: _of_powers, Bernstein: _of_pairs}
BUDGETS = {"gaussian": Budget.gaussian(1.0, 1e-6), "laplace": Budget.pure(1.0)}


def curator(law, transcript="exact", **options):
    return CannedCurator(Plan(BUDGETS[law], (Step("x", law),)), transcript, **options)


def every_place(bits):
    """Places between bounds, all halves of grid steps and their neighbours among the floats."""
    w = np.arange(2 ** (bits + 2) + 1) / 2 ** (bits + 2)
    w = np.concatenate([w, np.nextafter(w, 0), np.nextafter(w, 1), 2.0 ** -np.arange(1.0, 1075)])
    return w[:, None]


def test_bernstein_columns_sum_to_the_grid_exactly():
    for degree in [1, 2]:
        for bits in range(1, 9):
            sketch = Bernstein(np.zeros(1), np.ones(1), degree, True, bits)
            columns = np.stack([sketch.total(w[None]) for w in every_place(bits)])
            assert columns.min() >= 0 and np.array_equal(columns, np.rint(columns))
            assert np.all(columns.sum(axis=1) == 2**bits)


@pytest.mark.parametrize("sketch", READ)
@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_moments_are_unbiased_and_their_covariance_is_that_of_the_noise(sketch, degree, d):
    """Moments are linear in the sums: the covariance is J J^T of independent noises."""
    read, sketch = READ[sketch], sketch(np.zeros(d), np.ones(d), degree, False, 20)
    n, w = 40, np.random.default_rng(d).random((40, d))
    sums = sketch.total(w)
    values, covariance = read(sketch, sums / sketch.grid)
    t = 2 * w - 1
    truth = [np.full(d, n), t.sum(axis=0), np.square(t).sum(axis=0)][: degree + 1]
    assert np.allclose(values, truth, atol=4 * n / sketch.grid)
    J = np.array([read(sketch, unit)[0] for unit in np.eye(len(sums))])
    for j in range(d):
        assert np.allclose(J[:, :, j].T @ J[:, :, j], covariance, atol=1e-6)


@pytest.mark.parametrize("law", list(BUDGETS))
def test_moments_of_a_table_without_noise(law):
    X = np.array([[0.0, 1e308], [50.0, -7.0], [np.nan, 3.0], [200.0, 5.0]])
    low, high = np.array([0.0, 0.0]), np.array([100.0, 10.0])
    public = {"low": low, "high": high, "share": 1, "label": "x"}
    clipped = np.ma.masked_invalid(np.clip(X, low, high))  # a gap is one of its own column
    for degree in (1, 2):
        moments = bounded_moments(Table(ArrayRows(X), curator(law)), degree=degree, **public)
        little = 1e-12 * moments.covariance  # no number of rows is said to be few
        exact = BoundedColumns(np.array([low, high]), moments.values, little, law)
        assert np.allclose(exact.mean()[0], clipped.mean(axis=0), rtol=1e-6)
    assert np.allclose(exact.variance()[0], clipped.var(axis=0), rtol=1e-6)
    sums, _, _ = bounded_sums(Table(ArrayRows(X), curator(law)), **public)
    assert np.allclose(sums, clipped.sum(axis=0), rtol=1e-6)


def simulated(rng, n, p, strength, law, degree, reps=2000):
    """Return ``reps`` independent releases of a 0/1 column, as if they were columns, and p."""
    pure = law == "laplace"
    sketch = (Bernstein if pure else Powers)(np.zeros(1), np.ones(1), degree, pure, 26)
    ones, read = round(n * p), READ[type(sketch)]
    row = [sketch.total(np.array([[w]])) for w in (0.0, 1.0)]
    sums = ((n - ones) * row[0] + ones * row[1]) / sketch.grid
    scale = float(sketch.l1 if pure else sketch.l2) / sketch.grid / strength
    draw = rng.laplace if pure else rng.normal
    moments = [read(sketch, sums + draw(0, scale, size=sums.shape))[0][:, 0] for _ in range(reps)]
    covariance = read(sketch, sums)[1] * scale**2 * (2 if pure else 1)
    bounds = np.tile([[0.0], [1.0]], reps)
    return BoundedColumns(bounds, np.array(moments).T, covariance, law), ones / n


@pytest.mark.cases(4)
@pytest.mark.parametrize("law", list(BUDGETS))
@pytest.mark.parametrize("n", [50, 500, 3000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_intervals_cover(law, n, epsilon, rng):
    """Nominal .95 and 2000 runs: a true interval fails this once in 1e4 tests."""
    strength = epsilon if law == "laplace" else Budget.gaussian(epsilon, 1e-6).mu
    for p in (0.0, 0.02, 0.5, 1.0):
        columns, p = simulated(rng, n, p, strength, law, 2)
        for truth, (low, high) in (
            (p, columns.mean_interval(0.95)),
            (p - p * p, columns.variance_interval(0.95)),
        ):
            assert np.mean((low <= truth + 1e-12) & (truth - 1e-12 <= high)) > 0.932
            assert np.all(high > low) and low.min() >= 0 and high.max() <= 1


@pytest.mark.parametrize("law, factor", [("gaussian", 1.0), ("laplace", np.sqrt(2))])
def test_one_column_is_at_the_floor(law, factor, rng):
    """The noise is (high - low) hypot(p, 1 - p) / (n M), with M = epsilon / sqrt(2) if pure."""
    strength = 1.0 if law == "laplace" else BUDGETS[law].mu
    for p in (0.05, 0.5):
        columns, p = simulated(rng, 20000, p, strength, law, 1, reps=4000)
        floor = factor * np.hypot(p, 1 - p) / (20000 * strength)
        error, noise = np.sqrt(np.mean(np.square(columns.mean()[0] - p))), columns.mean()[1]
        assert abs(error / floor - 1) < 0.05 and np.all(np.abs(noise / floor - 1) < 0.01)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("make", [PrivateMean, PrivateVariance, PrivateStandardScaler, PrivateSum])
def test_next_to_no_rows_between_any_bounds(make, n, delta):
    X = np.full((max(n, 1), 2), 1e308)
    if not n:
        X[:] = np.nan
    for bounds in ((0, 1), ([-1e300, 0], [1e300, 5e-324]), (-(2.0**899), 2.0**899)):
        with config_context(invalid_rows="ignore"), np.errstate(all="ignore"):
            fitted = make(bounds=bounds, delta=delta, random_state=0)
            if make is PrivateSum:
                fitted.fit(X)
            else:
                with pytest.warns(LowAccuracyWarning):
                    fitted.fit(X)
        for name in ("location_", "var_", "scale_", "mean_", "sum_"):
            assert np.isfinite(getattr(fitted, name, 0.0)).all(), name
        if make is PrivateMean:
            low, high = fitted.interval()
            assert np.all(fitted.bounds_[0] <= low) and np.all(high <= fitted.bounds_[1])
            assert np.all(low < high)


@pytest.mark.parametrize(
    "more",
    [
        {"diameter": 1.0},
        {"center": 0.0},
        {"radius": 1.0},
        {"trim": True},
        {"scale": "none"},
        {"method": "friendly"},
    ],
)
def test_bounds_stand_alone(more, rng):
    with pytest.raises(ValueError, match=f"no use beside {next(iter(more))}.*Leave out"):
        PrivateMean(bounds=(0, 1), **more).fit(rng.random((50, 1)))


def test_extremes_lie_between_their_bounds(rng):
    X = rng.uniform(20, 80, size=(3000, 2))
    for seed in range(5):
        ends = PrivateMinMax(epsilon=2.0, bounds=(0, [90, 100]), random_state=seed).fit(X)
        assert np.all((ends.min_ >= 0) & (ends.min_ < 40) & (ends.max_ > 60))
        assert np.all(ends.max_ <= [90, 100])
    ends = PrivateMinMax(bounds=(0, 90), random_state=0).fit(X[:3])
    assert np.all(ends.min_ == 0) and np.all(ends.max_ == 90)


def test_pure_means_need_bounds(rng):
    with pytest.raises(ValueError, match="delta=0 needs bounds"):
        PrivateMean(delta=0.0).fit(rng.random((50, 1)))
    mean = PrivateMean(delta=0.0, bounds=(0, 1), random_state=0).fit(rng.random((5000, 1)))
    assert mean.privacy_report_.budget.measure == "pure" and abs(mean.location_[0] - 0.5) < 0.02


def test_scaler_leaves_columns_alone_that_it_cannot_tell(rng):
    X = np.column_stack([rng.normal(50, 5, size=3000), np.full(3000, 50.0)])
    scaler = PrivateStandardScaler(bounds=(0, 100), random_state=0)
    with pytest.warns(LowAccuracyWarning, match="column 1: .*not found"):
        scaler.fit(X)
    assert abs(scaler.scale_[0] - 5) < 1.5 and scaler.scale_[1] == 1
    assert np.all(np.abs(scaler.mean_ - 50) < 1)


def test_variances_in_bounds_far_too_wide_are_told(rng):
    dates = 1.6e9 + 86400 * rng.integers(0, 30, (500, 1))
    with pytest.warns(LowAccuracyWarning, match="no larger than what noise"):
        PrivateVariance(bounds=(1.5e9, 1.7e9), random_state=0).fit(dates)


def test_sums_and_counts_are_told_with_their_noise(rng):
    X = rng.integers(0, 60, size=(2000, 2))
    for delta in (0.0, 1e-6):
        total = PrivateSum((0, [60, 100]), delta=delta, random_state=1).fit(X)
        low, high = total.interval(0.999, simultaneous=True)
        assert np.all((low < X.sum(axis=0)) & (X.sum(axis=0) < high))
        assert np.allclose(total.noise_scale_[1] / total.noise_scale_[0], 100 / 60)
        count = PrivateCount(delta=delta, random_state=1).fit(X)
        low, high = count.interval(0.999)
        assert isinstance(count.count_, int) and low < 2000 < high < low + 70


def test_intervals_between_bounds_next_to_each_other_do_not_turn():
    from skdp.location._bounded_moments import BoundedColumns

    t = np.linspace(-1, 1, 41) * 1000
    bounds = np.tile([[1.0], [np.nextafter(1.0, 2)]], t.size)
    columns = BoundedColumns(bounds, np.array([np.full(41, 1000.0), t]), np.eye(2), "gaussian")
    low, high = columns.mean_interval(0.95)
    assert (low <= high).all()
