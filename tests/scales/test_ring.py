from itertools import permutations, product

import numpy as np
import pytest

from skdp.mechanisms import row_norms
from skdp.scales import LogBins, ring_differences

BINS = LogBins(1)


def histogram(values, keys):
    Z = np.array(values, dtype=float)[:, None]
    with np.errstate(over="ignore"):
        differences = ring_differences(Z, np.array(keys, dtype=np.uint64))
    return BINS.counts(row_norms(differences))


def squared_change(a, b):
    return int(((a - b) ** 2).sum())


def test_the_extremal_case_by_hand():
    # rows 0, 0 (differences 0, 0) and a new 5 between them (0, 5, 5): a zero goes, two fives come
    assert squared_change(histogram([0, 0], [0, 2]), histogram([0, 0, 5], [0, 2, 1])) == 5
    assert squared_change(histogram([1], [0]), histogram([1, 1], [0, 1])) == 4
    assert squared_change(histogram([], []), histogram([1], [0])) == 0


def test_the_order_of_the_table_does_not_matter():
    values, keys = np.array([0.0, 1.0, 5.0, 50.0]), np.array([3, 1, 2, 7], dtype=np.uint64)
    expected = histogram(values, keys)
    for order in permutations(range(4)):
        np.testing.assert_array_equal(histogram(values[list(order)], keys[list(order)]), expected)


def test_equal_keys_keep_the_order_of_the_table():
    # so that a row with a tied key still comes in between two neighbours
    Z = np.arange(6.0)[:, None] ** 2
    for keys in product((0, 1), repeat=6):
        full = {tuple(x) for x in _pairs(keys)}
        for gone in range(6):
            part = {tuple(x) for x in _pairs(keys, gone)}
            assert len(part - full) <= 1 and len(full - part) <= 2
        np.testing.assert_array_equal(
            np.sort(ring_differences(Z, np.array(keys, dtype=np.uint64))[:, 0]),
            np.sort([Z[j, 0] - Z[i, 0] for i, j in _pairs(keys)]),
        )


def _pairs(keys, gone=None):
    order = sorted((i for i in range(len(keys)) if i != gone), key=lambda i: (keys[i], i))
    return [(order[i - 1], order[i]) for i in range(len(order))]


@pytest.mark.parametrize("d", [1, 2, 7])
def test_columns_side_by_side(d):
    def columns(values):
        Z = np.repeat(np.array(values, dtype=float)[:, None], d, axis=1)
        return BINS.column_counts(np.abs(ring_differences(Z, np.arange(len(Z), dtype=np.uint64))))

    # the third row comes last in the order: the worst case in every column at once
    assert squared_change(columns([0, 0]), columns([0, 0, 5])) == 5 * d
