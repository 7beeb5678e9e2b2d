"""What is public of a view, and who may draw its rows by keys, depends on no row."""

from dataclasses import dataclass

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.base import ArrayRows, Count, OneCell, Table, public
from skdp.kernel import _cells
from skdp.kernel._bins import LogBins
from skdp.kernel._cells import Binned, Codes, Held
from skdp.kernel._clusters import InPlaces
from skdp.kernel._lattice import BallCover, Beyond, LocatedBall
from skdp.kernel._residuals import Layout, Residuals
from skdp.mechanisms import finite_rows
from skdp.readers._persons import NoisyUnitCount, Persons, weighed_rows

CELLS = Binned((2,), Codes(1))


def table(X, codes=None, cap=3):
    """Return a Table of rows, of persons if they have codes."""
    privacy_unit = "row" if codes is None else "group"
    plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("a", times=99),), privacy_unit=privacy_unit)
    curator, rows = CannedCurator(plan), ArrayRows(np.asarray(X, dtype=np.float64))
    if codes is not None:
        persons = Persons(np.asarray(codes), int(np.max(codes)) + 1).of(finite_rows(X))
        rows = weighed_rows(rows, persons, cap, curator.coins, NoisyUnitCount(50.0, 1.0))
    return Table(rows, curator)


HOME = BallCover((LocatedBall(40.0, 1.0, np.zeros(1), 2.0, 1.0, True, 4.0, None),), 99.0, 1.0)
SOME = Beyond(np.zeros(1), LogBins(1, 0, 20), 0, 8, HOME)  # a view of the rows near 100


def face(view):
    """Return all that is public of a Table, and which ways of drawing rows it refuses."""
    told = [view.shape, view.heads, view.cap, view.about, view._offer(1)]
    for draw in (view.drawn, lambda: view.sample(5, 10), lambda: view.thinned(5, 10, use="u")):
        with pytest.raises(ValueError, match="rows of numbers are drawn"):
            draw()
    return told


@pytest.mark.parametrize("most", [2**28, 60, 0])
@pytest.mark.parametrize("persons", [False, True])
def test_a_view_of_cells_shows_the_same_whatever_rows_it_has(monkeypatch, most, persons):
    monkeypatch.setattr(_cells, "HELD_BYTES", most)
    shown = []
    for n in (1, 6, 7, 50):
        for X in (np.zeros((n, 2)), np.full((n, 2), np.nan)):
            codes = np.arange(n) if persons else None
            shown.append(face(table(X, codes).map(CELLS)))
    assert all(one == shown[0] for one in shown)


def test_no_rows_of_persons_are_a_view_of_cells_as_any():
    told = table(np.full((4, 2), np.nan), np.arange(4)).map(CELLS)
    from skdp.kernel._terms import FeatureCells

    assert told.ask(FeatureCells((2,)), share=1, label="a").value.tolist() == [0, 0]


@pytest.mark.parametrize("codes", [None, np.arange(40) % 8])
@pytest.mark.parametrize("most", [2**28, 0])
def test_rows_of_a_view_of_fewer_rows_are_never_numbered(monkeypatch, codes, most):
    monkeypatch.setattr(_cells, "HELD_BYTES", most)
    X = np.full((40, 1), 100.0)
    for rows in (X, np.vstack([X[:-1], [[1e9]]]), X * 1e9):
        view = table(rows, codes).map(SOME).map(Held())
        view.ask(Count(), share=0.5, label="a")  # whatever rows: an answer
        with pytest.raises(TypeError, match="no numbers, and no keys"):
            view.thinned(5, 10, use="u").ask(Count(), share=0.5, label="a")


def test_one_use_of_keys_draws_rows_of_one_numbering():
    rows = table(np.ones((50, 2)))
    rows.thinned(20, 50, use="u")
    rows.map(Held()).thinned(20, 50, use="u")  # the same rows in the same order
    drawn = rows.sample(500, 50)
    with pytest.raises(ValueError, match="these keys have drawn other rows"):
        drawn.thinned(20, 50, use="u")
    drawn.thinned(20, 50, use="another")


def test_one_row_of_each_person_has_the_numbering_of_all_rows():
    whole = table(np.arange(40.0).reshape(20, 2), np.arange(20) // 2)
    first, second = whole.sample(5, 10), whole.drawn().sample(5, 10)
    assert np.array_equal(first._sample.Z, second._sample.Z) and len(first._sample.Z)


def test_children_of_one_label_have_keys_of_one_numbering():
    steps = Step("part", "child", times=3), Step("a", times=9)
    plan = Plan(Budget.gaussian(1.0, 1e-6), steps)
    rows = Table(ArrayRows(np.ones((50, 2))), CannedCurator(plan))
    few = rows.thinned(20, 50, use="u")
    first, second, third = (rows.child("part", 0.1) for _ in range(3))
    first.thinned(20, 50, use="u")
    second.thinned(20, 50, use="u")  # the same rows in the same order
    with pytest.raises(ValueError, match="these keys have drawn other rows"):
        few.paid_by(third).thinned(10, 20, use="u")


def test_keys_of_a_use_are_those_of_nobody_else():
    """Of one row each of a person, or of a child: their names cannot be had for a use."""
    rows = table(np.ones((50, 2)))
    asked = []
    keys = rows._curator.coins.keys
    rows._curator.coins.keys = lambda *at, use="": asked.append(use) or keys(*at, use=use)
    for use in ("representative", "part/u"):
        rows.thinned(20, 50, use=use)
    assert asked == ["thinned representative", "thinned part/u"]


def test_rows_without_codes_do_not_raise_the_weight_of_a_person():
    layout = Layout((2, 2), (np.zeros((1, 0), int), np.array([[0], [1]]), np.array([[0, 1]])))
    parts = np.array([0.01, 0.97, 0.01, 0.01])
    others, moves = np.zeros((5, 2)), []
    for n_bad in (0, 30):
        own = np.column_stack([np.ones(30), np.arange(30) % 2])
        X = np.vstack([others, own, np.tile([0.0, 7.0], (n_bad, 1))])
        sums = []
        for k in (5, len(X)):
            rows = table(X[:k], np.minimum(np.arange(k), 5))
            asked = rows._prepared(rows._checked(Residuals(layout, parts)), 1)
            sums.append(rows._totals([asked])[0])
        moved = np.linalg.norm(np.asarray(sums[1], float) - np.asarray(sums[0], float))
        moves.append(moved / (sums[1].unit * float(asked.l2)))
    assert moves[0] == moves[1] <= 1


def test_a_class_of_others_may_have_the_name_of_one_of_the_house():
    @public
    @dataclass(frozen=True)
    class Powers(OneCell):
        size = 1

        def cells(self, block):
            return np.zeros(len(block), np.intp)

    from skdp.kernel import _bounded

    assert _bounded.Powers is not Powers
    assert table(np.ones((3, 1))).ask(Powers(), share=1, label="a").value.tolist() == [3]


@pytest.mark.parametrize("wrong", [3, len, dataclass(type("Open", (OneCell,), {}))])
def test_what_is_no_frozen_dataclass_is_not_public(wrong):
    with pytest.raises(TypeError, match="frozen"):
        public(wrong)


def test_rows_of_other_kinds_are_put_in_no_sets():
    cells = table(np.zeros((4, 2))).map(CELLS)
    with pytest.raises(ValueError, match="rows of numbers are put in sets"):
        cells.split(InPlaces(HOME), 1)
