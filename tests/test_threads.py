"""A fit leaves nothing behind in its process, and takes nothing from other threads."""

import contextvars
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import joblib
import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_info, threadpool_limits

import skdp
from skdp import (
    FriendlyCoreKMeans,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivatePCA,
)
from skdp.cluster.friendly._parts import kmeans_oracle, part_tuples, pca_oracle
from skdp.exceptions import BudgetExceeded, PlanError, ReleaseError
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import ArrayRows
from skdp.utils._threads import one_thread, quiet
from tests.audit._broken import SoundMean, table

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(600, 3)) + 30 * RNG.integers(0, 3, size=(600, 1))


class Meeting(SoundMean):
    """Waits in its private part for others, and warns there."""

    barrier = threading.Barrier(4)
    warn = staticmethod(lambda: warnings.warn("an entry: Smith", UserWarning, stacklevel=1))

    def _release(self, rows, curator):
        for _ in range(3):
            self.barrier.wait(20)
            self.warn()
        return super()._release(rows, curator)


def together(*tasks):
    """Run tasks in threads of their own; return their results."""
    with ThreadPoolExecutor(len(tasks)) as pool:
        return [future.result(60) for future in [pool.submit(task) for task in tasks]]


@pytest.mark.parametrize("action", ["error", "always", "default", "once"])
def test_private_parts_in_threads_are_silent_and_leave_the_filters_alone(action):
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        warnings.filterwarnings("ignore", category=skdp.exceptions.SeededNoiseWarning)
        warnings.showwarning = lambda message, *args, **kwargs: shown.append(str(message))
        filters, before = warnings.filters, list(warnings.filters)
        for _ in range(5):
            fits = together(*[Meeting().fit] * 0, *[lambda: Meeting().fit(TABLE)] * 4)
            assert all(hasattr(fit, "location_") for fit in fits)
        assert warnings.filters is filters and filters == before
    assert shown == []


def test_warnings_of_other_threads_get_out_during_a_fit():
    inside, done = threading.Event(), threading.Event()

    class Waiting(SoundMean):
        def _release(self, rows, curator):
            inside.set()
            done.wait(20)
            warnings.warn("an entry: Smith", UserWarning, stacklevel=1)
            return super()._release(rows, curator)

    def other():
        inside.wait(20)
        for i in range(3):
            warnings.warn(f"note {i}", UserWarning, stacklevel=1)
        done.set()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=skdp.exceptions.SeededNoiseWarning)
        together(lambda: Waiting().fit(TABLE), other)
        warnings.warn("after", UserWarning, stacklevel=1)
    assert [str(item.message) for item in seen] == ["note 0", "note 1", "note 2", "after"]


def test_another_context_that_ends_meanwhile_leaves_no_filter_behind():
    entered, inside, left = (threading.Event() for _ in range(3))

    def private():
        entered.wait(20)
        with quiet():
            inside.set()
            left.wait(20)
            with quiet():  # puts the filter back, if somebody has replaced the list
                warnings.warn("an entry: Smith", UserWarning, stacklevel=1)

    def other():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            entered.set()
            inside.wait(20)
        left.set()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        together(private, other)
        assert warnings.filters == before


@pytest.mark.parametrize("recording", [False, True])
def test_a_private_part_is_silent_while_another_context_ends(recording):
    """That context puts back filters from before, without the one that is ours."""
    entered, inside, left = (threading.Event() for _ in range(3))
    shown = []

    def private():
        entered.wait(20)
        with quiet():
            inside.set()
            left.wait(20)
            warnings.warn("an entry: Smith", UserWarning, stacklevel=1)

    def other():
        with warnings.catch_warnings(record=recording):
            entered.set()
            inside.wait(20)
        left.set()

    before = warnings._showwarnmsg
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *args, **kwargs: shown.append(str(message))
        together(private, other)
        assert warnings._showwarnmsg is before
        warnings.warn("after", UserWarning, stacklevel=1)
    assert shown == ["after"]


def test_parallel_of_scikit_learn_is_silent_in_a_private_part():
    from sklearn.utils.parallel import Parallel, delayed

    def warn():
        warnings.warn("an entry: Smith", UserWarning, stacklevel=1)
        return 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        with quiet():
            assert Parallel()(delayed(warn)() for _ in range(3)) == [1, 1, 1]
        assert warnings.filters == before


def test_workers_of_a_fit_are_silent_and_have_its_configuration():
    seen = []

    def oracle(part, k, seed):
        seen.append((threading.get_ident(), skdp.get_config(), sklearn.get_config()))
        warnings.warn("an entry: Smith", UserWarning, stacklevel=1)
        return np.tile(part.mean(axis=0), (k, 1))

    with (
        warnings.catch_warnings(),
        skdp.config_context(invalid_rows="ignore"),
        sklearn.config_context(assume_finite=True),
    ):
        warnings.simplefilter("error")
        args = ArrayRows(TABLE), RowKeys(make_entropy(0)), oracle, 2
        out = part_tuples(*args, n_parts=20, center=0.0, radius=100.0, n_jobs=4)
    assert np.isfinite(out).all() and len(seen) == 20
    assert {thread for thread, _, _ in seen} != {threading.get_ident()}
    assert all(config["invalid_rows"] == "ignore" for _, config, _ in seen)
    assert all(config["assume_finite"] for _, _, config in seen)


def n_threads():
    """Return what BLAS and OpenMP would use in this thread."""
    return [(info["filepath"], info["num_threads"]) for info in threadpool_info()]


def test_every_worker_computes_on_one_thread_and_the_others_come_back():
    seen = []

    def oracle(part, k, seed):
        seen.extend(number for _, number in n_threads())
        return np.tile(part.mean(axis=0), (k, 1))

    with threadpool_limits(3):
        before = n_threads()
        if {number for _, number in before} == {1}:
            pytest.skip("these libraries have one thread")
        for n_jobs in (None, 2, 4):
            args = ArrayRows(TABLE), RowKeys(make_entropy(0)), oracle, 2
            part_tuples(*args, n_parts=10, center=0.0, radius=100.0, n_jobs=n_jobs)
        assert set(seen) == {1}
        assert n_threads() == before


def test_limits_that_overlap_in_threads_are_taken_back():
    first, second = threading.Event(), threading.Event()

    def early():
        with one_thread():
            first.set()
            second.wait(20)

    def late():
        first.wait(20)
        with one_thread():
            second.set()
            return [number for _, number in n_threads()]

    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        for _ in range(10):
            first.clear(), second.clear()
            _, inside = together(early, late)
            assert set(inside) == {1}
        assert n_threads() == before


@pytest.mark.slow
@pytest.mark.parametrize("oracle", [kmeans_oracle, pca_oracle])
def test_tuples_have_the_same_bits_whatever_runs_them(oracle):
    X = np.random.default_rng(1).normal(size=(2500, 60)) + 3

    def tuples(n_jobs):
        args = ArrayRows(X), RowKeys(make_entropy(0)), oracle, 4
        return part_tuples(*args, n_parts=5, center=0.0, radius=20.0, n_jobs=n_jobs).tobytes()

    with threadpool_limits(2):
        one = tuples(None)
        assert all(tuples(n_jobs) == one for n_jobs in (1, 2, 3))
        for backend in ("threading", "sequential"):
            with joblib.parallel_config(backend, n_jobs=2):
                assert tuples(None) == one
        assert together(*[lambda: tuples(2)] * 3) == [one] * 3


@pytest.mark.slow
def test_tuples_have_the_same_bits_in_processes():
    def tuples():
        args = ArrayRows(TABLE), RowKeys(make_entropy(0)), kmeans_oracle, 2
        return part_tuples(*args, n_parts=6, center=0.0, radius=100.0).tobytes()

    one = tuples()
    with joblib.parallel_config("loky", n_jobs=2):
        assert tuples() == one


MANY = [
    PrivateMean(),
    PrivateMedian(),
    PrivateHistogram(bins=3, denoiser="auto"),
    PrivateCovariance(epsilon=4.0),
    PrivatePCA(epsilon=4.0),
    FriendlyCoreKMeans(3, n_init=1),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1, n_jobs=2),
    PrivateGMM(2, max_iter=2, n_init=1),
]


def bits(estimator):
    fitted = sklearn.base.clone(estimator).set_params(random_state=1).fit(TABLE)
    found = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    del found["privacy_report_"]
    return joblib.hash(found)


def test_fits_at_once_are_fits_one_after_the_other():
    before, filters = n_threads(), list(warnings.filters)
    alone = [bits(estimator) for estimator in MANY]
    for _ in range(2):
        assert together(*[lambda e=e: bits(e) for e in MANY]) == alone
    assert n_threads() == before and warnings.filters == filters


def test_the_configuration_of_the_process_holds_in_threads_that_run_already():
    asked, answered = threading.Event(), []

    def worker():
        asked.wait(20)
        answered.append(skdp.get_config()["invalid_rows"])
        answered.append(PrivateMean().fit(np.full((5, 1), np.nan)).n_features_in_)

    thread = threading.Thread(target=worker)
    thread.start()
    try:
        skdp.set_config(invalid_rows="ignore")
        asked.set()
        thread.join(20)
    finally:
        skdp.set_config(invalid_rows="error")
    assert answered == ["ignore", 1]


def test_a_context_is_one_of_a_thread_or_task():
    with skdp.config_context(debug=True):
        assert together(lambda: skdp.get_config()["debug"]) == [False]
        assert contextvars.copy_context().run(skdp.get_config)["debug"]
        assert contextvars.Context().run(skdp.get_config)["debug"] is False


class Keeps(SoundMean):
    """Keeps rows on itself, on the way to a result or to an exception."""

    fails = False

    def _release(self, rows, curator):
        self._cache = self.rows_ = table(rows)
        self.epsilon = 1e3
        if self.fails:
            raise ValueError("Smith")
        return super()._release(rows, curator)


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_not_released_does_not_survive(fails):
    estimator = Keeps(random_state=0)
    estimator.fails = fails
    names = {*estimator.get_params(), "fails", "n_features_in_"}
    if fails:
        with pytest.raises(ReleaseError):
            estimator.fit(TABLE)
    else:
        names |= {"location_", "privacy_report_"}
        estimator.fit(TABLE)
    assert set(vars(estimator)) == names and estimator.epsilon == 1.0


def test_a_second_fit_leaves_nothing_of_the_first():
    estimator = FriendlyCoreKMeans(2, n_init=1, store_labels=True, random_state=0).fit(TABLE)
    assert hasattr(estimator, "labels_")
    estimator.set_params(store_labels=False).fit(TABLE)
    assert not hasattr(estimator, "labels_")
    assert not [name for name in vars(estimator) if "label" in name and name != "store_labels"]


class Refuses(SoundMean):
    """Raises in its private part while it handles an exception that quotes a row."""

    def __init__(self, kind=ValueError, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.kind = kind
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def _release(self, rows, curator):
        try:
            float("Smith")
        except ValueError as error:
            refusal = self.kind("constant")
            refusal.add_note("Smith")
            raise refusal from error


@pytest.mark.parametrize("kind", [PlanError, BudgetExceeded, ReleaseError, ValueError])
def test_no_exception_of_a_private_part_has_a_context(kind):
    with pytest.raises((PlanError, BudgetExceeded, ReleaseError)) as caught:
        Refuses(kind).fit(TABLE)
    error = caught.value
    assert error.__context__ is None and error.__cause__ is None
    assert not getattr(error, "__notes__", ()) and "Smith" not in str(error)
    expected = kind if kind in (PlanError, BudgetExceeded) else ReleaseError
    assert type(error) is expected


@pytest.mark.skipif(sys.version_info < (3, 14), reason="filters by context")
def test_filters_by_context():
    with quiet(), ExitStack():
        warnings.warn("an entry: Smith", UserWarning, stacklevel=1)


def test_many_quiet_parts_in_filters_of_others_are_taken_back():
    """Workers of scikit-learn set filters of their own for every task."""
    before = list(warnings.filters)
    with quiet():
        for _ in range(2000):
            with warnings.catch_warnings():
                warnings.resetwarnings()
                with quiet():
                    warnings.warn("private", stacklevel=1)
    assert warnings.filters == before
