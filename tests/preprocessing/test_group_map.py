"""GroupMap: one row of all rows of a person, each by itself."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from skdp import (
    GroupMap,
    PrivacyLedger,
    PrivateGroupBy,
    PrivateLinearRegression,
    PrivateMean,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import non_interference
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.exceptions import PlanError
from skdp.gate._curator import replaced_curator
from skdp.readers._persons import Persons
from skdp.rowwise._groups import map_groups_in_pieces
from tests._curators import CannedCurator
from tests._persons import neighbours

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
BOUNDED = PrivateMean(bounds=(-5.0, 5.0))


def breaks(rows):
    """Fail, leave or return too much, as the rows of one person say."""
    first = float(rows[0, 0])
    if first > 3:
        raise SystemExit(str(first))
    if first > 2:
        return np.zeros(int(rows.shape[0]) + 2)
    if first < -2:
        return "text"
    return rows.sum(axis=0)


def chain(func, *steps, **parameters):
    return make_private_pipeline(
        GroupMap(func, n_features=2), *(steps or (BOUNDED,)), **{"epsilon": 8.0, **parameters}
    )


def replay(model, X, ids, stay, seed):
    rng, runs = np.random.default_rng(seed), []
    keys = rng.integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    for rows in (slice(None), stay):
        script = Script(runs[0].records) if runs else "noise"
        made = []

        def make(plan, entropy, script=script, rows=rows, made=made):
            made.append(CannedCurator(plan, script, seed=seed, coins=FixedKeys(keys[rows])))
            return made[-1]

        with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
            model.fit(X[rows], groups=ids[rows])
        runs += made
    assert runs[0].close("x") == runs[1].close("x")
    return runs


@pytest.mark.cases(6)
@pytest.mark.parametrize("func", [breaks, lambda rows: rows[-1], lambda rows: rows.max(axis=0)])
@pytest.mark.parametrize("seed", range(6))
def test_a_person_adds_one_row(func, seed):
    X, ids, stay = neighbours(np.random.default_rng(seed), 50, 2)
    run, again = replay(chain(func), X, ids, stay, seed)
    for _, moved, allowed in moves(run.records, again.records):
        assert moved <= allowed


def test_rows_after_it_are_worth_a_whole_person():
    ids = np.repeat(np.arange(40), 5)
    X = np.full((200, 2), 5.0)
    worst = 0.0
    run, again = replay(chain(lambda rows: rows[0]), X, ids, ids != 3, 0)
    for _, moved, allowed in moves(run.records, again.records):
        worst = max(worst, float(moved / allowed))
    assert 0.4 < worst <= 1


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_person_are_a_function_of_its_rows(seed):
    X, ids, stay = neighbours(np.random.default_rng(seed), 60, 3)
    group_map = GroupMap(lambda rows: [rows.mean(), np.median(rows), len(rows)]).fit(X)
    whole, less = (group_map.transform(X[r], groups=ids[r]) for r in (slice(None), stay))
    _, firsts = np.unique(ids, return_index=True)
    order = ids[np.sort(firsts)]
    kept = order != ids[~stay][0]
    assert whole[kept].tobytes() == less.tobytes()


def test_it_is_given_copies_without_places():
    seen = []

    def looks(rows):
        seen.append((rows.index.tolist(), rows.shape))
        rows.iloc[:] = np.nan
        return 1.0

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[10, 20, 30])
    made = GroupMap(looks, n_features=1).fit(frame)
    del seen[:]
    made.transform(frame, groups=["x", "y", "x"])
    assert seen == [([0, 1], (2, 1)), ([0], (1, 1))] and frame.a.tolist() == [1, 2, 3]


def test_groups_are_in_the_order_of_their_first_rows():
    X = np.array([[3.0], [1.0], [2.0], [5.0]])
    made = GroupMap(np.max).fit_transform(X, groups=["b", "a", "b", "c"])
    assert made.ravel().tolist() == [3, 1, 5]


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
def test_frames_come_back_with_names(frame):
    X = frame({"a": [1.0, 2.0, 3.0], "town": ["x", "y", "x"]})
    made = GroupMap(lambda t: {"top": t["a"].max(), "n": len(t)}).fit_transform(X, groups=[0, 0, 1])
    assert isinstance(made, frame) and list(made.columns) == ["top", "n"]
    assert np.asarray(made).tolist() == [[2, 2], [3, 1]]
    model = make_private_pipeline(
        GroupMap(lambda t: {"top": t["a"].max()}), PrivateMean(bounds=(0, 9)), random_state=0
    )
    assert list(model.fit(X, groups=[0, 0, 1])[-1].results()["variable"]) == ["top"]


def test_failures_are_missing_and_decide_on_nobody_else():
    X = np.array([[9.0, 0], [2.5, 0], [-9, 0], [1, 2], [1, 3]])
    made = GroupMap(breaks, n_features=2).fit(X).transform(X, groups=[0, 1, 2, 3, 3])
    assert np.isnan(made[:3]).all() and made[3].tolist() == [2, 5]


@pytest.mark.parametrize(
    ("group_map", "says"),
    [
        (GroupMap(lambda rows: 1 / 0), "Pass n_features"),
        (GroupMap(lambda rows: np.zeros(len(rows))), "as many"),
        (GroupMap(np.max, n_features=3), "n_features=3"),
        (GroupMap(np.max, feature_names_out=["a", "b"]), "feature_names_out must have 1"),
    ],
)
def test_functions_of_no_fixed_size_are_refused(group_map, says):
    with pytest.raises(ValueError, match=says):
        group_map.fit(np.zeros((4, 2)))


def test_what_cannot_be_is_refused_before_a_charge():
    ledger = PrivacyLedger(20.0, 1e-4, unit="group")
    X, ids = np.zeros((6, 2)), [0, 0, 1, 1, 2, 2]
    pipe = chain(lambda rows: rows[0], ledger=ledger)
    with pytest.raises(ValueError, match="groups=ids"):
        pipe.fit(X)
    search = PrivateSearchCV(chain(lambda rows: rows[0]), {"privatemean__trim": [False, True]})
    with pytest.raises(PlanError, match="Apply it first"):
        search.fit(X, groups=ids)
    assert make_private_pipeline(RowMap(np.abs), GroupMap(np.max)).plan().problems
    assert len(ledger.entries()) == 1
    with pytest.raises(ValueError, match="groups=ids"):
        GroupMap(np.max).fit(X).transform(X)


def test_what_follows_reads_one_row_of_each_person():
    rng = np.random.default_rng(0)
    ids = rng.integers(2000, size=9000)
    own = rng.normal(size=2000)
    X = np.column_stack([own[ids], rng.normal(size=9000)])
    steps = PrivateStandardScaler(bounds=(-9, 9)), PrivateLinearRegression()
    model = chain(lambda rows: rows.mean(axis=0), *steps, epsilon=20.0, random_state=0)
    model.fit(X, 3 * own[ids], groups=ids)
    assert model[-1].coef_[0] == pytest.approx(3 * model[1].scale_[0], rel=0.05)
    assert not hasattr(model, "predict")
    persons = model[0].transform(X, groups=ids)
    assert model[1:].predict(persons).shape == np.unique(ids).shape


def test_it_works_inside_a_group_by():
    rng = np.random.default_rng(0)
    ids = rng.integers(1000, size=4000)
    X = np.column_stack([ids % 2, rng.normal(size=4000) + 4 * (ids % 2)])
    longest = make_private_pipeline(GroupMap(np.max), PrivateMean(bounds=(-9, 9)))
    model = PrivateGroupBy(longest, 0, [0, 1], epsilon=50.0, random_state=0).fit(X, groups=ids)
    exact = pd.Series(X[:, 1]).groupby(ids).max().groupby(np.unique(ids) % 2).mean()
    assert model.results()["value"].tolist() == pytest.approx(exact.tolist(), abs=0.2)


def facts(rows):
    return {"sum": rows["a"].sum(), "n": len(rows), "x": (rows["town"] == "x").sum()}


@pytest.mark.parametrize("held", [2**28, 2**10])  # bytes: all at once, and some at each reading
@pytest.mark.parametrize("kind", ["batches", "sorted", "parquet", "dask", "memmap", "polars"])
def test_tables_in_pieces_say_what_they_say_in_memory(kind, held, tmp_path, monkeypatch):
    monkeypatch.setattr("skdp.preprocessing._group_map.HELD_BYTES", held)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=900), "town": rng.choice(["x", "y"], 900)})
    ids, func = rng.integers(200, size=900), facts
    if kind == "memmap":
        X, func = X[["a"]].to_numpy(), lambda rows: [rows.sum(), len(rows), rows[0, 0]]
        np.save(tmp_path / "X.npy", X)
    pieces = [X[:100], X[100:101], X[101:101], X[101:]]
    if kind == "sorted":
        ids = np.sort(ids)
    if kind == "parquet":
        X.to_parquet(tmp_path / "X.parquet", row_group_size=80)
        pieces = str(tmp_path / "X.parquet")
    if kind == "dask":
        pieces = pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=7)
    if kind == "memmap":
        pieces = np.load(tmp_path / "X.npy", mmap_mode="r")
    if kind == "polars":
        pieces, X = [polars.from_pandas(part) for part in pieces], polars.from_pandas(X)
    whole, parts = (
        make_private_pipeline(GroupMap(func), BOUNDED, random_state=0).fit(Z, groups=ids)
        for Z in (X, pieces)
    )
    assert np.array_equal(parts[-1].location_, whole[-1].location_)
    joined = [np.asarray(GroupMap(func).fit(Z).transform(Z, groups=ids)) for Z in (X, pieces)]
    assert joined[0].tobytes() == joined[1].tobytes()


def test_rows_wait_for_the_last_of_their_person_and_no_longer():
    codes = np.array([0, 1, 0, -1, 2, 1, 2, 2])
    X, told = np.arange(8.0)[:, None], []

    def pieces():
        told.append("read")
        for i in range(0, 8, 2):
            told.append(i)
            yield 2, X[i : i + 2]

    def func(rows):
        told.append(rows.ravel().tolist())
        return [len(rows)]

    options = {"persons": Persons(codes, 3), "n_features": 1}
    with patch("skdp.rowwise._groups.LEAST", 1):
        values, firsts = map_groups_in_pieces(func, pieces, **options, most=3)
    assert values.ravel().tolist() == [2, 2, 3] and firsts.tolist() == [0, 1, 4]
    assert told == ["read", 0, 2, 4, [0, 2], [1, 5], 6, [4, 6, 7]]
    del told[:]
    assert map_groups_in_pieces(func, pieces, **options, most=1)[0].tolist() == values.tolist()
    assert told.count("read") == 2
    with pytest.raises(ValueError, match="another length"):
        map_groups_in_pieces(func, lambda: [(2, X[:2])], **options, most=9)


@pytest.mark.parametrize("seed", range(3))
def test_a_person_in_several_pieces_adds_one_row(seed, monkeypatch):
    monkeypatch.setattr("skdp.preprocessing._group_map.HELD_BYTES", 2**8)
    X, ids, stay = neighbours(np.random.default_rng(seed), 50, 2)
    model = chain(lambda rows: rows[-1])
    fit = model.fit
    model.fit = lambda X, groups: fit(np.array_split(X, 7), groups=groups)
    run, again = replay(model, X, ids, stay, seed)
    for _, moved, allowed in moves(run.records, again.records):
        assert moved <= allowed


@pytest.mark.slow
def test_nothing_but_answers_leaves():
    X, ids, _ = neighbours(np.random.default_rng(0), 20, 2)
    X = np.nan_to_num(X, posinf=0, neginf=0)
    assert non_interference(chain(breaks), X, groups=ids, n_transcripts=1).ok


@pytest.mark.parametrize("in_pieces", [False, True])
def test_what_polars_knows_of_a_column_is_not_told_to_a_function(in_pieces):
    """A column of one value has the flag of a sorted one, unless a person has another value."""
    n = 200
    ids = np.random.default_rng(0).permutation(np.repeat(np.arange(n), 2))
    fee = polars.DataFrame({"day": np.arange(2.0 * n)}).with_columns(fee=polars.lit(0.0))
    more = polars.concat([fee, polars.DataFrame({"day": [0.0], "fee": [5.0]})])
    maps = []
    for X, own in ((fee, ids), (more, np.append(ids, n))):
        X = [X[:150], X[150:]] if in_pieces else X
        group_map = GroupMap(lambda rows: rows["fee"].arg_max(), n_features=1)
        maps.append(np.asarray(group_map.fit(X).transform(X, groups=own))[:n])
    assert np.array_equal(*maps)


def test_rows_of_polars_come_with_their_types():
    X = polars.DataFrame(
        {
            "day": polars.Series([1, 2, 3, 4], dtype=polars.Int64).cast(
                polars.Datetime("ns", "UTC")
            ),
            "state": polars.Series(["a", "b", None, "a"], dtype=polars.Enum(["b", "a"])),
            "of": [[1], [], None, [2, 3]],
            "sum": polars.Series(["1.5", "2", "3", None]).cast(polars.Decimal(10, 2)),
        }
    )
    seen = []
    group_map = GroupMap(lambda rows: seen.append(rows) or [1.0], n_features=1)
    group_map.fit(X).transform(X, groups=[0, 1, 0, 1])
    assert seen[-2].equals(X[[0, 2]]) and seen[-1].equals(X[[1, 3]])
    assert seen[-1].schema == X.schema


CODED = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())


@pytest.mark.parametrize("step", [GroupMap, RowMap])
@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Series(["x"], dtype=pd.ArrowDtype(CODED))}),
        pd.DataFrame({"a": pd.Series(dtype=pd.ArrowDtype(pyarrow.list_(CODED)))}),
        polars.DataFrame({"a": []}, schema={"a": polars.List(polars.Categorical)}),
        polars.DataFrame(schema={"a": polars.Struct({"b": polars.Categorical})}),
    ],
)
def test_codes_that_other_rows_decide_are_refused(step, X):
    """The number of groups, indicators and codes of pandas shows the categories of all rows."""
    with pytest.raises(ValueError, match="depend on the rows before"):
        step(lambda rows: [1.0]).fit(X)


@pytest.mark.parametrize("of", ["list", "map"])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_gap_in_a_list_does_not_round_the_numbers_of_others(in_pieces, of):
    """Lists of Arrow would be arrays of floats for all rows, where one holds a gap."""
    big, maps = 2**53 + 1, []
    kind = pyarrow.list_(pyarrow.int64())
    if of == "map":
        kind = pyarrow.map_(pyarrow.string(), pyarrow.int64())

    def parity(rows):
        first = rows["a"].iloc[0][0]
        return float(int(first[1] if of == "map" else first) % 2)

    for n in (4, 5):
        entries = [big] * 4 + [None]
        lists = [[("b", one)] if of == "map" else [one] for one in entries[:n]]
        X, own = pyarrow.table({"a": pyarrow.array(lists, kind)}), [0, 0, 1, 1, 2][:n]
        X = [X[:2], X[2:]] if in_pieces else X
        group_map = GroupMap(parity, n_features=1)
        maps.append(np.asarray(group_map.fit(X).transform(X, groups=own))[:2])
    assert np.array_equal(*maps) and maps[0].all()
