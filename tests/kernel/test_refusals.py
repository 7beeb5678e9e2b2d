"""Refusals and grids at their very edge, one by one."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit._statistics import shape_of
from skdp.gate._curator import Curator
from skdp.kernel import _totals
from skdp.kernel._cells import Binned, Codes, cell_numbers
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._layout import Layout, check_layout, largest_tables
from skdp.kernel._log import Log
from skdp.kernel._plain import own, tame
from skdp.kernel._residual_sums import residuals_by_products, residuals_by_tables
from skdp.kernel._residuals import RangeResiduals
from skdp.kernel._sampled import Sample
from skdp.kernel._statistic import Offer, Shape, grid_bits
from skdp.kernel._sums import Count, room_bits
from skdp.kernel._table import Table
from skdp.kernel._totals import decoded, encoded
from skdp.marginals._residuals import workload_layout
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows
from tests.kernel._examples import all_examples
from tests.kernel.test_hostile import NoPure
from tests.kernel.test_views import table as of_persons

EXAMPLES = {cls.__name__: make for cls, make in all_examples().items()}
WEAK = [10.0**k for k in range(-30, 1)]  # budgets for which grids are coarse


def example(name, seed=0):
    return EXAMPLES[name](np.random.default_rng(seed))[0]


def test_parts_of_a_pure_budget_need_bounds_for_it():
    curator = Curator(Plan(Budget.pure(1.0), (Step("x", "laplace", times=9),)), make_entropy(0))
    parts = Table(ArrayRows(np.zeros((9, 1))), curator).split(None, 1)
    with pytest.raises(ValueError, match="no bound for a pure budget"):
        parts.ask({0: NoPure()}, share=0.1, label="x")
    assert curator.remaining == 1
    assert parts.ask({0: Count()}, share=0.1, label="x")[0].law == "laplace"


def test_arrays_that_cross_are_not_too_large(monkeypatch):
    told = json.loads(json.dumps(encoded(np.arange(3))))
    monkeypatch.setattr(_totals, "MOST_ENTRIES", 3)
    assert decoded(told).tolist() == [0, 1, 2]
    monkeypatch.setattr(_totals, "MOST_ENTRIES", 2)
    with pytest.raises(ValueError, match="another size"):
        decoded(told)


@pytest.mark.parametrize("shape", [[True, 2], [2.0], [-1, -2], [0, -1], ["2"], 2, [[2]], None])
def test_arrays_that_cross_have_sizes(shape):
    told = json.loads(json.dumps(encoded(np.arange(2.0))))
    assert decoded(told | {"s": [1, 2]}).shape == (1, 2)
    with pytest.raises(ValueError):
        decoded(told | {"s": shape})


NONE, SINGLES = np.zeros((1, 0), dtype=np.int64), np.array([[0], [1]])
LAYOUTS = {
    "no levels": ((), (NONE,)),
    "a level too few": ((2, 1), (NONE, SINGLES)),
    "levels that are floats": ((2, 3.0), (NONE, SINGLES)),
    "an attribute twice": ((2, 3), (NONE, SINGLES, np.array([[1, 1]]))),
    "attributes that fall": ((2, 3), (NONE, SINGLES, np.array([[1, 0]]))),
    "no such attribute": ((2, 3), (NONE, np.array([[0], [2]]))),
    "a set twice": ((2, 3), (NONE, np.array([[0], [0]]))),
    "a set without its subsets": ((2, 3), (NONE, np.array([[0]]), np.array([[0, 1]]))),
    "no empty set": ((2, 3), ()),
    "a set without one of its subsets": ((2, 3, 2), (NONE, SINGLES, np.array([[0, 1], [1, 2]]))),
}


@pytest.mark.parametrize(("levels", "subsets"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_that_are_none(levels, subsets):
    with pytest.raises(ValueError):
        check_layout(Layout(levels, subsets), len(levels))


def test_a_layout_that_is_one():
    check_layout(Layout((2, 3), (NONE, SINGLES, np.array([[0, 1]]))), 2)
    with pytest.raises(ValueError, match="for every column"):
        check_layout(Layout((2, 3), (NONE, SINGLES)), 3)


def test_cells_of_entries_by_their_definition():
    X = np.array(
        [[0.5, 0.0], [1.0, 2.0], [2.5, 3.0], [np.nan, -1.0], [np.inf, 1.0], [-9.0, np.nan]]
    )
    cells = cell_numbers(X, (np.array([1.0, 2.0]), 3))
    assert cells[:, 0].tolist() == [0, 0, 2, 3, 3, 0]  # (.., 1], (1, 2], (2, ..), none
    assert cells[:, 1].tolist() == [0, 2, 2, 2, 1, 2]  # what is no code is the last one


@pytest.mark.parametrize("edges", [(np.array([1.0]), 0), (0, 3), (3,), (3, 3, 3)])
def test_features_without_cells_are_refused(edges):
    Binned((3, np.array([1.0])), Codes(2)).check(Shape(3))
    with pytest.raises(ValueError):
        Binned(edges, Codes(2)).check(Shape(3))


@pytest.mark.parametrize("kind", ["round", "", "Full"])
def test_mixtures_of_no_kind_are_refused(kind):
    frame = example("MixtureMoments").frame
    with pytest.raises(ValueError, match="a kind of covariances"):
        replace(frame, kind=kind).check(Shape(frame.means.shape[1]))


@pytest.mark.parametrize("unit", [1, 9])
@pytest.mark.parametrize("epsilon", WEAK)
def test_grids_of_weak_budgets_by_their_formulas(epsilon, unit):
    pure, gaussian = Budget.pure(epsilon), Budget.gaussian(max(epsilon, 1e-4), 1e-6)
    totals, sums, moments = map(example, ("ClusterTotals", "BoundedSums", "MixtureMoments"))
    for offer in (Offer(budget, 0.25, unit, 100.0) for budget in (pure, gaussian)):
        d, cost = totals.centers.shape[1], float(offer.budget.amount) / 4
        noise = (2 + 2 * math.sqrt(d)) / cost if offer.budget is pure else 2 / math.sqrt(cost)
        assert totals.at(offer).bits == room_bits(noise, unit, 20)
        strength = float(offer.budget.amount) / 4 / (2 * sums.d)
        strength = strength if offer.budget is pure else math.sqrt(strength)
        most = 30 if unit == 1 else 20
        assert sums.at(offer).bits == grid_bits(strength / unit, noise_bits=44, most=most)
    room = {"unit": unit, "n": 4 * max(moments.located.n_rows, 25.0)}
    grid = {"noise_bits": 43, "most": 15, "least": 5, "power": 2, **room}
    found = moments.at(Offer(gaussian, 0.25, unit, 100.0)).bits
    assert found == grid_bits(gaussian.mu / 2, **grid)


def test_a_log_knows_its_place():
    whole = Log()
    part = Log(whole, "a/")
    inner = Log(part, "b/")
    assert (whole.place, part.place, inner.place) == ("", "a/", "a/b/")
    assert inner.answers is whole.answers and inner.numberings is whole.numberings


@pytest.mark.parametrize("x", [2**62, -(2**62)])
def test_integers_that_could_wrap_are_refused(x):
    tame(np.array([0, x]), "x")
    for beyond in (np.array([0, 2 * x - x // 2]), np.array([0, x + (1 if x > 0 else -1)])):
        with pytest.raises(ValueError, match="at most 2"):
            tame(beyond, "x")


def test_a_map_of_another_kind_of_rows_is_refused():
    SomeColumns(np.array([0])).check(Shape(1))
    with pytest.raises(ValueError, match="maps numbers"):
        SomeColumns(np.array([0])).check(Shape(1, "cells"))


def test_one_row_of_each_person_is_drawn():
    X, codes = np.arange(60.0).reshape(30, 2), np.repeat(np.arange(10), 3)
    drawn = of_persons(X, codes).drawn()
    assert drawn.ask(Count(), share=1, label="a").value.tolist() == [10]
    alone = of_persons(X)
    assert alone.drawn() is alone


def test_samples_of_less_than_a_row_are_drawn():
    rows = of_persons(np.zeros((50, 2)))
    assert rows.sample(0.5, 50).n_features == rows.thinned(0.5, 50, use="u").n_features == 2


def test_a_sample_is_scaled_column_by_column():
    sample = Sample(np.ones((3, 2)), np.arange(3, dtype=np.uint64), 1.0, 3.0)
    assert sample.scaled(np.ones(2)) is sample
    assert sample.scaled(np.array([1.0, 2.0])).Z.tolist() == [[1, 0.5]] * 3


def test_noise_of_a_bit_more_takes_a_bit_of_a_grid():
    assert room_bits(8.0, 1, 60) == room_bits(1.0, 1, 60) - 3 == room_bits(0.25, 1, 60) - 5


def test_residuals_by_products_and_by_tables_are_the_same():
    levels, rng = (3, 4, 3, 4), np.random.default_rng(0)
    layout, _ = workload_layout(levels, 3)
    codes = np.column_stack([rng.integers(0, n, size=200) for n in levels]).astype(float)
    codes[::9, 1], codes[::7, 2] = 0.5, np.nan
    rows = ArrayRows(codes)
    one = residuals_by_products(rows, layout)
    other = residuals_by_tables(rows, layout, largest_tables(layout))
    np.testing.assert_array_equal(one, other)
    assert one[0] == (np.arange(200) % 9 * (np.arange(200) % 7) > 0).sum()


def test_levels_of_ranges_are_two_at_least():
    ones = np.ones((1, 1), dtype=np.int64)
    RangeResiduals((2, 2), 1, (ones, ones)).check(Shape(2))
    for levels in ((2, 1), (1, 2), (2, 2**10 + 1)):
        with pytest.raises(ValueError):
            RangeResiduals(levels, 1, (ones, ones)).check(Shape(2))


class Lies(np.ndarray):
    """An array that says it holds truth values."""

    @property
    def dtype(self):
        return np.dtype(bool)


def test_arrays_are_what_they_hold():
    held = own(np.arange(3.0).astype(np.float32).view(Lies))
    assert type(held) is np.ndarray and held.dtype == np.float64
    with pytest.raises(ValueError, match="arrays are of numbers"):
        own(np.array(["1"]).view(Lies))


def test_what_rows_meet_has_a_type_of_its_own():
    cells, of_cells = EXAMPLES["FeatureCells"](np.random.default_rng(0))
    with pytest.raises(ValueError, match="sizes"):
        replace(cells, sizes=(*cells.sizes[:-1], float(cells.sizes[-1]))).check(
            shape_of(cells, of_cells)
        )
    scores, of_scores = EXAMPLES["ScoreCells"](np.random.default_rng(0))
    with pytest.raises(ValueError, match="a sign"):
        replace(scores, right=np.abs(scores.right).astype(np.uint64)).check(
            shape_of(scores, of_scores)
        )
