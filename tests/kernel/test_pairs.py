"""What is asked of all rows of a sample moves by its bound at most: on all small tables."""

import json
import math
import pickle
from fractions import Fraction
from importlib import import_module
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from skdp.kernel import _sampled, _totals
from skdp.kernel._friends import HIndex, SoftCore, _Mean
from skdp.kernel._plain import TYPES
from skdp.kernel._sampled import OfSample, Sample
from skdp.kernel._statistic import Shape
from skdp.kernel._totals import decoded, encoded
from skdp.kernel.pairs import _counting, _distance
from skdp.kernel.pairs._distance import DistancePredicate, soft_core_average, soft_core_sensitivity

GRID = 0.0, 1.0, 1.5, 4.0
HOSTILE = 0.0, -0.0, 1.0, np.inf, 1.7e308, -1.7e308, 5e-324
OF_SAMPLES = {
    cls: make
    for path in sorted(Path(__file__).parent.glob("_examples_*.py"))
    for cls, make in getattr(import_module(f"tests.kernel.{path.stem}"), "OF_SAMPLES", {}).items()
}


def sample(rows, keys, d=1):
    """Return a Sample of rows whose columns are all alike."""
    Z = np.repeat(np.array(rows, dtype=float).reshape(-1, 1), d, axis=1)
    return Sample(Z, np.array(keys, dtype=np.uint64), 1.0, max(len(rows), 1.0))


def in_order(size):
    """Yield keys of rows in their order and of one more, which comes at any place."""
    for place in range(size + 1):
        yield *(i + (i >= place) for i in range(size)), place


def in_any_order(size):
    """Yield keys of rows and of one more, in all orders."""
    return permutations(range(size + 1))


def pairs(values, size, orders):
    """Yield (keys, rows, rows and one more) for all tables of so many rows."""
    for rows, keys, more in product(product(values, repeat=size), orders(size), values):
        yield keys, rows, (*rows, more)


def moved(statistic, keys, rows, more, d=1):
    """Return the squared length by which a row moves a statistic, as a part of its bound."""
    with np.errstate(all="ignore"):
        one = np.asarray(statistic.total(sample(rows, keys[: len(rows)], d)))
        two = np.asarray(statistic.total(sample(more, keys, d)))
    assert one.dtype.kind in "iu" and one.shape == two.shape
    return Fraction(sum(int(v) ** 2 for v in (two - one).ravel())) / statistic.squared_l2


def largest(cls, values, sizes, orders=in_order, d=1):
    """Return the largest part of its bound that a class moves by."""
    found = [
        moved(statistic, *pair, d)
        for statistic in OF_SAMPLES[cls](d)
        for size in sizes
        for pair in pairs(values, size, orders)
    ]
    return max(found)


def test_every_question_about_a_sample_has_examples():
    found = {one for one in TYPES.values() if issubclass(one, OfSample)}
    assert {one for one in found if one.__module__.startswith("skdp.")} == set(OF_SAMPLES)


@pytest.mark.parametrize(
    "cls",
    [
        pytest.param(cls, marks=[pytest.mark.slow] if cls.__name__ == "HIndex" else [])
        for cls in OF_SAMPLES
    ],
    ids=lambda cls: cls.__name__,
)
def test_one_row_moves_it_by_the_bound_and_no_more(cls):
    assert largest(cls, GRID, range(4)) == 1
    assert largest(cls, GRID, range(3), d=3) == 1
    assert largest(cls, HOSTILE, range(3)) <= 1


@pytest.mark.parametrize(
    "n", [pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("cls", OF_SAMPLES, ids=lambda cls: cls.__name__)
def test_one_row_moves_it_by_the_bound_and_no_more_in_larger_tables(cls, n):
    assert largest(cls, GRID, range(n), in_any_order) == 1
    assert largest(cls, HOSTILE, range(n - 1)) <= 1


@pytest.mark.parametrize("cls", OF_SAMPLES, ids=lambda cls: cls.__name__)
def test_the_order_of_the_table_moves_nothing(cls):
    rows, keys = np.array([0.0, 1.0, 1.5, 4.0, 1.0]), np.array([3, 0, 4, 1, 2])
    for statistic in OF_SAMPLES[cls](1):
        expected = statistic.total(sample(rows, keys))
        for order in permutations(range(len(rows))):
            order = list(order)
            np.testing.assert_array_equal(
                statistic.total(sample(rows[order], keys[order])), expected
            )


@pytest.mark.parametrize("cls", OF_SAMPLES, ids=lambda cls: cls.__name__)
def test_it_is_plain_data(cls):
    some = sample([0.0, 1.0, 1.5, 4.0], range(4), 2)
    for statistic in OF_SAMPLES[cls](2):
        statistic.check(Shape(2, "sample"))
        for again in (
            decoded(json.loads(json.dumps(encoded(statistic)))),
            pickle.loads(pickle.dumps(statistic)),
        ):
            assert again == statistic and again.squared_l2 == statistic.squared_l2
            np.testing.assert_array_equal(again.total(some), statistic.total(some))


def certified(n, h):
    """Yield all (n_up, h_low) that hold for two neighbours of at most n rows, and ranks from h."""
    for n_up in range(n, n + 2):
        for h_low in range(n_up // 2 + 1, h + 1):
            yield n_up, h_low


def core_moves(sizes):
    """Yield by what part of its bound a row moves a soft core."""
    for size in sizes:
        for rows in product(GRID, repeat=size):
            less = sample(rows, range(size))
            h = int(HIndex(1.0).total(less)[0])
            for more in GRID:
                larger = sample((*rows, more), range(size + 1))
                for bounds in certified(size + 1, h):
                    core = _Mean(1.0, *bounds, 1)
                    yield abs(int((core.total(larger) - core.total(less))[0])) / core.l2


def test_one_row_moves_a_soft_core_by_less_than_its_bound():
    assert 0.8 < max(core_moves(range(5))) <= 1  # some: rows between the ends do not all count


def test_a_soft_core_with_bounds_is_no_question():
    assert not issubclass(SoftCore, OfSample)
    assert TYPES["SoftCore"] is SoftCore and "_Mean" not in TYPES
    assert {*SoftCore.__dataclass_fields__} == {"radius", "count", "h"}


@pytest.mark.parametrize("cls", OF_SAMPLES, ids=lambda cls: cls.__name__)
def test_blocks_of_rows_are_as_good_as_all_at_once(monkeypatch, cls):
    rng, d = np.random.default_rng(0), 3
    one = Sample(rng.normal(size=(50, d)), rng.permutation(50).astype(np.uint64), 1.0, 50.0)
    whole = [np.asarray(statistic.total(one)) for statistic in OF_SAMPLES[cls](d)]
    monkeypatch.setattr(_counting, "ROW_CELLS", 4 * d)
    for room in (_totals, _distance, _counting):
        monkeypatch.setattr(room, "CELLS", 4 * d)
    two = Sample(one.Z, one.keys, 1.0, 50.0)
    for statistic, wanted in zip(OF_SAMPLES[cls](d), whole, strict=True):
        np.testing.assert_array_equal(statistic.total(two), wanted)


@pytest.mark.parametrize("n_rows", [2, 9, 10, 50])
def test_a_ring_has_a_difference_for_every_row(monkeypatch, n_rows):
    rng = np.random.default_rng(n_rows)
    Z, order = rng.normal(size=(n_rows, 2)), rng.permutation(n_rows)
    monkeypatch.setattr(_totals, "CELLS", 6)
    told = np.concatenate([task() for task in _totals.ring_blocks(Z, order, np.array)])
    np.testing.assert_array_equal(told, Z[order] - Z[np.roll(order, 1)])


def test_a_sample_in_other_units_is_not_sorted_again(monkeypatch):
    rng = np.random.default_rng(0)
    one = Sample(rng.normal(size=(50, 2)), rng.permutation(50).astype(np.uint64), 1.0, 50.0)
    scale, ring = np.array([3.0, 0.7]), one.ring
    monkeypatch.setattr(_sampled, "ring_order", None)
    np.testing.assert_array_equal(one.scaled(scale).ring, ring)


@pytest.mark.parametrize("d", [1, 4, 9])
@pytest.mark.parametrize(("n_up", "h"), [(100, 99), (100, 60), (3, 3), (1, 1), (2**20, 2**20)])
def test_the_bound_of_a_soft_core_by_its_formula(n_up, h, d):
    root, grid = math.isqrt(d), 0.25
    rho = Fraction(DistancePredicate(2.0).certified_radius(d)) / Fraction(grid) + root
    t = 1 + Fraction(max(n_up - 1 - h, 0)) / (h - Fraction(n_up, 2))
    exact = t / (h + t) * rho * (1 + Fraction(n_up - 1, 2 * h)) + root
    told = soft_core_sensitivity(n_up=n_up, h_low=h, radius=2.0, grid=grid, d=d)
    assert exact < Fraction(told) < exact * (1 + Fraction(1, 2**50))
    X = np.random.default_rng(0).normal(size=(30, d))
    friends = DistancePredicate(9.0).friends(X)
    how = {"n_up": 40, "h_low": 25, "radius": 9.0}
    average, weights = soft_core_average(X, friends, **how), np.clip(2 * friends - 40, 0, 10)
    wanted = (weights @ np.floor(X / average.grid)) / weights.sum()
    np.testing.assert_allclose(average.value, np.floor(wanted), atol=1.0)
