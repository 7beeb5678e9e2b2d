"""MarginalReleaser: tables, counts, intervals, rows, manners, and the layers of the audit."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone

import skdp
from skdp import MarginalReleaser, PrivacyLedger
from skdp.audit import (
    private_estimator_checks,
)
from skdp.exceptions import BudgetExceeded
from skdp.marginals import Bins
from skdp.marginals._frames import tidy_frame
from skdp.marginals._residuals import noise_scale, table_of
from skdp.marginals._synthetic_rows import systematic_rows

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

INF = float("inf")
SHARP = 1e6  # an epsilon without noise worth mentioning
DOMAIN = {
    "carrier": ["AA", "UA", "B6", ...],
    "origin": ["EWR", "JFK", "LGA"],
    "delay": Bins([-INF, 0, 60, INF], missing=True),
    "night": 2,
}


@pytest.fixture(scope="module")
def flights():
    rng = np.random.default_rng(7)
    carrier = rng.choice(["AA", "UA", "B6", "HA", None], p=[0.3, 0.4, 0.2, 0.05, 0.05], size=3000)
    origin = np.where(carrier == "UA", "EWR", rng.choice(["EWR", "JFK", "LGA"], size=3000))
    delay = np.where(rng.random(3000) < 0.1, np.nan, np.rint(rng.normal(10, 40, size=3000)))
    night = rng.random(3000) < 0.3
    return pd.DataFrame(
        {"carrier": carrier, "tail": "N1", "origin": origin, "delay": delay, "night": night}
    )


@pytest.fixture(scope="module")
def codes(flights):
    """The same rows, coded by hand."""
    carrier = flights.carrier.map({"AA": 0, "UA": 1, "B6": 2}).fillna(3)
    origin = flights.origin.map({"EWR": 0, "JFK": 1, "LGA": 2})
    delay = np.select([flights.delay < 0, flights.delay < 60, flights.delay >= 60], [0, 1, 2], 3)
    return np.column_stack([carrier, origin, delay, flights.night]).astype(int)


LEVELS = (4, 3, 4, 2)


def exact_table(codes, columns):
    table = np.zeros([LEVELS[c] for c in columns])
    np.add.at(table, tuple(codes[:, columns].T), 1)
    return table


@pytest.fixture(scope="module")
def sharp(flights):
    with pytest.warns(skdp.exceptions.SeededNoiseWarning):
        return MarginalReleaser(3, domain=DOMAIN, epsilon=SHARP, random_state=0).fit(flights)


# --- answers


def test_tables_are_those_of_the_rows(sharp, codes):
    names = list(DOMAIN)
    for k in (1, 2, 3):
        for columns in combinations(range(4), k):
            for order in (columns, columns[::-1]):
                got = sharp.marginal([names[c] for c in order], as_frame=False)
                assert np.allclose(got, exact_table(codes, list(order)), atol=0.1)
    assert sharp.n_rows_ == pytest.approx(3000, abs=0.1)
    assert (
        sharp.risk_ < 1e-3 and not sharp.accuracy_warnings_ and not sharp.privacy_report_.decisions
    )
    assert list(sharp.feature_names_in_) == ["carrier", "tail", "origin", "delay", "night"]
    assert sharp.n_features_in_ == 5


def test_columns_have_names_and_numbers(sharp):
    assert np.array_equal(
        sharp.marginal(["night", "carrier"], as_frame=False), sharp.marginal([4, 0], as_frame=False)
    )
    assert np.array_equal(
        sharp.marginal("night", as_frame=False), sharp.marginal(4, as_frame=False)
    )


def test_frames_are_tidy(sharp, flights):
    frame = sharp.marginal(["origin", "carrier"])
    assert list(frame.columns) == ["origin", "carrier", "count"] and len(frame) == 12
    got = frame.set_index(["origin", "carrier"])["count"]
    labels = flights.carrier.where(flights.carrier.isin(["AA", "UA", "B6"]), "other")
    want = pd.crosstab(flights.origin, labels).stack()
    for key, count in got.items():
        assert count == pytest.approx(want[key], abs=0.1)


def test_all_tables_in_one_frame(flights, codes):
    workload = [["night", "carrier"], "origin", ["carrier", "origin", "delay"]]
    fit = MarginalReleaser(domain=DOMAIN, workload=workload, epsilon=SHARP).fit(flights)
    frame = fit.to_frame()
    assert len(frame) == 8 + 3 + 48
    assert [c for c in frame.columns if c.startswith("column")] == [
        f"column_{i}" for i in (1, 2, 3)
    ]
    pairs = frame[frame.column_2.notna() & frame.column_3.isna()]
    assert set(pairs.column_1) == {"carrier"} and set(pairs.column_2) == {"night"}
    assert np.allclose(pairs["count"], exact_table(codes, [0, 3]).ravel(), atol=0.1)
    assert pairs.level_1.tolist() == np.repeat(["AA", "UA", "B6", "other"], 2).tolist()
    assert set(frame.level_3.dropna()) == {"[-inf, 0)", "[0, 60)", "[60, inf]", "missing"}
    with pytest.raises(ValueError, match="no table of the workload"):
        fit.marginal(["origin", "night"])


@pytest.mark.parametrize("configured", ["default", "pandas", "polars"])
def test_tables_come_as_what_x_was(flights, configured):
    table, array = pl.from_pandas(flights), np.zeros((50, 2))
    with sklearn.config_context(transform_output=configured):
        binary = MarginalReleaser().fit(array).marginal([0, 1])
        framed = MarginalReleaser(domain=DOMAIN).fit(table).marginal(["origin", "night"])
    kinds = {"default": np.ndarray, "pandas": pd.DataFrame, "polars": pl.DataFrame}
    assert isinstance(binary, kinds[configured])
    assert isinstance(framed, pl.DataFrame if configured == "default" else kinds[configured])
    assert list(framed.columns) == ["origin", "night", "count"]


def test_frames_without_pandas(monkeypatch):
    fit = MarginalReleaser().fit(np.zeros((50, 2)))
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert fit.marginal([0, 1]).shape == (2, 2)
    with pytest.raises(ImportError, match="pip install pandas"):
        fit.to_frame()


def test_a_column_may_be_called_count():
    X = pd.DataFrame({"count": [0, 1, 1], "b": [1, 1, 0]})
    frame = MarginalReleaser().fit(X).marginal(["count", "b"])
    assert list(frame.columns) == ["count", "b", "estimated_count"]
    assert table_names(tidy_frame({"a": np.arange(2)}, "pandas")) == ["a"]


def table_names(frame):
    return list(frame.columns)


def test_queries_are_sums_of_cells(sharp, flights):
    f = flights
    known = f.carrier.isin(["AA", "UA", "B6"])
    for levels, want in (
        ({"carrier": "AA", "origin": ["JFK", "LGA"]}, (f.carrier == "AA") & (f.origin != "EWR")),
        ({"carrier": ["AA", "AA", ...]}, (f.carrier == "AA") | ~known),
        ({"delay": None, "night": True}, f.delay.isna() & f.night),
        ({"delay": ["[0, 60)"], 4: 0}, f.delay.between(0, 59) & ~f.night),
        ({"origin": ["EWR", "JFK", "LGA"], "night": [0, 1]}, f.night | True),
    ):
        estimate = sharp.query(levels)
        low, high = estimate.interval
        assert estimate.count == pytest.approx(want.sum(), abs=0.2)
        assert low <= estimate.count <= high < low + 1
    for wrong in ({"carrier": "XX"}, {"origin": None}, {"tail": "N1"}, {"night": ...}):
        with pytest.raises(ValueError, match=r"no level|no column"):
            sharp.query(wrong)


def test_tables_agree_with_each_other(flights):
    """Also after post-processing, to rounding errors."""
    fit = MarginalReleaser(3, domain=DOMAIN, epsilon=0.3, random_state=3).fit(flights)
    binary = MarginalReleaser(epsilon=0.1, random_state=3).fit(
        np.random.default_rng(0).normal(size=(500, 12))
    )
    assert binary.postprocess_ != "none"
    for releaser, columns in ((fit, list(DOMAIN)), (binary, [0, 3, 5])):
        for a, b in combinations(columns, 2):
            table = releaser.marginal([a, b], as_frame=False)
            assert np.allclose(table.sum(axis=1), releaser.marginal(a, as_frame=False))
            assert np.allclose(table.sum(axis=0), releaser.marginal(b, as_frame=False))
            assert table.sum() == pytest.approx(releaser.n_rows_)


# --- noise


def test_the_noise_of_a_query_is_that_of_its_coefficients(sharp):
    """Against the matrix of the map from residuals to a sum of cells."""
    measurement, layout = sharp.measurement_, sharp.measurement_.layout
    sd = layout.spread(measurement.sd)
    units = np.eye(layout.starts[-1])
    for places in ([0], [1, 3], [2, 0, 1]):
        tables = np.array([table_of(layout, unit, places) for unit in units])
        for sizes in product(*[range(1, LEVELS[p] + 1) for p in places]):
            cells = np.ix_(range(len(units)), *[range(size) for size in sizes])
            form = tables[cells].reshape(len(units), -1).sum(axis=1)
            want = np.sqrt(np.sum((form * sd) ** 2))
            assert noise_scale(measurement, places, sizes) == pytest.approx(want)


def test_the_noise_of_the_workload_is_the_mean_over_its_cells(flights):
    workload = [["night", "carrier"], "origin", ["carrier", "origin", "delay"]]
    for weights in (None, [3.0, 1.0, 0.5]):
        fit = MarginalReleaser(domain=DOMAIN, workload=workload, weights=weights).fit(flights)
        cells = np.array([8, 3, 48]) * (weights or [1, 1, 1])
        squares = [fit.cell_scale(columns) ** 2 for columns in workload]
        assert fit.noise_scale_**2 == pytest.approx(cells @ squares / cells.sum())


def test_intervals_cover(flights, rng):
    """2000 runs of the noise, 24 cells each.

    Simultaneous 0.9: five standard errors are 0.034. Single cells: their errors are dependent
    within a run, five standard errors of a mean of runs are at most 0.034 too.
    """
    columns, cover = ["carrier", "origin", "night"], {}
    fit = MarginalReleaser(3, domain=DOMAIN, epsilon=50.0, random_state=0).fit(flights)
    layout, sd = fit.measurement_.layout, fit.measurement_.layout.spread(fit.measurement_.sd)
    to_table = np.array([table_of(layout, unit, [0, 1, 3]).ravel() for unit in np.eye(sd.size)])
    errors = (sd * rng.normal(size=(2000, sd.size))) @ to_table
    for simultaneous in (False, True):
        low, high = fit.interval(columns, 0.9, simultaneous=simultaneous)
        half = np.max(high - low) / 2
        assert np.allclose((high - low)[low > 0], 2 * half)
        inside = np.abs(errors) <= half
        cover[simultaneous] = np.mean(inside.all(axis=1) if simultaneous else inside)
    assert cover[False] == pytest.approx(0.9, abs=0.034)
    assert 0.866 < cover[True] < 0.96


def test_intervals_are_around_the_release_and_not_below_zero(flights):
    fit = MarginalReleaser(domain=DOMAIN, epsilon=0.01, random_state=1).fit(flights)
    assert fit.postprocess_ != "none"
    raw = table_of(fit.measurement_.layout, fit.measurement_.values, [0, 1])
    low, high = fit.interval(["carrier", "origin"])
    assert low.min() >= 0
    inside = (low > 0) & (high > 0)
    assert np.allclose((low + high)[inside] / 2, raw[inside])


def test_a_useless_release_says_so(flights):
    fit = MarginalReleaser(domain=DOMAIN, epsilon=0.001, random_state=2).fit(flights)
    (line,) = fit.accuracy_warnings_
    assert fit.risk_ > 0.1 and fit.privacy_report_.decisions == ("low accuracy: " + line,)


def test_the_worst_error_is_smaller(flights):
    """For tables of different sizes; for tables alike there is nothing to gain."""
    mean, worst = (
        MarginalReleaser(domain=DOMAIN, error=error, random_state=0).fit(flights)
        for error in ("mean", "worst")
    )
    pairs = list(combinations(DOMAIN, 2))
    scales = np.array([[fit.cell_scale(p) for p in pairs] for fit in (mean, worst)])
    assert scales[1].max() < 0.97 * scales[0].max() and np.ptp(scales[1]) < 0.1
    assert worst.noise_scale_ > mean.noise_scale_
    X = np.zeros((10, 6))
    mean, worst = (MarginalReleaser(error=error).fit(X).noise_scale_ for error in ("mean", "worst"))
    assert mean == pytest.approx(worst)


def test_weights_move_the_noise(flights):
    pairs = list(combinations(DOMAIN, 2))
    heavy = [100.0 if pair == ("carrier", "origin") else 1.0 for pair in pairs]
    plain = MarginalReleaser(domain=DOMAIN).fit(flights)
    weighted = MarginalReleaser(domain=DOMAIN, weights=heavy).fit(flights)
    assert weighted.cell_scale(["carrier", "origin"]) < 0.8 * plain.cell_scale(
        ["carrier", "origin"]
    )
    even = MarginalReleaser(domain=DOMAIN, weights=np.ones(6)).fit(flights)
    assert even.noise_scale_ == pytest.approx(plain.noise_scale_)


@pytest.mark.slow
def test_error_bounds_are_told_for_all_noise(flights):
    """The largest error of 30 seeded fits; a union bound, so 4 or more above it are rare (.06)."""
    fits = [MarginalReleaser(epsilon=1, random_state=s).fit(np.zeros((500, 6))) for s in range(30)]
    exact = np.zeros((2, 2))
    exact[0, 0] = 500
    tables = list(combinations(range(6), 2))
    raw = [
        [table_of(f.measurement_.layout, f.measurement_.values, t) for t in tables] for f in fits
    ]
    above = np.abs(np.array(raw) - exact).max(axis=(1, 2, 3)) > [f.error_bound_ for f in fits]
    assert above.sum() < 4
    assert fits[0].error_bound_ < 5 * fits[0].cell_scale([0, 1])
    worst = MarginalReleaser(domain=DOMAIN, error="worst").fit(flights)
    assert worst.error_bound_ < MarginalReleaser(domain=DOMAIN).fit(flights).error_bound_


# --- what a plan promises


def test_a_plan_tells_what_is_promised_of_the_worst_error(flights):
    estimator = MarginalReleaser(error="worst", domain=DOMAIN, random_state=0)
    *_, promise = estimator.plan().assumptions
    said = int(promise.split(" rows")[0].split()[-1].replace(",", ""))
    assert estimator.fit(flights).error_bound_ == pytest.approx(said, abs=0.6)
    assert len(MarginalReleaser(domain=DOMAIN).plan().assumptions) == 2


# --- synthetic rows


@pytest.mark.cases(6)
@pytest.mark.parametrize("n_rows", [0, 1, 300])
@pytest.mark.parametrize("how", ["auto", "none", "james-stein", "projection", "spectral", "exact"])
def test_rows_are_made_after_every_postprocessing(how, n_rows):
    """Where it makes no distribution, the rows are those of the nearest one."""
    rng = np.random.default_rng(n_rows)
    for seed in range(2):
        X = rng.integers(0, [3, 4, 5, 10], size=(n_rows, 4))
        with skdp.config_context(invalid_rows="ignore"):
            fit = MarginalReleaser(
                domain=dict(enumerate([3, 4, 5, 10])), postprocess=how, random_state=seed
            ).fit(X)
        assert fit.sample().shape == (max(round(fit.n_rows_), 0), 4)
        assert np.array_equal(fit.sample(20), fit.sample(20))
        codes = fit.sample(20000)
        table = np.histogram2d(codes[:, 0], codes[:, 1], bins=[range(4), range(5)])[0] / 20000
        if n_rows == 300 and how != "none":
            assert np.abs(table - fit.marginal([0, 1]) / fit.n_rows_).max() < 0.1


def test_rows_are_made_of_large_domains_but_not_as_one_table():
    X = np.zeros((100, 13))  # 8192 cells
    assert MarginalReleaser(epsilon=SHARP).fit(X).sample(50).tolist() == [[0] * 13] * 50
    with pytest.raises(ValueError, match="exact"):
        MarginalReleaser(postprocess="exact").fit(X)


def test_sampled_rows_have_the_tables_of_the_release(flights):
    fit = MarginalReleaser(domain=DOMAIN, postprocess="exact", random_state=0).fit(flights)
    assert fit.joint_.shape == LEVELS and fit.joint_.min() >= 0
    rows = fit.sample()
    assert isinstance(rows, pd.DataFrame) and list(rows.columns) == list(DOMAIN)
    assert len(rows) == round(fit.n_rows_)
    again = MarginalReleaser(domain=DOMAIN, epsilon=SHARP).fit(rows)
    got = again.marginal(["origin", "night"], as_frame=False)
    assert np.abs(got - fit.marginal(["origin", "night"], as_frame=False)).max() < 25
    assert fit.sample(0).shape == (0, 4) and fit.sample(3).shape == (3, 4)
    assert fit.sample(40).equals(fit.sample(40))
    with pytest.raises(ValueError, match="n_rows"):
        fit.sample(2.5)


def test_systematic_rows_have_the_expected_numbers(rng):
    joint = rng.dirichlet(np.full(60, 0.3)).reshape(3, 4, 5)
    for n in (1, 7, 100, 12345):
        rows = systematic_rows(joint, n)
        counts = np.zeros(joint.shape)
        np.add.at(counts, tuple(rows.T), 1)
        assert counts.sum() == n and np.abs(counts - n * joint).max() <= 1 + 1e-9 * n
        assert np.abs(counts.sum(axis=(1, 2)) - n * joint.sum(axis=(1, 2))).max() <= 1 + 1e-9 * n
    head = systematic_rows(joint, 12345)[:1000]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(head.T), 1)
    assert np.abs(counts - 1000 * joint).max() < 8


# --- manners


def test_invalid_rows_are_refused_or_absent(flights):
    bad = flights.assign(origin=flights.origin.where(flights.index % 3 > 0, "SECRET"))
    ledger = PrivacyLedger(1.0, 1e-6)
    estimator = MarginalReleaser(domain=DOMAIN, ledger=ledger)
    with pytest.raises(ValueError, match=r"\['origin'\]") as caught:
        estimator.fit(bad)
    assert "SECRET" not in str(caught.value) and ledger.spent().amount == 0
    sharp = clone(estimator).set_params(epsilon=SHARP, ledger=None)
    with skdp.config_context(invalid_rows="ignore"):
        assert sharp.fit(bad).n_rows_ == pytest.approx(2000, abs=0.1)
        assert sharp.fit(bad[:0]).n_rows_ == pytest.approx(0, abs=10)
    with pytest.raises(ValueError, match="no rows"):
        sharp.fit(bad[:0])


def test_columns_outside_the_domain_are_not_read(flights):
    odd = flights.assign(tail=[object() for _ in range(len(flights))])
    fits = [MarginalReleaser(domain=DOMAIN, random_state=0).fit(X) for X in (flights, odd)]
    assert np.array_equal(fits[0].residuals_, fits[1].residuals_)


def test_the_default_domain_counts_positive_entries(rng):
    X = rng.normal(size=(400, 3))
    fit = MarginalReleaser(epsilon=SHARP).fit(X)
    signs = (X > 0).astype(int)
    table = np.zeros((2, 2))
    np.add.at(table, (signs[:, 0], signs[:, 2]), 1)
    assert np.allclose(fit.marginal([0, 2]), table, atol=0.1)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"k": 4}, "k=4"),
        ({"k": 2.5}, "k"),
        ({"domain": {0: 2, 5: 2}}, "below 3"),
        ({"domain": []}, "domain"),
        ({"workload": []}, "at least one column"),
        ({"workload": [[]]}, "at least one column"),
        ({"workload": [[0, 0]]}, "differ"),
        ({"workload": [[0, 7]]}, "no column 7"),
        ({"workload": "pairs"}, "workload"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights"),
        ({"weights": [1.0, 1.0, 1.0], "error": "worst"}, "weights"),
        ({"error": "least"}, "error"),
        ({"postprocess": "magic"}, "postprocess"),
        ({"workload": [[0, 1], 2], "postprocess": "spectral"}, "all pairs"),
        ({"error": "boosting"}, "published.boosted_answers"),
        ({"postprocess": "frank-wolfe"}, "published.published_projection"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_charged(params, match):
    ledger = PrivacyLedger(1.0, 1e-6)
    with pytest.raises(ValueError, match=match):
        MarginalReleaser(**params, ledger=ledger).fit(np.zeros((10, 3)))
    assert ledger.spent().amount == 0


def test_the_bill(flights):
    ledger = PrivacyLedger(1.0, 1e-6)
    estimator = MarginalReleaser(domain=DOMAIN, ledger=ledger)
    plan = estimator.plan()
    assert [step.label for step in plan.steps] == ["residuals"]
    report = estimator.fit(flights).privacy_report_
    assert report.assumptions == plan.assumptions and len(report.charges) == 1
    assert float(report.charges[0].share) == 1
    assert "count as absent" in str(plan) and "replacing one row" in str(plan)
    with pytest.raises(BudgetExceeded):
        clone(estimator).fit(flights)


def test_plots(sharp):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = sharp.plot(["carrier", "origin"], cmap="magma")
    assert display.ax_.get_xlabel() == "origin" and display.ax_.get_ylabel() == "carrier"
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["EWR", "JFK", "LGA"]
    assert len(display.ax_.texts) == 12 and display.figure_ is display.ax_.figure
    one = sharp.plot("delay")
    assert one.ax_.get_xlabel() == "delay" and one.im_ is None
    with pytest.raises(ValueError, match="one or two columns"):
        sharp.plot(["carrier", "origin", "night"])
    matplotlib.pyplot.close("all")


# --- the layers of the audit

BINNED = {0: Bins([-INF, 3, 5, 7, INF]), 1: Bins([-INF, 0, 20, INF]), 2: Bins([-INF, 5, INF])}
AUDITED = {
    "default": (MarginalReleaser(epsilon=2.0), 10),
    "levels": (MarginalReleaser(domain=BINNED), 15),
    "worst": (MarginalReleaser(domain=BINNED, error="worst", workload=[[0, 1], 2]), 30),
    "exact": (MarginalReleaser(domain=BINNED, postprocess="exact"), 10),
    "nonnegative": (MarginalReleaser(3, epsilon=4.0, nonnegative=True), 10),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name == "default" else pytest.mark.slow)
        for name in AUDITED
    ],
)
def test_all_checks(name):
    """The two layers, which take long, have tests of their own above."""
    for twin, check in private_estimator_checks(AUDITED[name][0]):
        found = check.func.__name__
        if found == "check_wide_tables" and twin.k == 3:
            twin.set_params(k=1)  # of 40 columns there are ten thousand triples
        if found not in ("check_non_interference", "check_conditional_sensitivity"):
            check(twin)


# --- weights


@pytest.mark.parametrize("scale", [1e-300, 1.0, np.float32(1e38), 2**60, 5e307])
def test_only_the_ratios_of_weights_count(scale, flights):
    """Sums of huge weights would overflow, and the estimated risk would be no number."""
    given = {"workload": [["origin", "night"], ["carrier"]], "random_state": 0}
    fits = [
        MarginalReleaser(domain=DOMAIN, weights=weights, **given).fit(flights)
        for weights in ([2 * scale, scale], [2, 1])
    ]
    assert fits[0].risk_ == pytest.approx(fits[1].risk_) and np.isfinite(fits[0].risk_)
    assert fits[0].noise_scale_ == pytest.approx(fits[1].noise_scale_)
    assert np.allclose(fits[0].residuals_, fits[1].residuals_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", [[1.0, 1e-300], [1e308, 1.0], [0, 1], [1, np.inf], [1, 1, 1]])
def test_weights_that_leave_a_table_to_noise_are_refused(weights, flights):
    estimator = MarginalReleaser(domain=DOMAIN, workload=[["origin"], ["night"]], weights=weights)
    with pytest.raises(ValueError, match="weights must be positive and finite"):
        estimator.fit(flights)
