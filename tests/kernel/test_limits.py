"""Limits that checks name: the last field that is accepted, and the first that is refused."""

import math

import numpy as np
import pytest

from skdp.kernel import _friends
from skdp.kernel._bins import LogBins
from skdp.kernel._cells import Binned, Codes, Pair, Steps
from skdp.kernel._clusters import DEEPEST, GridCells, LineCells, Nearest, NearestLifted
from skdp.kernel._columns import ColumnBins, WeighedCells
from skdp.kernel._friends import RingColumns, SoftCore, SparseRing
from skdp.kernel._histograms import HistogramCounts, OfUsers, UserCounts
from skdp.kernel._labels import Coded
from skdp.kernel._lattice import BallCover, LocatedBall, Subspace
from skdp.kernel._layout import LARGEST, Layout, check_layout
from skdp.kernel._residual_sums import PairDistances
from skdp.kernel._residuals import RangeResiduals
from skdp.kernel._statistic import MOST_CELLS, Shape
from skdp.kernel._sums import Distances
from skdp.kernel._terms import Clipped, FeatureCells, Logistic, ResidualSum, TermScores
from skdp.kernel._totals import limit_of
from skdp.kernel.applied._scores import PrefixCells, ScoreCells
from skdp.kernel.pairs._distance import MOST_ROWS, DistancePredicate, soft_core_sensitivity
from skdp.readers._labels import LevelNumbers

ZERO, ONE, CELLS = np.zeros(1), np.ones(1), Shape(2, "cells", (3,))
BALL = LocatedBall(9.0, 1.0, ZERO, 1.0, 1.0)
EDGES = np.array([0.0, 1.0, 2.0])
NONE = np.zeros((1, 0), dtype=np.int64)


def whole(*numbers):
    return np.array(numbers, dtype=np.int64)


def lifted(length):
    """Return centres in a box whose half widths have a length."""
    return NearestLifted(BALL, (Subspace(None, ONE * length),), (np.zeros((1, 1)),))


def scores(largest):
    """Return residuals of a model whose scores are that large."""
    return ResidualSum(TermScores(whole([1]), (whole([largest - 1, 0, 0]),)), Logistic())


def lines(n_cells, length=1.0):
    v = np.full((2, 1), length)
    return LineCells(Nearest(BALL, v), v, np.ones(2), v, whole(1, n_cells - 1), np.ones(2))


def steepest(entry):
    return WeighedCells(whole(0), (EDGES,), (whole([entry, 0]),))


def tall(n):
    return WeighedCells(whole(0), (EDGES,), (np.ones((n, 2), dtype=np.int64),))


def moments(gain, entry=1, levels=2):
    matrix = np.zeros((levels - 1, levels - 1), dtype=np.int64)
    matrix[0, 0] = entry
    return RangeResiduals((levels,), gain, (matrix,))


def prefixes(n_bins):
    return PrefixCells((0,), np.arange(n_bins + 1.0)[None], (1,))


def curves(n_bins, n_rows=1):
    ends = np.zeros((1, n_rows, 2, n_bins), dtype=np.int64)
    return ScoreCells(np.arange(n_bins + 1.0)[None], (1,), ends, ends)


def pairs(n_levels, n=1.0):
    """Return tables of one column of 2^12 levels and one of others."""
    return PairDistances(n, (np.zeros(n_levels), np.zeros(2**12)))


# Name -> Shape, a function of a number, the last that is accepted, and the first that is not.
LAST = {
    "cells of columns": (Shape(1), lambda n: Coded((LevelNumbers(n),)), 2**24, 2**24 + 1),
    "a cell of a column": (Shape(1), lambda n: Coded((LevelNumbers(n),)), 1, 0),
    "long directions": (Shape(1), lambda x: Subspace(ONE[None] * x, ONE), 2.0**300, 2.0**301),
    "short directions": (Shape(1), lambda x: Subspace(ONE[None] * x, ONE), 2.0**-300, 2.0**-301),
    "long lines": (Shape(1), lambda x: lines(9, x), 1.19, 1.21),
    "cells of lines": (Shape(1), lines, 2**DEEPEST, 2**DEEPEST + 1),
    "half widths": (Shape(1), lifted, 7.5, 7.6),
    "halvings of a box": (
        Shape(1),
        lambda n: GridCells(BALL, Subspace(None, ONE), n, 2),
        DEEPEST,
        DEEPEST + 1,
    ),
    "a level of a box": (Shape(1), lambda n: GridCells(BALL, Subspace(None, ONE), 5, n), 5, 6),
    "cells of a level": (
        Shape(1),
        lambda i: GridCells(BALL, Subspace(None, ONE), 5, 2, whole(i)),
        3,
        4,
    ),
    "steps of targets": (
        Shape(2),
        lambda n: Binned((3,), Steps(0.0, 1.0, 2.0**20, n)),
        2**20,
        2**20 + 1,
    ),
    "a step of targets": (Shape(2), lambda n: Binned((3,), Steps(0.0, 1.0, 1.0, n)), 1, 0),
    "cells of features": (
        Shape(3),
        lambda n: Binned((n, 3), Codes(1)),
        MOST_CELLS - 3,
        MOST_CELLS - 2,
    ),
    "bins": (Shape(1), lambda n: Distances(ZERO, LogBins(n, 0, 1)), MOST_CELLS - 2, MOST_CELLS - 1),
    "octaves": (Shape(1), lambda n: Distances(ZERO, LogBins(1, n, 3)), 2, 3),
    "joined bins": (
        Shape(1),
        lambda n: Distances(ZERO, LogBins(1, 0, 1), None, whole(0, n)),
        2,
        3,
    ),
    "bins of columns": (
        Shape(2),
        lambda n: ColumnBins(np.zeros(2), np.ones(2), LogBins(n, 0, 1), "apart"),
        2**22 - 2,
        2**22 - 1,
    ),
    "bins in line": (
        Shape(1),
        lambda n: ColumnBins(ZERO, ONE, LogBins(n, 0, 1), "in line"),
        2**23 - 2,
        2**23 - 1,
    ),
    "measured entries": (Shape(1), steepest, 2**22, 2**22 + 1),
    "measurements": (Shape(1), tall, 2**14, 2**14 + 1),
    "bins of differences": (
        Shape(4, "sample"),
        lambda n: RingColumns(LogBins(n, 0, 1), 4),
        2**22 - 2,
        2**22 - 1,
    ),
    "columns of differences": (Shape(4, "sample"), lambda n: RingColumns(LogBins(1), n), 4, 3),
    "bins of sparse differences": (
        Shape(4, "sample"),
        lambda n: SparseRing((0, 3), 1, LogBins(n, 0, 1)),
        2**23 - 2,
        2**23 - 1,
    ),
    "cells of a grid": (
        Shape(2),
        lambda n: HistogramCounts((0, 1), (np.arange(2**12), np.arange(n)), (True, True)),
        2**12,
        2**12 + 1,
    ),
    "rows of a user": (Shape(1, "users"), lambda n: UserCounts(3, n, 1), 2**62, 2**62 + 1),
    "rows of a user in a cell": (Shape(1, "users"), lambda n: UserCounts(3, 2, n), 2, 3),
    "a row of a user": (Shape(2), lambda n: OfUsers((0,), (EDGES,), (True,), 1, 2, n), 1, 0),
    "levels of ranges": (Shape(1), lambda n: moments(1, levels=n), 2**10, 2**10 + 1),
    "gains of ranges": (Shape(1), moments, 2**30 - 1, 2**30),
    "entries of ranges": (Shape(1), lambda n: moments(1, n), 2**30 - 1, 2**30),
    "entries of rare levels": (Shape(1), lambda n: moments(1, n), 1, 0),
    "tables of pairs": (Shape(2), pairs, 2**12, 2**12 + 1),
    "rows of pairs": (Shape(2), lambda n: pairs(2, n), 2.0**36, 2.0**37),
    "levels of pairs": (Shape(2), pairs, 2, 1),
    "scores": (CELLS, scores, 2**61, 2**61 + 1),
    "residuals": (
        CELLS,
        lambda r: ResidualSum(scores(9).scores, Clipped(r)),
        2**30,
        2**30 + 1,
    ),
    "features": (CELLS, lambda j: ResidualSum(scores(9).scores, Logistic(), j), 0, 1),
    "cells of a view": (Shape(1, "cells", (3,)), lambda n: FeatureCells((n,)), 3, 4),
    "prefixes": (Shape(2), prefixes, 2**13 + 4, 2**13 + 5),
    "bins of scores": (Shape(2), curves, 2**14, 2**14 + 1),
    "sums of scores": (Shape(2), lambda n: curves(1, n), 2**14, 2**14 + 1),
}


@pytest.mark.parametrize(("shape", "made", "last", "beyond"), LAST.values(), ids=LAST)
def test_fields_up_to_a_limit_are_accepted(shape, made, last, beyond):
    made(last).check(shape)
    with pytest.raises(ValueError):
        made(beyond).check(shape)


@pytest.mark.parametrize(("left", "right"), [(2, 4), (4, 3), (3, 3), (2, 5)])
def test_merged_cells_are_those_of_both_features(left, right):
    ones = [np.zeros(n, dtype=np.int64) for n in (3, 4, left, right)]
    Binned((3, 4), Codes(2), (Pair(0, 1, *ones[:2]),)).check(Shape(3))
    with pytest.raises(ValueError, match="a merged cell for every cell"):
        Binned((3, 4), Codes(2), (Pair(0, 1, *ones[2:]),)).check(Shape(3))


def test_the_largest_tables_of_a_layout():
    singles = whole([0], [1])
    for levels, fits in (((LARGEST - 3, 3), True), ((LARGEST - 2, 3), True), ((LARGEST, 3), False)):
        layout = Layout(levels, (NONE, singles))  # 1 + sum of levels - 2 coordinates
        if fits:
            check_layout(layout, 2)
        else:
            with pytest.raises(ValueError, match="coordinates"):
                check_layout(layout, 2)


@pytest.mark.parametrize("radius", [2.0**-1000, 2.0**1000])
def test_radii_of_friends(radius):
    assert DistancePredicate(radius).limit == 1.0
    beyond = radius / 2 if radius < 1 else radius * 2
    with pytest.raises(ValueError, match="radius must be between"):
        DistancePredicate(beyond)


CORES = [
    (1, 1, True),
    (0, 1, False),
    (2 * MOST_ROWS - 2**26, MOST_ROWS, True),
    (2 * MOST_ROWS - 2**26, MOST_ROWS + 1, False),
    (100, 50, False),
    (100, 53, True),
    (100, 52, False),
    (200, 106, True),
    (200, 105, False),
]


@pytest.mark.parametrize(("up", "low", "fits"), CORES)
def test_cores_that_counts_make_certain(monkeypatch, up, low, fits):
    monkeypatch.setattr(_friends, "_most_rows", lambda table, ticket: up)
    monkeypatch.setattr(_friends, "_least_h", lambda table, radius, ticket: low)
    found = SoftCore(1.0, 0, 1).bounds(None)
    assert found == ((up, low) if fits else None)
    if fits:
        bound = soft_core_sensitivity(n_up=up, h_low=low, radius=1.0, grid=2.0**-21, d=2)
        assert math.isfinite(bound)


@pytest.mark.parametrize(
    ("q", "limit"), [(0.0, 0), (0.5, 2**63), (1 - 2.0**-53, 2**64 - 2**11), (1.0, 2**64 - 1)]
)
def test_keys_are_drawn_up_to_the_largest(q, limit):
    assert int(limit_of(q)) == limit == int(limit_of(min(q, 2.0)))
    assert int(limit_of(7.0)) == 2**64 - 1


def test_a_cover_has_places():
    with pytest.raises(ValueError):
        BallCover((), 1.0, 1.0).check(Shape(1))
