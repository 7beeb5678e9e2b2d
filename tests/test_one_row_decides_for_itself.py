"""What one row may not do to the others by its type, or by being the only one."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    GroupMap,
    MarginalReleaser,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateCount,
    PrivateGroupBy,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateRidge,
    PrivateSearchCV,
    PrivateSummary,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.metrics import (
    PrivateConfusionMatrix,
    private_cross_val_score,
    private_report_by_group,
)
from skdp.stats import PrivateSurvival, private_logrank_test, private_ttest_ind
from tests._estimators import ESTIMATORS

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
MODELS = [
    PrivateAdditiveClassifier(classes=[0, 1], random_state=0),
    PrivateAdditiveRegressor(target_range=(0, 1), random_state=0),
    PrivateAdditiveRegressor(linear=True, random_state=0),
    PrivateLinearRegression(random_state=0),
    PrivateRidge(random_state=0),
    PrivateLogisticRegression(classes=[0, 1], random_state=0),
]


@pytest.mark.parametrize("label", [1.0, "a", True, 2**70])
@pytest.mark.parametrize("Model", [PrivateAdditiveClassifier, PrivateLogisticRegression])
def test_a_label_in_a_list_does_not_choose_the_type_of_the_others(Model, label):
    y = [0, 1] * 1000
    for labels in (y, [*y, label]):
        model = Model(epsilon=8.0, random_state=0).fit(np.zeros((len(labels), 1)), labels)
        assert model.classes_.dtype == np.int64 and model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1], [0, -(2**53)]])
def test_labels_that_floats_do_not_tell_apart_are_refused(labels):
    X, y = np.zeros((10, 1)), [0] * 10
    with pytest.raises(ValueError, match="2\\^53"):
        PrivateAdditiveClassifier(classes=labels).fit(X, y)
    with pytest.raises(ValueError, match="2\\^53"):
        PrivateAdditiveClassifier(classes=[0, 1], categories=[labels]).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n", [0, 1])
def test_a_table_of_no_rows_is_fitted_as_one_of_a_row(model, n):
    X, y = np.zeros((n, 2)), np.zeros(n, dtype=int)
    with config_context(invalid_rows="ignore"):
        for given in ((X, y), ([X], [y])):
            assert np.isfinite(model.fit(*given).n_rows_)


class _Batches:
    """Batches that are no list."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return iter(self.batches)


@pytest.mark.parametrize("hidden", [False, True])
def test_masked_arrays_are_refused_whatever_they_hide(hidden):
    """The type decides, not the mask: what is hidden would be read as data."""
    A, y = np.ma.array(np.full((40, 3), 0.5)), np.ma.array(np.arange(40) % 2)
    A[::10], y[::10] = (np.ma.masked, np.ma.masked) if hidden else (0.5, 0)
    given = [(A, y.data), ([A[:20], A[20:]], [y.data[:20], y.data[20:]]), (_Batches([A]), [y.data])]
    for estimator in ESTIMATORS:
        with (
            config_context(invalid_rows="ignore" if hidden else "error"),
            pytest.raises(ValueError, match=r"filled\(np.nan\)"),
        ):
            clone(estimator).fit(*given[0])
    for model in MODELS:
        for X, labels in [*given[1:], (A.data, y), ([A.data], [y])]:
            with pytest.raises(ValueError, match=r"filled\(np.nan\)"):
                model.fit(X, labels)
        with pytest.raises(ValueError, match=r"filled\(np.nan\)"):
            model.fit(A.data, y.data).predict(A)


def _bytes_as_text(pa, entries):
    """Return text of Arrow made of bytes that nobody has looked at."""
    ends = pa.py_buffer(np.cumsum([0, *map(len, entries)], dtype=np.int64))
    buffers = [None, ends, pa.py_buffer(b"".join(entries))]
    return pa.Array.from_buffers(pa.large_string(), len(entries), buffers)


@pytest.mark.parametrize("of", ["table", "coded", "batches", "pandas", "pandas text"])
def test_text_that_is_no_utf8_is_a_label_like_any_other(of):
    pa, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    text = _bytes_as_text(pa, [b"a", b"b"] * 150 + [b"\xff"])
    x = np.full(301, 0.5)
    X = pa.table({"key": text.dictionary_encode() if of == "coded" else text, "x": x})
    if of == "batches":
        X = [X.slice(0, 100).to_batches()[0], X.slice(100).to_batches()[0]]
    elif of.startswith("pandas"):
        arrays = pandas.arrays
        kind = arrays.ArrowStringArray if of == "pandas text" else arrays.ArrowExtensionArray
        X = pandas.DataFrame({"key": kind(pa.chunked_array([text])), "x": x})
    options = {"epsilon": 8.0, "random_state": 0}
    found = PrivateGroupBy(PrivateCount(), "key", **options).fit(X)
    assert found.levels_ == ["a", "b"]
    assert MarginalReleaser(1, domain="auto", **options).fit(X).n_rows_ > 250
    if of == "batches":
        return
    assert PrivateLogisticRegression(**options).fit(X, "key").classes_.tolist() == ["a", "b"]
    model = PrivateAdditiveRegressor(target_range=(0, 1), **options)
    told = model.fit(X, x).predict(X)  # of a Table batch by batch
    assert np.isfinite(np.concatenate([told] if of.startswith("pandas") else list(told))).all()
    if of.startswith("pandas"):
        with pytest.warns(FutureWarning, match="deprecated"):
            users = PrivateHistogram(2, range=(0, 1), user=0, rows_per_user=1, **options).fit(X)
        assert abs(users.counts_.sum() - 3) < 3
        with pytest.raises(ValueError, match="Columns of another type: key") as caught:
            PrivateMean().fit(X)
        assert caught.value.__context__ is None
        assert abs(PrivateCount(**options).fit(X).count_ - 301) < 4


def _with_date(pa, of, day):
    days = pa.array([*[10] * 59, day], type="int32").cast("date32")
    if of == "coded":
        return days.dictionary_encode()
    if of == "nested":
        return pa.StructArray.from_arrays([days], names=["day"])
    return days


@pytest.mark.parametrize("of", ["date", "coded", "nested"])
def test_a_date_that_python_cannot_hold_is_missing(of):
    """The year 29349: one such entry would end the fit of all others."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    first = make_private_pipeline(RowMap(lambda rows: rows[["x"]]), PrivateMean(bounds=(0, 60)))
    ids = np.arange(60) // 2
    longest = GroupMap(lambda rows: rows["x"].max(), n_features=1)
    longest = make_private_pipeline(longest, PrivateMean(bounds=(0, 60)))
    for day in (11, 10_000_000):
        X = pa.table({"x": np.arange(60.0), "day": _with_date(pa, of, day)})
        for table in (X, [X[:50], X[50:]]):
            with config_context(invalid_rows="ignore"):
                first.fit(table)
                longest.fit(table, groups=ids)
                if of == "coded":
                    MarginalReleaser(1, domain="auto").fit(table)
                    PrivateSummary().fit(table)
                if of == "nested":
                    with pytest.raises(ValueError, match="another type: day"):
                        PrivateSummary().fit(table)


@pytest.mark.parametrize("odd", ["NA", [1, 2]], ids=["NA", "array"])
def test_a_label_that_cannot_be_compared_is_none_of_the_classes(odd):
    """A missing label of pandas is neither equal to another nor not."""
    odd = pytest.importorskip("pandas").NA if odd == "NA" else odd
    rng = np.random.default_rng(0)
    labels = np.empty(400, dtype=object)
    labels[:] = rng.integers(2, size=400).tolist()
    labels[-1] = np.array(odd) if isinstance(odd, list) else odd
    model = PrivateLogisticRegression(classes=[0, 1])
    search = PrivateSearchCV(model, {"fit_intercept": [True]}, mean_trials=2, random_state=0)
    with config_context(invalid_rows="ignore"):
        search.fit(rng.normal(size=(400, 2)), labels)
        matrix = PrivateConfusionMatrix(epsilon=100.0, random_state=0).fit(
            np.zeros(400, dtype=int), labels
        )
    assert abs(matrix.n_rows_ - 399) < 1


def test_a_gap_does_not_round_categories_that_are_numbers():
    """Pandas makes floats of categories of integers where an entry is missing."""
    pandas = pytest.importorskip("pandas")
    known = pandas.CategoricalDtype([2**53, 2**53 + 1])
    for keys in ([2**53, 2**53 + 1] * 200, [2**53, 2**53 + 1] * 200 + [None]):
        X = pandas.DataFrame({"key": pandas.Series(keys, dtype=known), "x": 0.0})
        found = PrivateGroupBy(PrivateCount(), "key", epsilon=8.0, random_state=0).fit(X)
        assert found.levels_ == [2**53, 2**53 + 1]


@pytest.mark.parametrize("n_cycles", [10, 100])
def test_many_cycles_leave_each_a_share(n_cycles):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = PrivateAdditiveRegressor(
        n_cycles=n_cycles, epsilon=50.0, target_range=(-3, 3), random_state=0
    )
    assert model.fit(X, X[:, 0]).n_iter_ == n_cycles


def test_a_number_beyond_floats_is_silent_where_nothing_may_be_told(recwarn):
    y = np.arange(400, dtype=np.longdouble)
    y[0] = np.longdouble("1e4000")
    with config_context(invalid_rows="ignore"):
        PrivateLinearRegression(random_state=0).fit(np.ones((400, 1)), y)
    assert not [told for told in recwarn if issubclass(told.category, RuntimeWarning)]


@pytest.mark.parametrize("odd", ["a", None, 1.5, 2**70])
def test_a_list_has_no_type_that_one_entry_decides(odd):
    """Numpy makes texts of all numbers where one entry is text."""
    rng = np.random.default_rng(0)
    by, options = [1, 2] * 1000, {"epsilon": 8.0, "random_state": 0}
    y, times = rng.integers(2, size=2000), rng.exponential(size=2000)
    counted = private_report_by_group(y, times / 100, [*by[:-1], odd], levels=[1, 2], **options)
    assert all(abs(report.n_rows_ - 1000) < 100 for report in counted.reports.values())
    survival = PrivateSurvival(horizon=3.0, levels=[1, 2], **options)
    told = private_logrank_test(times, y, [*by[:-1], odd], levels=[1, 2], horizon=3.0, **options)
    assert np.sum(told.n_rows) > 1900
    with config_context(invalid_rows="ignore"):
        objects = np.array([*by[:-1], odd], dtype=object)
        for refused in ((times.tolist(), y), (times, y, by)):
            with pytest.raises(ValueError, match="a type of its own"):
                survival.fit(*refused)
        with pytest.raises(ValueError, match="a type of its own"):
            private_logrank_test(times.tolist(), y, by)
        with pytest.raises(ValueError, match="a type of its own"):
            PrivateConfusionMatrix(classes=[0, 1]).fit(y, y.tolist())
        for sample in (times.tolist(), times.astype(object), objects):
            with pytest.raises(ValueError, match=r"a type of its own|array or a series of numbers"):
                private_ttest_ind(sample, times)


@pytest.mark.parametrize("odd", ["a", None, (1, 2)], ids=str)
def test_an_id_in_a_list_does_not_make_others_those_of_other_persons(odd):
    x, y = np.zeros(400), np.ones(400)
    ids, options = [*range(400)], {"bounds": (0, 1), "epsilon": 1e3, "random_state": 0}
    with config_context(invalid_rows="ignore"):
        told = private_ttest_ind(x, y, groups=(ids, [*ids[:-1], odd]), **options)
    assert abs(np.sum(told.n_rows) - 400) < 10


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_panic_of_a_reader_quotes_no_entry(at):
    """Those of polars, which is written in Rust, are no Exceptions."""
    first = np.zeros((40, 2))

    class Panicking:
        passes = 0

        def __iter__(self):
            self.passes += 1
            if at:
                yield first
            if self.passes >= at:
                raise type("PanicException", (BaseException,), {})("86243.5")

    for fit in (PrivateMean().fit, lambda X: PrivateLinearRegression().fit(X, [first[:, 0]])):
        with config_context(invalid_rows="ignore"), pytest.raises(ValueError) as caught:
            fit(Panicking())
        assert "86243.5" not in str(caught.value) and caught.value.__context__ is None


def test_a_gap_in_a_list_ends_no_cross_validation_after_the_charge():
    """Numpy makes objects of all numbers where one entry is None."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(600, 2)).tolist(), rng.integers(2, size=600)
    rows[5][0] = None
    model, options = PrivateAdditiveClassifier(classes=[0, 1]), {"cv": 2, "random_state": 0}
    told = private_cross_val_score(model, rows, y, epsilon=8.0, **options)
    assert np.isfinite(told.scores).all()
    for odd in ("a", [1, 2]):
        rows[5][0] = odd
        with pytest.raises(ValueError, match="a list that is a table") as caught:
            private_cross_val_score(model, rows, y, **options)
        assert caught.value.__context__ is None
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="of its own"):
        private_cross_val_score(model, rows, y, **options)


@pytest.mark.parametrize("n", [0, 1])
def test_a_batch_of_other_types_is_refused_with_a_row_or_without(n):
    pandas = pytest.importorskip("pandas")
    first = pandas.DataFrame({"key": ["a", "b"] * 20, "x": range(40)})
    model = PrivateGroupBy(PrivateCount(), "key")
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="other types"):
        model.fit([first, first.iloc[:n].astype({"x": float})])
