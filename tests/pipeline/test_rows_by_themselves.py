"""What becomes of a row is decided by that row: exact comparisons of what meets noise."""

import pickle
import warnings
from datetime import datetime

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from skdp import (
    FriendlyCoreFilter,
    MarginalReleaser,
    PrivacyLedger,
    PrivateMean,
    PrivateMedian,
    PrivatePipeline,
    PrivateStandardScaler,
    PublicFit,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._transcript import FixedKeys, Script, moves

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

N = 40
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))


def records(pipe, table, answers, keys):
    with config_context(invalid_rows="ignore", debug=True):
        found, _, error = recorded_fit(audited_clone(pipe), table, answers, coins=FixedKeys(keys))
    assert error is None, f"{error!r}"
    return found


def largest_move(pipe, table, row):
    """Return the largest change of what meets noise, in units of what was declared."""
    keys = np.random.default_rng(0).integers(2**63, size=len(table) + 1).astype(np.uint64)
    first = records(pipe, table, "noise", keys[:-1])
    second = records(pipe, with_row(table, row), Script(first), keys)
    ratios = [(squared, allowed) for _, squared, allowed in moves(first, second)]
    assert ratios
    return max(float(squared) / max(float(allowed), 1e-300) for squared, allowed in ratios) ** 0.5


def with_row(table, row):
    if hasattr(table, "iloc"):
        import pandas

        more = pandas.DataFrame([row], columns=table.columns).astype(table.dtypes.to_dict())
        return pandas.concat([table, more], ignore_index=True).astype(table.dtypes.to_dict())
    if hasattr(table, "vstack"):
        return table.vstack(type(table)([row], schema=table.schema, orient="row"))
    return np.concatenate([table, np.array([row], dtype=table.dtype)])


def mean_of(*steps):
    return make_private_pipeline(*steps, PrivateMean(center=0.0, radius=8.0), epsilon=20.0)


def outlier_rule(X):
    norms = np.linalg.norm(np.nan_to_num(X), axis=1)
    return np.where((norms > norms.mean() + 3 * norms.std())[:, None], 0.0, X)


def interquartile_rule(X):
    low, high = np.nanquantile(X, [0.25, 0.75], axis=0)
    return np.clip(X, low - 2 * (high - low), high + 2 * (high - low))


HOSTILE = {
    "three sigma of norms": outlier_rule,
    "first row decides on the type": np.vectorize(lambda x: 1 if x > 1 else x),
    "interquartile rule": interquartile_rule,
    "unit by the largest": lambda X: X / (1000.0 if np.nanmax(X) > 100 else 1.0),
    "unit by far rows": lambda X: X / (1e3 if np.nanmax(np.abs(X)) > 1e6 else 1.0),
    "order": lambda X: X * (1 + np.arange(len(X))[:, None]),
    "product": lambda X: X @ np.ones((X.shape[1], 2)),
}


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "d, dtype",
    [
        (1, np.int64),
        (3, np.float64),
        pytest.param(16, np.float32, marks=pytest.mark.slow),
        pytest.param(3, np.float32, marks=pytest.mark.slow),
        pytest.param(16, np.float64, marks=pytest.mark.slow),
        pytest.param(1, np.float64, marks=pytest.mark.slow),
        pytest.param(3, np.int64, marks=pytest.mark.slow),
        pytest.param(16, np.int64, marks=pytest.mark.slow),
    ],
)
def test_a_function_that_mixes_rows_is_given_no_others(name, d, dtype):
    """Whatever the trial on made-up rows thinks of it."""
    table = (3 * np.random.default_rng(1).normal(size=(N, d))).astype(dtype)
    for step in (
        RowMap(HOSTILE[name], vectorized=False),
        PublicFit(FunctionTransformer(HOSTILE[name]), table[:9] * 0 + 1, vectorized=False),
    ):
        for far in (200.0, 1e7):
            assert largest_move(mean_of(step), table, np.full(d, far)) <= 1


def test_what_the_trial_misses_is_harmless_by_default():
    """These pass the trial: their thresholds lie beyond what made-up rows hold."""

    def branch(X):
        return X / (1e3 if np.nanmax(np.where(np.isinf(X), 0, np.abs(X))) > 1e9 else 1.0)

    assert RowMap(branch).fit(X).vectorized_ is False
    assert largest_move(mean_of(RowMap(branch)), X, np.full(3, 1e10)) <= 1
    public = PublicFit(FunctionTransformer(branch), X[:9])
    assert largest_move(mean_of(public), X, np.full(3, 1e10)) <= 1


def test_a_promise_is_listed_and_believed():
    step = RowMap(lambda X: X * 2, vectorized=True)
    pipe = mean_of(("deep", step)[1])
    assert any("your promise (vectorized=True)" in text for text in pipe.plan().assumptions)
    union = FeatureUnion([("twice", step)])
    assert any("union" in t and "promise" in t for t in mean_of(union).plan().assumptions)
    assert step.fit(X).vectorized_ and not RowMap(lambda X: X * 2).fit(X).vectorized_
    assert RowMap(np.log1p).fit(X).vectorized_
    assert not any("promise" in text for text in mean_of(RowMap(np.log1p)).plan().assumptions)


def test_a_function_is_told_neither_the_number_nor_the_index_of_a_row():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"), index=np.arange(N) * 7)
    step = RowMap(lambda row: row.assign(a=row.index[0]), vectorized=False).fit(frame)
    np.testing.assert_array_equal(step.transform(frame)["a"], 0)
    assert list(step.transform(frame).index) == list(frame.index)
    places = RowMap(lambda row: [[row.ctypes.data % 64]], vectorized=False).fit(X)
    np.testing.assert_array_equal(places.transform(X), 0)


def test_nothing_is_written_into_the_table_of_the_user():
    def double(X):
        X *= 2
        return X

    table = X.copy()
    steps = [RowMap(double), RowMap(double, vectorized=True), Binarizer(copy=False)]
    for step in [
        *steps,
        Normalizer(),
        SimpleImputer(strategy="constant", keep_empty_features=True),
    ]:
        branches = FeatureUnion([("one", step), ("raw", RowMap())])
        for pipe in (mean_of(clone(step)), mean_of(branches)):
            pipe.set_params(random_state=0).fit(table)
            np.testing.assert_array_equal(table, X)


# A row that fails is absent.


def fails_on(test, result):
    def func(row):
        return result(row) if test(row) else row

    return func


def far(row):
    row = np.asarray(row, dtype=float)
    return bool(np.any((row > 1e8) & np.isfinite(row)))


def broken(row):
    raise KeyError("Smith")


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    "result",
    [
        broken,
        lambda row: None,
        lambda row: row[:, :1],
        lambda row: np.hstack([row, row]),
        lambda row: row + 1j,
        lambda row: row[0],
        lambda row: np.full((1, 3), "n/a"),
        lambda row: np.full((1, 3), None),
        lambda row: [[object()] * 3],
        lambda row: row[:0],
        lambda row: np.repeat(row, 2, axis=0),
    ],
)
@pytest.mark.parametrize("vectorized", ["auto", True])
def test_a_row_that_fails_is_absent_and_decides_on_nothing(result, vectorized):
    step = RowMap(fails_on(far, result), vectorized=vectorized)
    assert largest_move(mean_of(step), X, np.full(3, 1e9)) <= 1


def objects(*cells):
    table = np.empty((N + 1, 3), dtype=object)
    table[:-1] = X.tolist()
    table[-1] = cells
    return table


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "step",
    [
        Normalizer(),
        Binarizer(),
        PolynomialFeatures(2),
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        OneHotEncoder(categories=[[0.0, 1.0]] * 3, handle_unknown="ignore"),
        OrdinalEncoder(
            categories=[[0.0, 1.0]] * 3, handle_unknown="use_encoded_value", unknown_value=-1
        ),
    ],
    ids=lambda step: type(step).__name__,
)
def test_an_odd_entry_does_not_stop_a_step_of_scikit_learn(step):
    pandas = pytest.importorskip("pandas")
    numbers = RowMap(lambda row: np.asarray(row, dtype=float))
    for cells in (("n/a", 1.0, 2.0), (pandas.NA, 1.0, 2.0), (None, {}, 1j), (b"x", "1", np.nan)):
        table = objects(*cells)
        keys = np.arange(1, N + 2, dtype=np.uint64) * np.uint64(2**50)
        pipe = mean_of(step, numbers)
        first = records(pipe, table[:-1], "noise", keys[:-1])
        second = records(pipe, table, Script(first), keys)
        assert all(squared <= allowed for _, squared, allowed in moves(first, second))


@pytest.mark.parametrize(
    "dtype",
    ["Float64", *(pytest.param(t, marks=pytest.mark.slow) for t in ("double[pyarrow]", "float32"))],
)
def test_frames_of_any_type_are_mapped(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc")).astype(dtype)
    pipe = mean_of(RowMap(lambda row: row * 2))
    assert largest_move(pipe, frame, [1.0, 2.0, None if "6" in dtype else 1.0]) <= 1
    fitted = pipe.set_params(epsilon=1e5, random_state=0).fit(frame)
    np.testing.assert_allclose(fitted[-1].location_, 2 * X.mean(axis=0), atol=0.1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cell", ["a", datetime(2020, 1, 1)])
def test_a_row_decides_on_the_type_of_no_column(library, cell):
    """Which the next step could ask for, and treat all rows by."""
    frames = pytest.importorskip(library)
    cell = frames.Series([cell])[0]

    def odd(row):
        odd = row["a"][0] > 1e6
        return frames.DataFrame({"a": [row["a"][0]], "b": [5 if odd else cell]})

    def by_type(row):
        return np.array([[1.0 if "obj" in str(row["b"].dtype).lower() else -1.0]])

    def text_of(table):
        with config_context(invalid_rows="ignore"):
            return RowMap(odd).fit(table).transform(table)["b"]

    table = frames.DataFrame({"a": X[:, 0]})
    before, after = text_of(table), text_of(with_row(table, (1e9,)))
    assert before.dtype == after.dtype == frames.Series([cell]).dtype  # "object" before pandas 3
    assert len(after) == N + 1 and list(after)[:N] == list(before) == [cell] * N
    assert largest_move(mean_of(RowMap(odd), RowMap(by_type)), table, (1e9,)) <= 1


def test_categories_that_a_function_makes_of_a_row_are_no_type():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"b": list("uvwx") * 10})
    made = RowMap(lambda row: row.astype("category")).fit(table).transform(table)
    assert list(made["b"]) == list(table["b"]) and made["b"].dtype == object
    known = table.astype("category")
    assert RowMap(lambda row: row).fit(known).transform(known)["b"].dtype == known["b"].dtype


def test_rows_of_frames_lie_in_memory_of_their_own():
    """At like places with like strides, however many there are, and not in the table."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abc"))
    seen = []

    def look(row):
        A = row.to_numpy()
        seen.append((A.strides, A.ctypes.data % 64, row.shape, list(row.index), dict(row.dtypes)))
        assert not np.shares_memory(A, table["a"].to_numpy())
        return row

    step = RowMap(look).fit(table)
    for rows in (table, table[:1], table[5:]):
        seen.clear()
        pandas.testing.assert_frame_equal(step.transform(rows), rows)
        float64 = np.dtype(float)
        expected = ((64, 8), 0, (1, 3), [0], dict.fromkeys("abc", float64))
        assert seen == [expected] * len(rows)
    mixed = table.assign(d=np.arange(N), e="x")
    mixed.attrs["rows"] = N
    kept = mixed["d"].to_numpy()

    def change(row):
        assert dict(row.dtypes) == dict(mixed.dtypes) and list(row.index) == [0] and not row.attrs
        assert not np.shares_memory(row["d"].to_numpy(), kept)
        row["d"] += 1
        return row

    together = RowMap(change, vectorized=False).fit(mixed).transform(mixed)
    np.testing.assert_array_equal(together["d"], np.arange(1, N + 1))
    np.testing.assert_array_equal(mixed["d"], np.arange(N))


def test_types_of_columns_are_made_up_faithfully():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    from skdp.rowwise._form import dummy_rows

    columns = {
        "f": pandas.array([1.0], dtype="Float32"),
        "i": pandas.array([1], dtype="Int8"),
        "u": np.array([1], dtype=np.uint16),
        "b": pandas.array([True], dtype="boolean"),
        "s": pandas.array(["x"], dtype="string"),
        "c": pandas.Categorical(["u"], categories=["u", "v"]),
        "t": pandas.to_datetime(["2020-01-01"]).tz_localize("Europe/Berlin"),
        "d": pandas.to_timedelta([1], "h"),
        "o": np.array(["x"], dtype=object),
    }
    frame = pandas.DataFrame(columns)
    rows = dummy_rows(frame)
    assert (rows.dtypes == frame.dtypes).all() and not rows.isna().all().any()
    assert set(rows["c"].dropna()) == {"u", "v"}
    schema = {"a": polars.Float32, "i": polars.Int8, "s": polars.String, "b": polars.Boolean}
    schema |= {"t": polars.Datetime("us", "UTC"), "e": polars.Enum(["x", "y"])}
    table = polars.DataFrame(schema=schema)
    assert dummy_rows(table).schema == table.schema
    assert not any(dummy_rows(table)[name].is_null().all() for name in schema)
    for dtype in ("f4", "i1", "u8", "?", "U3", "S3", "M8[s]", "O"):
        assert dummy_rows(np.zeros((0, 2), dtype=dtype)).dtype == np.dtype(dtype)
    twice = pandas.DataFrame(X[:, :2], columns=["a", "a"])
    assert list(dummy_rows(twice).columns) == ["a", "a"]


def test_a_table_that_cannot_be_made_up_is_refused_before_anything_is_charged():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": polars.Series(["x", "y"] * 50, dtype=polars.Categorical)})
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-5)
    pipeline = PrivatePipeline([("tables", MarginalReleaser(1, domain="auto"))], ledger=ledger)
    with pytest.raises(ValueError, match=r"no rows can be made up.*Categorical.*Cast it to Enum"):
        pipeline.fit(table)
    assert ledger.spent() == PrivacyLedger(epsilon=1.0, delta=1e-5).spent()


def test_polars_columns_of_numbers_are_tried_with_numbers():
    """So a habit is found; and rows are mapped one by one anyway."""
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(X, schema=["a", "b", "c"])

    def standardise(rows):
        return rows.select((polars.all() - polars.all().mean()) / polars.all().std())

    with pytest.raises(ValueError, match="mixes rows"):
        RowMap(standardise).fit(table)
    twice = mean_of(RowMap(lambda rows: rows.select(polars.all() * 2)))
    assert largest_move(twice, table, (1e7, 0.0, 0.0)) <= 1
    assert largest_move(mean_of(RowMap(standardise, vectorized=False)), table, (9e9, 0.0, 0.0)) <= 1


@pytest.mark.parametrize(
    "func",
    [
        lambda t: t,
        lambda t: t.assign(c=1.0),
        lambda t: t.assign(b=t["b"].map({"x": 1.0, "y": 2.0, "z": 3.0})),
    ],
)
def test_habits_of_pandas_that_mix_no_rows_pass(func):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "b": list("xyzx") * (N // 4)})
    assert len(RowMap(func).fit(table).transform(table)) == N
    columns = ColumnTransformer([("a", MaxAbsScaler(), ["a"])], remainder="passthrough")
    gaps = table.assign(b=np.nan)
    assert PublicFit(columns, gaps).fit(gaps).transform(gaps).shape == (N, 2)


def test_rows_of_a_normaliser_have_the_same_bits_in_every_table():
    pandas = pytest.importorskip("pandas")
    from skdp.rowwise._map import by_rows

    table = np.random.default_rng(3).normal(size=(50, 11))
    for norm in ("l1", "l2", "max"):
        for make in (np.asarray, np.asfortranarray, lambda A: pandas.DataFrame(A)):
            step = by_rows(Normalizer(norm)).fit(make(table))
            whole = np.asarray(step.transform(make(table)))
            for n in (1, 2, 3, 17):
                np.testing.assert_array_equal(
                    np.asarray(step.transform(make(table[:n]))), whole[:n]
                )


# What can be known before the charge is told before the charge.


def refused(pipe, table, match):
    ledger = PrivacyLedger(100.0, 1e-3)
    for mode in ("error", "ignore"):
        with config_context(invalid_rows=mode), pytest.raises((ValueError, TypeError)) as told:
            clone(pipe).set_params(ledger=ledger).fit(table)
        assert match in str(told.value)
        assert told.value.__cause__ is None
    assert ledger.spent().fraction == 0


def test_a_filter_inside_a_container_is_refused():
    for inside in (
        Pipeline([("filter", FriendlyCoreFilter()), ("map", RowMap(np.abs))]),
        FeatureUnion([("filter", FriendlyCoreFilter())]),
        ColumnTransformer([("filter", FriendlyCoreFilter(), [0])]),
    ):
        problems = make_private_pipeline(inside, PrivateMean()).plan().problems
        assert len(problems) == 1 and "a step of the pipeline itself" in problems[0]
        refused(make_private_pipeline(inside, PrivateMean()), X, "inside a container")


def test_problems_of_an_inner_pipeline_are_those_of_the_outer():
    for inner, text in (
        (PrivatePipeline([("scale", StandardScaler()), ("mean", PrivateMean())]), "StandardScaler"),
        (PrivatePipeline([("map", RowMap(np.abs))]), "nothing is released"),
        (PrivatePipeline([("axes", PCA(1))]), "PrivatePCA"),
    ):
        problems = PrivatePipeline([("inner", inner)]).plan().problems
        assert any("'inner'" in problem and text in problem for problem in problems)
        refused(PrivatePipeline([("inner", inner)]), X, text)


def test_an_inner_pipeline_may_have_steps_of_both_kinds():
    inner = [("scale", PrivateStandardScaler()), ("median", PrivateMedian(delta=0.0))]
    pipe = PrivatePipeline([("inner", PrivatePipeline(inner))], random_state=0)
    assert pipe.plan().problems == ()
    report = pipe.fit(X).privacy_report_
    assert sum(charge.share for charge in report.charges) <= 1


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([RowMap(lambda X: X - X.mean(axis=0)), PrivateMean()], "mixes rows"),
        ([RowMap(lambda X: X[:, :1]), PrivateMean(center=[0.0, 1.0])], "center"),
        ([RowMap(lambda X: X.astype(str)), PrivateMean()], "real numbers"),
        ([PrivateStandardScaler(), RowMap(broken), PrivateMean()], "every made-up row"),
        ([PrivateStandardScaler(), RowMap(lambda X: X[:, : 1 + int(X[0, 0] > 0)])], "columns"),
        ([PublicFit(StandardScaler(), X[:, :2]), PrivateMean()], "features"),
    ],
)
def test_what_the_schema_forbids_costs_nothing(steps, text):
    ends = isinstance(steps[-1], PrivateMean)
    refused(make_private_pipeline(*steps, *([] if ends else [PrivateMean()])), X, text)


def test_tables_that_are_none_are_refused_without_their_entries():
    secret = 777.125
    pipe = mean_of(RowMap(np.abs))
    tables = [np.full(9, secret), np.full((2, 2, 2), secret), np.full((3, 2), secret + 1j)]
    for table in tables:
        for mode in ("error", "ignore"):
            with config_context(invalid_rows=mode), pytest.raises(ValueError) as told:
                pipe.fit(table)
            assert (
                "777" not in f"{told.value}{told.value.__context__}" and len(str(told.value)) < 999
            )


def test_an_inner_pipeline_is_rehearsed_with_the_outer():
    encoder = OneHotEncoder(categories=[[0, 1, 2]] * 2, handle_unknown="ignore")
    inner = make_private_pipeline(encoder, PrivateMean())
    for outer in (PrivatePipeline([("in", inner)]), make_private_pipeline(RowMap(np.abs), inner)):
        refused(outer, X.astype(np.int8), "Shape mismatch")


def test_an_exception_leaves_no_trace_of_a_row():
    def tell(row):
        if (row[:, 0] == 777.0).any():
            raise ValueError(f"what is {row}?")
        return row

    table = np.concatenate([X, np.full((1, 3), 777.0)])
    pandas = pytest.importorskip("pandas")
    words = pandas.DataFrame({"a": ["Smith777"]})
    for step, rows in (
        (RowMap(tell), table),
        (RowMap(tell, vectorized=True), table),
        (PublicFit(FunctionTransformer(tell), X), table),
        (Binarizer(), objects("Smith777", 1.0, 2.0)),
        (Binarizer(), words),
    ):
        with pytest.raises(ValueError) as told:
            make_private_pipeline(step, PrivateMean()).fit(rows)
        assert told.value.__context__ is None and "777" not in str(told.value)


def test_lists_have_no_types_of_their_own():
    pipe = mean_of(RowMap(np.abs))
    for rows in ([], X.tolist(), [["a", 1.0]]):
        with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="of lists"):
            pipe.fit(rows)


def test_words_for_some_numbers_are_told_by_the_trial():
    def words(row):
        return row.astype(str) if (row > 1).any() else row

    with pytest.raises(ValueError, match="mixes rows"):  # together, numpy makes words of all
        RowMap(words).fit(X)
    assert not RowMap(words, vectorized=False).fit(X).vectorized_


def test_functions_do_not_warn_with_a_row():
    def tell(row):
        warnings.warn(f"seen {row}", UserWarning, stacklevel=2)
        return row

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", category=sklearn.exceptions.DataConversionWarning)
        mean_of(RowMap(tell)).set_params(random_state=None).fit(X)


def test_joblib_settings_of_the_caller_do_not_reach_the_branches():
    columns = ColumnTransformer(
        [("a", PrivateStandardScaler(), [0]), ("b", PrivateStandardScaler(), [1])]
    )
    with_nan = np.where(np.arange(N)[:, None] == 3, np.nan, X)
    with joblib.parallel_config(backend="loky", n_jobs=2), config_context(invalid_rows="ignore"):
        fitted = mean_of(columns).set_params(random_state=0).fit(with_nan)
    alone = mean_of(columns).set_params(random_state=0)
    with config_context(invalid_rows="ignore"):
        alone.fit(with_nan)
    np.testing.assert_array_equal(fitted[-1].location_, alone[-1].location_)


def test_frames_of_scikit_learn_settings_pass():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"))
    with sklearn.config_context(transform_output="pandas"):
        mean_of(RowMap(lambda row: row**2), Normalizer()).set_params(random_state=0).fit(frame)


def test_what_is_known_elsewhere_can_be_said_to_be_public():
    known = StandardScaler().fit(X)
    for step in (PublicFit(known), PublicFit(FrozenEstimator(known))):
        twin = clone(clone(step)).fit(X)
        np.testing.assert_allclose(twin.transform(X), known.transform(X))
        pipe = mean_of(step)
        assert any("public rows" in text for text in pipe.plan().assumptions)
        pipe.set_params(random_state=0).fit(X)
    refused(mean_of(PublicFit(StandardScaler())), X, "not fitted")
    problem = mean_of(FrozenEstimator(known)).plan().problems[0]
    assert "PublicFit(FrozenEstimator(...))" in problem
    sparse = pytest.importorskip("scipy.sparse")
    assert PublicFit(MaxAbsScaler(), sparse.csr_matrix(X)).fit(X).transform(X).shape == X.shape


def test_a_fitted_step_has_the_ledger_of_its_pipeline():
    ledger = PrivacyLedger(2.0, 1e-4)
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), ledger=ledger).fit(X)
    before = ledger.spent().fraction
    pipe[0].fit(X)
    assert ledger.spent().fraction > before
    inner = PrivatePipeline([("inner", make_private_pipeline(PrivateMean()))], ledger=ledger).fit(X)
    assert inner[0].ledger is ledger and inner[0][0].ledger is None
    pickle.dumps(inner)


def test_all_that_an_imputer_lacks_is_told_at_once():
    problem = mean_of(SimpleImputer(add_indicator=True)).plan().problems[0]
    assert "strategy=" in problem and "add_indicator=" in problem


def test_a_row_of_a_list_does_not_decide_on_the_types_of_others():
    """A fraction would make floats, a text would make texts, of the integers of all other rows."""
    whole = [[2**53 + 1, 1]] * 50
    told = []
    for row in ([5, 1], [5, 0.5]):
        steps = [("map", RowMap(lambda x: [len(repr(x[0]))])), ("mean", PrivateMedian())]
        pipe = PrivatePipeline(steps, epsilon=1e3, random_state=0).fit([*whole, row])
        told.append(pipe[-1].location_[0])
    assert told[0] == pytest.approx(told[1], abs=0.1)
    with pytest.raises(ValueError, match="pass it as an array or a frame"):
        PrivatePipeline(steps, epsilon=1e3).fit([*whole, ["a", 1]])
    for row in ([5, 1], [5, 0.5], ["a", 1]):
        refused = pytest.raises(ValueError, match="those of lists depend on their entries")
        with config_context(invalid_rows="ignore"), refused:
            PrivatePipeline(steps, epsilon=1e3).fit([*whole, row])


@pytest.mark.parametrize("odd", ["n/a", 1j, object(), [1.0]])
def test_an_odd_number_beside_words_is_a_row_that_fails(odd):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": ["x"] * N})
    frame.loc[3, "a"] = 1e9

    def func(row):
        number = odd if row["a"].iloc[0] == 1e9 else 1.0
        return pandas.DataFrame({"a": pandas.Series([number], dtype=object), "b": ["y"]})

    def honest(row):
        return pandas.DataFrame({"a": [1.0], "b": ["y"]})

    for answer in (func, lambda row: func(row).to_numpy()):
        step = RowMap(
            lambda row, odd=answer: odd(row) if row["a"].iloc[0] == 1e9 else honest(row)
        ).fit(frame)
        with config_context(invalid_rows="ignore"):
            found = step.transform(frame)
        assert found["a"].dtype == np.float64
        assert list(np.flatnonzero(found["a"].isna())) == [3]
        assert list(np.flatnonzero(found["b"].isna())) == [3]


def test_no_entry_of_a_list_chooses_the_type_of_all_rows():
    """One word among numbers would turn all of them into text, one fraction into floats."""
    is_text = RowMap(lambda row: np.array([[float(row.dtype.kind != "f")]]))
    pipe = PrivatePipeline([("kind", is_text), ("mean", PrivateMean())], random_state=0)
    rows = [[i] for i in range(300)]
    assert pipe.fit(rows).steps_[-1][1].location_ == pytest.approx([0.0], abs=0.1)
    with pytest.raises(ValueError, match="hold numbers alone") as told:
        pipe.fit([*rows, ["Smith"]])
    assert "Smith" not in str(told.value)
    for table in (rows, [*rows, ["Smith"]], [*rows, [1.0, 2.0]]):
        with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="lists depend"):
            pipe.fit(table)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("branch", ["passthrough", RowMap(), RowMap(lambda row: row + 0)])
def test_no_entry_of_objects_chooses_the_types_of_a_frame(library, branch):
    pytest.importorskip(library)
    if branch != "passthrough":
        branch = clone(branch).set_params(feature_names_out="one-to-one")
    steps = [
        ("columns", ColumnTransformer([("part", branch, [0])])),
        ("one", RowMap(lambda row: np.ones((1, 1)), feature_names_out=lambda step, names: ["one"])),
        ("mean", PrivateMean()),
    ]
    table, ledger = np.array([[1], ["a"]] * 30, dtype=object), PrivacyLedger(2.0, 1e-5)
    pipe = PrivatePipeline(steps, ledger=ledger).set_output(transform=library)
    with config_context(invalid_rows="ignore"):
        with pytest.raises(ValueError, match=r"entries choose the types|should be 2D"):
            pipe.fit(table)
        assert not [entry for entry in ledger.entries() if entry.kind == "charge"]
        pipe.set_output(transform="default").fit(table)


@pytest.mark.parametrize("number", [2**53, np.int64(2**60), -(2.0**53)])
def test_categories_that_a_missing_value_would_round_are_refused(number):
    """A column of integers with a gap is given to an encoder as floats."""
    encoder = OneHotEncoder(categories=[[number]], handle_unknown="ignore")
    problems = make_private_pipeline(encoder, PrivateMean()).plan().problems
    assert len(problems) == 1 and "would round" in problems[0]
    encoder.set_params(categories=[[2**53 - 1, np.nan]])
    assert not make_private_pipeline(encoder, PrivateMean()).plan().problems


def test_categories_that_floats_would_merge_are_looked_up_row_by_row():
    public = np.array([[2**53], [2**53 + 1], [3]])
    encoder = OneHotEncoder(handle_unknown="ignore")
    assert not PublicFit(encoder, public).fit(public).vectorized_
    assert PublicFit(encoder, public[2:]).fit(public).vectorized_


def test_a_public_fit_learns_the_same_in_every_fit():
    from sklearn.cluster import KMeans

    step = PublicFit(KMeans(4, n_init=1), X)
    first, second = (clone(step).fit(X).transform(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
