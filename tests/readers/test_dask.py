"""Dask collections give the bits of the array; what goes wrong is told without a row."""

import pickle
import subprocess
import sys
from functools import reduce

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask.base import is_dask_collection
from sklearn.base import clone

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivacyLedger,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivatePCA,
    PrivateStandardScaler,
    PrivateVariance,
    config_context,
)
from skdp.audit._fingerprint import fingerprint
from skdp.base import map_merge
from skdp.exceptions import ReleaseError
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import _dask
from skdp.readers._sources import source_of
from skdp.utils._threads import is_at_rows, is_quiet

dd = pytest.importorskip("dask.dataframe")
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
]

N_ROWS = 1200
FITS = [
    FriendlyCoreFilter(epsilon=4.0),
    FriendlyCoreKMeans(3, n_init=1),
    LloydKMeans(3),
    MarginalReleaser(1, epsilon=4.0),
    PrivateCount(),
    PrivateCovariance(epsilon=4.0),
    PrivateGMM(2, max_iter=2, n_init=1),
    PrivateHistogram(bins=4, epsilon=2.0),
    PrivateMean(),
    PrivateMean(method="friendly", epsilon=4.0),
    PrivateMedian(),
    PrivatePCA(epsilon=4.0),
    PrivateStandardScaler(epsilon=4.0),
    PrivateVariance(epsilon=4.0),
]


@pytest.fixture(autouse=True)
def scheduler(request):
    """Run tasks here, unless a test makes a cluster."""
    with dask.config.set({"scheduler": "sync"} if "cluster" not in request.fixturenames else {}):
        yield


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N_ROWS, 3)) * [1, 10, 100] + 5 + 20 * rng.integers(0, 2, (N_ROWS, 1))


def frame_of(table, n_partitions):
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    return dd.from_pandas(frame, npartitions=n_partitions)


def unknown(table):
    X = da.from_array(table, chunks=(400, 2))
    return X[X[:, 0] < np.inf]


COLLECTIONS = {
    "even": lambda table: da.from_array(table, chunks=(300, 3)),
    "a last row, columns apart": lambda table: da.from_array(
        table, chunks=((700, 0, 499, 1), (2, 1))
    ),
    "unknown lengths": unknown,
}


def released(estimator):
    names = {name for name in vars(estimator) if name.endswith("_")} - {"table_type_"}
    return fingerprint({name: getattr(estimator, name) for name in sorted(names)})


def seeded(estimator):
    return clone(estimator).set_params(random_state=0)


@pytest.mark.cases(5)
@pytest.mark.parametrize("estimator", FITS)
def test_bits_are_those_of_the_array(estimator, table):
    bits = released(seeded(estimator).fit(table))
    for name, collection in COLLECTIONS.items():
        assert released(seeded(estimator).fit(collection(table))) == bits, name
    bits = released(seeded(estimator).fit(pd.DataFrame(table, columns=list("abc"))))
    assert released(seeded(estimator).fit(frame_of(table, 3))) == bits


def test_a_directory_of_parquet_files(table, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    for i, start in enumerate((0, 700, 1199)):
        frame.iloc[start : (700, 1199, N_ROWS)[i]].to_parquet(tmp_path / f"{i}.parquet")
    fitted = seeded(PrivateMean()).fit(dd.read_parquet(tmp_path))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert released(fitted) == released(seeded(PrivateMean()).fit(frame))


FIRST = [
    PrivateCount(),
    PrivateMean(),
    PrivateMedian(),
    PrivateMedian(bounds=(-500, 500)),
    PrivateVariance(epsilon=4.0),
    PrivateCovariance(epsilon=4.0),
]


@pytest.mark.parametrize("estimator", FIRST)
def test_what_needs_no_release_is_read_in_the_look(estimator, table, monkeypatch):
    """The count, gaps and first histograms: no pass asks a second time what the look has told."""
    asked, computed = [], _dask._computed

    def noted(job, calls):
        asked.append(job.statistic)
        return computed(job, calls)

    monkeypatch.setattr(_dask, "_computed", noted)
    seeded(estimator).fit(da.from_array(table, chunks=(300, 3)))
    look, *later = asked
    first = look.args[1]
    names = [text for one in later for text in _names(getattr(one, "_statistic", None))]
    assert first and not set(first) & set(names)
    assert isinstance(estimator, PrivateCount) == (not later)


def _names(statistic):
    from skdp.kernel._totals import asked_first

    return [] if statistic is None else list(asked_first([statistic]))


def test_rows_that_are_read_in_another_way_know_nothing_of_a_look(table):
    rows = source_of(da.from_array(table, chunks=(300, 3)))
    rows.look(entries=True, first={"n": lambda start, block: np.array([len(block)])})
    assert rows.known["n"] == N_ROWS
    assert rows.decoded_by(rows.decode).known is None


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("dask.distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        yield


def made(block_info=None):
    start, stop = block_info[None]["array-location"][0]
    return np.random.default_rng(start).normal(size=(stop - start, 3)) + 5


PERSISTED = {
    "made": lambda table: da.map_blocks(
        made, chunks=((300,) * 4, (3,)), dtype=float, meta=np.empty((0, 0))
    ),
    "cut": lambda table: da.from_array(table, chunks=(500, 2)),
    "drawn": lambda table: da.random.default_rng(0).normal(5, size=(N_ROWS, 3), chunks=(500, 3)),
    "unknown lengths": unknown,
    "frame": lambda table: frame_of(table, 3),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", PERSISTED)
def test_a_persisted_collection_gives_the_bits_of_a_lazy_one(cluster, table, name):
    X = PERSISTED[name](table)
    bits = released(seeded(PrivateMean()).fit(X))
    kept = X.persist()
    assert released(seeded(PrivateMean()).fit(kept)) == bits
    scaled = seeded(PrivateStandardScaler()).fit(kept).transform(kept)
    assert is_dask_collection(scaled) and len(scaled.compute()) == N_ROWS


def test_tasks_are_sent_by_their_names():
    for function in (_dask._statistic, _dask._looked, _dask._folded, _dask._mapped):
        assert len(pickle.dumps(function)) < 100


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_tasks_are_silent_and_without_random_words(table, scheduler):
    rows = source_of(da.from_array(table, chunks=(500, 3)))
    coins = RowKeys(make_entropy(0))

    def statistic(start, block):
        assert is_at_rows() and is_quiet() and np.geterr()["divide"] == "ignore"
        return [(start, len(block))]

    def merge(one, two):
        assert is_at_rows()
        return one + two

    with dask.config.set(scheduler=scheduler):
        found = map_merge(rows, statistic, merge)
        assert found == [(0, 500), (500, 500), (1000, 200)]
        for draw in (lambda *_: coins.keys(0, 1), lambda *_: make_entropy(0).words(1)):
            with pytest.raises(RuntimeError, match="statistic"):
                map_merge(rows, draw, np.add)
    assert not is_at_rows() and not is_quiet()


@pytest.mark.parametrize("n_chunks", [1, 2, 8, 9, 65])
def test_a_pass_is_one_graph_whose_merges_keep_the_order(n_chunks, monkeypatch):
    X = np.arange(3.0 * n_chunks).reshape(-1, 1)
    rows = source_of(da.from_array(X, chunks=(3, 1)))
    passes, widths, compute = [], [], _dask.Delayed.compute

    def computed(root):
        passes.append(root)
        return compute(root)

    def noted(merge, parts):
        widths.append(len(parts))
        return reduce(merge, parts)

    monkeypatch.setattr(_dask.Delayed, "compute", computed)
    monkeypatch.setattr(_dask, "reduce", noted)
    found = map_merge(rows, lambda start, block: block.ravel().tolist(), list.__add__)
    assert found == X.ravel().tolist()
    assert len(passes) == 1 and max(widths, default=1) <= 8
    nodes = (getattr(node, "value", node) for node in dict(passes[0].dask).values())
    assert sum(isinstance(node, _dask.Job) for node in nodes) == 1


def test_rows_are_taken_from_the_chunks_that_hold_them(table):
    seen = []

    def noted(block):
        seen.append(float(block[0, 0]))
        return block

    X = da.from_array(table, chunks=(100, 3)).map_blocks(noted, meta=np.empty((0, 0)))
    rows = source_of(X)
    index = [1199, 3, 700, 3, 0]
    assert rows.take(index).tobytes() == table[index].tobytes()
    assert sorted(seen) == sorted([table[0, 0], table[700, 0], table[1100, 0]])
    assert rows.take([]).shape == (0, 3)
    starts, blocks = zip(*rows.blocks(), strict=True)
    assert np.concatenate(blocks).tobytes() == table.tobytes() and starts[1] == 100


@pytest.mark.parametrize("collection", [*COLLECTIONS.values(), lambda table: frame_of(table, 3)])
def test_what_a_fitted_estimator_makes_of_a_collection_is_one(table, collection):
    X = collection(table)
    scaler, means = seeded(PrivateStandardScaler()).fit(X), seeded(LloydKMeans(3)).fit(X)
    array = seeded(PrivateStandardScaler()).fit(table), seeded(LloydKMeans(3)).fit(table)
    scaled, labels = scaler.transform(X), means.predict(X)
    assert is_dask_collection(scaled) and is_dask_collection(labels)
    assert len(scaled.chunks[0]) == len(labels.chunks[0]) > 2
    assert scaled.compute().tobytes() == array[0].transform(table).tobytes()
    assert labels.compute().tobytes() == array[1].predict(table).tobytes()
    assert means.score(X) == pytest.approx(array[1].score(table), rel=1e-9)


@pytest.mark.parametrize("invalid_rows", ["error", "ignore"])
def test_texts_are_levels_of_marginals(invalid_rows):
    towns = np.random.default_rng(0).choice(["north", "south", "east"], size=(500, 2))
    frame = pd.DataFrame(towns, columns=["from", "to"])
    model = MarginalReleaser(
        2, domain={"from": ["north", "south", "east"], "to": ["north", "south"]}
    )
    with config_context(invalid_rows=invalid_rows):
        if invalid_rows == "error":
            with pytest.raises(ValueError, match="outside the public levels"):
                model.fit(dd.from_pandas(frame, npartitions=3))
        else:
            there = dd.from_pandas(frame, npartitions=3)
            here = there.compute()  # dask has types of its own for text
            assert released(seeded(model).fit(there)) == released(seeded(model).fit(here))


def never():
    raise AssertionError("computed")


REFUSED = {
    "texts": lambda: dd.from_delayed(
        [dask.delayed(never)()], meta=pd.DataFrame({"a": [1.0], "b": ["Smith"]})
    ),
    "complex": lambda: da.from_delayed(dask.delayed(never)(), (9, 2), dtype=complex),
    "one dimension": lambda: da.from_delayed(dask.delayed(never)(), (9,), dtype=float),
    "a column": lambda: dd.from_delayed([dask.delayed(never)()], meta=pd.DataFrame({"a": [1.0]})).a,
    "masks": lambda: da.from_delayed(
        dask.delayed(never)(), (9, 2), meta=np.ma.masked_array(np.empty((0, 0)))
    ),
    "columns of no number": lambda: da.from_delayed(
        dask.delayed(never)(), (9, np.nan), dtype=float
    ),
    "delayed": lambda: dask.delayed(never)(),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("invalid_rows", ["error", "ignore"])
def test_what_types_tell_is_refused_before_anything_is_computed(name, invalid_rows):
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
    X = REFUSED[name]()
    assert is_dask_collection(X)
    with (
        config_context(invalid_rows=invalid_rows),
        pytest.raises(ValueError, match=r"^X (is|must)"),
    ):
        PrivateMean(ledger=ledger).fit(X)
    assert len(ledger.entries()) == 1  # opened


def failing(block):
    if len(block):
        raise KeyError("Smith")
    return block


def test_a_task_that_fails_is_told_of_without_its_error(table):
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
    X = da.from_array(table, chunks=(500, 3)).map_blocks(failing, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="could not be computed") as caught:
        PrivateMean(ledger=ledger).fit(X)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(ledger.entries()) == 1  # opened
    with config_context(invalid_rows="ignore"), pytest.raises(ReleaseError) as caught:
        PrivateMean(ledger=ledger).fit(X)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_rows_that_are_not_finite(table, entry):
    X = table.copy()
    X[777, 1] = entry
    collection = COLLECTIONS["a last row, columns apart"](X)
    with pytest.raises(ValueError, match="contains"):
        FriendlyCoreKMeans(2).fit(collection)
    with config_context(invalid_rows="ignore"):
        bits = released(seeded(PrivateMean()).fit(X))
        assert released(seeded(PrivateMean()).fit(collection)) == bits


def test_other_columns_in_a_later_chunk(table):
    meta = pd.DataFrame(table[:0], columns=list("abc"))
    frame = dd.from_delayed(
        [dask.delayed(pd.DataFrame)(table[:9], columns=list(names)) for names in ("abc", "abd")],
        meta=meta,
        verify_meta=False,
    )
    with pytest.raises(ValueError, match="other columns than the first"):
        PrivateMean().fit(frame)


def test_a_chunk_that_changes_its_length(table):
    lengths = iter([500, 500, 200, 500, 499])

    def shrinking(block):
        return block[: next(lengths)] if len(block) else block

    X = da.from_array(table, chunks=(500, 3)).map_blocks(
        shrinking, chunks=((np.nan,) * 3, (3,)), meta=np.empty((0, 0))
    )
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
    with pytest.raises(ReleaseError):
        PrivateMean(ledger=ledger).fit(X)
    assert len(ledger.entries()) == 2 and next(lengths, None) is None


def test_no_rows():
    X = da.zeros((0, 3))
    with pytest.raises(ValueError, match="no rows"):
        PrivateMean().fit(X)
    with config_context(invalid_rows="ignore"):
        bits = released(seeded(PrivateMean()).fit(np.zeros((0, 3))))
        assert released(seeded(PrivateMean()).fit(X)) == bits


@pytest.mark.slow
def test_a_fit_of_an_array_loads_no_dask():
    code = (
        "import sys, warnings, numpy as np, skdp; warnings.simplefilter('ignore');"
        "skdp.PrivateMean().fit(np.ones((9, 2)));"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
