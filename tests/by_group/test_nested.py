"""Group-bys inside group-bys and after other steps: alike from every kind of source."""

import re
from collections import defaultdict, deque
from functools import cache
from operator import attrgetter

import numpy as np
import pytest

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    PrivateGroupBy,
    PrivateMean,
    PrivateStandardScaler,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._transcript import FixedKeys, moves

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
NAMES = ["a", "b", "v", "w"]
MEAN = PrivateMean(bounds=(-3.0, 3.0))
FILTERED = make_private_pipeline(FriendlyCoreFilter(radius=3.0), PrivateMean(method="friendly"))


@pytest.fixture(params=["array", "memmap", "polars", "arrow", "parquet", "batches", "lazy", "dask"])
def of_kind(request, tmp_path):
    """Return a function that gives rows as a table of some kind."""

    def array(X):
        return X

    def memmap(X):
        np.save(tmp_path / "rows.npy", np.vstack([X, X[:1], np.zeros((1, X.shape[1]))]))
        return np.load(tmp_path / "rows.npy", mmap_mode="r")[: len(X)]

    def polars(X):
        return pytest.importorskip("polars").DataFrame(X, schema=NAMES, orient="row")

    def arrow(X):
        return pytest.importorskip("pyarrow").table(dict(zip(NAMES, X.T, strict=True)))

    def parquet(X):
        writer = pytest.importorskip("pyarrow.parquet")
        writer.write_table(arrow(X), tmp_path / "rows.parquet", row_group_size=50)
        return str(tmp_path / "rows.parquet")

    def batches(X):
        return [X[:30], X[30:]]

    def lazy(X):
        return polars(X).lazy()

    def dask(X):
        return pytest.importorskip("dask.dataframe").from_pandas(frame(X), npartitions=2)

    return locals()[request.param]


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def table(n):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(2, size=(n, 2)), rng.normal(size=(n, 2))])


def group(estimator, by=0, levels=(2, 0)):
    return PrivateGroupBy(estimator, by, list(levels))  # no row has 2 for a key


def models(by, n):
    """Yield nested group-bys, and one after every kind of step that may leave rows out."""
    core, nested = FriendlyCoreFilter(radius=6.0), group(group(MEAN), by)
    yield nested
    yield make_private_pipeline(core, nested)
    if n == 0:
        return
    dropped = RowMap(lambda x: np.where(np.abs(x) > 2, np.nan, x))
    yield group(make_private_pipeline(core, group(FILTERED)), by)
    yield make_private_pipeline(core, FriendlyCoreFilter(radius=2.5), PrivateGroupBy(MEAN, by))
    yield make_private_pipeline(core, dropped, group(MEAN))
    yield make_private_pipeline(dropped, core, group(MEAN))
    yield make_private_pipeline(core, PrivateStandardScaler(), group(MEAN))


def seen(model, X):
    """Return what a fit publishes."""
    with config_context(invalid_rows="ignore"):
        model.set_params(epsilon=50.0, random_state=0).fit(X)
    report = str(model.privacy_report_)
    return re.sub(r"(columns? \w(, \w)*|every column): ", "", report), *released(model)


def released(model):
    """Yield what each group has released, in order."""
    if hasattr(model, "steps_"):
        yield from released(model.steps_[-1][1])
    elif hasattr(model, "estimators_"):
        for level, one in model.estimators_.items():
            yield level, *released(one)
    else:
        yield model.location_.tolist()


@cache
def known(n):
    return [seen(model, frame(table(n))) for model in models("a", n)]


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 150])
def test_every_kind_of_source_gives_the_bill_and_the_bits_of_a_frame(of_kind, n):
    X = of_kind(table(n))
    by = 0 if isinstance(X, list) or hasattr(X, "dtype") else "a"
    assert [seen(model, X) for model in models(by, n)] == known(n)


def in_turns(records):
    """Return what answers each label as it was answered there, whoever asks first."""
    left = defaultdict(deque)
    for record in records:
        left[record.label].append(record.answer)
    return lambda label, value, scale: left[label].popleft()


@pytest.mark.parametrize("one_more", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [FILTERED, FriendlyCoreKMeans(2, method="friendly")],
    ids=["filter", "k-means"],
)
def test_the_bill_of_a_nested_fit_does_not_tell_of_one_row(estimator, one_more):
    rng, n = np.random.default_rng(0), 40
    X = np.column_stack([np.arange(n) % 2, np.zeros(n), rng.normal(size=n)])
    X[0, 1] = 1  # a cell of one row
    keys = rng.integers(2**63, size=n)
    pair = [(X, keys), (X[1:], keys[1:])]
    (one, own), (other, others) = pair[::-1] if one_more else pair
    fits = [audited_clone(group(group(estimator, 0, [1, 0]), 0, [0, 1])) for _ in range(2)]
    run, _, error = recorded_fit(fits[0], [one[:15], one[15:]], "noise", coins=FixedKeys(own))
    again, _, other_error = recorded_fit(
        fits[1], [other[:15], other[15:]], in_turns(run), coins=FixedKeys(others)
    )
    assert error is None and other_error is None
    bills = [(str(fit.privacy_report_), fit.privacy_report_.charges) for fit in fits]
    assert bills[0] == bills[1]
    labels = [line.label for line in fits[0].privacy_report_.charges]
    cells = [tuple(label.split("/")[:2]) for label in labels]
    assert list(dict.fromkeys(cells)) == [
        (f"groups[{a}]", f"groups[{b}]") for a in (0, 1) for b in (1, 0)
    ]
    pairs = (sorted(records, key=attrgetter("label")) for records in (run, again))
    for label, moved, allowed in moves(*pairs):
        assert moved <= (allowed if label.startswith("groups[0]/groups[1]/") else 0)
