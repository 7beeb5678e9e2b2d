"""Bins without bounds: exact counts, sensitivity, blocks, what tables may look like."""

from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan
from skdp.gate._curator import make_curator
from skdp.kernel._cells import cell_numbers, n_cells
from skdp.kernel._columns import EdgeCells
from skdp.kernel._table import Table
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from skdp.scales._bins import (
    BELOW_ALL,
    TOP,
    CellTree,
    PartitionedColumn,
    bin_numbers,
    bin_share,
    bin_sizes,
    bin_steps,
    find_bins,
    float_to_key,
    key_to_float,
    octave_keys,
    search_cells,
    subdivide_keys,
    whole_keys,
)

LARGEST = np.finfo(np.float64).max
SPECIAL = [
    *(0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, np.nextafter(1.0, 2.0), -1.0, 1e300),
    *(LARGEST, -LARGEST, np.inf, -np.inf, np.nan),
]
SHARE = Fraction(1, 20)


def made(n, seed=0):
    """Return columns of every kind."""
    rng = np.random.default_rng(seed)
    return {
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(0, 2, n),
        "Cauchy": rng.standard_cauchy(n),
        "dates": 1.6e9 + rng.integers(0, 3 * 10**7, n),
        "far": 1e8 + rng.normal(size=n),
        "two places": np.where(rng.random(n) < 0.5, 1e8 + rng.normal(size=n), -5 + rng.random(n)),
        "huge": 1e300 * rng.normal(size=n),
        "tiny": 1e-300 * rng.normal(size=n),
        "digits": rng.integers(0, 10, n).astype(float),
        "zeros": np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(6, 2, n)),
        "alike": np.where(rng.random(n) < 0.95, 3.3, rng.normal(size=n)),
        "constant": np.full(n, 7.3),
        "subnormal": rng.integers(0, 1000, n) * 5e-324,
        "missing": np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
    }


def bins_of(X, *, epsilon=1.0, seed=0, share=SHARE, n_bins=16, block_rows=None, **options):
    plan = Plan(Budget.gaussian(epsilon, 1e-6), bin_steps(share))
    curator = make_curator(plan, make_entropy(seed))
    options = {"n_rows": len(X), "n_bins": n_bins, "share": share, "target": False} | options
    rows = ArrayRows(X, block_rows=block_rows)
    return find_bins(Table(rows, curator), range(X.shape[1]), **options), curator


def masses(x, edges):
    """Return the part of the numbers in each bin, by comparisons."""
    upto = [np.count_nonzero(x <= e) for e in [*edges, np.inf]]
    return np.diff([0, *upto]) / len(x)


# --- keys


def test_keys_are_in_the_order_of_the_floats():
    x = np.sort([*SPECIAL[:-1], *np.random.default_rng(0).standard_cauchy(500) * 1e-3])
    keys = float_to_key(x)
    assert np.array_equal(keys[1:] > keys[:-1], x[1:] > x[:-1])
    assert np.array_equal(key_to_float(keys), x)
    assert (
        float_to_key(-0.0) == 0
        and float_to_key(-np.inf) == BELOW_ALL
        and float_to_key(LARGEST) == TOP
    )
    assert np.array_equal(float_to_key(np.nextafter(x[1:-2], np.inf)), keys[1:-2] + 1)


def test_first_cells_cover_all_floats():
    edges = key_to_float(octave_keys())
    assert edges[0] == -np.inf and edges[-1] == LARGEST and (np.diff(octave_keys()) > 0).all()
    assert {0.0, -5e-324, 1.0, -1.0, 2.0**-1022} <= set(edges.tolist())


@pytest.mark.parametrize("cell", [(0, 3), (BELOW_ALL, TOP), (-1, 0), (5, 5 + 2**40)])
def test_divided_cells_keep_their_upper_end_apart(cell):
    keys = subdivide_keys(*cell, 8)
    assert keys == sorted(set(keys)) and all(cell[0] < key < cell[1] for key in keys)
    assert len(keys) <= 8 and (cell[1] - 1 in keys or cell[1] - 1 == cell[0])


@pytest.mark.parametrize("cell", [(-np.inf, -8.0), (8.0, 64.0), (2.0**70, LARGEST), (5.0, 6.0)])
def test_cells_of_whole_numbers_are_cut_at_these(cell):
    whole = key_to_float(whole_keys())
    assert set(range(-8, 9)) <= set(whole.tolist()) and (np.diff(whole) > 0).all()
    assert np.array_equal(whole[1:], np.floor(whole[1:])) and whole[0] == -np.inf
    edges = key_to_float(subdivide_keys(*float_to_key(cell), 8, whole=True))
    assert np.array_equal(edges, np.floor(edges)) and (np.diff(edges) > 0).all()
    assert all(cell[0] < edge < cell[1] for edge in edges) and len(edges) <= 8
    assert len(edges) == 0 or edges[-1] == cell[1] - 1 or cell[1] > 2.0**53


# --- counts


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_counts_are_those_of_comparisons(dtype):
    rng = np.random.default_rng(1)
    with np.errstate(over="ignore"):
        X = rng.choice(SPECIAL, size=(300, 4)).astype(dtype)
    keys = np.unique(np.concatenate([[BELOW_ALL, TOP], float_to_key(SPECIAL[:-3]), [3, 2**60]]))
    cells = [keys, octave_keys(), keys]
    for target, there in ((True, np.isfinite(X[:, -1])), (False, np.full(len(X), True))):
        edges = tuple(key_to_float(of) for of in cells)
        found = EdgeCells(np.array([2, 0, 1]), edges, "target" if target else "all").total(X)
        expected = [
            np.count_nonzero((x > low) & (x <= high))
            for x, of in zip(X[there][:, [2, 0, 1]].T.astype(float), cells, strict=True)
            for low, high in zip(key_to_float(of[:-1]), key_to_float(of[1:]), strict=True)
        ]
        assert np.array_equal(found, expected)
        assert found.dtype == np.int64


def test_blocks_and_single_precision_change_no_bit():
    columns = made(3000)
    for name in ("huge", "tiny", "subnormal"):  # beyond single precision
        del columns[name]
    X = np.stack([*columns.values()], axis=1).astype(np.float32)
    one, _ = bins_of(X)
    for other in (bins_of(X, block_rows=13)[0], bins_of(X.astype(np.float64))[0]):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# --- privacy


@pytest.mark.parametrize("share", [SHARE, 0.1])
def test_the_share_is_spent_entirely_in_few_rounds(share):
    for x in made(500).values():
        _, curator = bins_of(x[:, None], share=share)
        assert curator.remaining == 1 - Fraction(share)
        assert len(curator.close("bins").charges) <= 8


# --- what bins look like


EVEN = "normal", "lognormal", "Cauchy", "dates", "far", "two places", "huge", "tiny"


@pytest.mark.parametrize("name", EVEN)
def test_bins_hold_about_equally_many_rows(name):
    x = made(40000)[name]
    ((edges,), _) = bins_of(x[:, None])
    parts = masses(x, edges)
    assert 14 <= len(parts) <= 18
    assert parts.max() < 0.14 and parts.min() > 0.02


def test_a_value_of_many_rows_is_a_bin_of_its_own():
    x = made(40000)["zeros"]
    ((edges,), _) = bins_of(x[:, None])
    assert 0.0 in edges and masses(x, edges)[1:].max() < 0.02  # the rest is told apart
    x = made(40000)["alike"]
    ((edges,), _) = bins_of(x[:, None])
    k = np.searchsorted(edges, 3.3)
    assert edges[k] - edges[k - 1] < 1e-6


def test_digits_are_told_apart():
    ((edges,), _) = bins_of(made(40000)["digits"][:, None])
    assert len(np.unique(np.searchsorted(edges, np.arange(10.0)))) == 10


@pytest.mark.parametrize("name", ["constant", "subnormal", "missing"])
@pytest.mark.parametrize("n", [0, 1, 2, 5000])
def test_any_table_has_an_answer(name, n):
    ((edges,), _) = bins_of(made(n)[name][:, None])
    assert np.isfinite(edges).all() and (np.diff(edges) > 0).all()
    assert edges.dtype == np.float64 and len(edges) <= 20


def test_no_rows_and_no_columns_have_no_bins():
    assert [len(e) for e in bins_of(np.empty((0, 3)))[0]] == [0, 0, 0]
    rows, plan = ArrayRows(np.ones((4, 1))), Plan(Budget.gaussian(1.0, 1e-6), bin_steps(0.1))
    curator = make_curator(plan, make_entropy(0))
    assert find_bins(Table(rows, curator), [], n_rows=4.0, n_bins=3, share=0.1) == []
    assert curator.remaining == 1


def test_rows_without_a_target_are_absent():
    rng = np.random.default_rng(3)
    X = np.stack([rng.normal(size=9000), rng.normal(size=9000)], axis=1)
    X[3000:, 0] += 1e6
    X[3000:, 1] = np.nan
    plan = Plan(Budget.gaussian(1.0, 1e-6), bin_steps(SHARE))
    options = {"n_rows": 3000.0, "n_bins": 8, "share": SHARE}
    curator = make_curator(plan, make_entropy(0))
    (edges,) = find_bins(Table(ArrayRows(X), curator), [0], **options)
    assert len(edges) and np.abs(edges).max() < 10


@pytest.mark.parametrize("whole", [False, True])
def test_an_octave_that_shows_keeps_its_rows_however_finely_it_is_looked_at(whole):
    search = PartitionedColumn(8, None, False, whole)
    for sd in (250.0, 900.0):
        noise = np.random.default_rng(0).normal(0, sd, len(search.keys) - 1)
        places, rows = np.array([20.0, 25, 31, 40, 50, 60]), np.repeat([5000.0, 15000.0], 3)
        low, high = key_to_float(search.keys[:-1, None]), key_to_float(search.keys[1:, None])
        counts = ((low < places) & (places <= high)) @ rows + noise
        search.read(counts, sd, least=3000.0, n_rows=60000.0)
        if sd < 500:
            search.divide()
    bottom, top, weight = map(np.concatenate, zip(*search.laws(), strict=True))
    assert 16 <= bottom.min() < 20 and 60 <= top.max() <= 64
    assert weight[top <= 32].sum() == pytest.approx(15000, rel=0.1)


def code_search(x):
    plan = Plan(Budget.gaussian(1.0, 1e-6), bin_steps(SHARE))
    options = {"n_rows": len(x), "n_bins": 6, "share": SHARE, "target": False, "whole": True}
    curator = make_curator(plan, make_entropy(0))
    return search_cells(Table(ArrayRows(x[:, None]), curator), [0], **options)[0]


def test_codes_are_bins_of_their_own_and_the_largest_is_known():
    codes = np.repeat(np.arange(1.0, 6.0), [9000, 6000, 3000, 1200, 800])
    search = code_search(codes)
    assert search.edges().tolist() == [1, 2, 3, 4] and search.ends()[0] == [1, 5]
    assert max(search.ends()[1]) < 1000
    few = np.repeat(np.arange(1.0, 5.0), [9000, 6000, 3000, 200])
    numbers, hidden = code_search(np.append(few, np.floor(np.logspace(1, 18, 150)))).ends()
    assert numbers[0] == 1 and np.isnan(numbers[1]) and hidden[1] > 120 > hidden[0]


def test_a_public_range_saves_rounds():
    x = np.random.default_rng(0).uniform(1000, 1001, 20000)
    ((known,), short) = bins_of(x[:, None], ranges=[(1000, 1001)])
    ((_,), long) = bins_of(x[:, None])
    known_bill, bill = (curator.close("bins").charges for curator in (short, long))
    assert len(known_bill) < len(bill)
    assert masses(x, known).max() < 0.1
    ((wide,), _) = bins_of(x[:, None], ranges=[(-LARGEST, LARGEST)])  # may be of little use
    assert masses(x, wide).max() < 0.2


def test_tails_are_finer_if_asked():
    x = np.random.default_rng(0).normal(size=100000)
    parts = masses(x, bins_of(x[:, None], n_bins=32, tails=True)[0][0])
    assert max(parts[0], parts[-1]) < 0.02 < 0.03 < np.median(parts)


def test_a_small_table_has_few_bins_and_hardly_any_noise_many():
    x = np.random.default_rng(0).normal(size=(400, 3))
    few = bins_of(x, epsilon=4.0, share=0.2)[0]
    assert all(1 <= len(edges) <= 6 for edges in few)
    many = bins_of(x[:150], epsilon=100.0, share=0.2)[0]
    assert all(13 <= len(edges) <= 17 for edges in many)
    assert all(masses(column, edges).max() < 0.15 for column, edges in zip(x.T, many, strict=True))


def test_shares_buy_eight_bins_within_limits():
    assert bin_share(1073, 6) == pytest.approx(6 * (96 / 1073) ** 2)
    assert (bin_share(1e5, 6), bin_share(50, 6), bin_share(-3, 6)) == (0.02, 0.2, 0.2)


def test_columns_may_want_different_numbers_of_bins():
    X = np.random.default_rng(0).normal(size=(20000, 2))
    one, two = bins_of(X, n_bins=[4, 12])[0]
    assert 3 <= len(one) <= 4 and 10 <= len(two) <= 13


# --- post-processing


def test_leaves_are_weighted_least_squares():
    rng = np.random.default_rng(0)
    tree, design, seen, weight = CellTree(), [], [], []
    sizes = [np.array([2, 1, 3]), np.array([1, 2, 1, 4, 1, 2])]
    first = [np.cumsum(s) - s for s in sizes]
    of_leaf = [
        np.repeat(np.repeat(np.arange(3), sizes[0]), sizes[1]),
        np.repeat(np.arange(6), sizes[1]),
        np.arange(11),
    ]
    for level, at in enumerate(of_leaf):
        counts, variance = rng.normal(size=at[-1] + 1), rng.uniform(0.5, 2, at[-1] + 1)
        tree.add(counts, variance, first[level - 1] if level else None)
        design.append(np.equal.outer(np.arange(at[-1] + 1), at).astype(float))
        seen.append(counts)
        weight.append(variance**-0.5)
    A, b, w = np.concatenate(design), np.concatenate(seen), np.concatenate(weight)
    expected = np.linalg.lstsq(A * w[:, None], b * w, rcond=None)[0]
    counts, variance = tree.leaves()
    assert np.allclose(counts, expected)
    assert (variance >= np.diag(np.linalg.inv((A * w[:, None]).T @ (A * w[:, None]))) - 1e-12).all()


def few_beyond(sign):
    """Return the search of a column near 100, and a few rows that one wide cell holds."""
    search = PartitionedColumn(8, None, False)
    middle = (search.keys[:-1] < float_to_key(sign * 100.0)) & (
        float_to_key(sign * 100.0) <= search.keys[1:]
    )
    search.read(np.where(middle, 5000.0, 0.0), 60.0, least=100.0, n_rows=5200.0)
    search.divide()
    low, high = key_to_float(search.keys[:-1]), key_to_float(search.keys[1:])
    counts = np.where((low < sign * 90) & (sign * 90 <= high), 5000.0, 0.0)
    counts[-1 if sign > 0 else 0] = 200.0
    search.read(counts, 5.0, least=100.0, n_rows=5200.0)
    return search


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_of_an_open_cell_are_in_its_nearest_octave(sign):
    search = few_beyond(sign)
    laws = search.laws()
    low, high = (np.concatenate([law[i] for law in laws]) for i in (0, 1))
    outer = (low[-1], high[-1]) if sign > 0 else (-high[0], -low[0])
    assert outer == (128.0, 256.0) and len(laws) == len(search.edges()) + 1
    weight = np.concatenate([law[2] for law in laws])
    assert 150 < weight[-1 if sign > 0 else 0] < 250  # they are all there
    ends = [-np.inf, *search.edges(), np.inf]
    for (a, b, _), bottom, top in zip(laws, ends[:-1], ends[1:], strict=True):
        assert (a >= bottom).all() and (b <= top).all() and (a < b).all()


def test_rows_of_which_no_octave_shows_are_at_zero():
    search = PartitionedColumn(8, None, False)
    search.read(np.full(len(search.keys) - 1, 1.0), 2.0, least=100.0, n_rows=5200.0)
    ((low, high, weight),) = search.laws()
    assert (low.tolist(), high.tolist()) == ([-5e-324], [0.0]) and weight[0] > 100


def test_bins_of_their_own_end_the_others():
    mass = np.array([0.0, 10, 10, 100, 1, 50, 5, 5, 5])
    size, own = bin_sizes(mass, mass > 20, n_bins=4, least=1.0, tails=False)
    assert own.tolist() == (mass > 20).tolist()
    numbers = bin_numbers(mass, size, own, lambda first, stop: stop - first > 1)
    assert numbers.tolist() == [0, 0, 0, 1, 1, 2, 3, 3, 3]
    size, own = bin_sizes(np.zeros(3), np.ones(3, bool), n_bins=1, least=0.0, tails=True)
    assert not own.any() and bin_numbers(np.zeros(3), size, own, None).tolist() == [0, 0, 0]


# --- cells of rows


def test_cells_are_those_of_comparisons():
    X = np.random.default_rng(0).choice(SPECIAL, size=(200, 3))
    X[:, 1] = np.random.default_rng(1).choice([0.0, 1.0, 2.0, 3.0, np.nan, -1.0], 200)
    edges = [np.array([-1.0, -5e-324, 0.0, 1.0]), 4, np.empty(0)]
    cells = cell_numbers(X, edges)
    assert cells.dtype == np.uint8 and n_cells(edges).tolist() == [6, 4, 2]
    for x, a in zip(X[:, 0], cells[:, 0], strict=True):
        assert a == (sum(x > e for e in edges[0]) if np.isfinite(x) else 5)
    assert np.array_equal(cells[:, 1], np.where(np.isin(X[:, 1], range(4)), X[:, 1], 3))
    assert np.array_equal(cells[:, 2], ~np.isfinite(X[:, 2]))
    assert cell_numbers(X, [np.arange(300.0), 4]).dtype == np.uint16
