"""Tables of Arrow, polars and pandas, and parquet files: the same rows, read where they are."""

import os
import pickle
import re
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    LloydKMeans,
    PrivateGroupBy,
    PrivateMean,
    PrivateQuantile,
    PrivateStandardScaler,
    PrivateSummary,
    PrivateVariance,
    config_context,
)
from skdp.accounting import PrivacyLedger
from skdp.exceptions import ReleaseError
from skdp.readers import map_merge
from skdp.readers._sources import converted, source_of

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

NAMES = ["a", "b", "c"]
SECRET = 4242.125


@pytest.fixture
def X(rng):
    return rng.normal(size=(1001, 3)) * [1.0, 100.0, 0.01]


@pytest.fixture
def table(X):
    return pa.table(dict(zip(NAMES, X.T, strict=True)))


@pytest.fixture
def folder(table, tmp_path):
    """Two files; the last row group has one row."""
    pq.write_table(table[:600], tmp_path / "part-0.parquet", row_group_size=256)
    pq.write_table(table[600:], tmp_path / "part-1.parquet", row_group_size=100)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.parquet.crc").touch()
    return tmp_path


MEMORY = {
    "arrow": lambda table: table,
    "chunked arrow": lambda table: pa.concat_tables([table[:7], table[7:7], table[7:]]),
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy().select(NAMES),
    "dataset in memory": ds.dataset,
    "batches": lambda table: table.to_batches(max_chunksize=100),
    "frames": lambda table: [pl.from_arrow(table[:1000]), table[:0], table[1000:].to_pandas()],
}
FILES = {
    "text": str,
    "path": lambda folder: folder,
    "pattern": lambda folder: str(folder / "part-*.parquet"),
    "list": lambda folder: [folder / "part-0.parquet", str(folder / "part-1.parquet")],
    "dataset": lambda folder: ds.dataset(folder),
    "filtered": lambda folder: ds.dataset(folder).filter(ds.field("a") > -1e9),
    "scan": lambda folder: pl.scan_parquet(folder / "*.parquet"),
}


def rows_of(X):
    source = source_of(X)
    return converted(X) if source is None else source


def fitted(estimator, X):
    estimator = clone(estimator).set_params(random_state=0).fit(X)
    nameless = re.sub(
        r"(columns? [^:]*|every column): ", "", repr(estimator.privacy_report_)
    )  # of doubts
    kept = vars(estimator) | {"privacy_report_": nameless}
    names = kept.pop("feature_names_in_", None)
    kept = {name: value for name, value in kept.items() if name.endswith("_")}
    return pickle.dumps(kept), names


def same(estimator, X, others):
    expected, _ = fitted(estimator, X)
    for other in others:
        found, names = fitted(estimator, other)
        assert found == expected
        yield names


@pytest.mark.cases(8)
@pytest.mark.parametrize("estimator", [PrivateMean(delta=1e-6), PrivateQuantile()], ids=repr)
@pytest.mark.parametrize("kind", MEMORY)
def test_tables_in_memory_are_the_same_rows(estimator, kind, X, table):
    (names,) = same(estimator, X, [MEMORY[kind](table)])
    assert names is None or list(names) == NAMES
    assert kind != "pandas" or list(names) == NAMES


@pytest.mark.cases(6)
@pytest.mark.parametrize("estimator", [PrivateMean(delta=1e-6), PrivateQuantile()], ids=repr)
@pytest.mark.parametrize("kind", FILES)
def test_files_are_the_same_rows(estimator, kind, X, folder):
    list(same(estimator, X, [FILES[kind](folder)]))


@pytest.mark.cases(6)
@pytest.mark.parametrize("kind", [*MEMORY, *FILES])
def test_pieces_do_not_change_the_rows(kind, X, table, folder):
    for batch_rows in [7, 100, 1000]:
        made = MEMORY[kind](table) if kind in MEMORY else FILES[kind](folder)
        source = rows_of(made)
        source.block_rows = batch_rows
        source.look(entries=True)
        assert len(source) == len(X)
        for _ in range(2):
            starts, blocks = zip(*source.blocks(), strict=True)
            assert np.array_equal(np.vstack(blocks), X)
            assert list(starts) == np.cumsum([0, *map(len, blocks[:-1])]).tolist()
        seen = map_merge(source, lambda start, block: [(start, len(block))], list.__add__)
        assert sum(n for _, n in seen) == len(X) and max(n for _, n in seen) <= batch_rows
        indices = np.array([1000, 3, 3, 0, 599, 600, 256])
        assert np.array_equal(source.take(indices), X[indices])
        assert source.take(np.arange(0)).shape == (0, 3)


def test_rows_are_taken_from_their_row_groups_alone(folder, X):
    source = rows_of(folder)
    read = []
    for part in source._parts:
        reads = part.read
        object.__setattr__(part, "read", lambda n, reads=reads: read.append(n) or reads(n))
    assert np.array_equal(source.take([700, 1000, 701]), X[[700, 1000, 701]])
    assert len(read) == 2 and len(source._parts) == 8


@pytest.mark.parametrize("dtype", ["int16", "uint8", "float16", "bool", ">f8", ">i4", "uint64"])
def test_other_numbers_are_converted_block_by_block(dtype, rng, tmp_path):
    whole = rng.integers(0, 100, size=(501, 4)).astype(dtype)
    mapped = np.memmap(tmp_path / "rows", dtype=dtype, shape=whole.shape, mode="w+")
    mapped[:] = whole
    list(same(PrivateMean(delta=1e-6), whole.astype(float), [whole, mapped]))
    assert rows_of(mapped) is not None
    assert rows_of(whole.astype(float)) is None and rows_of(whole.astype(complex)) is None


def test_plain_numbers_of_pandas_and_what_is_left_to_scikit_learn(X):
    frame = pd.DataFrame({"i": [1, 2, 3], "b": [True, False, True], "f": np.float32([1, 2, 3])})
    rows = rows_of(frame).take(np.arange(3))
    assert rows.dtype == np.float64 and rows.tolist() == [[1, 1, 1], [2, 0, 2], [3, 1, 3]]
    for other in (
        frame.astype("Int64"),
        frame.assign(s="x"),
        frame.rename(columns={"i": 0}),
        frame[:0],
        frame[["i", "i"]],
        frame["i"],
    ):
        assert rows_of(other) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.asfortranarray(X * 9).astype(np.int16),
        lambda X: pd.DataFrame({"x": (X[:, 0] * 9).astype(np.int8), "y": X[:, 1]}),
        lambda X: pl.DataFrame(X.astype(np.float32)),
        lambda X: pa.table({"x": X[:, 0], "y": X[:, 1].astype(np.float32)}),
    ],
)
def test_no_table_is_an_array_as_a_whole(make, rng):
    table = make(rng.normal(size=(200_000, 2)))
    source = rows_of(table)
    source.block_rows = 1000
    tracemalloc.start()
    assert source.look(entries=True) == (False, False)
    total = map_merge(source, lambda start, block: len(block), int.__add__)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 200_000 and peak < 400_000  # of 3.2 MB


def hostile(kind):
    """Return the columns of tables that no fit takes."""
    return {
        "text": pa.array(["4242.125", "x"]),
        "categories": pa.array(["4242.125", "x"]).dictionary_encode(),
        "nested": pa.array([[SECRET], [1.0]]),
        "struct": pa.array([{"x": SECRET}, {"x": 1.0}]),
        "nothing": pa.array([None, None]),
    }[kind]


@pytest.mark.parametrize("kind", ["text", "categories", "nested", "struct", "nothing"])
def test_columns_that_are_no_numbers_are_refused(kind, tmp_path):
    table = pa.table({"a": [SECRET, 1.0], "b": hostile(kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    for X in (table, tmp_path, ds.dataset(tmp_path), table.to_batches()):
        with pytest.raises(ValueError, match="real numbers") as caught:
            PrivateMean(ledger=ledger, delta=1e-6).fit(X)
        assert "4242" not in str(caught.value) and len(ledger.entries()) == 1


def refused(X, match, kind=ValueError):
    """Check that X is refused before anything is charged, and without an entry."""
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    for invalid_rows in ("error", "ignore"):
        with (
            config_context(invalid_rows=invalid_rows),
            pytest.raises(kind, match=match) as caught,
        ):
            PrivateMean(ledger=ledger, delta=1e-6).fit(X)
        error = caught.value
        while error is not None:
            assert "4242" not in str(error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert len(ledger.entries()) == 1  # it was opened


def refused_when_read(X, match):
    """Check that X is refused without an entry, by the look or in the private part."""
    with pytest.raises(ValueError, match=match) as caught:
        PrivateMean(delta=1e-6).fit(X)
    assert "4242" not in str(caught.value) and caught.value.__context__ is None
    with config_context(invalid_rows="ignore"), pytest.raises(ReleaseError):
        PrivateMean(delta=1e-6, random_state=0).fit(X)


def test_other_columns_in_a_later_file_are_refused(folder, table):
    pq.write_table(table.select(["b", "a", "c"]), folder / "part-2.parquet")
    refused(folder, "other columns")
    pq.write_table(table.append_column("d", table["a"]), folder / "part-2.parquet")
    refused(folder, "other columns")
    text = table.set_column(1, "b", pa.array(["4242.125x"] * len(table)))
    pq.write_table(text, folder / "part-2.parquet")
    refused(folder, "other columns|real numbers")
    refused(ds.dataset(folder), "a column of numbers where")


def test_names_twice_no_columns_no_files(tmp_path):
    refused(pa.table([[1.0], [2.0]], names=["a", "a"]), "twice")
    refused(pa.table({}), "no columns")
    for X in ("4242", ["4242", "x"], tmp_path, tmp_path / "no", "*.nothing", "s3://x/y", "a\0b"):
        refused(X, "names none")
    (tmp_path / "t.csv").write_text("a\n4242\n")
    refused(str(tmp_path / "t.csv"), r"no parquet file.*polars.scan_csv\(path\)")
    refused(str(tmp_path / "*.csv"), "no parquet file")
    (tmp_path / "t.parquet").write_text("a\n4242\n")
    refused(tmp_path / "t.parquet", "t.parquet could not be read")


def test_parquet_files_need_no_ending(X, table, tmp_path):
    pq.write_table(table, tmp_path / "part-00000")
    list(same(PrivateMean(delta=1e-6), X, [tmp_path / "part-00000"]))


def test_folders_whose_names_hold_columns_are_refused(X, table, tmp_path):
    (tmp_path / "year=2013" / "days").mkdir(parents=True)
    pq.write_table(table, tmp_path / "year=2013" / "days" / "t.parquet")
    refused(tmp_path, r"month=1.*partitioning='hive'.*path \+ '/\*\*/\*.parquet'")
    inside = [tmp_path / "year=2013", f"{tmp_path}/**/*.parquet"]
    list(same(PrivateMean(delta=1e-6), X, inside))


@pytest.mark.parametrize(
    "make", ["path", "dataset", "lazy", "arrow", "batches", "polars", "pandas"]
)
def test_columns_that_are_no_numbers_are_named(make, tmp_path):
    columns = {f"text {j}": ["4242.125x"] * 9 for j in range(7)}
    table = pa.table({"a": [4242.125] * 9, **columns})
    pq.write_table(table, tmp_path / "t.parquet")
    made = {
        "path": tmp_path,
        "dataset": ds.dataset(tmp_path),
        "lazy": pl.scan_parquet(tmp_path / "t.parquet"),
        "arrow": table,
        "batches": [table.to_pandas()],
        "polars": pl.from_arrow(table),
        "pandas": table.to_pandas(),
    }
    refused(made[make], "type: text 0, text 1, text 2, text 3, text 4 and 2 more")


def test_truncated_files_are_refused(folder):
    path = folder / "part-1.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    refused(folder, "part-1.parquet could not be read")
    path.write_bytes(whole[:4] + bytes(len(whole) - 2000) + whole[4 - 2000 :])
    with pytest.raises(ValueError, match=r"part-1.parquet could not be read"):
        PrivateMean(delta=1e-6).fit(folder)


def test_what_can_be_read_once_is_refused(table):
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for X in (reader, iter([table]), (some for some in [table])):
        refused(X, "only once", TypeError)
    refused(ds.dataset(table).scanner(), "only once", TypeError)

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    refused(Stream(), "only once", TypeError)


@pytest.mark.parametrize("null", [None, float("nan")])
def test_nulls_are_absent_or_refused(null, X, tmp_path):
    table = pa.table({"a": pa.array([*X[:-1, 0], null]), "b": X[:, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    holed = np.column_stack([[*X[:-1, 0], np.nan], X[:, 1]])
    frame = pl.from_arrow(table)
    for made in (table, tmp_path, ds.dataset(tmp_path), frame, frame.lazy()):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            PrivateMean(delta=1e-6, trim=True).fit(made)  # which needs whole rows
        with config_context(invalid_rows="ignore"):
            list(same(PrivateMean(delta=1e-6), holed, [made]))


def test_polars_says_nothing_of_entries():
    frame = pl.LazyFrame({"a": ["1", "4242.125x"]}).select(pl.col("a").cast(pl.Float64))
    refused_when_read(frame, "the query of the LazyFrame could not be read")


def test_columns_of_folders_and_missing_columns_come_from_the_dataset(X, table, tmp_path):
    for name, part in (("k=1", table[:600]), ("k=2", table[600:].drop_columns(["c"]))):
        (tmp_path / name).mkdir()
        pq.write_table(part, tmp_path / name / "part.parquet")
    kinds = pa.schema([*((name, pa.float64()) for name in NAMES), ("k", pa.int32())])
    dataset = ds.dataset(
        tmp_path,
        schema=kinds,
        partitioning=ds.partitioning(pa.schema([kinds.field(3)]), flavor="hive"),
    )
    whole = np.column_stack([X, np.repeat([1.0, 2.0], [600, 401])])
    whole[600:, 2] = np.nan
    source = rows_of(dataset)
    assert np.array_equal(source.take(np.arange(1001)[::-1]), whole[::-1], equal_nan=True)
    assert source.look(entries=True) == (True, False)


@pytest.mark.parametrize("kind", ["text", "dataset", "scan", "polars"])
def test_threads_read_the_same_rows(kind, X, table, folder):
    made = MEMORY[kind](table) if kind in MEMORY else FILES[kind](folder)
    with joblib.parallel_config(n_jobs=2):
        list(same(PrivateMean(delta=1e-6), X, [made]))
    assert pickle.loads(pickle.dumps(rows_of(made))).n_features == 3
    assert len(pickle.dumps(rows_of(made))) < 200


class Vanishing(PrivateMean):
    """Changes a file once everything has been charged."""

    def _release(self, rows, curator):
        self.change()
        return super()._release(rows, curator)


def test_what_changes_after_the_charge_ends_as_release_error(folder, table):
    path = folder / "part-1.parquet"
    whole = path.read_bytes()

    def longer():
        pq.write_table(table, path)

    def broken():
        path.write_bytes(whole[:2000])

    for change in (path.unlink, longer, broken):
        for kind in ("path", "dataset", "filtered", "scan"):
            path.write_bytes(whole)
            ledger = PrivacyLedger(epsilon=1, delta=1e-5)
            estimator = Vanishing(ledger=ledger, delta=1e-6, random_state=0, epsilon=0.5)
            estimator.change = change
            with pytest.raises(ReleaseError) as caught:
                estimator.fit(FILES[kind](folder))
            assert len(ledger.entries()) == 2 and caught.value.__context__ is None


@pytest.mark.slow
def test_arrays_import_no_engines():
    code = (
        "import sys, warnings, numpy as np; warnings.simplefilter('ignore');"
        "import sklearn.cluster, sklearn.preprocessing; before = set(sys.modules); import skdp;"
        "skdp.PrivateMean(delta=1e-6).fit(np.ones((50, 2)));"
        "skdp.PrivateMean(delta=1e-6).fit(np.ones((50, 2), dtype=int));"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(roots & {'pyarrow', 'polars', 'dask', 'pandas'})"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "set()"


def test_paths_without_pyarrow_tell_the_way_out(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        PrivateVariance().fit(folder)


@pytest.mark.parametrize("partition", [False, True])
def test_no_entry_decides_whether_a_dataset_can_be_read(partition, tmp_path):
    """A dataset has the types of its first file; a cast to them would fail for large entries."""
    kind = pa.schema([("k", pa.int32())]) if partition else None
    files, large = [], 2**40
    for k, values in enumerate((pa.array([1, 2], pa.int32()), pa.array([3, large], pa.int64()))):
        (tmp_path / f"k={k}").mkdir()
        files.append(tmp_path / f"k={k}" / "part.parquet")
        pq.write_table(pa.table({"a": values}), files[-1])
    flavor = {"partitioning": ds.partitioning(kind, flavor="hive")} if partition else {}
    source = rows_of(ds.dataset([str(file) for file in files], **flavor))
    assert source.take(np.arange(4))[:, 0].tolist() == [1, 2, 3, large]


def test_a_file_of_other_types_in_a_dataset_is_refused_before_the_charge(tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["4242.125"]}), tmp_path / "2.parquet")
    refused(
        ds.dataset([str(tmp_path / f"{k}.parquet") for k in (1, 2)]), "a column of numbers where"
    )


@pytest.mark.parametrize("of", ["dataset", "paths"])
@pytest.mark.parametrize("n_rows", [0, 1])
def test_files_whose_types_a_step_would_see_are_refused_whatever_their_rows(n_rows, of, tmp_path):
    """A row of a file with integers, where the others have floats, ended a fit after the charge."""
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    pq.write_table(pa.table({"k": ["a", "b"] * 20, "x": np.zeros(40)}), paths[0])
    pq.write_table(pa.table({"k": ["a"] * 3, "x": [1, 2, 3]}).slice(0, n_rows), paths[1])
    X, ledger = ds.dataset(paths) if of == "dataset" else paths, PrivacyLedger(1, 1e-5)
    by = PrivateGroupBy(PrivateMean(), "k", levels=["a", "b"], delta=1e-6, ledger=ledger)
    with config_context(invalid_rows="ignore"):
        with pytest.raises(ValueError, match="same names and types"):
            by.fit(X)
        assert len(ledger.entries()) == 1
        PrivateSummary(delta=1e-6, ledger=ledger).fit(X)  # sees numbers alone


@pytest.mark.parametrize("entry", [1, 2**53 + 1])
def test_no_entry_decides_whether_a_filtered_dataset_can_be_read(entry, tmp_path):
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [entry]}), tmp_path / "2.parquet")
    filtered = ds.dataset(tmp_path).filter(ds.field("a") > 0)
    for X in (filtered, ds.dataset([ds.dataset(tmp_path)]).filter(ds.field("a") > 0)):
        refused(X, "is a filtered dataset")


@pytest.mark.parametrize("entry", ["1", "4242.125x"])
def test_datasets_of_text_are_refused_where_no_entry_may_decide(entry, tmp_path):
    (tmp_path / "t.csv").write_text(f"a\n1\n{entry}\n")
    ledger = PrivacyLedger(epsilon=1, delta=1e-5)
    dataset = ds.dataset(tmp_path / "t.csv", format="csv")
    for X in (dataset, dataset.filter(ds.field("a").is_valid()), ds.dataset([dataset])):
        with (
            config_context(invalid_rows="ignore"),
            pytest.raises(ValueError, match="a dataset of text files") as caught,
        ):
            PrivateMean(ledger=ledger, delta=1e-6).fit(X)
        assert "4242" not in str(caught.value) and len(ledger.entries()) == 1


def test_a_closed_file_is_refused_before_the_charge(folder):
    file = pq.ParquetFile(folder / "part-1.parquet")
    file.close()
    refused(file, "is closed")


@pytest.mark.parametrize("kind", [pl.Int128, pl.Decimal(10, 2), pl.Boolean, pl.Float32])
def test_a_frame_without_rows_is_read_as_one_with_rows(kind):
    frame = pl.DataFrame({"a": [1, 0]}).cast(kind)
    with config_context(invalid_rows="ignore"):
        reports = [PrivateMean(delta=1e-6).fit(frame[:n]).privacy_report_ for n in (0, 1, 2)]
    assert len({report.budget for report in reports}) == 1
    with pytest.raises(ValueError, match="no rows"):
        PrivateMean(delta=1e-6).fit(frame[:0])


def test_decimals_are_numbers_whoever_holds_them(tmp_path):
    X = np.arange(-200, 200).reshape(-1, 2) / 8
    columns = {
        name: pa.array(x).cast(pa.decimal128(21, 3)) for name, x in zip("ab", X.T, strict=True)
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    others = [table, pl.from_arrow(table), tmp_path, table.to_batches(max_chunksize=30)]
    assert len(list(same(PrivateQuantile(), X, others))) == 4


@pytest.mark.parametrize("index", [None, "key"])
def test_an_index_of_pandas_is_no_column_of_its_file(index, X, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).rename_axis(index).iloc[::-1]
    for i, part in enumerate((frame[:500], frame[500:])):
        part.to_parquet(tmp_path / f"part-{i}.parquet")
    (names,) = same(PrivateMean(), frame.to_numpy(), [tmp_path])
    assert list(names) == NAMES
    frame.reset_index(drop=True).to_parquet(tmp_path / "part-0.parquet")  # a range, not stored
    frame[:0].to_parquet(tmp_path / "part-1.parquet")
    assert len(list(same(PrivateMean(), frame.to_numpy(), [tmp_path]))) == 1


@pytest.mark.parametrize("place", ["iter", "next"])
def test_a_first_batch_that_fails_says_nothing_where_nothing_may_be_said(place):
    class Loud:
        def __iter__(self):
            return self._read() if place == "next" else self._fail()

        def _read(self):
            self._fail()
            yield np.ones((3, 2))

        def _fail(self):
            warnings.warn(f"{SECRET}", stacklevel=2)
            raise LookupError(SECRET)

    with pytest.warns(UserWarning, match=str(SECRET)), pytest.raises(LookupError):
        PrivateMean().fit(Loud())
    with config_context(invalid_rows="ignore"), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="could not be read to its end") as caught:
            PrivateMean().fit(Loud())
    assert not heard
    assert str(SECRET) not in str(caught.value)
    assert caught.value.__context__ is None


def test_what_is_made_of_batches_is_made_anew_whenever_it_is_read(X):
    from sklearn.pipeline import make_pipeline

    batches = [X[:400], X[400:]]
    steps = PrivateStandardScaler(random_state=0), LloydKMeans(2, random_state=0)
    scaled = clone(steps[0]).fit(batches).transform(batches)
    assert np.array_equal(np.concatenate(list(scaled)), np.concatenate(list(scaled)))
    there, here = (make_pipeline(*map(clone, steps)).fit(rows) for rows in (batches, X))
    assert np.array_equal(there[-1].cluster_centers_, here[-1].cluster_centers_)
    with pytest.raises(TypeError, match="no pickle"):
        pickle.dumps(scaled)


@pytest.mark.parametrize("known", [[2, -1, 0], [2.0**52, 2**52 + 2], [0, 10**9], [0.5, 1, 2]])
def test_numbers_have_codes_wherever_they_lie(known):
    from skdp.readers._labels import Known

    odd = [np.nan, np.inf, -np.inf, -0.0, 0.25, 5e-324, 1e308, -1e308, 2.0**53]
    column = np.array([*odd, *known, *(x + 1.0 for x in known), *(x - 0.5 for x in known)])
    codes = {float(x): code for code, x in enumerate(known)}
    wanted = [9.0 if x != x else codes.get(x, 7.0) for x in column.tolist()]
    assert Known(known, other=7.0, missing=9.0)(column).tolist() == wanted


def test_text_alone_has_the_codes_that_it_has_beside_other_entries():
    from skdp.readers._labels import Known

    class Odd(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            return True

    code = Known(["a", 1], other=7.0, missing=9.0)
    for entries in (["a", "b", None], ["a", Odd("b"), np.nan, 1.0, [1], "1", None]):
        column = np.empty(len(entries), dtype=object)
        column[:] = entries
        alone = [code(column[i : i + 1])[0] for i in range(len(column))]
        assert np.array_equal(code(column), alone)
    assert alone == [0, 7, 9, 1, 7, 7, 9]
