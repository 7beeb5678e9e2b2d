"""Fields of few bits, and tiny shares, make nothing wrap that a bound speaks of."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget
from skdp.kernel._bins import LogBins, OctaveCells
from skdp.kernel._bounded import Bernstein, BoundedSums, Powers
from skdp.kernel._columns import ColumnBins, ColumnCells
from skdp.kernel._plain import own
from skdp.kernel._ranks import RankScores, Thresholds
from skdp.kernel._statistic import Offer, Shape
from skdp.kernel._sums import BoxProducts, Distances, LengthsNear

ROWS = np.array([[x] for x in (-1e308, -200.0, -128.0, -0.5, 0.0, 0.1, 127.0, 200.0, 1e308)])
OFFERS = [Offer(budget, 0.5, 1) for budget in (Budget.gaussian(9.0, 1e-6), Budget.pure(9.0))]
ENDS = [
    ([100], [-100], np.int8),
    ([-100], [100], np.int8),
    ([-128], [127], np.int8),
    ([200], [100], np.uint8),
    ([0.1], [1 / 3], np.float32),
    ([0.1], [0.7], np.float16),
]


@pytest.mark.parametrize(("low", "high", "dtype"), ENDS)
@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.budget.measure)
@pytest.mark.parametrize("cls", [Powers, Bernstein, BoundedSums])
def test_bounds_of_few_bits(cls, low, high, dtype, offer):
    degree = () if cls is BoundedSums else (1,)
    asked = cls(np.array(low, dtype), np.array(high, dtype), *degree)
    if low > high:
        with pytest.raises(ValueError):
            asked.check(Shape(1))
        return
    asked.check(Shape(1))
    asked = asked.at(offer)
    rows = asked.contributions(np.vstack([ROWS, [high], [low]]))
    for row in rows.tolist():
        assert sum(v * v for v in row) <= asked.squared_l2 and sum(map(abs, row)) <= asked.l1


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.budget.measure)
@pytest.mark.parametrize(("low", "high", "dtype"), [([-128], [127], np.int8), ([-1], [1], "f2")])
def test_starts_of_few_bits(low, high, dtype, offer):
    ends = np.array([low, high], dtype)
    for start in (ends, ends[:1].repeat(2, 0), ends[::-1]):
        asked = BoundedSums(*np.array([[-200.0], [300.0]]), start=start)
        if start[0] > start[1]:
            with pytest.raises(ValueError, match="low not above high"):
                asked.check(Shape(1))
            continue
        asked.check(Shape(1))
        asked = asked.at(offer)
        rows = asked.contributions(np.array([[-1e9], [-200.0], [0.0], [300.0], [1e9]]))
        sizes = [sum(v * v for v in row) for row in rows.tolist()]
        assert max(sizes) == asked.squared_l2


def test_thousandths_of_few_bits_do_not_wrap():
    parts = np.array([999, 500], np.int16)
    asked = Thresholds(np.zeros(2, int), np.zeros(2), parts, np.zeros(2))
    asked.check(Shape(1))
    block = np.ones((20_000, 1))
    assert asked.total(block).tolist() == [-999 * 20_000, -500 * 20_000]


def test_bounds_of_scores_are_integers_of_python():
    grid = np.zeros(3)
    asked = RankScores(0, np.int32(1), np.int32(10**6), grid, grid)
    assert asked.squared_l2 == 3 * (10**6 - 1) ** 2


@pytest.mark.parametrize("share", [0.5, Fraction(1, 10**307)])
def test_scores_move_by_at_most_a_rank_whatever_the_share(share):
    grid, nats = np.arange(5.0), np.array([0.0, 1e308, 0.0, 1e-300, 3.0])
    asked = RankScores(0, 1, 2, grid, nats).at(replace(OFFERS[1], share=share))
    exact = np.array([0, 1, -1, 0, 7])
    for step in (-1, 1):
        with np.errstate(all="ignore"):
            moved = asked.scores(exact + step) - asked.scores(exact)
        assert np.abs(moved).max() <= asked.most
    with pytest.raises(ValueError):
        replace(asked, nats=-nats).check(Shape(1))


def test_cells_are_made_of_integers_that_do_not_wrap():
    cells = OctaveCells(np.int16(2046), np.int16(2047), np.int8(5))
    asked = own(ColumnCells(np.array([0]), (cells,)))
    asked.check(Shape(1))
    assert [type(x) for x in vars(asked.cells[0]).values()] == [int] * 3
    assert asked.cells[0].n_cells == 2 * 2**5 + 1


WIDE = [
    (np.int8(-3), int),
    (np.uint64(2**63), int),
    (np.float32(0.1), float),
    (np.longdouble(0.5), float),
    (np.bool_(True), bool),
    (np.str_("a"), str),
    (np.array([-3], np.int8), np.int64),
    (np.array([255], np.uint8), np.int64),
    (np.array([2**63], np.uint64), np.uint64),
    (np.array([0.1], np.float16), np.float64),
    (np.array([0.5], ">f4"), np.float64),
    (np.array([7], ">i8"), np.int64),
    (np.array([True]), np.bool_),
]


@pytest.mark.parametrize(("given", "kind"), WIDE)
def test_a_question_is_made_of_numbers_that_do_not_wrap(given, kind):
    (copy,) = own((given,))
    assert np.array_equal(copy, given)
    assert copy.dtype == kind if isinstance(given, np.ndarray) else type(copy) is kind
    assert not isinstance(copy, np.ndarray) or copy.dtype.isnative


def test_a_number_that_is_an_array_becomes_a_number():
    bins = own(LogBins(np.int8(100), np.array(-100, np.int8), np.array(100)))
    assert type(bins.low) is type(bins.high) is int and bins.n_bins == 20_002


def test_an_array_without_entries_is_no_array_of_columns():
    asked = own(ColumnBins(np.array(1.0), np.ones(1), LogBins(1)))
    assert isinstance(asked.center, np.ndarray) and asked.center.shape == ()
    with pytest.raises(ValueError, match="shape"):
        asked.check(Shape(1))


NO_BINS = [(0, 0, 4), (1, 4, 4), (1, 9, -9), (-1, 9, -9), (2**40, 0, 1), (1, 0, 2**40)]
CENTER = np.zeros(1)
OF_BINS = {
    "Distances": lambda bins: Distances(CENTER, bins),
    "ColumnBins": lambda bins: ColumnBins(CENTER, CENTER + 1, bins),
    "ColumnBins in line": lambda bins: ColumnBins(CENTER, CENTER + 1, bins, "in line"),
    "joined ColumnBins": lambda bins: ColumnBins(CENTER, CENTER + 1, bins, "apart", np.arange(2)),
    "LengthsNear": lambda bins: LengthsNear(np.array([0]), 1.0, bins),
}


@pytest.mark.parametrize("made", OF_BINS.values(), ids=OF_BINS)
def test_bins_that_no_histogram_has_are_refused(made):
    for bins in NO_BINS:
        made(LogBins(1, 0, 4)).check(Shape(1))
        with pytest.raises(ValueError):
            made(LogBins(*bins)).check(Shape(1))


@pytest.mark.parametrize("ends", [(0, np.inf), (-np.inf, 0), (-np.inf, np.inf), (1, 1), (1, 0)])
def test_boxes_without_ends_are_refused(ends):
    with pytest.raises(ValueError):
        BoxProducts(*np.array(ends, dtype=float)[:, None], 100.0).check(Shape(1))
