import numpy as np
import pytest
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import (
    Binarizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from skdp import PrivatePCA, PublicFit, RowMap
from skdp import config_context as skdp_config
from skdp.contracts import Rows, contract_of
from skdp.rowwise._form import dummy_rows
from skdp.rowwise._map import SAME, detect_row_mixing
from tests._sklearn import run_checks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 7))
W = RNG.normal(size=(7, 3))


@pytest.mark.parametrize("estimator", [RowMap(), RowMap(np.abs)], ids=repr)
def test_sklearn_checks(estimator):
    run_checks(estimator)


@pytest.mark.parametrize(
    ("func", "together"),
    [(np.log1p, True), (lambda X: X**2 + X[:, :1], False), (lambda X: X @ W, False)],
)
def test_functions_of_single_rows(func, together):
    step = RowMap(func).fit(X)
    assert step.vectorized_ is together
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(step.transform(X), func(X))


def test_a_ufunc_that_reads_more_than_an_entry_is_a_function_like_any_other():
    """One with a signature reads whole columns, one made of Python may remember other entries."""
    table = np.arange(35).reshape(5, 7)
    other = table + 1000 * (np.arange(5) == 4)[:, None]
    singular_values = getattr(np.linalg._umath_linalg, "svd", None)  # (m, n) -> (p), if one for all
    if singular_values is not None:
        step = RowMap(singular_values).fit(table)
        rows = [step.transform(X)[:4] for X in (table, other)]
        np.testing.assert_array_equal(*rows)
    seen = []
    with pytest.raises(ValueError, match="mixes rows"):
        RowMap(np.frompyfunc(lambda x: seen.append(x) or float(len(seen)), 1, 1)).fit(table)
    step = RowMap(np.frompyfunc(lambda x: x + 1, 1, 1)).fit(table)
    np.testing.assert_array_equal(step.transform(table), table + 1)
    assert not step.vectorized_


def test_a_matrix_product_loses_what_rows_tell_one_another():
    """The bits of a row are the same in every table it is in."""
    step = RowMap(lambda X: X @ W).fit(X)
    for table in (X[:1], X[:2], X[:100], np.repeat(X, 3, axis=0)):
        np.testing.assert_array_equal(step.transform(table)[0], step.transform(X)[0])


@pytest.mark.parametrize(
    "func",
    [
        lambda X: X - X.mean(axis=0),
        lambda X: X / np.abs(X).max(),
        lambda X: np.cumsum(X, axis=0),
        lambda X: np.sort(X, axis=0),
        lambda X: X + len(X),
        lambda X: np.where(np.isnan(X), np.nanmean(X, axis=0), X),
        lambda X: np.nan_to_num(X) + np.isinf(X).any(),
    ],
)
def test_functions_that_mix_rows_are_refused(func):
    with pytest.raises(ValueError, match="mixes rows"):
        RowMap(func).fit(X)
    alone = RowMap(func, vectorized=False).fit(X).transform(X)
    np.testing.assert_array_equal(alone[0], func(X[:1])[0])


def test_vectorized_true_wants_proof():
    with pytest.raises(ValueError, match="vectorized='auto'"):
        RowMap(lambda X: X @ W, vectorized=True).fit(X)


def test_rows_that_get_lost_are_an_error_without_numbers():
    with pytest.raises(ValueError, match="one row for every row") as error:
        RowMap(lambda X: X[:0], vectorized=False).fit(X)
    assert "300" not in str(error.value)


def test_frames_stay_frames():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "b": ["x"] * 300})
    step = RowMap(lambda t: t[["a"]] * 2).fit(table)
    assert list(step.transform(table).columns) == ["a"]
    assert list(
        RowMap(np.abs, feature_names_out="one-to-one").fit(table[["a"]]).get_feature_names_out()
    ) == ["a"]
    assert list(step.get_feature_names_out()) == ["a"]
    with pytest.raises(AttributeError, match="feature_names_out"):
        RowMap(lambda t: t[["a"]].to_numpy()).fit(table).get_feature_names_out()


def test_public_rows_teach_and_private_rows_are_mapped_one_by_one():
    step = PublicFit(PCA(2), X[:100]).fit(X[200:])
    assert not step.vectorized_
    known = PCA(2).fit(X[:100])
    np.testing.assert_allclose(step.transform(X), known.transform(X), atol=1e-12)
    np.testing.assert_array_equal(step.transform(X)[:1], step.transform(X[:1]))
    assert PublicFit(StandardScaler(), X[:100]).fit(X).vectorized_


def test_a_public_fit_that_mixes_rows_is_refused():
    class Centre(StandardScaler):
        def transform(self, X):
            return X - X.mean(axis=0)

    with pytest.raises(ValueError, match="mixes rows"):
        PublicFit(Centre(), X).fit(X)


@pytest.mark.parametrize(
    "step",
    [
        Binarizer(),
        Normalizer(),
        Normalizer("max"),
        PolynomialFeatures(3),
        SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
        OneHotEncoder(categories=[[0, 1]] * 7, handle_unknown="ignore"),
        OrdinalEncoder(
            categories=[[0, 1]] * 7, handle_unknown="use_encoded_value", unknown_value=-1
        ),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_known_as_row_wise_are_so_to_the_last_bit(step):
    assert contract_of(step).accepts(Rows())
    with config_context(assume_finite=True):
        rows = dummy_rows(X)
        assert detect_row_mixing(step.fit(rows).transform, rows) == SAME


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (OneHotEncoder(), "categories"),
        (OneHotEncoder(categories=[[0]]), "handle_unknown"),
        (OneHotEncoder(categories=[[0]], handle_unknown="ignore", min_frequency=2), "min_freq"),
        (SimpleImputer(), "strategy"),
        (RBFSampler(), "PublicFit"),
        (SimpleImputer(strategy="constant"), "keep_empty_features"),
    ],
)
def test_steps_that_look_at_rows_are_not(step, text):
    from skdp.contracts import chain_problems

    assert contract_of(step) is None
    assert text in chain_problems([("step", step)])[0]


def test_projections_of_rows_do_not_depend_on_other_rows():
    pca = PrivatePCA(2, epsilon=50.0, random_state=0)
    with pytest.warns(UserWarning):
        pca.fit(X)
    for table in (X[:1], X[:2], X[3:100], X[::-1]):
        np.testing.assert_array_equal(
            pca.transform(table), [pca.transform(r[None])[0] for r in table]
        )
    exact = (X - pca.mean_) @ pca.components_.T
    np.testing.assert_allclose(pca.transform(X), exact, atol=1e-12)


@pytest.mark.parametrize(
    "func",
    [
        lambda t: t[["a"]].fillna(t["a"].mean()),
        lambda t: t[["a"]].ffill(),
        lambda t: __import__("pandas").get_dummies(t, columns=["b"]),
        lambda t: t.assign(b=t["b"].astype("category").cat.codes),
        lambda t: t.assign(b=t["b"].map(t["b"].value_counts())),
    ],
)
def test_habits_of_pandas_that_mix_rows_are_refused(func):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X[:, 0], "b": ["x", "y", "z"] * 100})
    with pytest.raises(ValueError, match="mixes rows"):
        RowMap(func).fit(table)


def test_a_row_that_fails_is_absent_where_nothing_may_be_told():
    def root(X):
        if (X < 0).any():
            raise ValueError("negative")
        return np.sqrt(X)

    step = RowMap(root).fit(X)
    with pytest.raises(ValueError, match="failed on a row with ValueError") as told:
        step.transform(X)
    assert told.value.__cause__ is None and "negative" not in str(told.value)
    with skdp_config(debug=True), pytest.raises(ValueError, match="negative"):
        step.transform(X)
    with skdp_config(invalid_rows="ignore"):
        Z = step.transform(X)
    np.testing.assert_array_equal(np.isnan(Z).any(axis=1), (X < 0).any(axis=1))


@pytest.mark.parametrize("together", [False, True])
def test_a_row_that_fails_does_not_change_the_type_of_what_is_handed_on(together):
    """Names of columns, which the next step keeps, would tell that there is such a row."""
    pandas = pytest.importorskip("pandas")

    def root(table):
        if (table["a"] < 0).any():
            raise ValueError("negative")
        return np.sqrt(table)

    rows = pandas.DataFrame({"a": np.arange(1.0, 9.0)})
    step = RowMap(root, vectorized=together).fit(rows)
    with skdp_config(invalid_rows="ignore"):
        whole, failing = step.transform(rows), step.transform(rows.replace(3.0, -3.0))
    assert type(whole) is type(failing) and list(whole.columns) == list(failing.columns)
    assert list(whole.dtypes) == list(failing.dtypes)
    np.testing.assert_array_equal(failing["a"].isna(), rows["a"] == 3.0)


def test_public_rows_that_do_not_fit_are_told_of_with_a_way_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :2], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"PublicFit\(StandardScaler\(...\), X_public\)"):
        PublicFit(StandardScaler()).fit(frame)
    with pytest.raises(ValueError, match="names the public rows lack"):
        PublicFit(StandardScaler(), frame.rename(columns={"b": "c"})).fit(frame)
    with pytest.raises(ValueError, match="same order"):
        PublicFit(StandardScaler(), frame[["b", "a"]]).fit(frame)
    chosen = ColumnTransformer([("a", StandardScaler(), ["a"])])
    assert PublicFit(chosen, frame[["b", "a"]]).fit(frame).transform(frame).shape == (len(X), 1)


def test_what_a_function_returned_in_place_of_a_row_is_told_without_the_row():
    step = RowMap(lambda row: row[row[:, 0] > 0]).fit(X)
    with pytest.raises(ValueError, match="something else for a row") as told:
        step.transform(-np.abs(X))
    assert "table of one row" in str(told.value) and told.value.__context__ is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_no_entry_chooses_the_type_of_a_column_of_objects(library):
    """pandas takes text that stands alone for ``str``, polars what comes first for the type."""
    frames = pytest.importorskip(library)

    def answer(table):
        word = table["a"].to_list()[0]
        return frames.DataFrame({"a": [7 if word == "odd" else word]})

    step = RowMap(answer, vectorized=False).fit(frames.DataFrame({"a": ["x", "y"]}))
    with skdp_config(invalid_rows="ignore"):
        found = [
            step.transform(frames.DataFrame({"a": words}))
            for words in (["x", "y"], ["x", "y", "odd"], ["odd", "x", "y"][::-1])
        ]
        odd_first = step.transform(frames.DataFrame({"a": ["odd", "x", "y"]}))
    assert len({str(list(Z.dtypes)) for Z in (*found, odd_first)}) == 1
    assert [Z["a"].to_list()[0] for Z in found] == ["x", "x", "y"]
    assert odd_first["a"].to_list()[1:] == ["x", "y"]


@pytest.mark.parametrize(
    "failure", [SystemExit, GeneratorExit, type("Panic", (BaseException,), {})]
)
@pytest.mark.parametrize("together", [False, True])
def test_a_row_on_which_foreign_code_panics_is_absent(failure, together):
    def panics(X):
        if (X > 6).any():
            raise failure(f"row {X}")
        return X

    step = RowMap(panics, vectorized=together).fit([[1.0]])
    with skdp_config(invalid_rows="ignore"):
        np.testing.assert_array_equal(step.transform([[1.0], [7.0], [2.0]]), [[1], [np.nan], [2]])


def test_the_user_can_stop_a_map():
    def stopped(X):
        if (X > 6).any():
            raise KeyboardInterrupt
        return X

    with skdp_config(invalid_rows="ignore"), pytest.raises(KeyboardInterrupt):
        RowMap(stopped, vectorized=False).fit([[1.0]]).transform([[7.0]])


def test_categories_numbered_by_the_rows_before_are_refused():
    polars = pytest.importorskip("polars")
    codes = lambda table: table.select(polars.col("a").to_physical().cast(polars.Float64))  # noqa: E731
    words = polars.DataFrame({"a": ["york", "bath", "hull"]})
    with pytest.raises(ValueError, match="depend on the rows before"):
        RowMap(codes).fit(words.cast(polars.Categorical))
    step = RowMap(codes).fit(words.cast(polars.Enum(["bath", "hull", "york"])))
    assert step.transform(words.cast(polars.Enum(["bath", "hull", "york"]))).rows() == [
        (2.0,),
        (0.0,),
        (1.0,),
    ]
    as_categories = RowMap(lambda table: table.cast(polars.Categorical), vectorized=False)
    assert as_categories.fit(words).transform(words).dtypes == [polars.String]


def test_rows_of_polars_tell_neither_their_place_nor_what_lists_others_have():
    polars = pytest.importorskip("polars")

    def seen(row):
        told = row["of"].flags["FAST_EXPLODE"], row["a"].to_arrow().offset
        return polars.DataFrame({"flag": [float(told[0])], "place": [float(told[1])]})

    rows = polars.DataFrame({"a": [1.0, 2.0], "of": [[1], [2, 3]]})
    more = polars.DataFrame({"a": [0.0], "of": [[]]}, schema=rows.schema)
    maps = []
    for X in (rows, polars.concat([more, rows])):
        step = RowMap(seen, vectorized=False).fit(X)
        with skdp_config(invalid_rows="ignore"):
            maps.append(np.asarray(step.transform(X))[-2:])
    assert np.array_equal(*maps)
