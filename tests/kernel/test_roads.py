"""Pairs that are too long whoever made them so, cells of large features, and tables of no rows."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.kernel import _bounded
from skdp.kernel._bounded import Bernstein, BoxedSquares, Powers
from skdp.kernel._cells import Binned, Codes, Held, InMemoryCells, cell_numbers
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._histograms import OfUsers, UserCounts
from skdp.kernel._lattice import LIMIT, BallCover, Lattice, LocatedBall
from skdp.kernel._parts import CappedPersons, PersonsWithMore, persons_table
from skdp.kernel._sums import Count
from skdp.kernel._table import Table
from skdp.kernel._terms import FeatureCells
from skdp.kernel.applied import _scores
from skdp.kernel.applied._scores import ScoreMoments, Scores
from skdp.mechanisms import _compiled
from skdp.readers import ArrayRows
from skdp.readers._persons import Persons
from tests.kernel.test_views import table

GRID, TOO_MUCH = 8, 1.7  # of few steps: many pairs are just longer than a bound
X = np.random.default_rng(0).uniform(-1, 1, size=600)
ONES = np.ones(2)
POWERS = Powers(-ONES, ONES, 2, bits=3)
SQUARES = BoxedSquares(ONES / 2, True, bits=3)
UNIT = np.array([-1.0, 1.0])
MOMENTS = ScoreMoments(Scores((UNIT, UNIT), (UNIT, UNIT)), 1, bits=3)
# Name -> statistic, weights of t, of t^2 and of a constant in a pair, the bound of its length
PAIRS = {
    "powers": (POWERS, np.sqrt(8 / 9), 4 / 3, 1.0, GRID + 1),
    "powers by entries": (replace(POWERS, entries=True), np.sqrt(8 / 9), 4 / 3, 1.0, GRID + 1),
    "squares": (SQUARES, 1.0, 1.0, 0.5, int(np.ceil(GRID * np.sqrt(1.25))) + 2),
    "squares, pure": (replace(SQUARES, pure=True), 1.0, 1.0, 0.5, int(1.5 * GRID) + 2),
    "scores": (MOMENTS, 1.0, 1.0, 1.0, GRID + 1),
}


def wrong_gains(monkeypatch, compiled):
    """Let the first numbers of pairs be larger than any row makes them."""
    sums, pairs = _bounded.pair_sums, _bounded.short_pairs
    if not compiled:
        monkeypatch.setattr(_compiled, "loops", None)

    def long_sums(*given, gain, **how):
        return sums(*given, gain=TOO_MUCH * gain, **how)

    def long_pairs(first, *others, **how):
        return pairs(TOO_MUCH * first, *others, **how)

    monkeypatch.setattr(_bounded, "pair_sums", long_sums)
    for room in (_bounded, _scores):
        monkeypatch.setattr(room, "short_pairs", long_pairs)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("statistic", "gain", "factor", "level", "longest"), PAIRS.values(), ids=PAIRS
)
def test_pairs_that_are_too_long_add_nothing(
    monkeypatch, statistic, gain, factor, level, longest, compiled
):
    wrong_gains(monkeypatch, compiled)
    block = np.column_stack([X, X] if statistic is not MOMENTS else [X, X, 0 * X])
    rows = statistic.contributions(block).reshape(len(X), -1)
    first = np.rint(TOO_MUCH * GRID * gain * X).astype(int)
    second = np.rint(GRID * (factor * X**2 - level)).astype(int)
    pure = getattr(statistic, "pure", False)
    length = np.abs(first) + np.abs(second) if pure else np.sqrt(first**2 + second**2)
    assert (length == longest).any() or not pure
    assert ((length > longest) & (length <= longest + 1)).any()  # the bound is met to a unit
    kept = length <= longest
    for j in (0, 1):
        np.testing.assert_array_equal(rows[:, j], kept * first)
        np.testing.assert_array_equal(rows[:, 2 + j], kept * second)


@pytest.mark.parametrize("n", [255, 256, 257, 300, 2**16 + 1])
def test_cells_of_large_features_do_not_wrap(n):
    codes = np.array([[0.0], [254.0], [n - 2.0], [n - 1.0], [n], [np.nan]])
    wanted = [0, min(254, n - 1), n - 2, n - 1, n - 1, n - 1]
    assert cell_numbers(codes, (n,))[:, 0].tolist() == wanted
    edges = np.arange(n - 2.0)
    wanted = [0, min(254, n - 2), *[n - 2] * 3, n - 1]
    assert cell_numbers(codes, (edges,))[:, 0].tolist() == wanted


def test_a_table_of_no_rows_has_cells():
    view = table(np.zeros((0, 2))).map(Binned((3,), Codes(1)))
    told = view.ask(FeatureCells((3,)), share=1, label="a").value
    assert told.tolist() == [0, 0, 0]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_persons_count_as_many_times_as_their_rows_weigh(more):
    curator = table(np.zeros((1, 1)))._curator
    persons = Persons(np.array([0, 0, 0, 0, 0, 1, 1, 2, 3]), 5)
    view = persons_table(persons, curator).map(CappedPersons(2))
    weights, sizes = persons.weights(2, curator.coins)[0], persons.sizes()
    of_persons = np.bincount(persons.codes, weights.astype(float), minlength=5)
    told = view.ask(PersonsWithMore(more), share=1, label="a").value
    assert (told * view._rows.unit == of_persons[sizes > more].sum()).all()
    assert of_persons[0] < of_persons[1] == 2 * of_persons[2]  # five rows weigh as two


@pytest.mark.parametrize(("distance", "seen"), [(1.0, True), (15.9, True), (16.1, False)])
def test_rows_of_a_place_are_compared_with_centres_near_it(distance, seen):
    home = LocatedBall(9.0, 1.0, np.zeros(2), 1.0, 1.0)
    away = LocatedBall(9.0, 1.0, np.array([100.0, 0.0]), 2.0, 1.0)
    y = np.array([[0.0, 0.0], [100.0, 0.0], [100.0, 2.0 * distance]])
    (first, at_home), (second, at_away) = Lattice(BallCover((home, away), 9.0, 1.0)).points(y)
    assert first.tolist() == [0] and second.tolist() == ([1, 2] if seen else [1])
    assert len(at_home) == 1 and len(at_away) == len(second) and LIMIT == 16.0


@pytest.mark.parametrize(("per_user", "per_cell"), [(99, 99), (3, 3), (3, 1), (1, 1)])
def test_users_keep_as_many_rows_as_the_caps_say(per_user, per_cell):
    rng = np.random.default_rng(0)
    user, cell = rng.integers(0, 9, size=200), rng.integers(-1, 4, size=200)
    block = np.column_stack([cell + 0.5, user])
    block[:5, 0] = np.nan
    asked = OfUsers((0,), (np.arange(4.0),), (False,), 1, per_user, per_cell)  # cells 0 to 2
    view = table(block).map(asked)
    there = (cell >= 0) & (cell < 3) & (np.arange(200) >= 5)
    table_of = np.zeros((9, 3), dtype=int)
    np.add.at(table_of, (user[there], cell[there]), 1)
    kept = [view._rows._block[[i]].cells for i in range(9)]
    for own, has in zip(kept, table_of, strict=True):
        counts = np.bincount(own, minlength=3)
        assert (counts <= np.minimum(has, per_cell)).all()
        assert counts.sum() == min(per_user, np.minimum(has, per_cell).sum())
    told = view.ask(UserCounts(3, per_user, per_cell), share=1, label="a")
    np.testing.assert_array_equal(told.real, sum(np.bincount(own, minlength=3) for own in kept))


@pytest.mark.parametrize("w", [-0.5, 1.5])
def test_polynomials_beyond_their_interval_add_nothing(w):
    asked = Bernstein(np.zeros(2), np.ones(2), 2, bits=10)
    columns = asked._columns(np.array([[w, 0.5], [0.25, w]]))  # that no clipped entry has
    for column, inside in zip(columns, (256, 512, 256), strict=True):
        assert column[0].tolist() == [0, inside] and column[1, 1] == 0
    assert sum(column[1, 0] for column in columns) == 1024


@pytest.mark.parametrize("in_memory", [True, False])
def test_rows_are_held_in_memory_where_their_source_is(in_memory):
    rows = ArrayRows(np.arange(8.0).reshape(4, 2))
    rows.in_memory = in_memory
    whole = Table(rows, table(np.zeros((1, 1)))._curator).map(SomeColumns(np.array([1])))
    held = whole.map(Held())
    assert (held._rows is whole._rows) == (not in_memory)
    assert isinstance(held.map(Binned((), Codes(9)))._rows, InMemoryCells) == in_memory
    assert [view.ask(Count(), share=0.1, label="a").value for view in (whole, held)] == [4, 4]


def test_cells_of_one_row_of_each_person_are_those_of_persons():
    drawn = table(np.ones((6, 2)), np.arange(6) // 2).drawn()
    view = drawn.map(Binned((3,), Codes(2)))
    assert view.heads == drawn.heads is not None
    told = view.ask(FeatureCells((3,)), share=1, label="a").value
    assert told.tolist() == [0, 3, 0]
