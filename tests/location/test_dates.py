"""Dates and durations are numbers of microseconds inside, and dates and durations in results."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp import (
    PrivateGroupBy,
    PrivateMean,
    PrivateMedian,
    PrivateStandardScaler,
    config_context,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
N = 6000
DAY = pd.Timedelta("1D")


def visits():
    """Return a date without and with a time zone, one of them with gaps, and a duration."""
    rng = np.random.default_rng(3)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, size=N), "D")
    zoned = pd.Series(day).dt.tz_localize("Europe/Berlin")
    zoned = zoned.mask(np.arange(N) % 3 == 0)
    stay = pd.to_timedelta(rng.exponential(3, size=N), "D")
    return pd.DataFrame(
        {"ward": rng.choice(["a", "b"], size=N), "day": day, "zoned": zoned}
    ).assign(stay=stay)


@pytest.mark.parametrize("make", [PrivateMean, PrivateMedian])
def test_results_are_dates_of_the_type_of_the_column(make):
    X = visits()
    results = make(random_state=0).fit(X[["day", "zoned", "stay"]]).results()
    value = dict(zip(results["variable"], results["value"], strict=True))
    exact = X.drop(columns="ward").agg("mean" if make is PrivateMean else "median")
    assert isinstance(value["day"], pd.Timestamp) and value["day"].tz is None
    assert str(value["zoned"].tz) == "Europe/Berlin" and isinstance(value["stay"], pd.Timedelta)
    for name in value:
        assert abs(value[name] - exact[name]) < 40 * DAY
    assert all(low <= high for low, high in zip(results["low"], results["high"], strict=True))


def test_frames_of_all_libraries_and_units_give_the_same_bits():
    X = visits()[["day", "zoned", "stay"]]
    frames = [
        X,
        X.astype({"day": "datetime64[s]", "stay": "timedelta64[us]"}).assign(stay=X["stay"]),
        pl.from_pandas(X),
        pl.from_pandas(X).to_arrow(),
        pl.from_pandas(X).lazy(),
    ]
    found = [PrivateMedian(random_state=0).fit(frame).noisy_location_ for frame in frames]
    assert all(np.allclose(found[0], one, rtol=1e-9) for one in found[1:])
    days = X[["day"]].to_numpy()
    results = PrivateMedian(random_state=0).fit(days).results()
    assert abs(results["value"][0] - X["day"].median()) < 40 * DAY
    dates = pl.DataFrame({"day": pl.from_pandas(X)["day"].cast(pl.Date)})
    value = PrivateMedian(random_state=0).fit(dates).results()["value"][0]
    assert value == value.normalize()  # whole days of a type of days


def test_groups_and_rows_to_come_have_dates():
    X = visits()
    fit = PrivateGroupBy(PrivateMedian(), "ward", ["a", "b"], random_state=0).fit(X)
    assert all(isinstance(x, pd.Timestamp | pd.Timedelta) for x in fit.results()["value"])
    columns = X[["day", "zoned", "stay"]]
    rows = np.asarray(PrivateStandardScaler(random_state=0).fit(columns).transform(columns))
    assert np.isnan(rows[::3, 1]).all() and abs(np.nanmean(rows, axis=0)).max() < 0.5


def test_a_fit_of_numbers_after_one_of_dates_tells_numbers():
    X = visits()[["day"]]
    fit = PrivateMedian(random_state=0).fit(X)
    fit.fit(np.arange(2000.0)[:, None])
    assert isinstance(fit.results()["value"][0], float) and not hasattr(fit, "calendars_in_")


def test_nothing_hangs_on_entries_where_invalid_rows_are_ignored():
    X = visits()[["day", "stay"]]
    X.loc[5] = pd.NaT
    with config_context(invalid_rows="ignore"):
        assert len(PrivateMedian(random_state=0).fit(X).results()) == 2


@pytest.mark.parametrize("n_rows", [0, 1])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_row_decides_whether_dates_are_read(n_rows):
    pandas = pytest.importorskip("pandas")
    day = np.array(["2020-05-01"] * n_rows, dtype="M8[us]")
    X = pandas.DataFrame({"day": day, "x": np.zeros(n_rows)})
    with config_context(invalid_rows="ignore"):
        fitted = PrivateMean(random_state=0).fit(X)
    assert fitted.n_features_in_ == 2
