"""One rule says which released numbers are reliable, and what is not known is no number."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    PrivateCount,
    PrivateGroupBy,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateQuantile,
    PrivateStandardScaler,
    PrivateSum,
    PrivateVariance,
    make_private_pipeline,
)
from skdp.estimator._results import _Numbers
from skdp.exceptions import LowAccuracyWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
NAMES = ["hdl", "sbp", "age"]


def people(n, seed=0):
    pandas = pytest.importorskip("pandas")
    rows = np.random.default_rng(seed).normal((50, 120, 60), (10, 15, 12), (n, 3))
    return pandas.DataFrame(rows, columns=NAMES)


def lines(estimator, X, **parameters):
    """Return the results of a seeded fit, and the fit."""
    model = estimator.set_params(random_state=0, **parameters).fit(X)
    return model.results(), model


ESTIMATORS = [
    (PrivateMean(), 1),
    (PrivateMean(bounds=(0, 250)), 1),
    (PrivateMedian(), 1),
    (PrivateQuantile([0.05, 0.5, 0.95]), 3),
    (PrivateQuantile([0.05, 0.5, 0.95], bounds=(0, 250)), 3),
    (PrivateVariance(), 1),
    (PrivateVariance(bounds=(0, 250)), 1),
]


@pytest.mark.parametrize(("estimator", "each"), ESTIMATORS, ids=lambda x: repr(x)[:50])
def test_a_good_table_is_reliable_and_its_numbers_are_those_released(estimator, each):
    table, model = lines(estimator, people(20000), epsilon=8.0)
    assert table["variable"].tolist() == NAMES * each
    released = model.var_ if hasattr(model, "var_") else model.location_
    assert table["value"].tolist() == released.ravel().tolist()
    assert table["reliable"].all() and model.reliable_ and not model.accuracy_warnings_
    assert table["n"].tolist() == pytest.approx([20000] * len(table), abs=200)
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()


@pytest.mark.parametrize(("estimator", "each"), ESTIMATORS, ids=lambda x: repr(x)[:50])
def test_what_is_not_known_is_no_number(estimator, each):
    table, model = lines(estimator, people(4), epsilon=0.02)
    released = model.var_ if hasattr(model, "var_") else model.location_
    assert np.isfinite(released).all()  # a placeholder
    assert not table["reliable"].any() and not model.reliable_
    nothing = table["value"].isna()
    least, most = (0, 125**2) if hasattr(model, "var_") else (0, 250)
    if model.bounds is None:
        least, most = (0 if hasattr(model, "var_") else -np.inf), np.inf
        assert nothing.all()
    whole = (table["low"] <= least) & (table["high"] >= most)
    assert nothing[whole].all() and nothing.any()


def test_an_interval_of_many_factors_is_not_reliable_whatever_its_value():
    """A variance of [95, 1e4] is not known, and a far too large number is no excuse for itself."""
    wide = [
        (PrivateVariance(epsilon=1.0), "var_", 100.0, (95.0, 9000.0), True, False),
        (PrivateVariance(epsilon=1.0), "var_", 100.0, (95.0, 110.0), True, True),
        (PrivateVariance(epsilon=1.0), "var_", 1.0, (0.0, np.inf), False, False),
        (PrivateMedian(epsilon=1.0), "location_", 3e9, (50.0, 5e9), False, False),
        (PrivateMedian(epsilon=1.0), "location_", 50.0, (49.0, np.inf), True, False),
        (PrivateMedian(epsilon=1.0), "location_", 50.0, (-np.inf, np.inf), False, False),
        (PrivateMedian(epsilon=1.0), "location_", 50.0, (48.0, 52.0), True, True),
    ]
    for estimator, name, value, ends, known, reliable in wide:
        table, model = lines(estimator, people(8000)[["hdl"]], epsilon=8.0)
        assert table["reliable"].all()
        setattr(model, name, np.array([value]))
        model.interval = lambda *a, ends=ends, **k: (np.array([ends[0]]), np.array([ends[1]]))
        told = model.results()
        assert told["value"].isna().tolist() == [not known], (value, ends)
        assert told["reliable"].tolist() == [reliable], (value, ends)
        assert [told["low"][0], told["high"][0]] == list(ends)


def test_years_of_few_rows_have_a_quantile_or_none():
    """Of 2,500 years an open upper end made 3e9 of a quantile, and called it reliable."""
    pandas = pytest.importorskip("pandas")
    rng, doubted = np.random.default_rng(0), 0
    for seed in range(12):
        year = pandas.DataFrame({"year": rng.choice([2009.0, 2010.0, 2011.0], size=2500)})
        model = PrivateQuantile([0.5, 0.95], epsilon=0.1, random_state=seed).fit(year)
        table = model.results()
        values, ends = table["value"].to_numpy(), table[["low", "high"]].to_numpy()
        assert np.all(np.isnan(values) | (np.abs(values - 2010) < 100))
        good = table["reliable"].to_numpy()
        assert np.isfinite(ends[good]).all() and np.all(np.abs(values[good] - 2010) < 10)
        assert model.reliable_ == good.all()
        doubted += not good[1]
        if not good[1] and not np.isnan(values[1]):
            assert "column year: " in str(model.accuracy_warnings_)
    assert 0 < doubted < 12


def test_one_column_is_doubted_and_the_others_are_not():
    pandas = pytest.importorskip("pandas")
    X = people(3000)
    X["spend"] = np.random.default_rng(1).lognormal(0, 3, len(X))
    table, model = lines(PrivateVariance(), X, epsilon=4.0)
    assert table["reliable"].tolist() == [True, True, True, False]
    assert isinstance(table, pandas.DataFrame) and model.accuracy_warnings_[0].startswith(
        "column spend: "
    )
    array, same = lines(PrivateVariance(), X.to_numpy(), epsilon=4.0)
    assert (
        same.accuracy_warnings_[0].startswith("column 3: ")
        and array["variable"].tolist()[3] == "x3"
    )
    copy = pickle.loads(pickle.dumps(model))
    assert copy.accuracy_warnings_ == model.accuracy_warnings_ and copy.results().equals(table)


def test_a_line_says_how_well_a_number_is_known_and_what_helps():
    X = people(60)
    _, model = lines(PrivateMedian(), X[["hdl"]], epsilon=0.6)
    (line,) = model.accuracy_warnings_
    assert line.startswith("column hdl: the interval of a quantile is long beside ")
    assert "Use a larger epsilon, more rows, or bounds=(low, high)" in line
    assert model.privacy_report_.decisions[-1] == "low accuracy: " + line


def test_one_short_warning_names_columns_and_groups():
    X = people(400)
    X["ward"] = np.arange(len(X)) % 20
    model = PrivateGroupBy(PrivateMean(), "ward", list(range(20)), epsilon=0.1, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LowAccuracyWarning)
        model.fit(X)
    (text,) = (str(w.message) for w in caught if w.category is LowAccuracyWarning)
    head, *told = text.splitlines()
    assert head == "Low accuracy of PrivateGroupBy:" and 1 <= len(told) <= 11
    assert any(line.startswith("0, 1, 2, ") and "and 10 more: " in line for line in told)


def test_a_fit_of_groups_and_a_pipeline_name_columns_too():
    X, persons = people(300), np.arange(300) // 2
    model = PrivateMedian(epsilon=0.2, random_state=0).fit(X, groups=persons)
    assert model.accuracy_warnings_ and "fit:" not in str(model.accuracy_warnings_)
    scaler = PrivateStandardScaler(epsilon=0.5)
    X["spend"] = np.random.default_rng(1).lognormal(0, 3, len(X))
    pipe = make_private_pipeline(scaler, PrivateMean(), epsilon=2.0, random_state=0).fit(X)
    assert any(line.startswith("privatestandardscaler: column") for line in pipe.accuracy_warnings_)


def test_tables_of_sums_counts_and_lines():
    X = people(4000)
    assert lines(PrivateSum((0, 250)), X)[0]["reliable"].all()
    count = lines(PrivateCount(), X)[0]
    assert count["reliable"].all() and count["n"].tolist() == count["value"].tolist()
    y = X["hdl"] - X["age"]
    by = PrivateGroupBy(PrivateLinearRegression(), "ward", [0, 1], epsilon=8.0, random_state=0)
    slopes = by.fit(X.assign(ward=np.arange(4000) % 2), y).results()
    assert slopes["variable"].tolist() == [*NAMES, "intercept"] * 2
    by = PrivateGroupBy(PrivateQuantile([0.1, 0.9]), "ward", [0, 1], epsilon=8.0, random_state=0)
    table = by.fit(X.assign(ward=np.arange(4000) % 2)).results()
    assert table["q"].tolist() == [0.1] * 3 + [0.9] * 3 + [0.1] * 3 + [0.9] * 3
    assert table["variable"].tolist() == NAMES * 4 and table["reliable"].all()


def test_a_wider_table_has_the_same_verdict_but_for_open_ends():
    X = people(8000)
    _, model = lines(PrivateMean(), X, epsilon=8.0)
    for parameters in ({"confidence": 0.999}, {"simultaneous": True}, {"sampling": True}):
        table = model.results(**parameters)
        assert table["reliable"].tolist() == np.isfinite(table["high"]).tolist()
        assert (table["high"] > model.results()["high"]).all()


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_a_mean_is_not_short_beside_a_spread_that_noise_makes():
    """Years with so little budget that noise passes for rows far from them."""
    errors = []
    for seed in range(30):
        years = np.random.default_rng(seed).integers(1960, 1986, size=(3250, 1)).astype(float)
        fit = PrivateMean(epsilon=0.1, random_state=seed).fit(years)
        errors += [abs(fit.location_[0] - years.mean())] * fit.reliable_
    assert errors and max(errors) < 0.5 * 7.5


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_a_mean_is_not_short_beside_the_cell_that_holds_all_rows():
    """100 +- 1 in a cell from 96 to 128, of which nothing smaller was told."""
    errors = []
    for seed in range(45):
        x = np.random.default_rng(seed).normal(100, 1, size=(300, 1))
        fit = PrivateMean(random_state=seed).fit(x)
        errors += [abs(fit.location_[0] - x.mean())] * fit.reliable_
    assert len(errors) > 3 and max(errors) < 0.5  # it was 4.2


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_lines_that_noise_makes_worse_than_a_constant_are_doubted():
    scores, doubts = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        time = rng.normal(size=500)
        X = np.column_stack([500 + 100 * time, rng.random(500) < 0.5, rng.normal(size=500)])
        y = 6 + 0.6 * (0.5 * time + rng.normal(size=500))
        fit = PrivateLinearRegression(random_state=seed).fit(X, y)
        scores.append(fit.score(X, y))
        doubts.append("noise may cost a line" in str(fit.accuracy_warnings_))
        assert scores[-1] > -0.05 or not fit.reliable_
    assert any(doubts) and min(np.array(scores)[doubts]) < -0.5


def test_a_median_is_not_told_to_move_its_q():
    X = people(60)[["hdl"]]
    for q in (0.5, 0.9):
        (line,) = lines(PrivateQuantile([q]), X, epsilon=0.6)[1].accuracy_warnings_
        assert ("nearer to 0.5" in line) is (q == 0.9)


def test_coefficients_are_a_table_too():
    X = people(8000)
    y = (X - X.mean()) @ (1 / X.std()) + np.random.default_rng(0).normal(size=8000)
    table = PrivateLinearRegression(epsilon=8.0, random_state=0).fit(X, y).results()
    assert table["variable"].tolist() == [*NAMES, "intercept"] and table["reliable"].all()
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=8.0, random_state=0)
    table = model.fit(X, (y > 0).astype(int)).results()
    assert table["class"].tolist() == [1] * 4 and table["n"].dtype == np.int64
    assert table["reliable"].tolist() == [True] * 3 + [False]  # the intercept has no interval
    assert table["value"].tolist() == [*model.coef_[0], model.intercept_[0]]
    few = PrivateLogisticRegression(classes=[0, 1], epsilon=0.01, random_state=0)
    assert not few.fit(X[:50], (y > 0)[:50].astype(int)).results()["reliable"].any()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    "estimator", [PrivateMean(), PrivateMedian(), PrivateQuantile([0.1, 0.9]), PrivateVariance()]
)
def test_bounds_that_cut_nearly_every_row_off_are_doubted(estimator, delta):
    """Miles between 0 and 1 have a mean of 1, to five digits, and no mean that means anything."""
    rng = np.random.default_rng(0)

    def said(X, bounds):
        _, model = lines(clone(estimator), X, bounds=bounds, delta=delta)
        found = [line for line in model.accuracy_warnings_ if "nearly every row" in line]
        assert len(found) <= 1 and not (found and model.reliable_)
        return "".join(found)

    miles = rng.gamma(3, 300, (8000, 1))
    rates = (rng.random((8000, 3)) < [0.001, 0.5, 0.9]).astype(float)
    stars = np.clip(np.rint(rng.normal(5, 1, (8000, 1))), 1, 5)
    assert "beyond the upper bound" in said(miles, (0, 1))
    assert "beyond the lower bound" in said(-miles, (-1, 1))
    for X, bounds in ((miles, (0, 5000)), (rates, (0, 1)), (stars, (1, 5)), (stars, (0, 100))):
        assert not said(X, bounds)
    two = people(8000)[["hdl"]].assign(spend=miles)
    assert said(two, ([0, 0], [100, 1])).startswith("column spend: ")


def test_released_numbers_near_the_ends_of_floats_are_judged_in_silence():
    low, high = np.array([-1.7e308]), np.array([1.7e308])
    told = _Numbers(np.array([1.7e308]), low, high, np.array([5e-324]), (-np.inf, np.inf))
    with np.errstate(all="raise"):
        assert not told.good.any()
        assert told.said(np.array([True])).startswith("known only to lie between")
