"""Threads, batches and retries change no bit, and where rows are nothing random is drawn."""

import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    config_context,
    get_config,
)
from skdp.exceptions import ReleaseError
from skdp.mechanisms import RowKeys, make_entropy
from skdp.mechanisms._entropy import SystemEntropy
from skdp.readers import ArrayRows, map_merge
from skdp.readers._sources import BatchRows, source_of
from skdp.utils._threads import is_quiet, quiet

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


ENTROPY, KEYS = make_entropy(0), RowKeys(make_entropy(0))


class Batches:
    """Batches that can be read again; ``change`` makes others of them at the second pass."""

    def __init__(self, X, stops=(), change=None):
        self._parts, self._change, self.passes = np.split(X, stops), change, 0

    def __iter__(self):
        self.passes += 1
        parts = self._parts
        return iter(parts if self._change is None or self.passes < 4 else self._change(parts))


def everything(rows):
    return map_merge(rows, lambda start, block: [(start, block.tolist())], list.__add__)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_keep_the_order_of_the_blocks(n_jobs):
    X = np.arange(40.0).reshape(20, 2)
    with parallel_config(n_jobs=n_jobs):
        seen = everything(ArrayRows(X, block_rows=3))
    assert seen == everything(ArrayRows(X, block_rows=3))
    assert [row for _, block in seen for row in block] == X.tolist()


@pytest.mark.parametrize(
    "n_rows, n_jobs, lengths",
    [
        (2**18 + 2, 1, [2**18 + 2]),
        (2**18 + 2, 2, [2**18, 2]),
        (2**19, 2, [2**18] * 2),
        (2**21, 4, [2**19] * 4),
        (2**22, 2, [2**20] * 4),
    ],
)
def test_threads_share_a_table_in_large_blocks(n_rows, n_jobs, lengths):
    rows = ArrayRows(np.broadcast_to(np.zeros(1), (n_rows, 1)))
    with parallel_config(n_jobs=n_jobs):
        seen = map_merge(rows, lambda start, block: [len(block)], list.__add__)
    assert seen == lengths


def test_one_block_is_computed_here():
    here = threading.get_ident()
    for n_rows, computed_here in (1, True), (2, False):
        rows = ArrayRows(np.zeros((n_rows, 1)), block_rows=1)
        with parallel_config(n_jobs=2):
            at = map_merge(rows, lambda start, block: {threading.get_ident()}, set.union)
        assert (here in at) == computed_here


def test_what_lies_beside_a_block_is_made_here_for_its_rows():
    here, X = threading.get_ident(), np.arange(20.0).reshape(20, 1)

    def beside(start, stop):
        assert threading.get_ident() == here
        return list(range(start, stop))

    def statistic(start, block, numbers):
        assert block[:, 0].tolist() == numbers and numbers[0] == start
        return numbers

    with parallel_config(n_jobs=2):
        assert map_merge(ArrayRows(X, block_rows=3), statistic, list.__add__, beside) == [
            *range(20)
        ]
    nobody = ArrayRows(X[:0])
    assert map_merge(nobody, lambda start, block, numbers: numbers, list.__add__, beside) == []


def test_contexts_go_along_to_threads():
    def statistic(start, block):
        return [(is_quiet(), get_config()["invalid_rows"])]

    with parallel_config(n_jobs=2), quiet(), config_context(invalid_rows="ignore"):
        seen = map_merge(ArrayRows(np.zeros((9, 1)), block_rows=1), statistic, list.__add__)
    assert seen == [(True, "ignore")] * 9


def test_few_blocks_wait_at_a_time():
    lock, out, most = threading.Lock(), 0, 0

    class Counting:
        def __iter__(self):
            nonlocal out, most
            for _ in range(40):
                with lock:
                    out, most = out + 1, max(most, out + 1)
                yield np.zeros((1, 1))

    def statistic(start, block):
        nonlocal out
        time.sleep(0.001)
        with lock:
            out -= 1
        return 1

    rows = BatchRows(Counting(), np.zeros((1, 1)))
    out = most = 0
    with parallel_config(n_jobs=3):
        assert map_merge(rows, statistic, int.__add__) == 40
    assert most <= 2 * 3


def test_the_error_of_a_block_is_that_of_the_loop():
    def statistic(start, block):
        if start == 4:
            raise ArithmeticError
        return 1

    for n_jobs in (1, 2):
        with parallel_config(n_jobs=n_jobs), pytest.raises(ArithmeticError):
            map_merge(ArrayRows(np.zeros((9, 1)), block_rows=2), statistic, int.__add__)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "draw",
    [
        lambda: SystemEntropy().words(1),
        lambda: ENTROPY.words(1),
        lambda: KEYS.keys(0, 1),
    ],
    ids=["system", "seeded", "keys"],
)
def test_a_statistic_has_no_random_words(draw, n_jobs):
    draw()
    with parallel_config(n_jobs=n_jobs), pytest.raises(RuntimeError, match="once"):
        map_merge(ArrayRows(np.zeros((2, 1)), block_rows=1), lambda s, b: draw()[0], max)
    draw()


@pytest.mark.parametrize("estimator", [PrivateMean, PrivateMedian, FriendlyCoreKMeans], ids=str)
def test_threads_and_batches_change_no_bit(estimator, rng):
    X = rng.normal(size=(3000, 3)) + 10.0 * rng.integers(0, 2, size=(3000, 1))
    plain = estimator(random_state=0).fit(X)
    others = [
        clone(plain).set_params(n_jobs=3).fit(X),
        clone(plain).fit(Batches(X, [1, 2, 1500, 2999])),
        clone(plain).set_params(n_jobs=2).fit(Batches(X, [700])),
    ]
    names = [name for name, value in vars(plain).items() if isinstance(value, np.ndarray)]
    assert names
    for other in others:
        for name in names:
            assert np.array_equal(getattr(plain, name), getattr(other, name)), name


@pytest.mark.parametrize("n_jobs", [0, -1.0, "2", np.float64(2)])
def test_a_number_of_threads_is_refused_before_the_charge(n_jobs):
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    with pytest.raises(ValueError, match="n_jobs"):
        PrivateMean(n_jobs=n_jobs, ledger=ledger).fit(np.zeros((9, 2)))
    assert len(ledger.entries()) == 1  # opened


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts[:-1],
        lambda parts: [*parts, parts[0]],
        lambda parts: [parts[0][:, :1], *parts[1:]],
        lambda parts: [np.array([["a", "b"]] * 50), *parts[1:]],
        lambda parts: 1 / 0,
    ],
    ids=["shorter", "longer", "narrower", "text", "failing"],
)
def test_a_table_that_changes_after_the_charge_ends_the_fit(change, rng):
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    X = Batches(rng.normal(size=(100, 2)), [50], change)
    with pytest.raises(ReleaseError, match="withheld"):
        PrivateMean(ledger=ledger, random_state=0).fit(X)
    assert len(ledger.entries()) == 2  # opened, charged


@pytest.mark.parametrize(
    "make", [iter, lambda parts: (part for part in parts)], ids=["iter", "gen"]
)
def test_what_is_read_once_is_refused_before_the_charge(make):
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    with pytest.raises(TypeError, match="only once"):
        PrivateMean(ledger=ledger).fit(make([np.zeros((9, 2))]))
    assert len(ledger.entries()) == 1  # opened


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([np.zeros((2, 2)), np.zeros((2, 3))], "other columns"),
        ([np.zeros((2, 2)), np.array([["x", "y"]])], "another type"),
        ([np.zeros((2, 2)), [[np.nan, 0.0]]], "piece"),
        ([np.zeros((2, 2)), np.array(1.0)], "piece"),
        ([np.zeros((2, 2)), np.array([[np.nan, 0.0]])], "NaN"),
        ([np.zeros((2, 2)), np.array([[0.0, np.inf]])], "infinity"),
        ([np.zeros((0, 2))], "no rows"),
    ],
)
def test_batches_are_checked_before_the_charge(parts, told):
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    with pytest.raises((ValueError, TypeError), match=told):
        FriendlyCoreKMeans(2, ledger=ledger).fit(parts)
    assert len(ledger.entries()) == 1  # opened


def test_rows_that_are_none_count_as_absent_in_batches(rng):
    X = rng.normal(size=(200, 2))
    bad = np.insert(X, [3, 150], np.nan, axis=0)
    with config_context(invalid_rows="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = PrivateHistogram(random_state=0, delta=1e-6).fit(X)
        b = PrivateHistogram(random_state=0, delta=1e-6).fit(Batches(bad, [4, 4, 100]))
        PrivateMean(random_state=0).fit(Batches(bad[:0], []))
    assert np.array_equal(a.counts_, b.counts_)


class OneBuffer:
    """Batches that fill the same array, or frame of it, again and again."""

    def __init__(self, make):
        self._make = make

    def __iter__(self):
        buffer = np.empty((3, 2))
        for k in range(12):
            buffer[:] = k
            yield self._make(buffer)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(
    "make",
    [lambda buffer: buffer, lambda buffer: pd.DataFrame(buffer, columns=["a", "b"], copy=False)],
    ids=["array", "frame"],
)
def test_rows_of_a_buffer_that_is_filled_again_are_counted_once(make, n_jobs):
    rows = source_of(OneBuffer(make))
    with parallel_config(n_jobs=n_jobs):
        first = map_merge(rows, lambda start, block: [block[:, 0].copy()], list.__add__)
    assert np.concatenate(first).tolist() == [k for k in range(12) for _ in range(3)]


def test_a_piece_is_an_array_that_multiplies_entry_by_entry():
    rows = source_of([np.ones((2, 2)).view(np.matrix)])
    assert map_merge(rows, lambda start, block: type(block), min) is np.ndarray


def test_lists_of_series_are_tables_of_scikit_learn():
    X = [pd.Series([1.0, 2.0]), pd.Series([3.0, 4.0])] * 20
    plain = PrivateMean(random_state=0, epsilon=4.0).fit(np.array(X))
    assert np.array_equal(
        PrivateMean(random_state=0, epsilon=4.0).fit(X).location_, plain.location_
    )


def test_a_reader_that_fails_on_an_entry_tells_nothing_more(rng):
    def failing(parts):
        warnings.warn("entry 4242", UserWarning, stacklevel=1)
        raise ArithmeticError("entry 4242")

    class Failing(Batches):
        def __iter__(self):
            self.passes += 1
            return super().__iter__() if self.passes < 2 else failing(self._parts)

    X = rng.normal(size=(20, 2))
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="read") as caught:
        PrivateMean(ledger=ledger).fit(Failing(X, [10]))
    assert "4242" not in str(caught.value) and caught.value.__context__ is None
    assert len(ledger.entries()) == 1  # opened
    with pytest.warns(UserWarning, match="4242"), pytest.raises(ArithmeticError):
        PrivateMean(ledger=ledger).fit(Failing(X, [10]))
