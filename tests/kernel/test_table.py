"""What a Table answers: tickets, shapes, several questions of one pass, persons."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.kernel._bins import LogBins
from skdp.kernel._plain import public
from skdp.kernel._ranks import KeyRanks, Thresholds
from skdp.kernel._statistic import OneCell, Rule, Statistic
from skdp.kernel._sums import BallSum, BoxProducts, Count, Distances, RowsWithGaps
from skdp.kernel._table import Noisy, Table
from skdp.kernel._totals import asked_first, decoded, encoded, totals
from skdp.readers import ArrayRows
from skdp.readers._loop import places
from skdp.readers._persons import NoisyUnitCount, Persons, weighed_rows

ZERO = np.zeros(2)


@public
@dataclass(frozen=True)
class Longest(Statistic):
    """A statistic that looks at all rows by itself."""

    squared_l2 = l1 = 1

    def over(self, rows):
        return np.array([-len(rows)])

    def total(self, block):
        return np.array([len(block)])


@public
@dataclass(frozen=True)
class SidesOfZero(OneCell):
    """A histogram of two cells."""

    size = 2

    def cells(self, block):
        return (block[:, 0] > 0).astype(np.int64)


@public
@dataclass(frozen=True)
class BySign(Rule):
    """Two sets."""

    def __call__(self, block):
        return (block[:, 0] > 0).astype(np.int64)


def table_of(rows=None, privacy_unit="row"):
    rows = ArrayRows(np.arange(-6.0, 14.0).reshape(10, 2)) if rows is None else rows
    plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("x", times=20),), privacy_unit=privacy_unit)
    return Table(rows, CannedCurator(plan))


def asked(table, *statistics):
    return table.ask_all(*((one, 0.05, "x") for one in statistics))


def test_answers_are_in_the_order_of_the_questions():
    one, two, three = asked(table_of(), Count(), BallSum(ZERO, 100.0), SidesOfZero())
    assert one.value.tolist() == [10] and one.step == 1.0 and one.bits is None
    np.testing.assert_allclose(two.real, [30, 40], atol=1e-3)
    assert two.bits > 10 and two.sd == two.scale * two.step
    assert three.value.tolist() == [4, 6]


def test_a_statistic_may_look_at_all_rows_by_itself_beside_others():
    assert asked(table_of(), Longest())[0].value.tolist() == [-10]
    told = asked(table_of(), Count(), Longest(), SidesOfZero())
    assert [one.value.tolist() for one in told] == [[10], [-10], [4, 6]]


def test_a_ticket_is_the_number_of_an_answer():
    table = table_of()
    told = asked(table, Count(), SidesOfZero())
    assert [one.ticket for one in told] == [0, 1]
    for one, kind in zip(told, (Count, SidesOfZero), strict=True):
        view, statistic, answer = table._log.get(one.ticket)
        assert view is table and type(statistic) is kind
        if one.value.size == 1:  # bounds are read off single numbers alone
            np.testing.assert_array_equal(answer.value, one.value)


def test_an_answer_without_a_step_is_in_units_of_one():
    told = Noisy(np.array([3]), 2.0)
    assert told.real.tolist() == [3.0] and told.sd == 2.0
    assert (told.law, told.ticket, told.bits) == ("gaussian", -1, None)


class Cells:
    n_features, sizes = 2, [3, 4]


class Codes:
    n_features, kind, sizes = 2, "codes", None


@pytest.mark.parametrize(
    ("rows", "shape"),
    [
        (None, (2, "numbers", None)),
        (Cells(), (2, "cells", (3, 4))),
        (Codes(), (2, "codes", None)),
    ],
)
def test_shapes(rows, shape):
    told = table_of(rows).shape
    assert (told.n_features, told.kind, told.sizes) == shape


def persons_of(cap=2):
    X = np.arange(-6.0, 14.0).reshape(10, 2)
    owners = Persons(np.array([0, 0, 0, 1, 2, 3, 3, 4, 4, 4]), 5)
    table = table_of(privacy_unit="group")
    coins = table._curator.coins
    return table_of(
        weighed_rows(ArrayRows(X), owners, cap, coins, NoisyUnitCount(5.0, 1.0)), "group"
    )


def test_sums_of_persons_are_weighed_with_and_without_a_pass_of_weights():
    told = asked(persons_of(), Count(), SidesOfZero())
    assert told[0].value[0] == pytest.approx(told[1].value.sum())
    sides = persons_of().split(BySign(), 2)
    mixed = sides.ask({0: Count(), 1: SidesOfZero()}, share=0.05, label="x")
    alike = sides.ask({0: SidesOfZero(), 1: SidesOfZero()}, share=0.05, label="x")
    assert mixed[0].value[0] == pytest.approx(alike[0].value.sum())
    np.testing.assert_array_equal(mixed[1].value, alike[1].value)


def test_disjoint_sets_pay_the_largest_bound_once():
    table = table_of()
    told = table.split(BySign(), 2).ask({1: BallSum(ZERO, 1.0), 0: Count()}, share=0.25, label="x")
    (charge,) = table._curator._bill()
    assert charge.sensitivity == 2.0 ** told[1].bits and table.remaining == Fraction(3, 4)
    assert told[0].value.tolist() == [4] and told[0].step == 1.0
    assert told[1].step == 1 / 2.0 ** told[1].bits
    everybody = table.split(None, 1).ask({0: Count()}, share=0.25, label="x")
    assert everybody[0].value.tolist() == [10]


@pytest.mark.parametrize("dtype", [object, np.float16, np.longdouble, ">f8", "U3", complex])
def test_arrays_of_other_types_stay_here(dtype):
    with pytest.raises(ValueError, match="this type"):
        encoded(np.zeros(2, dtype=dtype))


@pytest.mark.parametrize("q", [Fraction(1, 10**30), Fraction(-(3**50), 7), Fraction(2) ** -(10**5)])
def test_fractions_cross_exactly(q):
    assert decoded(encoded(q)) == q


def test_histograms_ignore_cells_that_are_none():
    told = asked(table_of(ArrayRows(np.full((4, 2), np.nan))), Distances(ZERO, LogBins(1)))
    assert told[0].value.sum() == 0


def test_sums_that_a_source_knows_are_not_added_up_again():
    rows = ArrayRows(np.zeros((5, 2)))
    rows.known = {name: np.array([77]) for name in asked_first([Count()])}
    assert totals(rows, [Count()])[0].tolist() == [77]
    assert totals(rows, [RowsWithGaps()])[0].tolist() == [0]
    assert [one.tolist() for one in totals(rows, [Count(), RowsWithGaps()])] == [[5], [0]]
    totals(rows, [Count()])[0][:] = 0
    assert totals(rows, [Count(), Count()])[1].tolist() == [77]  # answers are copies


@pytest.mark.parametrize("unit", [None, np.array([1.0, 0.25, 2.0])])
def test_ranks_that_are_counted_ahead_are_those_of_rows(unit):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:4] = [[np.nan, 1.0], [0.5, np.inf], [0.0, -0.0], [1.0, -1.0]]
    rows, columns = table_of(ArrayRows(X)), np.array([1, 0, 1])
    for at in np.linspace(-1.5, 1.5, 7):
        thresholds = at + np.array([0.0, 0.5, 1.0])
        parts, center = np.array([500, 250, 900]), np.array([0.0, -0.5, 1.0])
        asked = Thresholds(columns, thresholds, parts, center, unit)
        np.testing.assert_array_equal(rows._totals([asked])[0], asked.total(X))
        keys = KeyRanks((1, 0, 1), places(thresholds, closed=False))
        np.testing.assert_array_equal(rows._totals([keys])[0], keys.total(X))


@pytest.mark.parametrize("size", [1e9, 150.0])
def test_samples_are_of_all_blocks(size):
    X = np.arange(300.0)[:, None]
    X[7] = np.nan
    whole, parts = (table_of(ArrayRows(X, block_rows=n)).sample(size, 300) for n in (300, 11))
    np.testing.assert_array_equal(whole._sample.Z, parts._sample.Z)
    np.testing.assert_array_equal(whole._sample.keys, parts._sample.keys)
    assert len(whole._sample.Z) == 299 or size == 150.0


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("budget", [Budget.pure(2.0), Budget.gaussian(1.0, 1e-6)])
def test_noise_is_that_of_the_norm_that_pays(budget, parts):
    law = "laplace" if budget.measure == "pure" else "gaussian"
    curator = CannedCurator(Plan(budget, (Step("x", law, times=20),)))
    rows = Table(ArrayRows(np.zeros((10, 2))), curator)
    asked = BoxProducts(-np.ones(2), np.ones(2), 10.0)
    share = {"share": Fraction(1, 4), "label": "x"}
    told = rows.split(None, 1).ask({0: asked}, **share)[0] if parts else rows.ask(asked, **share)
    bound = replace(asked, bits=told.bits)
    scale = bound.l1 / 0.5 if law == "laplace" else bound.l2 / (budget.mu * 0.5)
    assert told.law == law and scale * (1 - 1e-9) < told.scale < scale * (1 + 1e-6)
