"""Exact integer residuals: against products row by row, for every order, chunking and type."""

from itertools import product
from math import prod

import numpy as np
import pytest

from skdp.kernel import _residual_sums as _counts
from skdp.kernel._layout import largest_tables
from skdp.kernel._residual_sums import (
    integer_helmert,
    integer_residuals,
    residuals_by_products,
    residuals_by_tables,
)
from skdp.kernel._residuals import Residuals
from skdp.kernel._statistic import Shape
from skdp.marginals._residuals import workload_layout
from skdp.readers import ArrayRows


def codes(levels, n, rng):
    return np.column_stack([rng.integers(0, number, size=n) for number in levels]).astype(float)


def by_hand(X, layout):
    """Return the integer residuals by their definition, in Python integers."""
    helmert = [integer_helmert(levels).tolist() for levels in layout.levels]
    sums = []
    for T in layout.position:
        for c in product(*(range(layout.levels[i] - 1) for i in T)):
            sums.append(
                sum(
                    prod(helmert[i][j][int(x[i])] for i, j in zip(T, c, strict=True))
                    for x in X
                    if all(entry in range(n) for entry, n in zip(x, layout.levels, strict=True))
                )
            )
    return sums


WORKLOADS = [
    ((2,) * 5, 3),
    ((2,) * 6, 5),
    ((2, 3, 4), 2),
    ((2, 3, 4, 2), 4),
    ((3,) * 4, 3),
    ((2, 2), 0),
    ((3, 4), 1),
    ((2,) * 9, [(0, 1), (5, 2, 8, 3), (4,), (6, 7, 8)]),
    ((2, 3, 4, 2, 3, 5), [(0, 1), (5, 2, 3), (4,)]),
    ((60, 70), 2),
]


@pytest.mark.parametrize(("levels", "sets"), WORKLOADS)
def test_both_ways_are_the_definition(levels, sets, rng):
    layout, _ = workload_layout(levels, sets)
    X = codes(levels, 40, rng)
    X[3, 0], X[4, -1], X[5, 0], X[6, 0] = np.nan, levels[-1], 0.5, -1
    want = by_hand(X[:12] if max(levels) > 50 else X, layout)
    rows = ArrayRows(X[:12] if max(levels) > 50 else X)
    for got in (
        integer_residuals(rows, layout),
        residuals_by_products(rows, layout),
        residuals_by_tables(rows, layout, largest_tables(layout)),
    ):
        assert got.dtype == np.int64 and got.tolist() == want


@pytest.mark.parametrize(("levels", "way"), [((2,) * 5, "products"), ((60, 70), "tables")])
def test_public_sizes_choose_the_way(levels, way, monkeypatch):
    layout, _ = workload_layout(levels, 2)
    monkeypatch.setattr(f"skdp.kernel._residual_sums.residuals_by_{way}", lambda *_: way)
    assert integer_residuals(ArrayRows(np.zeros((1, len(levels)))), layout) == way


@pytest.mark.parametrize(("levels", "k"), [((2,) * 8, 3), ((3, 2, 4, 5), 3), ((30, 20, 10), 2)])
def test_no_order_and_no_chunk_changes_a_bit(levels, k, rng):
    layout, _ = workload_layout(levels, k)
    X = codes(levels, 5000, rng)
    X[rng.random(5000) < 0.1, 1] = np.nan
    want = integer_residuals(ArrayRows(X), layout)
    for block_rows in (13, 1000, 4999, 10**6):
        rows = ArrayRows(rng.permutation(X), block_rows=block_rows)
        assert np.array_equal(integer_residuals(rows, layout), want)
    assert np.array_equal(integer_residuals(ArrayRows(X.astype(np.float32)), layout), want)
    assert np.array_equal(integer_residuals(ArrayRows(np.asfortranarray(X)), layout), want)
    parts = [integer_residuals(ArrayRows(part), layout) for part in np.array_split(X, 3)]
    assert np.array_equal(sum(parts), want)


def test_hostile_rows_do_not_count(rng, recwarn):
    layout, _ = workload_layout((2, 3, 2), 2)
    X = codes((2, 3, 2), 100, rng)
    want = integer_residuals(ArrayRows(X), layout)
    bad = [np.nan, np.inf, -np.inf, -1, -1e-300, 2, 1e300, 0.5, 1 + 1e-15, 2.0**63]
    hostile = [np.insert([1.0, 1.0], i, value) for value in bad for i in (0, 2)]
    Y = np.vstack([X, hostile, [[0, 3, 0], [0, np.nan, np.inf]]])
    assert np.array_equal(integer_residuals(ArrayRows(rng.permutation(Y)), layout), want)
    nothing = integer_residuals(ArrayRows(np.array(hostile)), layout)
    assert not nothing.any() and not integer_residuals(ArrayRows(X[:0]), layout).any()
    assert not len(recwarn)
    minus_zero = np.where(X == 0, -0.0, X)
    assert np.array_equal(integer_residuals(ArrayRows(minus_zero), layout), want)


def test_sums_stay_exact_where_single_precision_ends(monkeypatch):
    """Features of up to 299^2 times 4000 rows: beyond 2^24, where float32 would round."""
    levels = (300, 300, 300)
    layout, _ = workload_layout(levels, [(0, 1), (1, 2)])
    X = np.full((4001, 3), 299.0)
    monkeypatch.setattr(_counts, "STEP", 10**6)
    got = residuals_by_products(ArrayRows(X), layout)
    assert got[-1] == 4001 * 299**2 > 2**24
    assert np.array_equal(got, residuals_by_tables(ArrayRows(X), layout, largest_tables(layout)))


def test_tall_matrices_join_prefixes_and_change_nothing(monkeypatch, rng):
    layout, _ = workload_layout((2,) * 9, 4)
    X = codes((2,) * 9, 300, rng)
    want = residuals_by_tables(ArrayRows(X), layout, largest_tables(layout))
    for tall in (1, 5, 2**10, 2**20):
        monkeypatch.setattr(_counts, "TALL", tall)
        assert np.array_equal(residuals_by_products(ArrayRows(X), layout), want)


def test_parities_of_many_columns_against_a_matrix_product(rng):
    X = codes((2,) * 60, 3000, rng)
    layout, _ = workload_layout((2,) * 60, 3)
    got, signs = integer_residuals(ArrayRows(X, block_rows=700), layout), (1 - 2 * X).astype(int)
    assert got[0] == 3000 and np.array_equal(got[1:61], signs.sum(axis=0))
    pairs = (signs.T @ signs)[tuple(layout.subsets[2].T)]
    assert np.array_equal(got[61 : 61 + len(pairs)], pairs)
    for number in rng.integers(len(layout.subsets[3]), size=50):
        T = layout.subsets[3][number]
        assert got[61 + len(pairs) + number] == signs[:, T].prod(axis=1).sum()


def test_memory_is_that_of_a_block(rng):
    import tracemalloc

    X = rng.integers(0, 2, size=(30000, 60)).astype(np.float32)
    layout, _ = workload_layout((2,) * 60, 3)
    integer_residuals(ArrayRows(X[:10]), layout)
    tracemalloc.start()
    integer_residuals(ArrayRows(X, block_rows=5000), layout)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_the_number_of_columns_is_checked():
    layout, _ = workload_layout((2, 2), 2)
    asked = Residuals(layout, np.full(4, 0.25))
    asked.check(Shape(2))
    with pytest.raises(ValueError, match="for every column"):
        asked.check(Shape(3))
