"""Pipelines on what comes in pieces: the fit of the whole table, bit by bit."""

import io
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    LaplaceMechanism,
    MarginalReleaser,
    PrivacyLedger,
    PrivateCovariance,
    PrivateGMM,
    PrivateMean,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateStandardScaler,
    PublicFit,
    RowMap,
    SensitivityPreprocessor,
    config_context,
    make_private_pipeline,
)
from skdp.audit._fingerprint import fingerprint
from skdp.base import Curator, Local
from skdp.gate._accountant import BudgetAllocation
from skdp.marginals import Bins
from skdp.mechanisms import RowKeys
from skdp.mechanisms._entropy import SeededEntropy
from skdp.readers import _rows

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
STAYS = (RowKeys, SeededEntropy, Curator, PrivacyLedger, BudgetAllocation, Local)

WIDE = (-np.inf, 1, np.inf)
N = 1009


def doubled(x):
    return x[:, :2] * 2 + x[:, 1:]


def fails(x):
    return x if np.isfinite(x).all() else {}["an entry"]


def chains():
    """Return chains of steps for three positive columns."""
    public = np.arange(30.0).reshape(10, 3) ** 2
    scaled = make_pipeline(RowMap(np.sqrt), PrivateStandardScaler(), Normalizer())
    columns = ColumnTransformer(
        [("x", PrivateStandardScaler(), [0])],
        remainder=PrivateMinMaxScaler(),
    )
    return {
        "maps": [RowMap(np.log1p), RowMap(doubled), PrivateMean(), JamesSteinDenoiser()],
        "scaled": [PrivateStandardScaler(), FriendlyCoreKMeans(3, n_init=1)],
        "core": [FriendlyCoreFilter(), RowMap(np.nan_to_num), PrivateMean()],
        "friends": [FriendlyCoreFilter(), PrivateMean(method="friendly")],
        "bounded": [
            FriendlyCoreFilter(),
            SensitivityPreprocessor("median", sensitivity=1.0),
            LaplaceMechanism(),
        ],
        "mixture": [PrivateMinMaxScaler(), PrivatePCA(2), PrivateGMM(2, n_init=1)],
        "public": [PublicFit(StandardScaler(), public), PrivateCovariance()],
        "nested": [make_private_pipeline(RowMap(np.sqrt), PrivateStandardScaler()), PrivateMean()],
        "containers": [FeatureUnion([("a", scaled), ("b", columns)]), PrivateMean()],
        "counted": [
            FriendlyCoreFilter(),
            MarginalReleaser(1, domain={0: Bins(WIDE), 1: Bins(WIDE)}),
        ],
    }


@pytest.fixture(scope="module")
def table():
    return positive_table()


def positive_table():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(N, 3))) * [1, 10, 100]
    X[:20] *= 1e4
    return X


def pipeline(steps, **parameters):
    return make_private_pipeline(*steps, epsilon=8.0, random_state=3, **parameters)


def pieces(table, *cuts):
    """Return batches of a table: some rows, none, one, all others."""
    rows = getattr(table, "iloc", table)
    ends = [0, *(cuts or (300, 300, 301)), len(table)]
    return [rows[a:b] for a, b in pairwise(ends)]


def released(pipe):
    """Return what the steps of a pipeline have released, and its bill."""
    names = [name for name in vars(pipe) if name.endswith("_") and name != "steps_"]
    steps = [
        {name: getattr(step, name) for name in vars(step) if name.endswith("_")}
        for _, step in pipe.steps_
    ]
    return fingerprint([{name: getattr(pipe, name) for name in names}, steps])


def whole(results):
    return np.concatenate([np.asarray(part) for part in results])


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", chains())
def test_a_pipeline_of_pieces_is_that_of_the_table(table, name):
    pipe = pipeline(chains()[name])
    there, here = clone(pipe).fit(pieces(table)), clone(pipe).fit(table)
    assert released(there) == released(here)
    methods = ("transform", "predict", "predict_proba", "score_samples")
    for method in (name for name in methods if hasattr(here, name)):
        told = getattr(there, method)(pieces(table))
        assert isinstance(told, _rows.LazyBatches)
        np.testing.assert_array_equal(whole(told), getattr(here, method)(table))
    if hasattr(here, "score"):
        assert there.score(pieces(table)) == pytest.approx(here.score(table), rel=1e-9)


def test_other_cuts_threads_and_maps_on_disk_change_nothing(table, tmp_path):
    pipe = pipeline(chains()["mixture"])
    told = released(clone(pipe).fit(table))
    with parallel_config(n_jobs=2):
        assert released(clone(pipe).fit(pieces(table, 17, 900, N - 1))) == told
    table.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=float, mode="r", shape=table.shape)
    assert released(clone(pipe).fit(mapped)) == told


@pytest.mark.slow
def test_frames_of_many_types(table):
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame({"a": table[:320, 0], "b": table[:320, 1].astype(int)})
    frame["c"] = rng.choice(["u", "v", "w"], len(frame))
    encoder = OneHotEncoder(categories=[["u", "v"]], handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(RowMap(np.log1p), PrivateStandardScaler())
    both = [("n", numbers, make_column_selector(dtype_include="number")), ("c", encoder, ["c"])]
    pipe = pipeline([ColumnTransformer(both), PrivateMean()])
    told = released(clone(pipe).fit(frame))
    there = clone(pipe).fit(pieces(frame))
    assert released(there) == told
    np.testing.assert_array_equal(whole(there.transform(pieces(frame))), there.transform(frame))
    arrow = [pyarrow.Table.from_pandas(part, preserve_index=False) for part in pieces(frame)]
    coded = [t.set_column(2, "c", t.column(2).dictionary_encode()) for t in arrow]
    location = there[-1].location_
    for batches in (arrow, coded):
        np.testing.assert_array_equal(clone(pipe).fit(batches)[-1].location_, location)
    with pytest.raises(ValueError, match="columns of other types"):
        pipe.fit([*arrow[:1], *coded[1:], arrow[0].rename_columns(["a", "b", "d"])])


def test_a_gap_changes_the_types_of_no_other_row():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    seen = []

    def told(row):
        seen.append(tuple(map(str, row.dtypes)))
        return row

    batches = [pyarrow.table({"a": [1, 2], "b": [True, False]})]
    batches.append(pyarrow.table({"a": [None, 2], "b": [True, None]}, schema=batches[0].schema))
    kept = list(RowMap(told).fit(batches).transform(batches))
    assert set(seen) == {("Int64", "boolean")}
    assert pandas.concat(kept).isna().to_numpy().sum() == 2


def test_what_is_wrong_is_told_before_the_charge(table):
    ledger = PrivacyLedger(epsilon=10.0, delta=1e-3)
    bad = table.copy()
    bad[700, 1] = np.nan
    for steps, message in [
        ([PrivateMean(trim=True)], "contains NaN"),
        ([RowMap(np.log1p), PrivateMean(trim=True)], "'privatemean' cannot read"),
        ([RowMap(fails), PrivateMean()], "failed on a row with KeyError"),
    ]:
        with pytest.raises(ValueError, match=message):
            pipeline(steps, ledger=ledger).fit(pieces(bad))
    with pytest.raises(ValueError, match="columns of other types"):
        pipeline([RowMap(), PrivateMean()], ledger=ledger).fit([table[:9], table[9:].astype("f4")])
    with pytest.raises(TypeError, match="only once"):
        pipeline([PrivateMean()], ledger=ledger).fit(iter(pieces(table)))
    assert ledger.spent().epsilon == 0
    with config_context(invalid_rows="ignore"):
        pipe = pipeline([RowMap(np.log1p), PrivateMean()])
        assert released(clone(pipe).fit(pieces(bad))) == released(clone(pipe).fit(bad))


@pytest.mark.parametrize("name", ["friends", "nested", "containers"])
def test_workers_are_sent_no_budget_and_no_coins(table, name, monkeypatch):
    cloudpickle = pytest.importorskip("cloudpickle")

    class Sent(cloudpickle.Pickler):
        def persistent_id(self, thing):
            assert not isinstance(thing, STAYS), type(thing)
            assert not isinstance(thing, np.ndarray) or N not in thing.shape

    def sent(statistic, merge, decode, start, raw, cuts):
        file = io.BytesIO()
        Sent(file).dump((statistic, merge, decode, cuts))
        statistic, merge, decode, cuts = cloudpickle.loads(file.getvalue())
        return here(statistic, merge, decode, start, raw, cuts)

    here = _rows.statistic_of
    pipe = pipeline(chains()[name])
    told = released(clone(pipe).fit(table))
    monkeypatch.setattr(_rows, "statistic_of", sent)
    there = clone(pipe).set_params(ledger=PrivacyLedger(epsilon=10.0, delta=1e-3))
    assert released(there.fit(pieces(table))) == told


@pytest.mark.slow
def test_frames_come_out_where_they_are_asked_for(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, columns=["a", "b", "c"])
    batches = pieces(frame)
    for step in (PrivateStandardScaler(random_state=0), FriendlyCoreFilter(random_state=0)):
        step.set_output(transform="pandas").fit(batches)
        pandas.testing.assert_frame_equal(
            pandas.concat(step.transform(batches)), step.transform(frame)
        )
        assert list(next(iter(step.fit_transform(batches)))) == ["a", "b", "c"]
    with sklearn.config_context(transform_output="pandas"):
        lazy = PrivatePCA(2, random_state=0).fit_transform(batches)
    assert list(next(iter(lazy))) == ["privatepca0", "privatepca1"]
    added = RowMap(lambda x: x.assign(d=1.0)).fit(batches)
    pandas.testing.assert_frame_equal(
        pandas.concat(added.transform(batches)), added.transform(frame)
    )


def test_rows_of_a_core_come_block_by_block(table):
    core = FriendlyCoreFilter(random_state=0)
    kept, numbers = core.fit_resample(pieces(table), np.arange(N))
    np.testing.assert_array_equal(whole(kept), core.fit_resample(table))
    assert 0 < len(numbers) < N


def test_queries_stay_queries(table):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table, schema=["a", "b", "c"])
    pipe = pipeline(chains()["scaled"]).fit(frame.lazy())
    assert released(pipe) == released(pipeline(chains()["scaled"]).fit(frame))
    for method in ("predict", "transform"):
        told = getattr(pipe, method)(frame.lazy())
        assert isinstance(told, polars.LazyFrame)
        wanted = getattr(pipe, method)(frame).reshape(N, -1)
        np.testing.assert_array_equal(told.collect().to_numpy(), wanted)
        assert told.collect_schema() == told.collect().schema
