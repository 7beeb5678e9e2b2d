"""Fits that protect all rows of a group: what they release, of what, and what they never tell."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn.base import clone

from skdp import (
    FriendlyCoreFilter,
    MarginalReleaser,
    PrivacyLedger,
    PrivateAdditiveRegressor,
    PrivateCount,
    PrivateGroupBy,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivatePipeline,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateStandardScaler,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    config_context,
)
from skdp.audit._transcript import FixedKeys
from skdp.exceptions import BudgetExceeded, ReleaseError
from tests._curators import CannedCurator
from tests._estimators import ESTIMATORS
from tests._persons import persons_table, recorded, replayed

SEEDED = "ignore::skdp.exceptions.SeededNoiseWarning"
USELESS = "ignore::skdp.exceptions.LowAccuracyWarning"
BOUNDS = (-50.0, 50.0)
ALONE = [e for e in ESTIMATORS if not isinstance(e, PrivatePipeline | PrivateSearchCV)]
# one of every road of location, columns, scales and preprocessing, and its seeds
ROADS = {
    "mean": (PrivateMean(epsilon=20.0, rows_per_group="auto"), 8),
    "mean of one column": (PrivateMean(epsilon=20.0, rows_per_group=3), 8),
    "mean, cap": (PrivateMean(epsilon=4.0, rows_per_group=4), 8),
    "mean, every group alike": (PrivateMean(epsilon=4.0, rows_per_group=1), 6),
    "mean, many rows each": (PrivateMean(epsilon=50.0, rows_per_group=1000), 4),
    "mean, trim": (PrivateMean(epsilon=20.0, trim=True, rows_per_group=2), 6),
    "mean, centre": (PrivateMean(epsilon=4.0, center=0.0, rows_per_group=3), 6),
    "mean, ball": (PrivateMean(center=0.0, radius=30.0, rows_per_group=3), 4),
    "mean, bounds": (PrivateMean(bounds=BOUNDS, rows_per_group=3), 4),
    "mean, pure": (PrivateMean(bounds=BOUNDS, delta=0.0, rows_per_group=3), 4),
    "mean, friendly": (PrivateMean(epsilon=40.0, method="friendly"), 6),
    "trimmed mean": (PrivateTrimmedMean(epsilon=20.0), 6),
    "median": (PrivateMedian(epsilon=20.0, rows_per_group=3), 6),
    "median, pure": (PrivateMedian(epsilon=20.0, delta=0.0, rows_per_group=2), 4),
    "median, bounded": (PrivateMedian(epsilon=20.0, method="bounded"), 6),
    "quantiles": (PrivateQuantile([0.25, 0.9], epsilon=20.0, rows_per_group="auto"), 6),
    "quantile, chosen": (
        PrivateQuantile(0.7, epsilon=20.0, method="exponential", rows_per_group=3),
        4,
    ),
    "quantile, chosen, pure": (
        PrivateQuantile(0.7, epsilon=20.0, delta=0.0, method="exponential", rows_per_group=3),
        4,
    ),
    "variance": (PrivateVariance(epsilon=20.0, rows_per_group="auto"), 6),
    "variance, bounds": (PrivateVariance(bounds=BOUNDS, rows_per_group=3), 4),
    "extremes": (PrivateMinMax(epsilon=20.0), 8),
    "extremes, bounds": (PrivateMinMax(epsilon=20.0, bounds=BOUNDS), 4),
    "range": (PrivateMinMaxScaler(epsilon=20.0), 6),
    "standard": (PrivateStandardScaler(epsilon=20.0, rows_per_group="auto"), 6),
    "standard, bounds": (PrivateStandardScaler(bounds=BOUNDS, rows_per_group=3), 4),
    "quartiles": (PrivateRobustScaler(epsilon=20.0, rows_per_group=2), 6),
    "count": (PrivateCount(), 4),
    "sum": (PrivateSum(BOUNDS, rows_per_group=3), 4),
    "sum, pure": (PrivateSum(BOUNDS, delta=0.0, rows_per_group=3), 4),
    "core": (FriendlyCoreFilter(epsilon=40.0), 6),
}


def test_the_replay_attains_the_unit():
    worst = max(replayed(PrivateSum((0.0, 5.0), rows_per_group=1), seed) for seed in range(12))
    assert worst > 0.98


def test_noise_is_for_all_rows_of_a_group():
    X, ids = _table(n_persons=40)
    for estimator in (PrivateSum(BOUNDS, rows_per_group=3), PrivateCount()):
        keys = np.arange(len(X), dtype=np.uint64) * 10**9
        fitted, run = recorded(estimator, X, ids, keys, "noise")
        mu = float(fitted.privacy_report_.budget.mu)
        for record, charge in zip(run.records, fitted.privacy_report_.charges, strict=True):
            expected = float(record.sensitivity) / (mu * float(charge.share) ** 0.5)
            assert np.isclose(record.scale, expected, rtol=1e-9)


def _table(seed=0, n_persons=300, d=2):
    return persons_table(np.random.default_rng(seed), n_persons, d)


def _released(estimator):
    kinds = np.ndarray | float | int | str | tuple
    return {k: v for k, v in vars(estimator).items() if k.endswith("_") and isinstance(v, kinds)}


def _same(one, two):
    one, two = _released(one), _released(two)
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name], equal_nan=_is_float(one[name])), name


def _is_float(value):
    return np.asarray(value).dtype.kind == "f"


@pytest.mark.cases(17)
@pytest.mark.filterwarnings(SEEDED, USELESS)
@pytest.mark.parametrize("estimator", ALONE, ids=str)
def test_every_estimator_protects_groups(estimator):
    X, ids = _table(n_persons=120, d=3)
    targets = {"class": (X[:, 0] > 0).astype(int), "number": X[:, 0]}
    y = targets.get(estimator._target)
    try:
        fitted = clone(estimator).set_params(random_state=0).fit(X, y, groups=ids)
    except ReleaseError:
        pytest.fail("the private part failed")
    report = fitted.privacy_report_
    assert report.privacy_unit == "group"
    assert fitted.rows_per_group_ >= 1
    assert sum(charge.share for charge in report.charges if "/" not in charge.label) <= 1


@pytest.mark.cases(17)
@pytest.mark.filterwarnings(SEEDED, USELESS)
@pytest.mark.parametrize("estimator", ALONE, ids=str)
def test_a_table_of_nobody_is_fitted_as_one_of_somebody(estimator):
    kind = {"class": int, "number": float}.get(estimator._target)
    with config_context(invalid_rows="ignore"):
        for n in (0, 1):
            X, ids = np.zeros((n, 3)), np.arange(n)
            y = None if kind is None else np.zeros(n, dtype=kind)
            for rows, targets, owners in ((X, y, ids), ([X], None if y is None else [y], [ids])):
                fitted = clone(estimator).set_params(random_state=0)
                fitted.fit(rows, targets, groups=owners)
                assert fitted.privacy_report_.privacy_unit == "group"


def _integers(estimator, X, ids=None):
    keys = np.random.default_rng(3).integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    if ids is not None:
        return recorded(estimator, X, ids, keys, "exact")[1].records
    return _row_level(estimator, X, keys)


def _row_level(estimator, X, keys):
    from skdp.gate._curator import replaced_curator

    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, "exact", coins=FixedKeys(keys)))
        return made[-1]

    with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
        clone(estimator).fit(X)
    return made[0].records


@pytest.mark.parametrize(
    ("estimator", "unit"),
    [
        (PrivateMean(bounds=BOUNDS, delta=0.0, rows_per_group=1), 1024),
        (PrivateSum(BOUNDS, delta=0.0, rows_per_group=1), 1024),
        (PrivateVariance(bounds=BOUNDS, delta=0.0, rows_per_group=1), 1024),
        (PrivateCount(delta=0.0), 1),
    ],
    ids=str,
)
def test_a_row_for_each_group_is_a_fit_of_rows(estimator, unit):
    """The same integers times the unit, on the grid of weighed rows or the same."""
    X, _ = _table()
    rows, groups = _integers(estimator, X), _integers(estimator, X, np.arange(len(X)))
    for one, two in zip(rows, groups, strict=True):
        assert one.label == two.label.removeprefix("fit/")
        moved = float(two.sensitivity / one.sensitivity)
        assert np.allclose(two.value, moved * one.value, atol=unit * len(X), rtol=1e-6)


@pytest.mark.parametrize("sizes", [[], [1], [50]], ids=str)
def test_nobody_and_one_group_alone_are_fitted(sizes):
    ids = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=int))
    X = np.random.default_rng(0).normal(size=(len(ids), 2))
    keys = np.arange(len(X), dtype=np.uint64)
    for estimator in (PrivateMean(), PrivateMean(rows_per_group=5), PrivateMean(bounds=BOUNDS)):
        fitted, _ = recorded(estimator, X, ids, keys, "noise")
        assert fitted.rows_per_group_ == (5 if estimator.rows_per_group == 5 else 1)
        assert np.isfinite(fitted.location_).all()


@pytest.mark.cases(10)
@pytest.mark.parametrize("road", ROADS)
def test_rows_with_gaps_are_absent_and_one_group_may_have_all_rows(road):
    estimator = ROADS[road][0]
    X, ids = _table(n_persons=40)
    gone = np.random.default_rng(1).random(len(X)) < 0.3
    gone |= ids == 7  # nothing of this one is left
    X[gone] = np.nan  # of a row with some entries these count
    keys = np.random.default_rng(2).integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    one, run = recorded(estimator, X, ids, keys, "noise")
    two, again = recorded(estimator, X[~gone], ids[~gone], keys[~gone], "noise")
    _same(one, two)
    assert run.close("x") == again.close("x")
    for ids in (np.zeros(len(X)), np.full(len(X), 5)):
        recorded(estimator, X, ids, keys, "noise")


@pytest.mark.filterwarnings(SEEDED)
@pytest.mark.parametrize("road", ["mean", "median", "extremes", "count", "core", "sum"])
def test_names_of_groups_do_not_matter_and_are_never_told(road):
    estimator = clone(ROADS[road][0]).set_params(random_state=0)
    X, codes = _table(n_persons=80)
    canary = "canary-4711-"
    named = np.array([f"{canary}{i}" for i in codes])
    shuffled = np.random.default_rng(5).permutation(80)[codes]
    frames = [shuffled, named, pd.Series(named).astype("category"), codes + 2**60, named.tolist()]
    with warnings.catch_warnings(record=True) as first:
        warnings.simplefilter("always")
        plain = clone(estimator).fit(X, groups=codes)
    for ids in frames:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            other = clone(estimator).fit(X, groups=ids)
        _same(plain, other)
        assert [str(w.message) for w in first] == [str(w.message) for w in caught]
        assert plain.privacy_report_ == other.privacy_report_
        assert pickle.dumps(plain) == pickle.dumps(other)
        texts = [repr(other), str(other.privacy_report_), other._repr_html_(), str(vars(other))]
        assert not any(canary in text for text in texts)
        assert canary.encode() not in pickle.dumps(other)


def test_messages_about_groups_quote_no_entry():
    X, _ = _table(n_persons=20)
    n = len(X)
    bad = [["canary"] * (n - 1), [None, *["canary"] * (n - 1)], [["canary"]] * n, [{}] * n]
    for ids in bad:
        with pytest.raises((ValueError, TypeError)) as caught:
            PrivateMean().fit(X, groups=ids)
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.filterwarnings(SEEDED, USELESS)
def test_a_cap_that_no_sum_could_hold_is_refused_before_a_charge():
    X, ids = _table(n_persons=20)
    ledger = PrivacyLedger(5.0, 1e-5, unit="group")
    for estimator in (PrivateMean(), PrivateSum(BOUNDS), MarginalReleaser(1)):
        with pytest.raises(ValueError, match="rows_per_group"):
            estimator.set_params(rows_per_group=2**53, ledger=ledger).fit(X > 0, groups=ids)
    assert ledger.spent().epsilon == 0
    ledger.acknowledge()
    for cap in (2**40, np.int64(2**40), np.uint8(200), np.int8(1), np.uint64(2**40)):
        fitted = PrivateSum(BOUNDS, rows_per_group=cap).fit(X, groups=ids)
        assert type(fitted.rows_per_group_) is int
        assert fitted.rows_per_group_ == int(cap)


def test_a_plan_for_groups_promises_nothing_about_single_rows():
    X, ids = _table(n_persons=20)
    domain = {0: [0, 1], 1: [0, 1]}
    for error in ("mean", "worst"):
        fitted = MarginalReleaser(1, domain=domain, error=error).fit(X > 0, groups=ids)
        assert not any("replacing one row" in text for text in fitted.privacy_report_.assumptions)


@pytest.mark.filterwarnings(USELESS)
@pytest.mark.parametrize("unit", ["row", "group"])
@pytest.mark.parametrize("targeted", [False, True])
def test_every_face_of_a_report_names_its_unit(unit, targeted):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y, groups = X[:, 0] if targeted else None, np.arange(60) // 2 if unit == "group" else None
    model = PrivateAdditiveRegressor() if targeted else PrivateCount()
    report = model.fit(X, y, groups=groups).privacy_report_
    words, other = "one row", "one group (all rows with one entry of groups)"
    pair = " (x, y)" if targeted and unit == "row" else ""
    words, other = (other, words) if unit == "group" else (words + pair, other)
    for told in (report, report + report):
        assert told.to_dict()["neighbours"] == f"add or remove {words}"
        for text in (str(told), told._repr_html_()):
            assert f"add or remove {words}" in text and f"remove {other}" not in text
        assert ("is one row of" in told.summary()) == (unit == "row")
        assert ("owns rows of" in told.summary()) == (unit == "group")


def test_a_report_by_group_of_a_column_protects_rows():
    X = np.column_stack([np.arange(60) % 2, np.ones(60)])
    report = PrivateGroupBy(PrivateCount(), by=0, levels=[0, 1]).fit(X).privacy_report_
    assert report.to_dict()["neighbours"] == "add or remove one row" in str(report)


@pytest.mark.filterwarnings(SEEDED, USELESS)
def test_a_column_of_every_source_may_name_the_groups(tmp_path):
    import dask.dataframe as dd
    import pyarrow.parquet as pq

    X, codes = _table(n_persons=150)
    ids = codes + 2**60
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.insert(1, "id", ids)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    sources = {
        "pandas": frame,
        "text": frame.astype({"id": str}),
        "category": frame.astype({"id": str}).astype({"id": "category"}),
        "polars": polars.from_pandas(frame),
        "lazy": polars.from_pandas(frame).lazy(),
        "arrow": table,
        "parquet": str(tmp_path / "a.parquet"),
        "batches": [frame[:100], frame[100:]],
        "dask": dd.from_pandas(frame, npartitions=3),
        "dask text": dd.from_pandas(
            frame.assign(id=frame["id"].astype(object).map(str)), npartitions=3
        ),
    }
    for make, names in ((PrivateMean, [*sources]), (PrivateMinMax, ["lazy", "batches", "dask"])):
        plain = make(random_state=0).fit(frame[["a", "b"]], groups=ids)
        for name in names:
            other = make(random_state=0).fit(sources[name], groups="id")
            assert other.feature_names_in_.tolist() == ["a", "b"], name
            _same(plain, other)


def test_a_ledger_of_rows_grants_no_groups_and_the_other_way_round():
    X, ids = _table(n_persons=50)
    rows, groups = PrivacyLedger(5.0, 1e-5), PrivacyLedger(5.0, 1e-5, unit="group")
    with pytest.raises(BudgetExceeded, match="unit='group'"):
        PrivateCount(ledger=rows).fit(X, groups=ids)
    with pytest.raises(BudgetExceeded, match="pass groups="):
        PrivateCount(ledger=groups).fit(X)
    groups.acknowledge()
    assert PrivateCount(ledger=groups).fit(X, groups=ids).privacy_report_.privacy_unit == "group"


def test_a_grid_search_that_keeps_the_groups_to_itself_is_refused():
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, ids = _table(n_persons=50)
    ledger = PrivacyLedger(50.0, 1e-4, unit="group")
    search = GridSearchCV(
        PrivateMean(ledger=ledger),
        {"trim": [False, True]},
        cv=GroupKFold(2),
        scoring=lambda model, X, y=None: 0.0,
        error_score=0.0,
    )
    with pytest.raises(ValueError, match="pass groups= to fit"):
        search.fit(X, groups=ids)
    assert ledger.spent().epsilon == 0


@pytest.mark.filterwarnings(SEEDED, USELESS)
@pytest.mark.parametrize("cap", [1, 5, 1000])
def test_intervals_cover_the_weighed_targets(cap):
    X, ids = _table(seed=4, n_persons=4000)
    sizes = np.bincount(ids)
    weights = np.minimum(1, cap / sizes)[ids]
    mean = np.average(X, axis=0, weights=weights)
    clipped = np.clip(X, -20, 20)
    options = {"rows_per_group": cap, "epsilon": 4.0, "random_state": 0}

    def covers(interval, truth):
        low, high = interval
        assert np.all((low <= truth) & (truth <= high))

    fitted = PrivateMean(**options).fit(X, groups=ids)
    assert fitted.rows_per_group_ == cap
    assert np.all(np.abs(fitted.location_ - mean) < 0.3 * X.std(axis=0))
    covers(fitted.interval(0.999, simultaneous=True), mean)
    bounds = PrivateMean(bounds=(-20, 20), **options).fit(X, groups=ids)
    low, high = bounds.interval(0.999, simultaneous=True)
    assert np.all(low - 0.3 <= np.average(clipped, axis=0, weights=weights))
    assert np.all(high + 0.3 >= np.average(clipped, axis=0, weights=weights))
    total = PrivateSum((-20, 20), **options).fit(X, groups=ids)
    exact = (cap * np.minimum(1 / cap, 1 / sizes)[ids])[:, None] * clipped
    low, high = total.interval(0.999, simultaneous=True)
    assert np.all(low * 0.9 - 10 * cap <= exact.sum(axis=0) * 1.1 + 10 * cap)
    median = PrivateMedian(**options).fit(X, groups=ids)
    low, high = median.interval(0.999, simultaneous=True)
    for j in range(2):
        order = np.argsort(X[:, j])
        below = np.cumsum(weights[order]) / weights.sum()
        assert X[order, j][np.searchsorted(below, 0.47)] <= high[j]
        assert X[order, j][np.searchsorted(below, 0.53)] >= low[j]


@pytest.mark.filterwarnings(SEEDED)
def test_extremes_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(3000), 10)
    X = rng.uniform(size=(30000, 1))
    ends = PrivateMinMax(epsilon=20.0, random_state=0).fit(X, groups=ids)
    assert ends.max_[0] > 0.97
    assert ends.min_[0] < 0.03


@pytest.mark.filterwarnings(SEEDED)
def test_the_core_of_a_filter_has_one_row_of_a_group():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 600, size=3000)
    X = rng.normal(size=(3000, 2))
    X[ids < 5] += 1e4
    core = FriendlyCoreFilter(epsilon=8.0, random_state=0)
    kept, owners = core.fit_resample(X, ids, groups=ids)
    mask = core.get_support(local=True)
    assert mask.shape == (3000,)
    assert np.bincount(ids[mask]).max() == 1
    assert np.array_equal(kept, X[mask])
    assert np.array_equal(owners, ids[mask])
    assert mask.sum() > 550
    assert not np.any(owners < 5)
    assert np.array_equal(np.isfinite(core.transform(X)[:, 0]), mask)


@pytest.mark.filterwarnings(SEEDED, USELESS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 100.0])
def test_persons_count_alike_unless_asked_otherwise(epsilon):
    X, ids = _table(n_persons=400)
    for estimator in (PrivateMean(), PrivateMedian(), PrivateVariance(bounds=BOUNDS)):
        fit = estimator.set_params(epsilon=epsilon, random_state=0).fit(X, groups=ids)
        assert fit.rows_per_group_ == 1
        assert set(fit.results()["rows_per_group"]) == {1}
        assert "each counts as one row" in str(fit.privacy_report_)


def test_reports_results_and_warnings_name_how_much_a_person_counts():
    X, ids = _table(n_persons=400)
    fit = PrivateMean(rows_per_group=3, epsilon=20.0).fit(X, groups=ids)
    assert "each counts as 3 rows at most" in fit.privacy_report_.summary()
    assert set(fit.results()["rows_per_group"]) == {3}
    assert "rows_per_group" not in PrivateMean().fit(X).results()
    with pytest.warns(Warning, match=r"\(rows_per_group_ = 3\)"):
        PrivateMean(rows_per_group=3, epsilon=1e-3).fit(X, groups=ids)
