"""PrivateSummary: the private ``describe`` of a table of any columns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp import PrivacyLedger, PrivateGroupBy, PrivateSummary, config_context

N = 6000
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
quiet = pytest.mark.filterwarnings("ignore::skdp.exceptions.UselessReleaseWarning")


def table(n=N):
    """Return a table with a column of every kind, gaps in some."""
    rng = np.random.default_rng(7)
    start = pd.Timestamp("2020-01-01")
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, size=n).round(),
            "bmi": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(3, 0.2, size=n)),
            "ward": rng.choice(["north", "south", None], p=[0.6, 0.3, 0.1], size=n),
            "ill": rng.random(n) < 0.2,
            "day": start + pd.to_timedelta(rng.integers(0, 700, size=n), "D"),
            "stay": pd.to_timedelta(rng.exponential(3, size=n), "D"),
            "visits": pd.array(rng.poisson(3, size=n), dtype="Int64"),
        }
    )


def truth(x, statistic, label):
    """Return the number that a line of ``results()`` is about, exactly."""
    if statistic in ("entries", "gaps"):
        return x.count() if statistic == "entries" else x.isna().mean()
    if label is not None:
        return (x == label).sum() / x.count()
    x = x.dropna()
    if statistic.endswith("%"):
        return np.sort(x.to_numpy())[int(np.ceil(float(statistic[:-1]) / 100 * len(x))) - 1]
    return x.mean() if statistic == "mean" else x.std(ddof=0)


@pytest.mark.slow
@quiet
def test_intervals_cover_and_reliable_numbers_are_within():
    """Nominal .95; of 1,300 lines fewer than .93 cover once in 1,000 tests."""
    X, covered = table(), []
    for seed in range(20):
        results = PrivateSummary(random_state=seed).fit(X).results()
        for line in results.itertuples():
            exact = truth(X[line.variable], line.statistic, line.label)
            inside = not (line.low > exact or line.high < exact)  # NaT is open
            covered.append(inside)
            assert line.reliable == (not line.reason) and (line.reliable or pd.isna(line.value))
    assert len(covered) > 1300 and np.mean(covered) > 0.93


def test_a_summary_with_little_noise_is_that_of_pandas():
    X = table()
    summary = PrivateSummary([0.25, 0.5, 0.75], epsilon=200.0, delta=0.009, random_state=0)
    with config_context(debug=True), pytest.warns(Warning, match="promises little"):
        frame = summary.fit(X).to_frame()
    told = X.describe(include="all")
    assert frame.loc["kind"].tolist() == [
        *["numbers", "numbers", "text", "truth values", "dates", "durations", "numbers"]
    ]
    for name in X:
        assert abs(frame.loc["entries", name] - X[name].count()) < 20
        assert abs(frame.loc["gaps", name] - X[name].isna().mean()) < 0.01
    for name in ("age", "bmi", "visits"):
        for row in ("mean", "std", "25%", "50%", "75%"):
            assert abs(frame.loc[row, name] - told.loc[row, name]) < 0.03 * told.loc["std", name]
    day = pd.Timedelta("1D")
    assert abs(frame.loc["50%", "day"] - X["day"].median()) < 10 * day
    assert abs(frame.loc["mean", "stay"] - X["stay"].mean()) < 0.2 * day
    assert frame.loc["top", "ward"] == "north" and abs(frame.loc["share", "ward"] - 2 / 3) < 0.02
    assert frame.loc["top", "ill"] is False and abs(frame.loc["share", "ill"] - 0.8) < 0.02
    assert frame.loc["mean", "ill"] == 1 - frame.loc["share", "ill"]


def test_the_unit_of_a_polars_frame_and_of_arrow_gives_the_same_bits():
    X = table()
    frames = [pl.from_pandas(X), pl.from_pandas(X).to_arrow(), pl.from_pandas(X).lazy()]
    fits = [PrivateSummary(random_state=0).fit(frame) for frame in frames]
    texts = {fit.summary() for fit in fits}
    assert len(texts) == 1 and "north" in texts.pop()


def test_time_zones_are_kept():
    X = table()[["day"]]
    X["day"] = X["day"].dt.tz_localize("Europe/Berlin")
    fit = PrivateSummary(random_state=0, epsilon=4.0).fit(X)
    median = fit.to_frame().loc["50%", "day"]
    assert str(median.tz) == "Europe/Berlin" and "+0" in fit.summary()
    assert abs(median - X["day"].median()) < pd.Timedelta("30D")


@quiet
@pytest.mark.parametrize("n", [1, 2, 50])
def test_few_rows_end_without_an_error_and_tell_nothing(n):
    for X in (table(n), table(n)[["ward"]], table(n)[["bmi"]].assign(bmi=np.nan)):
        fit = PrivateSummary(random_state=0).fit(X)
        results = fit.results()
        assert not results["reliable"][results["statistic"].str.contains("mean|std|%")].any()
        assert fit.summary() and fit._repr_html_()


@quiet
def test_no_rows_and_infinite_numbers_count_as_gaps():
    X = table(400)
    X.loc[::2, "bmi"] = np.inf
    with config_context(invalid_rows="ignore"):
        PrivateSummary().fit(X.iloc[:0])
    lines = PrivateSummary(random_state=0, epsilon=15.0).fit(X).results()
    gaps = lines[(lines["variable"] == "bmi") & (lines["statistic"] == "gaps")]["value"].item()
    assert abs(gaps - 0.6) < 0.1


def test_types_that_tell_no_kind_are_refused_before_the_charge():
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    X = pl.DataFrame({"a": [[1.0], [2.0]], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"another type: a.*astype"):
        PrivateSummary(ledger=ledger).fit(X)
    with pytest.raises(ValueError, match="between 0 and 1"):
        PrivateSummary([0, 0.5], ledger=ledger).fit(table())
    assert len(ledger.entries()) == 1  # it was opened


@quiet
def test_persons_and_groups():
    X, ids = table(), np.arange(N) // 3
    fit = PrivateSummary(random_state=0).fit(X, groups=ids)
    assert fit.privacy_report_.privacy_unit == "group" and abs(fit.n_rows_ - N / 3) < 300
    wards = ["north", "south"]
    fit = PrivateGroupBy(PrivateSummary(), "ward", wards, random_state=0).fit(X)
    results = fit.results()
    means = results[(results["variable"] == "age") & (results["statistic"] == "mean")]
    assert means["group"].tolist() == wards and np.all(np.abs(means["value"] - 40) < 4)
    assert fit.privacy_report_.budget == PrivateSummary().plan().budget


@quiet
@pytest.mark.parametrize("frame", [table(), pl.from_pandas(table())], ids=["pandas", "polars"])
def test_a_summary_by_level_is_that_of_each_group_for_the_price_of_one(frame):
    wards = ["north", "south"]
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    fit = PrivateSummary(by="ward", levels=wards, ledger=ledger, random_state=0).fit(frame)
    assert float(ledger.spent().epsilon) <= 1.0001
    other = PrivateGroupBy(PrivateSummary(), "ward", wards, random_state=0).fit(frame)
    for level in wards:
        one = fit.group_by_.estimators_[level]
        assert one.summary() == other.estimators_[level].summary()
    results = fit.results()
    means = results[(results["variable"] == "age") & (results["statistic"] == "mean")]
    assert means["group"].tolist() == wards and np.all(np.abs(means["value"] - 40) < 4)
    told = fit.to_frame()
    assert told.loc[("south", "mean"), "age"] == means["value"].iloc[1]
    assert told.loc[("north", "kind"), "ill"] == "truth values" and "ward" not in told
    assert fit.summary().count("ward = ") == fit._repr_html_().count("<h4>ward = ") == 2
    assert not hasattr(fit, "columns_") and fit.set_params(by=None, ledger=None).fit(frame).columns_
    assert not hasattr(fit, "group_by_")


@quiet
def test_levels_of_a_summary_are_found_and_pairs_are_levels():
    X = table()
    fit = PrivateSummary(by=["ward", "ill"], epsilon=4.0, random_state=0).fit(X)
    assert set(fit.group_by_.levels_) == {(w, i) for w in ("north", "south") for i in (0, 1)}
    assert "ward = north, ill = " in fit.summary()
    assert fit.to_frame().loc[("north", 1, "mean"), "age"] > 30
    ids = np.arange(N) // 3
    persons = PrivateSummary(by="ward", levels=["north"], random_state=0).fit(X, groups=ids)
    assert persons.privacy_report_.privacy_unit == "group"
    assert abs(persons.group_by_.estimators_["north"].n_rows_ - 1800) < 300
    few = PrivateSummary(by="ward", epsilon=0.1, random_state=0).fit(X[:20])
    assert few.to_frame().empty and few.summary() in few._repr_html_()
    assert len(few.results()) == 0


def test_a_summary_by_level_stands_alone():
    inner = PrivateSummary(by="ward", levels=["north"])
    with pytest.raises(ValueError, match=r"use PrivateGroupBy\(PrivateSummary\(...\), by\)"):
        PrivateGroupBy(inner, "ill", [True, False]).fit(table())
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    with pytest.raises(ValueError, match="by must be"):
        PrivateSummary(by="nobody", ledger=ledger).fit(table())
    assert len(ledger.entries()) == 1


def test_html_quotes_names():
    X = table()[["age"]].rename(columns={"age": "<script>"})
    html = PrivateSummary(random_state=0).fit(X)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "<svg" in html


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_numbers_around_zero_are_told_where_numpy_raises():
    X = np.random.default_rng(0).normal(size=(300, 1))
    with np.errstate(all="raise"):
        for seed in range(5):
            PrivateSummary(random_state=seed).fit(X).summary()


@quiet
def test_rounded_results_have_the_digits_that_the_noise_leaves():
    fit = PrivateSummary(random_state=0).fit(table())
    exact, told = fit.results(), fit.results(rounded=True)
    for one, other in zip(exact.itertuples(), told.itertuples(), strict=True):
        if one.kind in ("numbers", "text") and 0 < one.high - one.low < np.inf:
            half = (one.high - one.low) / 2
            assert abs(one.low - other.low) <= 0.06 * half
            assert len(f"{other.high:.12g}".replace(".", "")) <= len(f"{one.high:.12g}")
    mean = told[(told["variable"] == "day") & (told["statistic"] == "mean")].iloc[0]
    assert mean["value"] == mean["value"].floor("D") and mean["low"] < mean["value"] < mean["high"]


@pytest.mark.slow
@quiet
@quiet
def test_a_mean_is_short_beside_a_spread_that_ranks_prove():
    """Of many columns, whose deviations are not clear of the noise: half a deviation is enough."""
    X = pd.DataFrame(np.random.default_rng(0).exponential(size=(10_000, 60)))
    X.columns = [f"x{j}" for j in range(60)]
    lines = PrivateSummary(epsilon=1.0, random_state=1).fit(X).results()
    means = lines[(lines.statistic == "mean") & lines.reliable]
    assert len(means) > 42  # 54 of 60; by deviations alone 23
    assert (np.abs(means.value - X.mean()[means.variable].to_numpy()) < 0.5).all()


@quiet
@pytest.mark.parametrize("rare, seed", [(0.03, 11), (0.03, 13), (0.08, 11), (0.08, 13)])
def test_a_mean_of_zeros_that_hide_other_numbers_is_not_reliable(rare, seed):
    """Some quantiles are the float below 0: what the mean is of rare ones nothing tells."""
    X = (np.random.default_rng(seed).random((1500, 12)) < rare) * 1.0
    X = pd.DataFrame(X, columns=list("abcdefghijkl"))
    lines = PrivateSummary(epsilon=0.3, random_state=seed).fit(X).results()
    for mean in lines[lines.statistic == "mean"].itertuples():
        assert not mean.reliable or mean.low <= X[mean.variable].mean() <= mean.high


@quiet
def test_what_is_not_known_of_numbers_is_nan_beside_dates():
    X = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=20), "x": range(20)})
    lines = PrivateSummary(epsilon=0.1).fit(X).results()
    numbers = lines.value[lines.kind == "numbers"]
    assert len(numbers) and all(np.isnan(value) for value in numbers)


@quiet
def test_a_mean_that_only_noise_spreads_is_not_reliable():
    """Of 1,500 rows and 12 columns ends reach far beyond the rows, and so does all noise."""
    told = 0
    for seed in range(6):
        X = np.random.default_rng(seed).lognormal(0, 1.5, size=(1500, 12))
        X = pd.DataFrame(X, columns=list("abcdefghijkl"))
        lines = PrivateSummary(epsilon=0.3, random_state=seed).fit(X).results()
        means = lines[(lines.statistic == "mean") & lines.reliable.astype(bool)]
        far = (means.high - means.low) / 2 > X.std()[means.variable].to_numpy()
        assert not far.any()
        means = PrivateSummary(epsilon=20.0, random_state=seed).fit(X[["a", "b"]]).results()
        told += means.reliable[means.statistic == "mean"].sum()
    assert told > 6  # of 12, with little noise


def test_the_spread_of_columns_with_tails_that_may_be_clipped_is_not_reliable():
    """Of 36 columns a fortieth of the entries lies far beyond the others, in part unseen."""
    wrong, saved = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, far = rng.normal(size=(6000, 12)), rng.random((6000, 12)) < 0.025
        X = np.where(far, 30 + 20 * rng.random((6000, 12)), X)
        lines = PrivateSummary(random_state=seed).fit(X).results()
        lines = lines[lines["statistic"] == "std"]
        missed = (X.std(axis=0) < lines["low"]) | (X.std(axis=0) > lines["high"])
        wrong += (missed & lines["reliable"]).sum()
        saved += (missed & lines["reason"].str.contains("may lie so far beyond")).sum()
    assert saved > wrong


@pytest.mark.parametrize("size", [1.0, 1.7e308])
def test_pictures_of_the_largest_floats_are_those_of_others(size):
    X = np.repeat([-1.0, 0.0, 0.5, 1.0], 750)[:, None] * size
    summary = PrivateSummary(epsilon=8.0, random_state=0).fit(X)
    bars = summary.columns_[0].bars(summary.n_rows_, summary.noise_scale_)
    assert bars.max() < 0.5
    assert bars.sum() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def crowd():
    """Return lines about 16 columns, whose ranks are noisy, with what is exact, and the bill."""
    rng, n = np.random.default_rng(3), 6000
    X = rng.normal(1018, 7, size=(n, 16))
    X[:, 8:12] = rng.exponential(size=(n, 4))
    X[:, 12:] = np.where(
        rng.random((n, 4)) < 0.02, 200 + 100 * rng.random((n, 4)), X[:, 12:] - 1018
    )
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(16)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = PrivateSummary(random_state=0).fit(X)
    lines = fit.results().set_index(["variable", "statistic"])
    exact = [truth(X[name], statistic, None) for name, statistic in lines.index]
    return lines.assign(exact=exact, spread=[X[name].std() for name, _ in lines.index]), fit


def test_moments_of_many_columns_are_those_of_ranks_and_cost_nothing(crowd):
    """Means of pressures are not those between 0 and 2,000: noise may put a quantile at 0."""
    lines, fit = crowd
    charged = {one.label for one in fit.privacy_report_.charges}
    assert "moments" not in charged and "entries beyond" not in charged
    assert sum(one.share for one in fit.privacy_report_.charges) == 1
    for statistic, off in (("mean", 0.1), ("std", 0.2)):
        one = lines.xs(statistic, level="statistic").iloc[:12]
        assert ((one["low"] < one["exact"]) & (one["exact"] < one["high"])).all()
        assert one["reliable"][:8].all()
        assert (np.abs(one["value"] - one["exact"])[:8] < off * one["spread"][:8]).all()


def test_intervals_of_many_columns_hold_most_of_what_does_not_show(crowd):
    """A fiftieth of the entries lies 30 deviations away: 3 intervals of 4 hold, none is short."""
    lines, _ = crowd
    one = lines.xs("mean", level="statistic").iloc[12:]
    assert ((one["low"] < one["exact"]) & (one["exact"] < one["high"])).sum() >= 3
    assert not one["reliable"].any()


@pytest.mark.parametrize("seed", [0, 2])
def test_few_rows_of_many_columns_show_too_little_for_a_reliable_mean(seed):
    """Both ends were two near cuts: [1.99, 2.00] was told of columns of ones and twos."""
    X = np.random.default_rng(seed).integers(1, 3, size=(500, 40)) * 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = PrivateSummary(random_state=seed).fit(X).results()
    one = lines[lines["statistic"] == "mean"]
    missed = (X.mean(axis=0) < one["low"]) | (one["high"] < X.mean(axis=0))
    assert missed.sum() <= 2 and not (missed & one["reliable"]).any()
