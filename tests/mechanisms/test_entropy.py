import copy
import multiprocessing
import pickle
from itertools import pairwise

import numpy as np
import pytest

from skdp.mechanisms import RowKeys, make_entropy, rounded_gaussian
from skdp.mechanisms._entropy import SeededEntropy, SystemEntropy


def _draw_into(queue, draw):
    queue.put([int(draw()) for _ in range(10)])


def _forked_draws(draw):
    """Ten draws in each of four forked workers, after one in the parent."""
    draw()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    workers = [context.Process(target=_draw_into, args=(queue, draw)) for _ in range(4)]
    for worker in workers:
        worker.start()
    draws = [value for _ in workers for value in queue.get()]
    for worker in workers:
        worker.join()
    return draws


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this platform"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_share_no_noise():
    # Forty draws at sigma 2**46 collide with probability below 1e-11.
    entropy = make_entropy(None)
    draws = _forked_draws(lambda: rounded_gaussian(2.0**46, 1, entropy)[0])
    assert len(set(draws)) == 40
    buffered = np.random.default_rng(0)  # what the test catches: an inherited generator
    assert len(set(_forked_draws(lambda: buffered.integers(2**60)))) == 10


def test_system_words():
    entropy = SystemEntropy()
    words = entropy.words(1000)
    assert words.dtype == np.uint64 and words.shape == (1000,)
    assert len(set(words)) == 1000  # a collision has probability 3e-14
    assert entropy.words(0).shape == (0,)
    assert not entropy.seeded and SeededEntropy(0).seeded


def test_system_words_use_every_bit():
    # Mean of 64e5 fair bits a position: |z| < 7 fails with probability below 2e-10.
    bits = np.unpackbits(SystemEntropy().words(100_000).view(np.uint8)).reshape(-1, 64)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 7 * 0.5 / np.sqrt(100_000))


def test_seeded_stream_is_reproducible_and_does_not_depend_on_blocks():
    whole = SeededEntropy(7).words(100)
    parts = SeededEntropy(7)
    np.testing.assert_array_equal(whole, np.r_[parts.words(1), parts.words(59), parts.words(40)])
    assert whole.dtype == np.uint64
    assert not np.array_equal(whole, SeededEntropy(8).words(100))


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_random_state(make):
    first, again = make_entropy(make(3)), make_entropy(make(3))
    assert isinstance(first, SeededEntropy)
    words = first.words(5)
    np.testing.assert_array_equal(words, again.words(5))
    assert not np.array_equal(words, make_entropy(make(4)).words(5))


@pytest.mark.parametrize("instance", [np.random.RandomState(3), np.random.default_rng(3)])
def test_an_instance_is_advanced(instance):
    first, second = make_entropy(instance), make_entropy(instance)
    assert not np.array_equal(first.words(5), second.words(5))


def test_random_state_none_is_the_operating_system():
    assert isinstance(make_entropy(), SystemEntropy)
    assert isinstance(make_entropy(None), SystemEntropy)


@pytest.mark.parametrize("bad", ["seed", -1, 1.5])
def test_random_state_refused(bad):
    with pytest.raises(ValueError):
        make_entropy(bad)


def test_pickling():
    assert isinstance(pickle.loads(pickle.dumps(SystemEntropy())), SystemEntropy)
    assert isinstance(copy.deepcopy(SystemEntropy()), SystemEntropy)
    for secret in (SeededEntropy(0), RowKeys(SeededEntropy(0))):
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="make_entropy"):
                duplicate(secret)


def test_row_keys_do_not_depend_on_chunks():
    coins = RowKeys(SeededEntropy(1))
    whole = coins.keys(0, 1000)
    rng = np.random.default_rng(0)
    for _ in range(20):
        cuts = [0, *sorted(rng.integers(0, 1001, size=5)), 1000]
        chunks = [coins.keys(int(a), int(b)) for a, b in pairwise(cuts)]
        np.testing.assert_array_equal(np.concatenate(chunks), whole)
    assert coins.keys(999, 1000)[0] == whole[-1]
    assert coins.keys(2**40, 2**40 + 2).shape == (2,)
    assert whole.dtype == np.uint64 and len(set(whole)) == 1000
    assert not np.array_equal(whole, RowKeys(SeededEntropy(2)).keys(0, 1000))


@pytest.mark.parametrize("rows", [(-1, 3), (5, 4)])
def test_row_keys_refuse_impossible_rows(rows):
    with pytest.raises(ValueError, match="start"):
        RowKeys(SeededEntropy(1)).keys(*rows)
