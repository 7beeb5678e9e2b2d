"""Large tables: memory does not grow with them, and threads change no bit."""

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
)
from skdp.marginals import Bins

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
D, BATCH = 10, 2000


class Batches:
    """Rows that are made whenever they are read, and are nowhere else."""

    def __init__(self, n_rows, n_columns=D):
        self.n_rows, self.n_columns = n_rows, n_columns

    def __iter__(self):
        for start in range(0, self.n_rows, BATCH):
            rows = np.random.default_rng(start).normal(size=(BATCH, D))
            rows[::2] += 8.0
            yield rows[:, : self.n_columns]


BINS = {j: Bins([-np.inf, 0.0, 8.0, np.inf]) for j in range(D)}
STREAMING = [
    PrivateMean(random_state=0),
    PrivateMedian(random_state=0),
    PrivateHistogram(bins=2, random_state=0),
    LloydKMeans(2, max_iter=1, random_state=0),
    MarginalReleaser(1, domain=BINS, random_state=0),
]


def peak(estimator, table):
    """Return the most memory that a fit takes, in bytes."""
    tracemalloc.start()
    try:
        estimator.fit(table)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def names(estimators, early):
    """Return parameters of which some types are for every run, and others are slow tests."""
    kinds = [(e, type(e).__name__) for e in estimators]
    return [
        pytest.param(e, id=kind, marks=[] if kind in early else [pytest.mark.slow])
        for e, kind in kinds
    ]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", names(STREAMING, ("PrivateMean", "MarginalReleaser")))
def test_memory_does_not_grow_with_the_table(estimator):
    d = 2 if isinstance(estimator, PrivateHistogram) else D
    peak(estimator, Batches(BATCH, d))  # loads whatever is kept
    few, many = 20_000, 120_000
    grown = peak(estimator, Batches(many, d)) - peak(estimator, Batches(few, d))
    assert grown < 0.4 * 8 * d * (many - few)


SHARED = [
    PrivateMean(random_state=0),
    PrivateCovariance(random_state=0),
    FriendlyCoreKMeans(2, n_init=1, random_state=0),
    PrivateGMM(2, max_iter=2, n_init=1, random_state=0),
    FriendlyCoreFilter(random_state=0),
]


def bits(estimator, n_jobs):
    """Return what a fit released of 20 batches, computed by so many threads."""
    with parallel_config(n_jobs=n_jobs):
        estimator.fit(Batches(20 * BATCH))
    arrays = {k: v for k, v in vars(estimator).items() if isinstance(v, np.ndarray | float)}
    fitted = {k: v for k, v in arrays.items() if k.endswith("_")}
    return {k: np.asarray(v).tobytes() for k, v in fitted.items()}, estimator.privacy_report_


@pytest.mark.parametrize("estimator", names(SHARED, ("PrivateMean", "PrivateGMM")))
def test_threads_change_no_bit(estimator):
    (one, bill), (two, other) = bits(estimator, 1), bits(estimator, 2)
    assert one == two
    assert bill.to_json() == other.to_json()


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    import _scale_parts

    yield _scale_parts
    for name in [name for name in sys.modules if name.startswith("_scale_")]:
        del sys.modules[name]


def test_an_exponent_is_the_slope_of_logarithms(parts):
    sizes = [10, 100, 1000]
    assert parts.exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)


@pytest.mark.slow
def test_what_a_fit_on_parquet_files_costs_is_told(parts, tmp_path):
    plain, mean = parts.of_parquet(1e-3, tmp_path, ["mean"])
    assert plain["passes"] == 1
    assert mean["passes"] == round(mean["passes"]) >= 4
    assert 0 < mean["peak_mb"] < 100 and mean["met"]
