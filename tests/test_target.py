import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from scipy.stats import norm
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.estimator_checks import (
    check_dict_unchanged,
    check_n_features_in,
    check_requires_y_none,
    check_supervised_y_no_nan,
)

from skdp import PrivacyLedger, config_context
from skdp.accounting import Budget, Plan, Step
from skdp.audit._transcript import CannedCurator
from skdp.exceptions import BudgetExceeded, LowAccuracyWarning, PlanError
from skdp.kernel._table import Table, annex
from skdp.table._levels import Coding, Selection, coded_classes, coded_columns
from tests._curators import canned, check_replay
from tests._means import ClassCounts, MixedCounts, TargetMean

try:
    import dask.array as da
    import dask.dataframe as dd
except ImportError:  # is asked for by the tests of its own
    da = None

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

N = 1200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
TEXT = RNG.choice(["no", "perhaps", "yes"], size=N, p=[0.5, 0.3, 0.2]).astype(object)
CODES = np.unique(TEXT, return_inverse=True)[1]
NUMBERS = np.tanh(X[:, 0])
NAMES = list("pqr")
BIG = {"epsilon": 20.0, "random_state": 0}


def frame(y=None):
    table = pd.DataFrame(X, columns=NAMES)
    return table if y is None else table.assign(y=y)


def halves(table):
    part = getattr(table, "iloc", table)
    return [part[: N // 2], part[N // 2 :]]


def with_name(y, folder):
    """Yield (name, X) of sources one of whose columns is y."""
    table = frame(y)
    yield "pandas", table
    yield "polars", pl.from_pandas(table)
    yield "lazy", pl.from_pandas(table).lazy()
    yield "arrow", pa.Table.from_pandas(table)
    path = folder / "table.parquet"
    table.to_parquet(path, row_group_size=500)
    yield "path", str(path)
    yield "dataset", ds.dataset(path)
    yield "batches", halves(table)
    if da is not None:
        yield "dask", dd.from_pandas(table, npartitions=3)


def with_entries(y, folder):
    """Yield (name, X, y) of sources beside which y stands."""
    np.save(folder / "x.npy", X)
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    yield "memmap", mapped, y
    yield "fortran", np.asfortranarray(X), y.tolist()
    yield "frame", frame(), pd.Series(y, index=np.arange(N)[::-1])
    yield "polars", pl.from_pandas(frame()), pl.Series(y.tolist())
    yield "arrow", pa.Table.from_pandas(frame()), pa.array(y.tolist())
    yield "lazy and array", pl.from_pandas(frame()).lazy(), y
    yield "batches", halves(X), halves(y)
    yield "pairs", list(zip(halves(X), halves(y), strict=True)), None
    yield "batches and array", halves(X), y
    if da is not None:
        yield "dask and array", da.from_array(X, chunks=(500, 3)), y
        typed = y.astype(str) if y.dtype == object else y
        yield "dask", da.from_array(X, chunks=(500, 2)), da.from_array(typed, chunks=500)
        table = dd.from_pandas(frame(y), npartitions=3)
        yield "dask frames", table[NAMES], table["y"]


def released(fit):
    return {name: value for name, value in vars(fit).items() if name in ("sums_", "counts_")}


@pytest.mark.parametrize("estimator, y", [(TargetMean(**BIG), NUMBERS), (ClassCounts(**BIG), TEXT)])
def test_all_sources_of_rows_give_the_same(estimator, y, tmp_path):
    want = released(estimator.fit(X, y))
    assert want
    for name, table, target in with_entries(y, tmp_path):
        np.testing.assert_equal(released(estimator.fit(table, target)), want, err_msg=name)
        assert estimator.n_features_in_ == 3
    for name, table in with_name(y, tmp_path):
        np.testing.assert_equal(released(estimator.fit(table, "y")), want, err_msg=name)
        assert estimator.n_features_in_ == 3
        if name not in ("polars", "lazy"):  # of which scikit-learn before 1.7 reads no names
            assert estimator.feature_names_in_.tolist() == NAMES, name


@pytest.mark.parametrize(
    "y, kind",
    [
        (CODES.astype(np.int8), np.int8),
        (CODES.astype(np.uint64), np.uint64),
        (CODES.astype(np.float32), np.float32),
        (CODES > 0, bool),
        (TEXT.astype(str), "<U7"),
        (TEXT, object),
        (CODES.astype(object), np.int64),
        (pd.Series(CODES, dtype="Int16"), np.int16),
        (pd.Series(CODES > 0, dtype="boolean"), bool),
        (pd.Series(CODES, dtype="category"), np.int64),
        (pd.Series(TEXT, dtype="category"), object),
        (pl.Series(TEXT.tolist(), dtype=pl.Categorical), object),
        (pa.array(CODES, pa.int32()), np.int32),
        (pa.array(TEXT.tolist()).dictionary_encode(), object),
    ],
    ids=lambda value: type(value).__module__.partition(".")[0],
)
def test_classes_have_the_type_of_y(y, kind):
    fit = ClassCounts(**BIG).fit(X, y)
    assert fit.classes_.dtype == kind
    entries = y.to_pylist() if isinstance(y, pa.Array) else list(y)
    np.testing.assert_array_equal(fit.classes_, np.unique(np.array(entries, dtype=object)))
    again = ClassCounts(classes=fit.classes_, **BIG).fit(X, y)
    assert again.classes_.dtype == kind and np.array_equal(again.classes_, fit.classes_)


def test_classes_of_several_types_have_an_order_and_equal_ones_are_one():
    y = np.array([True, 1, "1", 0, None] * 240, dtype=object)
    with config_context(invalid_rows="ignore"):
        fit = ClassCounts(**BIG).fit(X, y)
    assert [repr(label) for label in fit.classes_] == ["True", "0", "'1'"]
    np.testing.assert_allclose(fit.counts_[:, 0], [480, 240, 240], atol=3)


SECRET = 86243.5


@pytest.mark.parametrize("invalid_rows", ["error", "ignore"])
@pytest.mark.parametrize(
    "estimator, table, y, text",
    [
        (TargetMean(), X, None, "requires y to be passed, but the target y is None"),
        (TargetMean(), X, np.full(N - 1, SECRET), "same number of rows"),
        (TargetMean(), X, np.full((N, 2), SECRET), "y should be a 1d array"),
        (TargetMean(), X, TEXT, "y must hold real numbers"),
        (TargetMean(), X, np.full(N, SECRET + 1j), "Complex data not supported"),
        (ClassCounts(), X, np.full(N, SECRET + 1j), "Complex data not supported"),
        (ClassCounts(), X, np.full(N, np.datetime64("2026-01-01")), "Unknown label type"),
        (ClassCounts(), X, "y", "names a column of X, but X has no names"),
        (ClassCounts(), frame(), "y", "names the column 'y', which X has not"),
        (ClassCounts(), frame(TEXT), "p", "another type: y"),
        (ClassCounts(classes=[1, 1]), X, CODES, "labels that differ"),
        (ClassCounts(classes="ab"), X, CODES, "labels that differ"),
        (ClassCounts(classes=[1, "a"]), X, CODES, "labels that differ"),
        (ClassCounts(classes=[1, None]), X, CODES, "labels that differ"),
        (ClassCounts(), halves(X), [CODES], "another length"),
        (ClassCounts(), halves(X), [CODES, CODES], "another length"),
        (ClassCounts(), halves(X), iter(halves(CODES)), "only once"),
        (ClassCounts(), X, halves(CODES), "could not be read as one column"),
        (MixedCounts(categories={"z": [1]}), frame(), CODES, "categories has a column 'z'"),
        (MixedCounts(categories=[[1]]), frame(), CODES, "categories must be None, a dict"),
        (MixedCounts(), frame(pd.Period("2026-01-01", "D")), CODES, "another type: y"),
        (MixedCounts(), X.astype(object), halves(TEXT), "could not be read as one column"),
    ],
)
def test_what_is_no_target_is_refused_before_the_charge(estimator, table, y, text, invalid_rows):
    ledger = PrivacyLedger(epsilon=10, delta=1e-4)
    twin = estimator.set_params(ledger=ledger)
    with (
        config_context(invalid_rows=invalid_rows),
        pytest.raises((ValueError, TypeError), match=text) as failure,
    ):
        twin.fit(table, y)
    assert str(SECRET) not in str(failure.value)
    assert len(ledger.entries()) == 1  # that it was opened


@pytest.mark.parametrize(
    "estimator, y, text",
    [
        (TargetMean(), np.where(CODES == 1, np.nan, SECRET), "Input y contains NaN"),
        (TargetMean(), np.where(CODES == 1, np.inf, SECRET), "Input y contains infinity"),
        (ClassCounts(), np.where(CODES == 1, np.nan, 1.0), "Input y contains NaN"),
        (ClassCounts(), np.where(CODES == 1, None, TEXT), "Input y contains NaN"),
        (ClassCounts(), np.where(CODES == 1, SECRET, 1.0), "Unknown label type"),
        (ClassCounts(), np.where(CODES == 1, 1j, TEXT), "Unknown label type"),
        (ClassCounts(), np.where(CODES == 1, SECRET, TEXT), "Unknown label type"),
        (ClassCounts(classes=[1]), np.where(CODES == 1, SECRET, 1.0), "not in `classes`"),
        (ClassCounts(classes=["no", "yes"]), TEXT, "not in `classes`"),
    ],
)
def test_invalid_targets_are_refused_or_absent(estimator, y, text):
    for table, target in ((X, y), (frame(y), "y"), (halves(X), halves(y))):
        ledger = PrivacyLedger(epsilon=10, delta=1e-4)
        with pytest.raises(ValueError, match=text) as failure:
            estimator.set_params(ledger=ledger).fit(table, target)
        assert str(SECRET) not in str(failure.value) and len(ledger.entries()) == 1
        with config_context(invalid_rows="ignore"):
            got = released(estimator.set_params(ledger=None, **BIG).fit(table, target))
            want = released(estimator.fit(X[CODES != 1], y[CODES != 1]))
        np.testing.assert_equal(got, want)


@pytest.mark.skipif(da is None, reason="dask is not installed")
def test_targets_of_dask_have_the_chunks_of_the_rows():
    with pytest.raises(ValueError, match="y is a collection of dask, and X is not"):
        ClassCounts().fit(X, da.from_array(CODES))
    table = da.from_array(X, chunks=(500, 3))
    for y in (da.from_array(CODES), da.from_array(CODES, chunks=(400, 500, 300))):
        with pytest.raises(ValueError, match="other chunks"):
            ClassCounts().fit(table, y)
    with pytest.raises(ValueError, match="no target"):
        ClassCounts().fit(table, table)


def test_a_column_vector_is_told():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        fit = TargetMean(**BIG).fit(X, NUMBERS[:, None])
    np.testing.assert_equal(released(fit), released(TargetMean(**BIG).fit(X, NUMBERS)))


def test_a_list_has_no_type_of_its_own():
    TargetMean().fit(X, NUMBERS.tolist())
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="as an array"):
        TargetMean().fit(X, NUMBERS.tolist())


@pytest.mark.parametrize("invalid_rows", ["error", "ignore"])
def test_no_row_is_there(invalid_rows):
    nobody = frame(TEXT)[:0]
    with config_context(invalid_rows=invalid_rows):
        if invalid_rows == "error":
            with pytest.raises(ValueError, match="no rows"):
                ClassCounts(**BIG).fit(nobody, "y")
            return
        with pytest.warns(LowAccuracyWarning, match="no class of y"):
            fit = ClassCounts(**BIG).fit(nobody, "y")
    assert fit.classes_.tolist() == [] and fit.classes_.dtype == object


# ---- the selection


def test_probability_that_one_row_is_published():
    """The threshold, from the law of the noise: one row of its own is published with at most f."""
    for epsilon in (0.1, 1.0, 30.0, 300.0):
        for k in (1, 7):
            budget = Budget.gaussian(epsilon, 1e-6)
            plan = Plan(budget, (Step("names"),), (("names", budget.failure),))
            thresholds, curator = [], CannedCurator(plan, lambda label, value, scale: value)
            curator._occurring = lambda *asked, told=thresholds: told.append(asked) or []
            curator.names({"a": 1}, moved=k, share=0.05, label="names", event="names")
            _, value, scale, threshold = thresholds[0]
            log_f = math.log(budget.failure) if epsilon < 100 else None
            assert value.tolist() == [1] and isinstance(threshold, int)
            assert scale >= math.sqrt(k / float(budget.amount) / 0.05) * (1 - 1e-12)
            if log_f is None:
                continue
            log_p = norm.logsf((threshold + 0.5 - 1) / scale)  # rounded noise is above it
            assert log_p <= log_f - math.log(k)
            assert norm.logsf((threshold - 1.5) / scale) > log_f - math.log(k) - 1e-6


def neighbours(columns):
    """Run the selection on rows of texts, and on one row more that nobody has seen before."""
    table = pd.DataFrame({f"c{j}": TEXT for j in range(columns)})
    one = pd.DataFrame({name: ["new"] for name in table})
    return table, pd.concat([table, one], ignore_index=True)


@pytest.mark.parametrize("columns", [1, 4])
def test_a_row_of_new_labels(columns):
    """Each column has an entry more, of 1; together they are what is paid for, and none is told."""
    runs = []
    for table in neighbours(columns):
        answers = runs[0].answers if runs else "noise"
        budget = Budget.gaussian(1.0, 1e-6)
        events = Selection("levels").events(budget)
        curator = CannedCurator(Plan(budget, Selection("levels").steps(), events), answers)
        estimator = MixedCounts(classes=[0, 1])
        rows = estimator._read(table, np.arange(len(table)) % 2)
        coding, _ = coded_columns(Table(rows, curator), share=0.1)
        assert coding.levels == (("no", "perhaps", "yes"),) * columns
        runs.append(curator)
    assert check_replay(*runs) == 1
    assert runs[0].records[0].sensitivity == columns
    assert len(runs[1].records[0].value) == len(runs[0].records[0].value) + columns


def test_labels_of_few_rows_stay_private():
    y = np.where(np.arange(N) < 4, "rare", TEXT)
    for seed in range(10):
        fit = ClassCounts(epsilon=1.0, random_state=seed).fit(X, y)
        assert "rare" not in fit.classes_ and "no" in fit.classes_  # 240 rows at share .05


def test_very_many_labels_are_counted():
    n = 10**5
    y = np.array([f"name {i}" for i in range(n)], dtype=object)
    y[:300] = "often"
    fit = ClassCounts(random_state=0).fit(np.zeros((n, 1)), y)
    assert fit.classes_.tolist() == ["often"]


@pytest.mark.parametrize("y, text", [(TEXT[:20], "no class of y"), (np.ones(N), "one class of y")])
def test_too_few_classes_are_told(y, text):
    with pytest.warns(LowAccuracyWarning, match=text):
        fit = ClassCounts(random_state=0).fit(X[: len(y)], y)
    assert len(fit.classes_) == (text == "one class of y")


def test_without_a_failure_probability_classes_must_be_given():
    budget = Budget.pure(1.0)
    assert Selection("classes", given=True).events(budget) == ()
    with pytest.raises(PlanError, match="`classes` must be given"):
        Selection("classes").events(budget)
    with pytest.raises(PlanError, match="`categories` must be given"):
        Selection("levels").events(budget)


def test_a_selection_is_planned_and_charged_once():
    fit = ClassCounts(random_state=0).fit(X, TEXT)
    charges = {charge.label: charge for charge in fit.privacy_report_.charges}
    assert charges["classes"].sensitivity == 1 and float(charges["classes"].share) == 0.05
    assert [label for label, _ in fit.privacy_report_.failure_events] == ["classes"]
    fit = ClassCounts(classes=["no", "perhaps", "yes"], random_state=0).fit(X, TEXT)
    assert [charge.label for charge in fit.privacy_report_.charges] == ["counts"]
    assert fit.privacy_report_.failure_events == ()
    with pytest.raises(BudgetExceeded):
        ClassCounts(ledger=PrivacyLedger(epsilon=0.5, delta=1e-4)).fit(X, TEXT)


# ---- mixed tables


def mixed():
    table = frame().assign(t=TEXT, b=CODES > 1, y=CODES)
    table.loc[5, "t"] = None
    table.loc[7, "p"] = np.nan
    return table


WANTED = (None, None, None, ("no", "perhaps", "yes"), (False, True))


def mixed_sources(folder):
    table = mixed()
    yield table
    yield pl.from_pandas(table)
    yield pl.from_pandas(table).lazy()
    yield pa.Table.from_pandas(table)
    table.to_parquet(folder / "mixed.parquet", row_group_size=500)
    yield str(folder / "mixed.parquet")
    if da is not None:
        yield dd.from_pandas(table, npartitions=3)
    yield halves(table)
    yield table.assign(t=table["t"].astype("category"), b=table["b"].astype("boolean"))


def test_mixed_tables_of_all_sources_give_the_same(tmp_path):
    results = [MixedCounts(**BIG).fit(table, "y") for table in mixed_sources(tmp_path)]
    for fit in results:
        assert fit.levels_ == WANTED
        np.testing.assert_array_equal(fit.counts_, results[0].counts_)
    beside = MixedCounts(**BIG).fit(mixed().drop(columns="y"), CODES)
    np.testing.assert_array_equal(beside.counts_, results[0].counts_)


@pytest.mark.parametrize(
    "categories, want",
    [
        ({"t": ["yes", "no"]}, ("yes", "no")),
        ({3: ["no", None, ...]}, ("no",)),
        ([None, None, None, ["no"], None], ("no",)),
    ],
)
def test_public_levels(categories, want):
    table = mixed().drop(columns="y")
    fit = MixedCounts(categories=categories, **BIG).fit(table, CODES)
    assert fit.levels_ == (None, None, None, want, (False, True))
    assert "levels" not in {charge.label for charge in fit.privacy_report_.charges}


def test_numbers_can_have_levels():
    fit = MixedCounts(categories={0: 3, 2: [0.5, 7]}, **BIG).fit(np.c_[CODES, X], CODES)
    assert fit.levels_ == ((0, 1, 2), None, (0.5, 7), None)
    table = np.c_[CODES, X].astype(object)
    again = MixedCounts(categories={0: 3, 2: [0.5, 7]}, **BIG).fit(table, CODES)
    np.testing.assert_array_equal(fit.counts_, again.counts_)
    plain = MixedCounts(**BIG).fit(X, CODES)
    assert plain.levels_ == (None, None, None)


def test_text_in_a_column_of_numbers_is_refused_or_missing():
    table = np.c_[CODES, X].astype(object)
    table[3, 1] = "86243.5"
    with pytest.raises(ValueError, match="no number in a column of numbers") as failure:
        MixedCounts(categories={0: 3}).fit(table, CODES)
    assert "86243" not in str(failure.value)
    with config_context(invalid_rows="ignore"):
        MixedCounts(categories={0: 3}).fit(table, CODES)


def test_codes():
    coding = Coding((None, ("a", "b"), (False, True)))
    table = pd.DataFrame(
        {"x": [1.5, np.nan, np.inf, 0], "t": ["b", None, "z", 1], "b": [True, None, False, "a"]}
    ).astype({"t": object, "b": object})
    want = [[1.5, 1, 1], [np.nan, 3, 3], [np.nan, 2, 0], [0, 2, 2]]
    np.testing.assert_array_equal(coding.codes(table), want)
    np.testing.assert_array_equal(coding.codes(table.to_numpy()), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(coding)).codes(table), want)
    decode = coding.decoder(table[:0])
    np.testing.assert_array_equal(decode(table[1:2]), want[1:2])
    assert coding.n_cells == (0, 4, 4)


def test_rows_that_a_step_leaves_out_have_no_target():
    from skdp.readers._tables import tables_of

    keep = CODES != 1
    for estimator, table in ((ClassCounts(**BIG), frame()), (MixedCounts(**BIG), mixed())):
        table = table.drop(columns="y", errors="ignore")
        left = tables_of(halves(table)).without(~keep)
        with config_context(invalid_rows="ignore"):
            got = released(estimator.fit(left, CODES))
            want = released(estimator.fit(table[keep], CODES[keep]))
        assert estimator.classes_.tolist() == [0, 2]
        np.testing.assert_equal(got, want)


# ---- scikit-learn's manners


@pytest.mark.parametrize("estimator", [TargetMean(), ClassCounts(), MixedCounts()], ids=repr)
def test_checks_of_scikit_learn(estimator):
    name = type(estimator).__name__
    for check in (check_requires_y_none, check_supervised_y_no_nan, check_dict_unchanged):
        check(name, estimator)
    with pytest.warns(LowAccuracyWarning) if name != "TargetMean" else config_context():
        check_n_features_in(name, estimator)


def test_the_target_is_read_by_its_rows_alone():
    rows = ClassCounts(classes=["no", "yes"])
    with config_context(invalid_rows="ignore"):
        read = rows._read(X, TEXT)
    _, table = coded_classes(Table(read, canned()), ["no", "yes"])
    coded, _ = annex(table)
    codes = {"no": 0.0, "yes": 1.0}
    want = np.c_[X, [codes.get(label, np.nan) for label in TEXT]]
    np.testing.assert_array_equal(coded.take(np.arange(N)), want)
    np.testing.assert_array_equal(np.concatenate([block for _, block in coded.blocks()]), want)
    assert coded.n_features == 4 and coded.random_access and len(coded) == N
    named = rows.set_params(classes=["no", "perhaps", "yes"])._read(frame(TEXT), "y")
    _, table = coded_classes(Table(named, canned()), ["no", "yes"])
    coded, _ = annex(table)
    np.testing.assert_array_equal(coded.take([5, 3, 5]), want[[5, 3, 5]])
