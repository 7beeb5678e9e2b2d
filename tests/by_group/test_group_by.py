import threading
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateCount,
    PrivateGroupBy,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateQuantile,
    PrivateSearchCV,
    PrivateStandardScaler,
    PrivateSum,
    PrivateSummary,
    PrivateVariance,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import conditional_sensitivity, non_interference
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._transcript import FixedKeys
from skdp.base import Table, map_merge
from skdp.by_group import _rows
from skdp.by_group._rows import GroupViews, _floats_of, of_columns
from skdp.exceptions import PlanError, ReleaseError
from skdp.gate._parallel import _KeptKeys
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers._columns import Columns, numbers_of
from skdp.readers._labels import _counted

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
MEAN = PrivateMean(bounds=(-5.0, 5.0))
MIXED = make_private_pipeline(
    PrivateStandardScaler(bounds=(-5.0, 5.0), delta=0.0), PrivateMean(bounds=(-5.0, 5.0))
)


def table(n=600, d=2, seed=0):
    rng = np.random.default_rng(seed)
    key = rng.integers(3, size=n)
    return np.column_stack([key, rng.normal(size=(n, d)) / 2 + key[:, None]])


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    town, day = rng.choice(["ayr", "bly", "cue"], 900), rng.integers(2, size=900)
    wage = rng.normal(size=900) / 4 + (town == "cue")
    return pandas.DataFrame({"town": town, "wage": wage, "day": day, "age": wage / 2})


def by_key(estimator=MEAN, levels=(0, 1, 2), **parameters):
    parameters = {"by": 0, "epsilon": 50.0, "random_state": 0, **parameters}
    return PrivateGroupBy(estimator, levels=None if levels is None else list(levels), **parameters)


# --- what it costs


@pytest.mark.parametrize(
    "estimator",
    [MEAN, PrivateMean(), PrivateCount(delta=0.0), PrivateHistogram(bins=4), MIXED],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("n_groups", [1, 12])
def test_all_groups_cost_what_one_fit_costs(estimator, n_groups):
    delta = 1e-6 if getattr(estimator, "delta", 0) else 0.0
    one = clone(estimator).set_params(epsilon=0.7, delta=delta).plan()
    all_ = by_key(estimator, range(n_groups), epsilon=0.7, delta=delta).plan()
    assert all_.budget == one.budget
    assert all_.failure_events == tuple((f"groups/{name}", p) for name, p in one.failure_events)
    assert sum(step.label == "groups" for step in all_.steps) == 1


def test_the_bill_lists_each_group_and_names_the_theorem():
    model = by_key(PrivateMean()).fit(table())
    report = model.privacy_report_
    assert any("parallel composition" in text for text in report.assumptions)
    for level, one in model.estimators_.items():
        mine = [c for c in report.charges if c.label.startswith(f"groups[{level}]/")]
        assert [c.label.partition("/")[2] for c in mine] == [
            c.label for c in one.privacy_report_.charges
        ]
        assert 0 < sum(c.share for c in mine) <= 1
        assert one.privacy_report_.budget == report.budget
    assert len(report.charges) == sum(
        len(one.privacy_report_.charges) for one in model.estimators_.values()
    )


def test_groups_pay_what_a_selection_leaves():
    model = by_key(levels=None).fit(table())
    report = model.privacy_report_
    assert report.charges[0].label == "levels/names"
    assert report.charges[0].share == Fraction(1, 10)
    assert {c.share for c in report.charges[1:]} == {Fraction(9, 10)}
    assert sum(p for _, p in report.failure_events) <= report.budget.failure


@pytest.mark.parametrize("estimator", [PrivateMean(), PrivateGroupBy(PrivateMean(), 0, [0, 1, 2])])
def test_listeners_hear_of_planned_steps_and_of_what_all_groups_spend(estimator, capsys):
    X = table()
    with config_context(progress=True):
        by_key(estimator, levels=None).fit(np.column_stack([X[:, 0], X]))
    told = capsys.readouterr().err
    assert "step 4 of" in told
    left = [float(line.split(": ")[1].split("%")[0]) for line in told.splitlines() if "%" in line]
    assert left == sorted(left, reverse=True) and left[-1] >= 0


# --- what neighbours see


def moved(model, X, Y, keys=(), other_keys=()):
    """Return the sets of rows whose releases differ between two tables, given the same answers."""
    fits = audited_clone(model), audited_clone(model)
    run, _, _ = recorded_fit(fits[0], X, "noise", coins=FixedKeys(keys))
    answers = [record.answer for record in run]
    again, _, _ = recorded_fit(fits[1], Y, answers, coins=FixedKeys(other_keys))
    pairs = list(zip(run, again, strict=True))
    assert len({a.label.split("/")[0] for a, _ in pairs}) == len(model.levels)
    assert all(a.request == b.request for a, b in pairs)
    differ = [a.label for a, b in pairs if not np.array_equal(a.value, b.value)]
    return {label.split("/")[0] for label in differ}


@pytest.mark.parametrize("row", [0, 5, 599])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_row_moves_releases_of_its_own_group_alone(row, in_pieces):
    X = table()
    Y, keys = np.delete(X, row, axis=0), np.random.default_rng(1).integers(2**63, size=600)
    tables = ([X[:250], X[250:]], [Y[:250], Y[250:]]) if in_pieces else (X, Y)
    assert moved(by_key(PrivateMean()), *tables, keys, np.delete(keys, row)) == {
        f"groups[{int(X[row, 0])}]"
    }


@pytest.mark.parametrize("key", [7.0, np.nan, 0.5, -1.0])
def test_a_row_whose_key_is_no_level_moves_nothing(key):
    X = table()
    Y = np.vstack([X, [key, 4.0, -4.0]])
    assert moved(by_key(), X, Y) == set()


@pytest.mark.slow  # tests/audit/test_composed.py has a case that every run sees
@pytest.mark.parametrize("levels", [[("ayr", 0), ("cue", 1), ("nil", 1)], None])
def test_nothing_but_answers_leaves(frame, levels):
    model = PrivateGroupBy(MEAN, ["town", "day"], levels, epsilon=40.0)
    assert non_interference(model, frame[:60], n_transcripts=1).ok


def test_rows_of_cores_keep_their_keys_and_their_owners():
    model = by_key(PrivateMean(method="friendly", radius=4.0), epsilon=30.0)
    assert conditional_sensitivity(model, table(60, 1), n_pairs=6).ok


# --- noise


def test_the_noise_of_a_group_hangs_on_its_level_alone():
    X = table()
    all_, one = by_key().fit(X), by_key(levels=[2]).fit(X)
    assert all_.estimators_[2].location_.tolist() == one.estimators_[2].location_.tolist()


def test_no_two_groups_share_noise():
    X = np.column_stack([np.repeat([0.0, 1.0, 2.0], 200), np.tile(table(200)[:, 1], 3)])
    model = by_key(epsilon=1.0).fit(X)
    assert len({float(one.location_[0]) for one in model.estimators_.values()}) == 3


# --- where rows come from


def sources(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame(X, columns=["key", "one", "two"])
    np.save(tmp_path / "rows.npy", X)
    yield whole
    yield [X[:100], X[100:101], X[101:]]
    yield [whole[:300], whole[300:]]
    yield np.load(tmp_path / "rows.npy", mmap_mode="r")
    if pytest.importorskip("pyarrow"):
        whole.to_parquet(tmp_path / "rows.parquet")
        yield str(tmp_path / "rows.parquet")
    yield pytest.importorskip("polars").DataFrame(whole.to_dict("list"))


@pytest.mark.parametrize(
    "estimator",
    [pytest.param(PrivateMean(), marks=pytest.mark.slow), MIXED],
    ids=["mean", "pipeline"],
)
def test_tables_of_all_kinds_give_the_same_bits(estimator, tmp_path):
    X = table(150)
    known = by_key(estimator, [1, 2], epsilon=9.0).fit(X).results()
    for rows in sources(X, tmp_path):
        found = by_key(estimator, [1, 2], epsilon=9.0).fit(rows).results()
        assert np.array_equal(found["value"], known["value"])
        assert np.array_equal(found["high"], known["high"])


def coded(table):
    """Yield one Arrow table whose text is stored in several ways, codes of their own among them."""
    import pyarrow

    whole = pyarrow.Table.from_pandas(table)
    parts = [whole[:100], whole[100:650], whole[650:]]
    own = [
        part.set_column(0, "town", part.column(0).combine_chunks().dictionary_encode())
        for part in parts
    ]
    yield whole
    yield pyarrow.concat_tables(parts)
    yield pyarrow.concat_tables(own)
    yield [batch for part in own for batch in part.to_batches()]


def parquet_with_unsigned_codes(table, path):
    """Return an open file whose text is read as unsigned codes, some of them missing."""
    import pyarrow
    from pyarrow import parquet

    whole = pyarrow.Table.from_pandas(table)
    codes = pyarrow.dictionary(pyarrow.uint8(), pyarrow.string())
    parquet.write_table(whole.set_column(0, "town", whole.column(0).cast(codes)), path)
    return parquet.ParquetFile(path)


def test_text_is_compared_alike_however_it_is_coded(frame, tmp_path):
    pytest.importorskip("pyarrow")
    table = frame.assign(town=np.where(np.arange(900) % 50 == 7, None, frame.town))
    table.to_parquet(tmp_path / "plain.parquet", row_group_size=70)
    text = table.assign(town=table.town.astype("category"))
    text.to_parquet(tmp_path / "coded.parquet", row_group_size=400)
    table.set_index("day").to_parquet(tmp_path / "indexed.parquet")  # a column less
    unsigned = parquet_with_unsigned_codes(table, tmp_path / "unsigned.parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("plain", "coded")]
    model = PrivateGroupBy(MEAN, "town", ["cue", "nil", "ayr"], random_state=0)
    known = clone(model).fit(table).results()
    for rows in (*coded(table), *paths, unsigned):
        assert clone(model).fit(rows).results().equals(known)
    less = clone(model).fit(table.drop(columns="day")).results()
    assert clone(model).fit(str(tmp_path / "indexed.parquet")).results().equals(less)


def test_a_file_is_asked_for_no_other_columns(frame, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    frame.to_parquet(tmp_path / "rows.parquet")
    asked, read = [], parquet.ParquetFile.iter_batches

    def counted(file, *args, **options):
        asked.append(tuple(options["columns"]))
        return read(file, *args, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    PrivateGroupBy(MEAN, "town", ["cue"], random_state=0).fit(str(tmp_path / "rows.parquet"))
    assert set(asked) == {("town",), ("wage", "day", "age")}


def test_rows_are_decoded_once_for_all_groups(monkeypatch):
    from skdp.readers import _tables

    X, n_rows, read = table(900), [], _tables.numbers
    monkeypatch.setattr(
        _tables, "numbers", lambda schema, raw: n_rows.append(len(raw)) or read(schema, raw)
    )
    by_key().fit([X[:400], X[400:]])
    assert sum(n_rows) <= 2 * 900 + 2  # the look, and the pass; heads have no rows


class Passes(list):
    """Batches that count how often they are read to their end."""

    n = 0

    def __iter__(self):
        yield from super().__iter__()
        self.n += 1


def test_groups_share_their_passes_over_rows():
    X = table(900)
    cut = [X[:400], X[400:]]

    def passes(levels):
        batches = Passes(cut)
        by_key(PrivateMean(), levels).fit(batches)
        return batches.n

    assert passes([0, 1, 2]) <= max(passes([level]) for level in range(3))


def test_a_level_without_rows_waits_like_any_other():
    X = table()
    one = np.vstack([X, [9.0, 0.0, 0.0]])
    model = by_key(PrivateMean(), [9, 0, 1])
    run, _, _ = recorded_fit(audited_clone(model), [X[:250], X[250:]], "noise")
    answers = [record.answer for record in run]
    again, _, error = recorded_fit(audited_clone(model), [one[:250], one[250:]], answers)
    assert error is None and [r.label for r in run] == [r.label for r in again]


class Rereads(PrivateCount):
    """Reads its rows the more often the more there are, before it says and releases something."""

    def _release(self, rows, curator):
        for _ in range(map_merge(rows, lambda start, block: len(block), int.__add__) % 7):
            map_merge(rows, lambda start, block: len(block), int.__add__)
        curator.decide("read")
        return super()._release(Table(rows, curator))


def bill_of(model, rows):
    report = model.set_params(epsilon=50.0, random_state=0).fit(rows).privacy_report_
    return [line.label for line in report.charges], report.decisions


@pytest.mark.parametrize("at_once", [2, 64])
@pytest.mark.parametrize(("inside", "nested"), [(False, False), (True, False), (True, True)])
def test_the_order_of_a_bill_does_not_tell_how_often_rows_are_read(
    inside, nested, at_once, monkeypatch
):
    monkeypatch.setattr("skdp.by_group._rows.AT_ONCE", at_once)
    X = np.column_stack([np.arange(600) % 2, table()])
    model = PrivateGroupBy(Rereads(), 0 if nested else 1, [2, 1, 0])
    model = make_private_pipeline(model) if inside else model
    model = PrivateGroupBy(model, 0, [1, 5, 0]) if nested else model
    known = bill_of(model, X)
    for rows in (X, X[X[:, 1] != 2], np.delete(X, np.flatnonzero(X[:, 1] == 1)[:3], axis=0)):
        assert bill_of(clone(model), [rows[:250], rows[250:]]) == known


class Breaks(PrivateCount):
    """Fails in a group of many rows, after a pass over them."""

    def _release(self, rows, curator):
        n = map_merge(rows, lambda start, block: len(block), lambda a, b: a + b)
        return {"n_": 1 // (n < 300)}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_failure_in_one_group_ends_all_and_tells_nothing(in_pieces, nested):
    X = table()
    X[50:500, 0] = 1
    ledger, before = PrivacyLedger(100.0, 1e-6), threading.active_count()
    estimator = PrivateGroupBy(Breaks(), 0, [1, 0]) if nested else Breaks()
    X = np.column_stack([X[:, 0], X]) if nested else X
    with pytest.raises(ReleaseError, match="withheld"):
        by_key(estimator, ledger=ledger).fit([X[:300], X[300:]] if in_pieces else X)
    assert len(ledger.entries()) == 2 and threading.active_count() == before


# --- levels and keys


def test_levels_without_rows_are_fitted_like_others():
    model = by_key(levels=[2, 0, 9]).fit(table())
    assert model.levels_ == [2, 0, 9] == list(model.estimators_)
    assert model.estimators_[9].location_.shape == (2,)
    with config_context(invalid_rows="ignore"):
        assert len(by_key().fit(table()[:0]).results()["value"]) == 6


def test_frequent_levels_are_found_and_rare_ones_are_not(frame):
    rare = frame.assign(town=np.where(np.arange(900) < 3, "dot", frame.town))
    model = PrivateGroupBy(MEAN, "town", epsilon=2.0, random_state=0).fit(rare)
    assert model.levels_ == ["ayr", "bly", "cue"]
    assert model.feature_names_in_.tolist() == ["town", "wage", "day", "age"]
    assert model.estimators_["cue"].feature_names_in_.tolist() == ["wage", "day", "age"]


@pytest.mark.parametrize(("key", "equal"), [(1, True), (True, 1), (0, False), (False, 0)])
@pytest.mark.parametrize("by", [0, [0, 2]])
def test_a_row_whose_key_equals_another_moves_no_count_but_its_own(key, equal, by, frame):
    keys = frame.day[:301].astype(object)
    keys[:], keys[300:] = key, equal
    X = frame[:301].assign(town=keys, day=2)
    found = [by_key(levels=None, by=by).fit(rows).levels_ for rows in (X, X[:-1])]
    assert repr(found) == repr([[key] if by == 0 else [(key, 2)]] * 2)
    keys[150:] = equal
    both = by_key(levels=None, by=by).fit(X.assign(town=keys))
    assert len(both.levels_) == 1 and not both.group_numbers(X).any()


def test_no_level_found_is_an_answer_and_a_doubt():
    with pytest.warns(Warning, match="no group exceeds"):
        model = by_key(levels=None, epsilon=0.01).fit(table(60))
    assert model.levels_ == [] and len(model.results()["value"]) == 0
    assert model.group_numbers(table(5)).tolist() == [-1] * 5


def test_keys_of_categories_texts_and_numbers_are_read_alike(frame):
    texts = frame.assign(town=frame.town.astype(object))
    kinds = [frame, texts, frame.assign(town=frame.town.astype("category"))]
    found = [
        PrivateGroupBy(MEAN, ["town", 2], [("ayr", 0), ("bly", 1)], random_state=0)
        .fit(rows)
        .results()["value"]
        .tolist()
        for rows in kinds
    ]
    assert found[0] == found[1] == found[2]


def test_groups_are_fitted_on_their_rows(frame):
    pairs = [("cue", 1), ("ayr", 0)]
    model = PrivateGroupBy(MEAN, ["town", "day"], pairs, epsilon=1e4, random_state=0).fit(frame)
    for town, day in pairs:
        rows = frame[(frame.town == town) & (frame.day == day)]
        means = model.estimators_[town, day].location_
        assert means == pytest.approx(rows[["wage", "age"]].mean().to_numpy(), abs=1e-3)


@pytest.mark.parametrize(
    ("by", "levels", "says"),
    [
        (9, [0], "by must be"),
        ("key", [0], "by must be"),
        ([0, 0], [(0, 0)], "by must be"),
        ([0, 1, 2], [0], "by must be"),
        (0, [], "levels must be"),
        (0, [0, 0], "levels must be"),
        (0, [0, 0.0], "levels must be"),
        (0, [None], "levels must be"),
        ([0, 1], [0, 1], "levels must be"),
        (0, "ab", "levels"),
        (0, ["0", "1"], "levels are text"),
    ],
)
def test_wrong_keys_are_refused_before_a_charge(by, levels, says):
    ledger = PrivacyLedger(9.0, 1e-6)
    with pytest.raises(ValueError, match=says):
        PrivateGroupBy(MEAN, by, levels, ledger=ledger).fit(table())
    assert len(ledger.entries()) == 1


def test_a_table_of_keys_alone_is_refused():
    with pytest.raises(ValueError, match="n_features = 1"):
        by_key().fit(table()[:, :1])


class PlansOnly(LinearRegression):
    """No estimator of skdp, although it has a plan."""

    def plan(self):
        return None


def test_what_cannot_be_fitted_by_group_is_refused_before_a_charge():
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]})
    with pytest.raises(PlanError, match="search"):
        by_key(search).plan()
    with pytest.raises(ValueError, match="'estimator' parameter"):
        by_key(LinearRegression()).plan()
    with pytest.raises(TypeError, match="one of skdp"):
        by_key(PlansOnly()).plan()
    with pytest.raises(PlanError, match="levels must be given"):
        by_key(PrivateCount(delta=0.0), None, delta=0.0).plan()
    X, ledger = table(), PrivacyLedger(100.0, 1e-6)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        by_key(PrivateMean(trim=True), ledger=ledger).fit(X)
    assert len(ledger.entries()) == 1


# --- results and predictions


def test_results_are_tidy(frame):
    pandas = pytest.importorskip("pandas")
    model = PrivateGroupBy(MEAN, "town", ["ayr", "cue"], random_state=0).fit(frame)
    results = model.results()
    assert isinstance(results, pandas.DataFrame)
    assert list(results.columns) == ["group", "variable", "value", "low", "high", "n", "reliable"]
    assert results.group.tolist() == ["ayr"] * 3 + ["cue"] * 3
    assert results.variable.tolist() == ["wage", "day", "age"] * 2
    assert np.all((results.low < results.value) & (results.value < results.high))
    assert results.n[[0, 3]].tolist() == pytest.approx([300, 300], abs=80)
    wider = model.results(simultaneous=True)
    assert np.all(wider.high - wider.low > results.high - results.low)
    two = PrivateGroupBy(PrivateCount(), ["town", "day"], [("ayr", 1)], random_state=0).fit(frame)
    line = two.results()
    assert list(line.columns)[:3] == ["town", "day", "group"]
    assert line.variable.tolist() == ["count"] and line.n.tolist() == line.value.tolist()


@pytest.mark.parametrize(
    ("estimator", "n_lines"),
    [
        (PrivateMedian(), 2),
        (PrivateQuantile([0.1, 0.9]), 4),
        (PrivateHistogram(bins=2, epsilon=2.0), 4),
    ],
    ids=["median", "quantiles", "histogram"],
)
def test_results_of_other_estimators(estimator, n_lines):
    results = by_key(estimator).fit(table()).results()
    assert len(results["value"]) == 3 * n_lines
    labels = [results[name] for name in ("variable", "q") if name in results]
    assert len(set(zip(*labels, strict=True))) == n_lines


def test_results_without_numbers_lead_to_the_estimators():
    model = by_key(PrivateStandardScaler()).fit(table())
    assert set(model.results()["variable"]) == {"x0", "x1"}
    with pytest.raises(AttributeError, match="Read its attributes"):
        by_key(FriendlyCoreKMeans(2)).fit(table()).results()


def line(n=4000):
    rng = np.random.default_rng(0)
    key, x = rng.integers(2, size=n), rng.uniform(-1, 1, size=n)
    return np.column_stack([key, x]), np.where(key, 3.0, -3.0) * x + rng.normal(size=n) / 10


def test_predictions_come_from_the_model_of_the_group():
    X, y = line()
    model = by_key(PrivateLinearRegression(), [0, 1]).fit(X, y)
    inside = model.predict(X)
    assert np.mean(np.abs(inside - y)) < 0.2
    asked = np.array([[1.0, 0.5], [5.0, 0.5], [0.0, 0.5], [np.nan, 0.5]])
    told = model.predict(asked)
    assert np.isnan(told).tolist() == [False, True, False, True] and told[0] > 0 > told[2]
    assert np.array_equal(np.concatenate(list(model.predict([X[:10], X[10:20]]))), inside[:20])
    slopes = model.results()
    assert slopes["variable"].tolist() == ["x0", "intercept"] * 2
    assert is_regressor(model)


def test_classes_are_those_of_all_groups():
    X, y = line()
    labels = np.where(y > 0, "up", "down")
    model = by_key(PrivateLogisticRegression(classes=["down", "up"]), [0, 1]).fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.85
    assert model.predict_proba(X[:7]).shape == (7, 2)
    assert model.predict([[9.0, 0.1]]).tolist() != ["up"]


def test_a_target_may_be_a_column(frame):
    model = PrivateGroupBy(PrivateLinearRegression(), "town", ["ayr", "cue"], random_state=0)
    model.fit(frame[["town", "wage", "age"]], "age")
    assert model.n_features_in_ == 2
    assert model.estimators_["ayr"].feature_names_in_.tolist() == ["wage"]
    halves = [frame[["town", "wage", "age"]][:400], frame[["town", "wage", "age"]][400:]]
    again = clone(model).fit(halves, "age")
    assert again.results().equals(model.results())


def test_a_group_by_may_be_the_last_step_of_a_pipeline():
    keys = make_private_pipeline(RowMap(np.rint), by_key(epsilon=1.0), epsilon=30.0)
    fitted = keys.set_params(random_state=0).fit(table())
    assert len(fitted[-1].estimators_) == 3
    assert fitted.privacy_report_.budget == keys.plan().budget


@pytest.mark.parametrize(
    ("estimator", "released"),
    [
        (PrivateMean(), True),
        (PrivateMean(trim=True), True),
        (MEAN, True),
        (PrivateMedian(), True),
        (PrivateQuantile([0.1, 0.9], bounds=(-9, 9)), True),
        (PrivateMean(method="friendly"), False),
        (PrivateQuantile(method="bounded"), True),
        (PrivateVariance(), True),
    ],
)
def test_numbers_of_rows_are_those_of_the_groups(estimator, released):
    X = table(6000)
    results = by_key(estimator).fit(X).results()
    exact = np.repeat([(X[:, 0] == key).sum() for key in range(3)], len(results["n"]) // 3)
    if released:
        assert results["n"].tolist() == pytest.approx(exact.tolist(), abs=6)
    else:
        assert np.isnan(results["n"]).all()


def test_groups_in_which_a_tail_may_hide_say_so():
    X = table(12000, d=1)
    X = X[(X[:, 0] != 2) | (np.arange(12000) < 200)]  # 79 rows are left of it
    model = by_key(PrivateMean(), epsilon=2.0).fit(X)
    assert model.results()["reliable"].tolist() == [True, True, False]
    assert "a tail" in str(model.estimators_[2].accuracy_warnings_)
    assert all(by_key(MEAN, epsilon=2.0).fit(X).results()["reliable"])


@pytest.mark.parametrize("wrong", [PrivateSum(None), PrivateMean(method="none")], ids=repr)
def test_parameters_of_what_is_fitted_by_group_are_checked_before_the_charge(wrong):
    ledger = PrivacyLedger(10.0, 1e-3)
    for model in (
        PrivateGroupBy(wrong, 0, [0, 1]),
        make_private_pipeline(FriendlyCoreFilter(), wrong),
    ):
        with pytest.raises(ValueError, match="parameter of Private"):
            model.set_params(ledger=ledger).fit(np.zeros((30, 2)))
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    "entry", [np.timedelta64(1, "s"), Decimal("sNaN"), 10**400, [1], 1j], ids=repr
)
@pytest.mark.parametrize("model", [by_key(levels=None, by="k"), PrivateSummary(random_state=0)])
def test_an_entry_of_any_type_is_a_key_or_none(model, entry):
    pandas = pytest.importorskip("pandas")
    key = pandas.Series(["a", "b"] * 200, dtype=object)
    key[7] = entry
    X = pandas.DataFrame({"k": key, "x": np.linspace(0.0, 1.0, 400)})
    clone(model).fit(X)
    column = Columns(X).read(0)
    assert column[7] is entry and sum(_counted(column).values()) in (399, 400)
    assert numbers_of(column)[7] == np.inf


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_the_table_is_not_copied(kind):
    """Beside the fit of one group a key and a few numbers are held of every row."""
    n, d, n_groups = 60_000, 30, 20
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 0] = rng.integers(0, n_groups, n)
    table = pytest.importorskip("pandas").DataFrame(X) if kind == "frame" else X
    model = PrivateGroupBy(PrivateMean(bounds=(-5, 5)), 0, list(range(n_groups)), random_state=0)
    clone(model).fit(table[:200])  # loads what is loaded once

    def peak(estimator, rows):
        tracemalloc.start()
        try:
            estimator.fit(rows)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    one = peak(PrivateMean(bounds=(-5, 5), random_state=0), X[X[:, 0] == 0, 1:])
    looked = X.nbytes if kind == "frame" else 0  # scikit-learn looks at an array of all its entries
    assert peak(model, table) < 1.1 * one + 60 * n + looked
    assert 1.1 * one + 60 * n < one + 0.6 * X.nbytes


def test_columns_are_one_array_where_a_frame_holds_them_so():
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(50, 4))
    rows, columns = pandas.DataFrame(x), pandas.DataFrame(np.asfortranarray(x))
    beside = pandas.DataFrame(x)
    beside.insert(0, "k", 1)
    for frame, places in [
        (rows, (0, 1, 2, 3)),
        (rows, (1, 3)),
        (rows[::-1], (3, 2)),
        (columns[::3], (1, 2)),
        (columns, (2,)),
        (beside, (1, 2, 3, 4)),
    ]:
        floats = _floats_of(frame, places)
        assert np.shares_memory(floats, frame.iloc[:, places[0]].to_numpy())
        assert not floats.flags.writeable
        part = frame.iloc[:, list(places)]
        np.testing.assert_array_equal(floats, part.to_numpy())
        pandas.testing.assert_frame_equal(of_columns(frame, places), part)
        numbers, views = np.array([3, 1, 16]), GroupViews(frame, places)
        taken = part.iloc[numbers].reset_index(drop=True)
        pandas.testing.assert_frame_equal(views.rows(numbers), taken)
    apart = pandas.concat([rows[[0]], pandas.DataFrame(x)[[1, 2]]], axis=1)
    others = rows.astype("Float64"), rows.astype(np.float32), rows[:1], beside[["k"]], x
    assert all(_floats_of(frame, (0,)) is None for frame in others)
    assert _floats_of(apart, (1, 0, 2)) is None and _floats_of(rows, ()) is None


def test_rows_of_groups_are_taken_together_where_columns_lie_apart(monkeypatch):
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(9000, 3))
    x[5, 1], x[6, 2] = np.nan, -0.0
    frame = pandas.DataFrame(np.asfortranarray(x), columns=["a", "b", "c"])
    groups = [np.arange(j, 8990, 7) for j in range(5)]
    groups.insert(2, np.arange(0))
    made, take = [], _rows.gathered
    monkeypatch.setattr(_rows, "gathered", lambda *of: made.append(of) or take(*of))
    for batch, passes in [(2**26, 1), (3 * 8 * 2600, 3), (3 * 8 * 100, 0)]:
        monkeypatch.setattr(_rows, "GATHERED_BYTES", batch)
        views = GroupViews(frame, (0, 1, 2))
        views.expect(groups)
        made.clear()
        for group in [*groups, groups[-1], groups[0].copy()]:
            taken = views.rows(group)
            pandas.testing.assert_frame_equal(taken, frame.iloc[group].reset_index(drop=True))
        assert len(made) == passes


@pytest.mark.parametrize("places", [(1, 2, 3), (0, 2), (3, 1)])
def test_rows_of_a_group_of_an_array_lie_row_by_row(places):
    X, numbers = np.arange(80.0).reshape(20, 4), np.array([3, 1, 16])
    rows = GroupViews(X, places).rows(numbers)
    np.testing.assert_array_equal(rows, X[numbers][:, list(places)])
    assert rows.flags.c_contiguous and not np.shares_memory(rows, X)


def test_no_group_is_taken_for_one_that_has_ended():
    """Numbers of an ended group may have lain where those of a later one do: both have one id."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.asfortranarray(np.arange(300.0).reshape(100, 3)))
    views = GroupViews(frame, (0, 1, 2))
    for start in range(50):
        groups = [np.arange(start + j, 100, 7) for j in range(5)]
        views.expect(groups)
        for group in groups:
            np.testing.assert_array_equal(views.rows(group), frame.iloc[group])
        del groups, group
        views.expect([])  # no group is found


def test_keys_that_are_kept_for_all_groups_are_those_of_the_rows():
    coins = RowKeys(make_entropy(0))
    kept = _KeptKeys(coins)
    for start, stop in [(10, 90), (5, 80), (20, 100), (0, 110), (300, 400), (90, 310), (7, 7)]:
        for use in ("", "thinned"):
            found = kept.keys(start, stop, use=use)
            assert found.tolist() == coins.keys(start, stop, use=use).tolist()


def test_a_group_reads_bounds_off_answers_about_its_own_rows():
    """No ticket of one group means anything in another, and a group that has ended holds none."""
    seen = []

    class Noted(PrivateMean):
        def _release(self, table):
            seen.append(table)
            return super()._release(table)

    PrivateGroupBy(Noted(), 0, [0, 1], random_state=0).fit(table())
    logs = [one._log for one in seen]
    assert len(logs) == 2 and logs[0].answers is not logs[1].answers
    assert logs[0].answers and not any(logs[0].answers) and not any(logs[1].answers)
