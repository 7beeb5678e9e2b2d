"""Dates and durations: taken wherever numbers are, and what is told of them are dates."""

import pickle
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateBoostingRegressor,
    PrivateGMM,
    PrivateHistogram,
    PrivateKBinsDiscretizer,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivatePCA,
    PrivateQuantile,
    PrivateStandardScaler,
    PrivateTrimmedMean,
    make_private_pipeline,
)
from skdp.inspection import IntervalDisplay

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
START, END = pd.Timestamp("2020-01-01"), pd.Timestamp("2021-12-01")
DAY = pd.Timedelta("1D")


def table(n=4000):
    """Return a frame of a date, a duration and a number."""
    rng = np.random.default_rng(0)
    day = START + pd.to_timedelta(rng.integers(0, 700, size=n), "D")
    stay = pd.to_timedelta(rng.exponential(3, size=n), "D")
    return pd.DataFrame({"day": day, "stay": stay, "age": rng.normal(40, 10, size=n)})


@pytest.mark.parametrize("model", [PrivateMean(), PrivateMedian(), PrivateTrimmedMean()])
def test_locations_and_intervals_are_dates(model):
    X = table()
    fit = clone(model).set_params(random_state=0, epsilon=4.0).fit(X)
    (day, stay, age), (low, high) = fit.location_, fit.interval()
    assert isinstance(day, pd.Timestamp) and isinstance(stay, pd.Timedelta)
    assert abs(day - X["day"].median()) < 20 * DAY and abs(stay - 2.5 * DAY) < DAY
    assert isinstance(age, float) and abs(age - 40) < 2
    assert low[0] < day < high[0] and low[1] < stay < high[1] and low[2] < age < high[2]
    told = fit.results()
    assert told["value"].tolist() == [day, stay, age] and told["low"][0] == low[0]
    assert pickle.loads(pickle.dumps(fit)).location_.tolist() == fit.location_.tolist()
    moved = fit.transform(X)  # numbers, less the location
    assert moved.dtype == float and abs(np.median(moved[:, 0]) / 864e8) < 30


def test_dates_alone_are_an_array_of_dates_and_time_zones_stay():
    X = table()[["day"]]
    fit = PrivateQuantile([0.1, 0.9], random_state=0).fit(X)
    assert fit.location_.dtype.kind == "M" and fit.location_.shape == (2, 1)
    assert fit.location_[0, 0] < fit.interval()[1][0, 0] < fit.location_[1, 0]
    assert PrivateMean(random_state=0).fit(X.to_numpy()).location_.dtype.kind == "M"
    zoned = X.assign(day=X["day"].dt.tz_localize("Europe/Berlin"))
    mean = PrivateMean(random_state=0).fit(zoned).location_[0]
    assert str(mean.tz) == "Europe/Berlin" and abs(mean - zoned["day"].mean()) < 10 * DAY
    assert PrivateMean(random_state=0).fit(table()[["age"]]).location_.dtype == float


def test_extremes_bins_and_edges_are_dates():
    X = table()
    ends = PrivateMinMax(epsilon=9.0, random_state=0).fit(X)
    assert ends.min_[0] < START + 200 * DAY < ends.max_[0] and ends.max_[1] > DAY
    bins = PrivateKBinsDiscretizer(4, encode="ordinal", epsilon=4.0, random_state=0).fit(X)
    codes = bins.transform(X)
    assert np.bincount(codes[:, 0].astype(int)).min() > 800
    assert isinstance(bins.bin_edges_[1, 0], pd.Timestamp)
    back = bins.inverse_transform(codes[:5])
    assert all(abs(a - b) < 200 * DAY for a, b in zip(back[:, 0], X["day"][:5], strict=True))
    counts = PrivateHistogram(bins=4, random_state=0).fit(X[["day"]])
    assert counts.edges_[0].dtype.kind == "M" and counts.plot(confidence=0.9).ax_ is not None
    counts = PrivateHistogram(bins=4, range=(START, END), random_state=0).fit(X[["day"]])
    assert counts.edges_[0][0] == START and counts.edges_[0][-1] == END
    PrivateHistogram(bins=4, random_state=0).fit(X[["stay"]]).plot()


def test_scales_go_back_to_dates():
    X = table()
    scaler = PrivateStandardScaler(epsilon=4.0, random_state=0).fit(X)
    back = scaler.inverse_transform(scaler.transform(X[:4]))
    assert abs(back[0, 0] - X["day"][0]) < DAY and abs(back[0, 2] - X["age"][0]) < 1e-6
    pipe = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), random_state=0)
    centers = pipe.fit(X)[:-1].inverse_transform(pipe[-1].cluster_centers_)
    assert all(START < center < END for center in centers[:, 0])


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (START, 1577836800e6),
        (START.tz_localize("Europe/Berlin"), 1577833200e6),
        (datetime(2020, 1, 1), 1577836800e6),
        (np.datetime64("2020-01-01"), 1577836800e6),
        (DAY, 864e8),
        (np.timedelta64(24, "h"), 864e8),
        (np.array(["2020-01-01"], "M8[s]"), 1577836800e6),
    ],
)
def test_public_dates_are_parameters(given, number):
    assert PrivateMean(bounds=(given, given)).bounds[0] == number


def test_bounds_may_be_dates():
    X = table()[["day", "stay"]]
    bounds = [START, 0 * DAY], [END, 30 * DAY]
    mean = PrivateMean(bounds=bounds, random_state=0).fit(X)
    assert abs(mean.location_[0] - X["day"].mean()) < 20 * DAY
    assert PrivateMean(bounds=mean.bounds, random_state=0).fit(X).location_[0] == mean.location_[0]
    with pytest.raises(ValueError, match="finite"):
        PrivateMean(bounds=(pd.NaT, END)).fit(X[["day"]])


MODELS = [
    PrivateAdditiveRegressor(),
    PrivateAdditiveRegressor(linear=True),
    PrivateBoostingRegressor(),
    PrivateLinearRegression(),
    PrivateAdditiveClassifier(),
    PrivateLogisticRegression(),
    FriendlyCoreKMeans(2),
    PrivateGMM(2),
    PrivatePCA(1),
    FriendlyCoreFilter(),
    make_private_pipeline(PrivateStandardScaler(), PrivateLinearRegression()),
    make_private_pipeline(FriendlyCoreFilter(), PrivateMean()),
]


@pytest.mark.cases(8)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_what_is_fitted_on_dates_maps_dates(model, make):
    X = table(1500)[["day", "stay"]]
    y = (X["day"] > "2021-01-01").to_numpy().astype(float)
    rows = make(X)
    fit = clone(model).set_params(epsilon=8.0, random_state=0).fit(rows, y)
    names = "predict", "transform", "predict_proba", "score_samples"
    there = [name for name in names if hasattr(fit, name)]
    assert there
    for name in there:
        assert np.isfinite(np.asarray(getattr(fit, name)(rows[:7]), dtype=float)).any()


def test_bins_of_terms_are_dates():
    X = table()
    y = (X["day"] > "2021-01-01") + X["age"] / 100
    model = PrivateAdditiveRegressor(epsilon=4.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    day, stay, age = model.bin_edges_
    assert (day.dtype.kind, stay.dtype.kind, age.dtype.kind) == ("M", "m", "f")
    assert abs(day[:, None] - np.datetime64("2021-01-01")).min() < np.timedelta64(40, "D")
    axes = np.ravel(model.plot().axes_)
    assert axes[0].get_xticklabels()[0].get_text()[:2] == "20"


def test_plots_write_dates():
    X = table()
    mean = PrivateMean(random_state=0).fit(X[["day"]])
    ax = IntervalDisplay.from_estimator(mean).ax_
    ax.figure.canvas.draw()
    assert all(text.get_text()[:4] == "2020" for text in ax.get_xticklabels())
    mixed = IntervalDisplay.from_results(PrivateMedian(random_state=0).fit(X).results())
    assert mixed.ax_.get_xlabel() == "released value"


def test_synthetic_rows_are_dates():
    rows = MarginalReleaser(1, domain="auto", random_state=0).fit(table()).sample(50)
    assert rows["day"].dtype.kind == "M" and rows["stay"].dtype.kind == "m"


def test_centres_are_dates():
    X = table()
    late = X.assign(day=X["day"] + 3000 * DAY)
    both = pd.concat([X, late])[["day"]]
    for model in (FriendlyCoreKMeans(2), LloydKMeans(2, bounds=(START, END + 3000 * DAY))):
        fit = model.set_params(random_state=0, epsilon=8.0).fit(both)
        first, second = np.sort(fit.cluster_centers_[:, 0])
        assert fit.cluster_centers_.dtype.kind == "M"
        assert abs(first - X["day"].mean()) < 40 * DAY
        assert abs(second - first - 3000 * DAY) < 60 * DAY
        assert len(np.unique(fit.predict(both))) == 2 and fit.transform(both).shape[1] == 2
    mixed = FriendlyCoreKMeans(1, random_state=0).fit(X[["day", "age"]]).cluster_centers_
    assert isinstance(mixed[0, 0], pd.Timestamp) and isinstance(mixed[0, 1], float)


def test_slopes_of_dates_are_told_per_day():
    X = table(20_000)
    days = (X["day"] - START) / DAY
    y = 0.5 * days + X["age"] + np.random.default_rng(1).normal(size=len(X))
    told = PrivateLinearRegression(random_state=0, epsilon=8.0).fit(X[["day", "age"]], y).results()
    assert told["variable"].tolist() == ["day per day", "age", "intercept"]
    assert abs(told["value"][0] - 0.5) < 0.01 and abs(told["value"][1] - 1) < 0.1
    assert told["low"][0] < 0.5 < told["high"][0]


def test_text_beside_dates_is_what_is_refused():
    frame = pd.DataFrame({"day": pd.to_datetime(["2026-01-01"] * 9), "sex": ["f"] * 9, "n": 1.0})
    with pytest.raises(ValueError, match=r"Columns of another type: sex\.$"):
        PrivateMean().fit(frame)
