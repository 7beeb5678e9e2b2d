"""A gap is one of its own column, in every statistic of columns."""

import numpy as np
import pytest

from skdp import (
    PrivateCovariance,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateStandardScaler,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    config_context,
)
from skdp.audit import check_statistic
from skdp.kernel._sums import Count, RowsWithGaps

quiet = pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
N = 20_000
BOUNDS = (0.0, 200.0)


def measured(n=N, seed=0):
    """Return four columns, of which one has all entries, and the others 10, 20 and 70 %."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(50, 20, size=n),
            rng.lognormal(3, 0.8, size=n),
            rng.normal(130, 15, size=n),
            rng.exponential(5, size=n),
        ]
    )
    return np.where(rng.random((n, 4)) < [0.9, 0.0, 0.8, 0.3], np.nan, X)


TRUTH = {
    "mean": lambda X: np.nanmean(X, axis=0),
    "variance": lambda X: np.nanvar(X, axis=0),
    "median": lambda X: np.nanquantile(X, 0.5, axis=0),
    "sum": lambda X: np.nansum(X, axis=0),
}
CASES = {
    "mean": PrivateMean(),
    "mean between bounds": PrivateMean(bounds=BOUNDS),
    "pure mean": PrivateMean(bounds=BOUNDS, delta=0.0),
    "variance": PrivateVariance(),
    "variance between bounds": PrivateVariance(bounds=BOUNDS),
    "median": PrivateMedian(),
    "median between bounds": PrivateQuantile(0.5, bounds=BOUNDS, delta=0.0),
    "sum": PrivateSum(BOUNDS),
}


@quiet
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_what_pandas_tells(case):
    """Nominal .95 and 40 intervals: a true one fails this once in 1,000 tests."""
    what = next(name for name in TRUTH if name in case)
    covered = wrong = 0
    for seed in range(10):
        X = measured(6000, seed)
        X = X if what != "sum" else X.clip(*BOUNDS)
        X = X.clip(*BOUNDS) if "bounds" in case or case == "pure mean" else X
        results = CASES[case].set_params(random_state=seed).fit(X).results()
        exact = TRUTH[what](X)
        inside = (results["low"] <= exact) & (exact <= results["high"])
        covered += inside.sum()
        wrong += (results["reliable"] & ~inside).sum()
    assert covered >= 33 and wrong <= 5


def test_numbers_of_entries_are_released_for_each_column():
    X = measured()
    for estimator in (PrivateMean(bounds=BOUNDS), PrivateMedian(), PrivateMean()):
        n = estimator.set_params(random_state=0).fit(X).results()["n"]
        assert np.all(np.abs(n - np.count_nonzero(~np.isnan(X), axis=0)) < 400)


def test_without_gaps_columns_are_found_together():
    X = np.nan_to_num(measured(), nan=7.0)
    report = PrivateMean(random_state=0).fit(X).privacy_report_
    assert not any("columns with gaps" in charge.label for charge in report.charges)
    assert [c.label for c in report.charges if "gaps" in c.label] == ["rows with gaps"]
    report = PrivateMean(random_state=0).fit(X[:, :1]).privacy_report_  # a gap is a row
    assert not any("gaps" in charge.label for charge in report.charges)


@quiet
@pytest.mark.parametrize("make", [PrivateStandardScaler, PrivateRobustScaler])
def test_scalers_pass_gaps_through(make):
    X = measured()
    rows = make(random_state=0).fit(X).transform(X)
    assert np.array_equal(np.isnan(rows), np.isnan(X))
    assert np.all(np.abs(np.nanmedian(rows, axis=0)) < 1)


@quiet
@pytest.mark.parametrize("estimator", [PrivateTrimmedMean(), PrivateMinMax()], ids=str)
def test_bounded_statistics_take_gaps(estimator):
    assert estimator.set_params(random_state=0).fit(measured(4000)).privacy_report_.charges


@quiet
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_persons_with_gaps_have_the_mean_of_their_entries():
    X, ids = measured(), np.repeat(np.arange(N // 4), 4)
    results = PrivateMean(random_state=0, epsilon=4.0).fit(X, groups=ids).results()
    persons = np.nanmean(X.reshape(-1, 4, 4), axis=1)
    assert np.all(np.abs(results["value"] - np.nanmean(persons, axis=0)) < 2.5)


@quiet
@pytest.mark.parametrize("n", [0, 1, 50])
def test_few_rows_and_columns_of_gaps_alone(n):
    X = np.full((max(n, 1), 3), np.nan)
    X[:, 0] = 1.0
    for estimator in CASES.values():
        estimator.set_params(random_state=0).fit(X)
    assert check_statistic(RowsWithGaps(), np.array([[1.0, np.nan], [1.0, 2.0]])) == 1.0


def _with_gaps(rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = X[:, 0] + rng.normal(size=6000)
    return np.where(rng.random(X.shape) < rate, np.nan, X), y, (y > 0).astype(int)


@quiet
@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_estimators_of_whole_rows_say_when_gaps_lose_most_of_them(rate):
    X, y, label = _with_gaps(rate)
    fits = [
        (PrivateLinearRegression(epsilon=4.0), (y,)),
        (PrivateLogisticRegression(epsilon=4.0, classes=[0, 1]), (label,)),
        (PrivateMean(center=0.0), ()),
        (PrivateCovariance(epsilon=4.0), ()),
    ]
    for model, target in fits:
        with config_context(invalid_rows="ignore"):
            fit = model.set_params(random_state=0).fit(X, *target)
        told = [text for text in fit.accuracy_warnings_ if "most rows have a gap" in text]
        assert len(told) == (rate > 0.2)
        assert fit.n_rows_ == pytest.approx(6000 * (1 - rate) ** 4, abs=250)
        assert sum(c.label == "row count" for c in fit.privacy_report_.charges) == 1
    column = np.where(np.random.default_rng(0).random((6000, 1)) < 0.9, np.nan, 1.0)
    with config_context(invalid_rows="ignore"):
        alone = PrivateMean(center=0.0, random_state=0).fit(column)
    assert not any("most rows" in text for text in alone.accuracy_warnings_)


@quiet
@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_fits_of_persons_and_of_weights_say_when_gaps_lose_most_of_them(rate):
    X, y, _ = _with_gaps(rate)
    weights = {"sample_weight": np.random.default_rng(1).uniform(size=6000)}
    empty = np.r_[X, np.full((9000, 4), np.nan)], {"groups": np.arange(15000)}  # none is lost
    fits = [
        (PrivateLinearRegression(epsilon=4.0), X, (y,), {"groups": np.arange(6000)}),
        (PrivateLinearRegression(epsilon=4.0), X, (y,), weights),
        (PrivateMean(center=0.0), *empty, ()),
        (PrivateMean(center=0.0), X, weights, ()),
    ]
    for model, rows, *more in fits:
        target, given = sorted(more, key=lambda one: isinstance(one, dict))
        with config_context(invalid_rows="ignore"):
            fit = model.set_params(random_state=0).fit(rows, *target, **given)
        told = [text for text in fit.accuracy_warnings_ if "no row without a gap" in text]
        assert len(told) == (rate > 0.2)
    with config_context(invalid_rows="ignore"):  # every group has some rows without
        each = PrivateMean(center=0.0, random_state=0).fit(X, groups=np.arange(6000) % 300)
    assert not any("a gap" in text for text in each.accuracy_warnings_)


def test_rows_with_gaps_beside_those_without_move_by_one():
    rows = np.array([[1.0, np.nan], [1.0, 2.0], [np.nan, np.nan], [np.inf, 3.0]])
    assert Count(gaps=True).total(rows).tolist() == [1, 2]
    assert check_statistic(Count(gaps=True), rows) == 1.0
