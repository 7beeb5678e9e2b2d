"""Tables, parities and residuals: exact identities, and workloads against brute force."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, prod

import numpy as np
import pytest

from skdp.kernel._layout import Layout, set_keys, set_numbers
from skdp.kernel._residual_sums import coordinates, integer_helmert, squared_lengths
from skdp.marginals._residuals import all_subsets, helmert, table_of, tables_of, workload_layout
from skdp.marginals.published._relaxation import from_parities, to_parities, walsh_hadamard
from tests.marginals._noisy import residuals_of, values_of

D, K = 6, 3


def subsets_of(attributes):
    return [T for j in range(len(attributes) + 1) for T in combinations(attributes, j)]


def fractions(shape, seed=0):
    """Return Fractions: integers over 7."""
    numbers = np.random.default_rng(seed).integers(-50, 50, size=shape)
    return np.vectorize(lambda number: Fraction(int(number), 7), otypes=[object])(numbers)


# --- the identities of parities, over all cells, in integers and Fractions


def test_cells_are_signed_sums_of_parities_and_back():
    joint = np.random.default_rng(0).integers(0, 9, size=(2,) * D)
    cells = {bits: int(count) for bits, count in np.ndenumerate(joint)}

    def parity(T):
        return sum(count * prod(1 - 2 * bits[i] for i in T) for bits, count in cells.items())

    for S in combinations(range(D), K):
        table = joint.sum(axis=tuple(i for i in range(D) if i not in S))
        q = walsh_hadamard(table[None])[0]
        for inside in product((0, 1), repeat=K):
            assert q[inside] == parity([i for i, here in zip(S, inside, strict=True) if here])
        assert q.dtype == table.dtype
        assert np.array_equal(walsh_hadamard(q[None])[0], 2**K * table)
        for cell in product((0, 1), repeat=K):  # q_S,beta = 2^-k sum of beta_T q_T
            signs = {i: 1 - 2 * bit for i, bit in zip(S, cell, strict=True)}
            total = sum(prod(signs[i] for i in T) * parity(T) for T in subsets_of(S))
            assert Fraction(total, 2**K) == table[cell]


def test_errors_of_cells_are_errors_of_parities_exactly():
    """Parseval: the mean squared error of all cells is that of the parities, by their weights."""
    errors = dict(zip(subsets_of(range(D)), fractions(2**D), strict=True))
    tables = list(combinations(range(D), K))
    total = Fraction(0)
    for S in tables:
        q = np.empty((2,) * K, dtype=object)
        for inside in product((0, 1), repeat=K):
            q[inside] = errors[tuple(i for i, here in zip(S, inside, strict=True) if here)]
        cells = walsh_hadamard(q[None])[0] / 2**K
        squares = sum(cell**2 for cell in cells.ravel())
        assert squares / 2**K == sum(errors[T] ** 2 for T in subsets_of(S)) / Fraction(4**K)
        total += squares / 2**K
    by_weight = sum(comb(D - len(T), K - len(T)) * e**2 for T, e in errors.items() if len(T) <= K)
    assert total / len(tables) == by_weight / Fraction(4**K * len(tables))


def test_the_loss_weights_of_parities_are_exact():
    """v_T in residual units is w_T / 2^(k - |T|), a number of floats without rounding."""
    layout, weights = workload_layout((2,) * D, K)
    for T, v in zip(layout.position, weights, strict=True):
        assert Fraction(v) == Fraction(comb(D - len(T), K - len(T)), 2 ** (K - len(T)))


# --- Helmert matrices


@pytest.mark.parametrize("levels", [2, 3, 4, 9])
def test_integer_helmert_rows_are_orthogonal(levels):
    H = integer_helmert(levels)
    assert np.array_equal(H @ H.T, np.diag(squared_lengths(levels)))
    assert not H.sum(axis=1).any()
    # (1 - 1/L) for every level, in Fractions
    for column in H.T:
        squares = zip(column.tolist(), squared_lengths(levels).tolist(), strict=True)
        assert sum(Fraction(h * h, s) for h, s in squares) == 1 - Fraction(1, levels)
    assert np.allclose(helmert(levels) @ helmert(levels).T, np.eye(levels - 1))


def test_a_binary_residual_is_a_scaled_parity():
    layout, _ = workload_layout((2,) * 5, 3)
    joint = np.random.default_rng(1).integers(0, 9, size=(2,) * 5)
    q = walsh_hadamard(joint[None])[0]
    values = values_of(layout, joint)
    for T, value in zip(layout.position, values, strict=True):
        parity = q[tuple(int(i in T) for i in range(5))]
        assert value == pytest.approx(parity / 2 ** (len(T) / 2), abs=1e-9)
    parities = to_parities(layout, values)
    assert np.allclose(from_parities(layout, parities), values)
    assert np.allclose(parities, np.rint(parities))


# --- tables from the flat vector


MIXED = (2, 3, 4, 2, 3)


@pytest.mark.parametrize(
    ("levels", "k"), [(MIXED, 3), ((2,) * 6, 3), ((3,) * 4, 2), ((5, 2), 2), ((4,), 1), ((2, 3), 0)]
)
def test_every_table_comes_back(levels, k):
    d = len(levels)
    joint = np.random.default_rng(2).integers(0, 9, size=levels)
    layout, _ = workload_layout(levels, k)
    values = values_of(layout, joint)
    for S in subsets_of(range(d)):
        if len(S) <= k:
            table = joint.sum(axis=tuple(i for i in range(d) if i not in S))
            for order in permutations(range(len(S))):
                got = table_of(layout, values, [S[i] for i in order])
                assert np.allclose(got, np.transpose(table, order))
            index = coordinates(layout, np.array([S], dtype=int).reshape(1, -1))[0]
            assert np.allclose(values[index], residuals_of(table))
    for shape, sets, _ in layout.groups:
        tables = tables_of(layout, values, sets)
        assert tables.shape == (len(sets), *shape)
        for S, table in zip(sets, tables, strict=True):
            assert np.allclose(table, table_of(layout, values, S))


def test_a_table_is_the_sum_of_its_parts():
    """S-table = sum over T in S of (H_i^T for T, 1 / L_i for others) r_T, term by term."""
    levels, S = (2, 3, 4), (0, 2)
    layout, _ = workload_layout(levels, 2)
    values = np.random.default_rng(3).normal(size=layout.starts[-1])
    want = np.zeros((2, 4))
    for T in subsets_of(S):
        start = layout.starts[layout.position[T]]
        free = [levels[i] - 1 for i in T]
        term = values[start : start + prod(free)].reshape(free)
        for axis, i in enumerate(S):
            if i in T:
                term = np.moveaxis(np.tensordot(term, helmert(levels[i]), (axis, 0)), -1, axis)
            else:
                term = np.repeat(np.expand_dims(term, axis), levels[i], axis) / levels[i]
        want += term
    assert np.allclose(table_of(layout, values, S), want)


# --- workloads


def brute_weights(levels, sets, weights):
    """Return v_T by the definition, in Fractions."""
    found = {}
    for S, weight in zip(sets, weights, strict=True):
        for T in subsets_of(S):
            rest = prod((Fraction(1, levels[i]) for i in S if i not in T), start=Fraction(1))
            found[T] = found.get(T, 0) + Fraction(weight) * rest
    return found


@pytest.mark.parametrize(
    ("levels", "k"), [(MIXED, 2), (MIXED, 5), ((2,) * 6, 3), ((3,) * 7, 6), ((2, 7, 3), 1)]
)
def test_weights_of_all_tables(levels, k):
    layout, weights = workload_layout(levels, k)
    sets = list(combinations(range(len(levels)), k))
    want = brute_weights(levels, sets, [1] * len(sets))
    assert list(layout.position) == sorted(want, key=lambda T: (len(T), T))
    for T, v in zip(layout.position, weights, strict=True):
        assert v == pytest.approx(float(want[T]), rel=1e-12)
    listed, same = workload_layout(levels, sets)
    assert np.allclose(weights, same, rtol=1e-12)
    for a, b in zip(layout.subsets, listed.subsets, strict=True):
        assert np.array_equal(a, b)


def test_a_list_with_weights():
    sets, weights = [(3, 1), (0,), (4, 0, 2), (1, 3)], [2.0, 0.5, 1.0, 3.0]
    layout, got = workload_layout(MIXED, sets, weights)
    want = brute_weights(MIXED, [tuple(sorted(S)) for S in sets], weights)
    assert list(layout.position) == sorted(want, key=lambda T: (len(T), T))
    for T, v in zip(layout.position, got, strict=True):
        assert v == pytest.approx(float(want[T]), rel=1e-12)


def test_the_loss_is_the_squared_error_of_all_cells():
    sets, weights = [(0, 1), (2, 1, 4), (3,), ()], [2.0, 0.5, 1.0, 3.0]
    layout, v = workload_layout(MIXED, sets, weights)
    errors = np.random.default_rng(4).normal(size=layout.starts[-1])
    cells = sum(
        w * np.sum(table_of(layout, errors, S) ** 2) for S, w in zip(sets, weights, strict=True)
    )
    assert cells == pytest.approx(np.sum(layout.spread(v) * errors**2), rel=1e-12)


def test_all_subsets_are_in_order():
    for d, k in ((1, 1), (5, 0), (5, 3), (4, 4)):
        got = all_subsets(d, k)
        for j, sets in enumerate(got):
            assert sets.shape == (comb(d, j), j) and sets.dtype == np.int64
            assert [tuple(row) for row in sets.tolist()] == list(combinations(range(d), j))


def test_numbers_of_sets():
    layout, _ = workload_layout(MIXED, [(0, 1, 3), (2, 4)])
    for S, number in layout.position.items():
        assert set_numbers(layout, np.array([S], dtype=int).reshape(1, -1)) == [number]
    for absent in ([[0, 4]], [[0, 1, 2]], [[0, 1, 2, 3]]):
        with pytest.raises(KeyError, match="not in the layout"):
            set_numbers(layout, absent)


def test_keys_of_large_sets_are_exact_and_ordered():
    sets = np.sort(
        np.random.default_rng(5).permuted(np.tile(np.arange(60), (50, 1)), axis=1)[:, :20]
    )
    keys = set_keys(sets, 60)
    assert max(keys) > 2**63
    rows = [tuple(row) for row in sets.tolist()]
    assert sorted(range(50), key=lambda i: keys[i]) == sorted(range(50), key=lambda i: rows[i])


def test_groups_hold_every_set_once():
    layout, _ = workload_layout(MIXED, 3)
    numbers = np.concatenate([numbers for _, _, numbers in layout.groups])
    assert np.array_equal(np.sort(numbers), np.arange(len(layout.lengths)))
    for shape, sets, numbers in layout.groups:
        for S, number, places in zip(sets, numbers, layout.places(numbers), strict=True):
            assert layout.position[tuple(S.tolist())] == number
            assert tuple(MIXED[i] for i in S) == shape
            assert np.array_equal(places, np.arange(*layout.starts[number : number + 2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, 1), 1), "at least two levels"),
        (((), 0), "at least two levels"),
        (((2, 2), 3), "0 <= k <= 2"),
        (((2, 2), -1), "0 <= k <= 2"),
        (((2, 2), []), "at least one set"),
        (((2, 2), [(0, 2)]), "distinct attributes"),
        (((2, 2), [(0, 0)]), "distinct attributes"),
        (((2, 2), [(0,)], [0.0]), "positive"),
        (((2, 2), [(0,)], [1.0, 1.0]), "one for each"),
        (((2, 2), [(0,)], [np.nan]), "positive"),
        (((2, 2), 1, [1.0]), "list of sets"),
        (((2,) * 2000, 3), "numbers"),
        (((2,) * 17, 17), "at most 16"),
        (((2,) * 20, [range(17)]), "at most 16"),
        (((10**5, 10**5), [(0, 1)]), "numbers"),
    ],
)
def test_workloads_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        workload_layout(*arguments)


def test_large_workloads_are_closed_forms():
    for d, k in ((500, 2), (100, 3)):
        layout, weights = workload_layout((2,) * d, k)
        assert isinstance(layout, Layout) and len(weights) == sum(comb(d, j) for j in range(k + 1))
        assert weights[0] == comb(d, k) / 2**k and weights[-1] == 1
