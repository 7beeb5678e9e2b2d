import warnings

import numpy as np
import pytest

from skdp.cluster.friendly._parts import kmeans_oracle, part_order, part_tuples, parts
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import ArrayRows
from tests._curators import FixedKeys

BALL = {"center": 0.0, "radius": 1e3}


def table(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 2**64, size=n, dtype=np.uint64)


def mean_oracle(part, k, seed):
    return np.tile(part.mean(axis=0), (k, 1)) + np.arange(k)[:, None]


def test_the_part_of_a_row_is_the_leading_digit_of_its_key():
    for t in (1, 2, 3, 7, 400, 2**20):
        X, keys = table(500)
        keys[:4] = 0, 2**64 - 1, 2**63, 2**63 - 1
        drawn = FixedKeys(keys).keys(0, 500, use="parts")
        order, stops = part_order(ArrayRows(X), FixedKeys(keys), t)
        part = np.searchsorted(stops, np.arange(500), side="right")
        assert stops.shape == (t,) and stops[-1] == 500
        assert [int(key) * t >> 64 for key in drawn[order]] == part.tolist()
        assert sorted(order) == list(range(500))


def test_parts_are_of_equal_size_on_average_and_hold_all_rows():
    X = np.arange(20_000.0)[:, None]
    whole = list(parts(ArrayRows(X), RowKeys(make_entropy(0)), 50, center=0.0, radius=2.0**30))
    sizes = np.array([len(part) for part in whole])
    # chi squared with 49 degrees: above 100 with probability 2e-5
    assert ((sizes - 400) ** 2 / 400).sum() < 100
    assert np.array_equal(np.sort(np.concatenate(whole).ravel()) * 2.0**30, X.ravel())


@pytest.mark.parametrize("block_rows", [1, 7, 100, 5000])
def test_parts_do_not_depend_on_blocks_or_on_the_order_of_the_table(block_rows):
    X, keys = table(1000)
    shuffle = np.random.default_rng(1).permutation(1000)
    rows = ArrayRows(X[shuffle], block_rows=block_rows)
    one = list(parts(ArrayRows(X), FixedKeys(keys), 30, **BALL))
    two = list(parts(rows, FixedKeys(keys[shuffle]), 30, **BALL))
    assert len(one) == len(two) == 30
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert all(a.flags.owndata and not np.shares_memory(a, X) for a in one)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", [mean_oracle, kmeans_oracle])
def test_one_more_row_replaces_one_tuple(oracle):
    X, keys = table(900)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        j, row = int(rng.integers(901)), rng.choice([0.3, 1e300, np.nan, -2.0]) * np.ones(2)
        key = rng.integers(0, 2**64, dtype=np.uint64)
        one = part_tuples(ArrayRows(X), FixedKeys(keys), oracle, 3, n_parts=40, **BALL)
        two = part_tuples(
            ArrayRows(np.insert(X, j, row, axis=0), block_rows=64),
            FixedKeys(np.insert(keys, j, key)), oracle, 3, n_parts=40, **BALL,
        )  # fmt: skip
        changed = (one != two).any(axis=(1, 2)) & ~np.isnan(one).any(axis=(1, 2))
        assert changed.sum() == (1 if abs(row[0]) < 100 else 0)
        if changed.any():
            mine = int(FixedKeys([key]).keys(0, 1, use="parts")[0]) * 40 >> 64
            assert np.flatnonzero(changed).tolist() == [mine]


def test_rows_that_are_far_away_or_not_finite_are_left_out_each_by_itself():
    X = np.array([[0, 0], [2, 0], [2.001, 0], [np.nan, 0], [0, np.inf], [1e308, -1e308], [1, 1]])
    (part,) = parts(
        ArrayRows(X * 0.5 + 7), RowKeys(make_entropy(0)), 1, center=np.full(2, 7.0), radius=0.5
    )
    assert sorted(part.tolist()) == [[0, 0], [1, 1], [2, 0]]


def test_parts_with_too_few_rows_and_failing_oracles_give_tuples_without_friends():
    X, keys = table(60)
    rows, coins = ArrayRows(X), FixedKeys(keys)

    def tuples(oracle, n_parts=3, rows=rows):
        return part_tuples(rows, coins, oracle, 2, n_parts=n_parts, **BALL)

    def failing(part, k, seed):
        raise np.linalg.LinAlgError("singular")

    def noisy(part, k, seed):
        warnings.warn("look at this", stacklevel=1)
        return np.log(-np.ones((k, 2)))

    for oracle in (
        failing, noisy, lambda *a: None, lambda *a: "text", lambda *a: np.zeros((3, 2)),
        lambda *a: np.full((2, 2), np.inf), lambda *a: np.zeros((2, 2), dtype=complex),
        lambda *a: np.array([["a", "b"]] * 2),
    ):  # fmt: skip
        out = tuples(oracle)
        assert out.shape == (3, 2, 2)
        assert np.isnan(out).all() or (oracle.__name__ == "<lambda>" and not out.any())
    assert np.isfinite(tuples(mean_oracle)).all()
    few = np.isnan(tuples(mean_oracle, 30)).all(axis=(1, 2))
    sizes = [len(part) for part in parts(rows, coins, 30, **BALL)]
    assert np.array_equal(few, np.array(sizes) < 4) and 0 < few.sum() < 30
    assert np.isnan(tuples(mean_oracle, 5, ArrayRows(np.empty((0, 2))))).all()


def test_every_part_has_a_public_seed_of_its_own_and_threads_change_nothing():
    seen = []

    def oracle(part, k, seed):
        seen.append(seed)
        return mean_oracle(part, k, seed)

    for n in (500, 2000):
        X, keys = table(n)
        args = ArrayRows(X), FixedKeys(keys), oracle, 2
        one = part_tuples(*args, n_parts=20, seed=5, **BALL)
        assert np.array_equal(one, part_tuples(*args, n_parts=20, seed=5, n_jobs=2, **BALL))
    assert sorted(seen[:20]) == sorted(seen[20:40]) == sorted(seen[40:60]) and len(set(seen)) == 20
    assert all(0 <= seed < 2**32 for seed in seen)
    seen.clear()
    part_tuples(*args, n_parts=20, seed=6, **BALL)
    assert len(set(seen)) == 20
