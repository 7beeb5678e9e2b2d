"""Bins, cells and balls hold what their definitions say, by exact arithmetic."""

import bisect
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.cluster._synopsis import (
    box_of,
    half_widths,
    inside,
    joined,
    some_places,
    to_data,
    to_units,
)
from skdp.columns._magnitude_histogram import OctaveEnds, octaves_around
from skdp.kernel._bins import LARGEST, LogBins, OctaveCells, UniformCells
from skdp.kernel._lattice import FARTHEST, LIMIT, SMALLEST, BallCover, LocatedBall
from skdp.kernel._lattice import LARGEST as BIGGEST
from skdp.kernel._statistic import Shape
from skdp.kernel._sums import FarthestEntry
from skdp.kernel.pairs._distance import DistancePredicate

NUMBERS = np.array(
    [
        *(0.0, 5e-324, 1e-310, 2.0**-1022, 0.4, 0.5, 0.75, 1.0, 1.0000000000000002, 1.4, 1.5),
        *(2.0, 3.0, 4.0, 7.999999, 8.0, 9.0, 1e20, 1e300, LARGEST),
    ]
)


def bin_of(x, bins):
    """Return the bin of a number by its definition: the part of an octave that it is in."""
    if math.isnan(x):
        return -1
    last = bins.per_octave * (bins.high - bins.low) + 1
    if x == 0 or math.isinf(x):
        return last if x else 0
    power = Fraction(x) ** bins.per_octave  # its octave is the floor of p log2 x
    octave = power.numerator.bit_length() - power.denominator.bit_length()
    octave -= Fraction(2) ** octave > power
    return min(max(octave - bins.low * bins.per_octave + 1, 0), last)


@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize(("low", "high"), [(-1074, 1024), (-1, 3), (0, 1), (1, 1024)])
def test_bins_of_octaves(p, low, high):
    bins = LogBins(p, low, high)
    x = np.append(NUMBERS, [np.inf, np.nan])
    index = bins.index(x)
    assert index.tolist() == [bin_of(v, bins) for v in x.tolist()]
    counts = np.bincount(index[index >= 0], minlength=bins.n_bins)
    np.testing.assert_array_equal(bins.counts(x), counts)
    columns = np.column_stack([x, x[::-1], np.full(len(x), 2.0)])
    apart = np.array([bins.counts(column) for column in columns.T])
    np.testing.assert_array_equal(bins.column_counts(columns), apart)
    assert len(counts) == p * (high - low) + 2
    for i in range(1, min(len(counts) - 1, 50)):
        edge = bins.upper_edge(i)
        assert edge == pytest.approx(2.0 ** (low + i / p)) or low < -1000
        assert (
            bins.index(np.array([edge * (1 - 1e-9), edge * (1 + 1e-9)])).tolist() == [i, i + 1]
            or edge < 1e-300
        )
    assert bins.upper_edge(0) == bins.upper_edge(-1) == (0.0 if low == -1074 else 2.0**low)
    last = bins.upper_edge(len(counts) - 1)
    assert last == (LARGEST if high == 1024 else pytest.approx(2.0 ** (high + 1 / p)))


@pytest.mark.parametrize(
    ("value", "below", "above", "octaves"),
    [
        (1.0, 2, 3, (-1, 4)),
        (1.5, 2, 3, (-1, 4)),
        (0.0, 2, 3, (-1074, -1071)),
        (-1.0, 2, 3, (-1074, -1071)),
        (math.inf, 2, 3, (1022, 1024)),
        (5e-324, 9, -5, (-1074, -1073)),
        (1e308, -9, 2, (1023, 1024)),
    ],
)
def test_bins_around_a_number(value, below, above, octaves):
    assert LogBins.around(value, per_octave=4, below=below, above=above) == LogBins(4, *octaves)


@pytest.mark.parametrize(
    ("bins", "fits"),
    [
        (LogBins(1, 0, 1), True),
        (LogBins(0, 0, 1), False),
        (LogBins(1, 1, 1), False),
        (LogBins(2**24 - 2, 0, 1), True),
        (LogBins(2**24 - 1, 0, 1), False),
        (OctaveCells(0, 1, 0), True),
        (OctaveCells(-1, 1, 0), False),
        (OctaveCells(2046, 1, 6), True),
        (OctaveCells(2047, 1, 0), False),
        (OctaveCells(0, 0, 0), False),
        (OctaveCells(0, 1, 7), False),
        (OctaveCells(0, 1, -1), False),
        (UniformCells(0.0, 1.0, 2**20), True),
        (UniformCells(0.0, 1.0, 2**20 + 1), False),
        (UniformCells(0.0, 1.0, 1), True),
        (UniformCells(0.0, 1.0, 0), False),
        (UniformCells(0.0, 0.0, 1), False),
    ],
)
def test_bins_that_no_histogram_has_are_refused(bins, fits):
    if fits:
        bins.check(Shape(1))
    else:
        with pytest.raises(ValueError):
            bins.check(Shape(1))


@pytest.mark.parametrize("first", [0, 1, 1020, 2040])
@pytest.mark.parametrize("octaves", [1, 5, 2047])
@pytest.mark.parametrize("halvings", [0, 1, 3])
def test_cells_of_octaves(first, octaves, halvings):
    cells = OctaveCells(first, octaves, halvings)
    last, parts = min(first + octaves, 2047), 2**halvings
    whole = [Fraction(2) ** (i - 1023) if i else Fraction(0) for i in range(first, last + 1)]
    pairs = itertools.pairwise(whole)
    ends = [a + (b - a) * j / parts for a, b in pairs for j in range(parts)] + whole[-1:]
    ends = ends[: cells.n_side + 1]
    assert (
        cells.n_side == min(octaves, 2047 - first) * parts and cells.n_cells == 2 * cells.n_side + 1
    )
    exact = [float(e) if e < 2**1024 else LARGEST for e in ends]
    told = OctaveEnds(cells)
    assert told.edges.tolist() == exact
    assert told.high.tolist() == [-e for e in exact[-2::-1]] + exact
    assert told.low.tolist() == [-e for e in exact[::-1]] + exact[:-1]
    assert told.size.tolist() == np.maximum(-told.low, told.high).tolist()
    octave = np.arange(cells.n_side) // parts + first - 1022
    assert told.octave.tolist() == [*octave[::-1], 0, *octave]
    near = np.array(exact[:4] + exact[-3:])
    with np.errstate(over="ignore"):
        near = np.concatenate([np.nextafter(near, 0), near, np.nextafter(near, np.inf)])
    x = np.array([v for v in [*NUMBERS, *near] if np.isfinite(v)])
    x = np.concatenate([x, -x, [-0.0]])
    counts = np.zeros(cells.n_cells, dtype=int)
    for v in x.tolist():
        side = bisect.bisect_left(ends, Fraction(abs(v)))  # cells are open below
        if side <= cells.n_side:
            counts[cells.n_side + (side if v > 0 else -side)] += 1
    np.testing.assert_array_equal(cells.counts(x), counts)


def test_cells_around_a_length():
    assert octaves_around(1.0, below=2, above=3, halvings=4) == OctaveCells(1020, 6, 4)
    assert octaves_around(5e-324, below=2, above=3, halvings=0) == OctaveCells(0, 4, 0)
    assert octaves_around(1.7e308, below=-9, above=-20, halvings=0) == OctaveCells(2046, 1, 0)
    assert octaves_around(1.0, below=0, above=-3, halvings=0) == OctaveCells(1022, 1, 0)


def test_cells_of_one_width():
    cells = UniformCells(-1.0, 0.25, 12)
    x = np.concatenate(
        [np.arange(-9, 20) / 8, [-1.0, np.nextafter(-1, 0), 2.0, np.nextafter(2, 3), 1e300]]
    )
    wanted = [sum(-1 + i / 4 < v <= -1 + (i + 1) / 4 for v in x.tolist()) for i in range(12)]
    assert cells.counts(x).tolist() == wanted
    wanted[0] += np.count_nonzero(x <= -1)
    wanted[-1] += np.count_nonzero(x > 2)
    assert UniformCells(-1.0, 0.25, 12, closed=True).counts(x).tolist() == wanted


# -- balls: numbers that floats hold exactly

HOME = LocatedBall(40.0, 3.0, np.array([8.0, -4.0]), 2.0, 1.0, True, 4.0)
AWAY = LocatedBall(20.0, 3.0, np.array([72.0, -4.0]), 0.5, 0.25, True, 2.0)
COVER = BallCover((HOME, AWAY), 60.0, 5.0)


def test_the_coordinates_of_a_ball():
    assert HOME.balls == (HOME,) and HOME.kept == 2 * 4 * 2 and HOME.view(0) == (0.0, 1.0)
    plain = LocatedBall(1.0, 1.0, np.zeros(1), 1.0, 1.0)
    assert plain.seen and plain.reach == 1 and plain.box is None
    assert SMALLEST == 2.0**-1000 == 1 / BIGGEST and AWAY.kept == 2 * 2 * 0.5
    assert HOME.units(np.zeros((3, 2))).tolist() == [1, 1, 1] and LIMIT == 16
    y = to_units(HOME, np.array([[10.0, -4.0], [8.0, 0.0], [np.nan, -4.0]]))
    assert y.tolist() == [[1, 0], [0, 2], [0, 0]]
    assert to_data(HOME, y[:2]).tolist() == [[10, -4], [8, 0]]
    far = to_units(HOME, np.array([[1e9, -4.0], [np.inf, -4.0], [-np.inf, -4.0], [1e9, 1e9]]))
    np.testing.assert_allclose(far[:3], [[16, 0], [16, 0], [-16, 0]])
    np.testing.assert_allclose(far[3], 16 / math.sqrt(2))
    assert half_widths(HOME).tolist() == [4, 4] and inside(HOME, far) is far
    box = np.array([7.0, -20.0]), np.array([9.0, 100.0])
    boxed = LocatedBall(40.0, 3.0, HOME.center, 2.0, 1.0, True, 4.0, box)
    assert half_widths(boxed).tolist() == [0.5, 4]
    assert inside(boxed, np.array([[0.0, 200.0]])).tolist() == [[7, 100]]
    assert joined(HOME, ["cells"]) == "cells"


def test_the_coordinates_of_several_balls():
    assert COVER.radius == 2 and COVER.center is HOME.center
    assert box_of(COVER) is None and half_widths(COVER).tolist() == [math.inf] * 2
    y = to_units(COVER, np.array([[10.0, -4.0], [72.0, -4.0], [1e308, -1e308]]))
    assert y[:2].tolist() == [[1, 0], [32, 0]] and np.abs(y[2]).max() == FARTHEST
    assert to_data(COVER, y[:2]).tolist() == [[10, -4], [72, -4]]
    assert COVER.view(0)[0].tolist() == [0, 0] and COVER.view(0)[1] == 1
    assert COVER.view(1)[0].tolist() == [32, 0] and COVER.view(1)[1] == 0.25
    assert COVER.seen_from(1, y[:2]).tolist() == [[-124, 0], [0, 0]]
    points = np.array([[0.0, 0.0], [8.0, 0.0], [32.5, 0.0], [31.0, 0.0], [33.01, 0.0], [20.0, 0.0]])
    assert COVER.owners(points).tolist() == [0, 0, 1, 1, 1, 0]
    edge = BallCover(
        (HOME, LocatedBall(20.0, 3.0, np.array([40.0, -4.0]), 2.0, 1.0, True, 4.0)), 1.0, 1.0
    )
    assert edge.owners(np.array([[8.0, 0.0], [8.0001, 0.0]])).tolist() == [0, 1]
    assert COVER.units(points).tolist() == [1, 1, 0.25, 0.25, 0.25, 1]
    box = np.array([0.0, -8.0]), np.array([16.0, 0.0])
    boxed = LocatedBall(40.0, 3.0, HOME.center, 2.0, 1.0, True, 4.0, box)
    assert half_widths(BallCover((boxed, AWAY), 60.0, 5.0)).tolist() == [4, 2]
    assert inside(BallCover((boxed,), 60.0, 5.0), np.array([[99.0, 0.0]])).tolist() == [[16, 0]]
    alone = some_places(COVER, [0])
    assert isinstance(alone, LocatedBall) and alone.n_sd == 5 and alone.n_rows == 40
    both = some_places(COVER, [0, 1])
    assert both.balls == COVER.balls and both.n_rows == 60 and both.n_sd == 5


def test_balls_so_far_apart_that_floats_end_have_coordinates():
    far = LocatedBall(20.0, 3.0, np.array([1e308, -1e308]), 2.0**-900, 1.0)
    tiny = LocatedBall(20.0, 3.0, np.array([-1e308, 0.0]), 2.0**-1000, 1.0)
    near = LocatedBall(1.0, 1.0, np.zeros(2), 1.0, 1.0)
    with np.errstate(over="ignore"):
        center, radius = BallCover((tiny, far), 1.0, 1.0).view(1)
        assert BallCover((tiny, near), 1.0, 1.0).view(1)[1] == FARTHEST
    assert center.tolist() == [FARTHEST, -FARTHEST] and radius == 2.0**100
    with pytest.raises(ValueError, match="radius is from"):
        LocatedBall(1.0, 1.0, np.zeros(1), 2.0**1000 * 1.001, 1.0).check(Shape(1))
    LocatedBall(1.0, 1.0, np.zeros(1), 2.0**1000, 1.0).check(Shape(1))


# -- friends: those that the rule finds pair by pair


def tables():
    """Yield tables of rows: one cloud, clouds far apart, a line, equal rows, large dimension."""
    rng = np.random.default_rng(0)
    yield rng.normal(size=(900, 3))
    yield rng.normal(size=(700, 2)) + 1e5 * rng.integers(0, 40, size=(700, 1))
    yield np.sort(rng.exponential(size=(800, 1)) * 300, axis=0)
    yield np.repeat(rng.integers(0, 4, size=(40, 2)).astype(float), 20, axis=0)
    yield rng.normal(size=(300, 60)) * 0.13
    yield np.concatenate(
        [
            rng.normal(size=(300, 2)),
            rng.normal(size=(20, 2)) * 10.0 ** rng.integers(0, 300, (20, 1)),
        ]
    )
    yield np.concatenate([[[np.nan, 0], [np.inf, 1], [0, 0]], rng.integers(0, 3, size=(60, 2))])
    yield 3e7 + np.cumsum(rng.uniform(0, 0.004, size=(600, 1)), axis=0)
    yield rng.normal(size=(500, 2)) * [1e6, 1.0]
    yield np.empty((0, 2))


@pytest.mark.parametrize("radius", [1.0, 1.5, 0.3])
def test_friends_are_those_of_the_rule(radius):
    friends = DistancePredicate(radius)
    for X in tables():
        with np.errstate(all="ignore"):
            Z = friends.rows(X)
            finite = np.isfinite(Z).all(axis=1)
            pairs = friends.rule_for_all(Z, Z) & finite[:, None] & finite
        np.testing.assert_array_equal(friends.friends(X), pairs.sum(axis=1))
        half = len(X) // 2
        np.testing.assert_array_equal(friends.friends(X, X[:half]), pairs[:, :half].sum(axis=1))
        np.testing.assert_array_equal(friends.friends(X[half:], X), pairs[half:].sum(axis=1))


def test_the_rule_is_that_of_pairs():
    friends, rng = DistancePredicate(3.0), np.random.default_rng(1)
    X, Y = rng.normal(size=(50, 4)), rng.normal(size=(50, 4))
    assert friends.unit == 2.0 and friends.limit == 1.5**2
    squares = [
        sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True))
        for x, y in zip(X.tolist(), Y.tolist(), strict=True)
    ]
    wanted = [square <= friends.limit for square in squares]
    assert friends.rule(X, Y).tolist() == wanted == np.diag(friends.rule_for_all(X, Y)).tolist()
    with pytest.raises(ValueError, match="same columns"):
        friends.friends(X, Y[:, :2])
    for bad in (2.0**-1001, 2.0**1001):
        with pytest.raises(ValueError, match="radius must be"):
            DistancePredicate(bad)
    assert (
        DistancePredicate(2.0**-1000).unit == 2.0**-1000 and DistancePredicate(2.0**1000).limit == 1
    )


@pytest.mark.parametrize("starts", [None, np.array([0, 3]), np.array([2, 4])])
def test_farthest_entries_by_their_definition(starts):
    bins, scale = LogBins(1, 0, 4), np.array([1.0, 2.0])
    asked = FarthestEntry(np.array([1.0, -1.0]), bins, scale, starts)
    z = np.array([[0, 0], [3, 0], [0, 3], [-9, 9], [1, -16], [0.1, 0.2], [3, np.nan], [99, 0]])
    wanted = []
    for row in z:
        j = int(np.abs(row).argmax())
        at = int(bins.index(np.abs(row[j : j + 1]))[0])
        length = int(bins.index(np.sqrt(np.square(row).sum(keepdims=True)))[0])
        known = [-1, *range(bins.n_bins)]
        if starts is not None:  # cells join bins, those before the first are none
            known = [-1, *(int((starts <= i).sum()) - 1 for i in range(bins.n_bins))]
        cell, far = known[at + 1], known[length + 1]
        n_cells = bins.n_bins if starts is None else len(starts)
        wanted.append(-1 if min(cell, far) < 0 else j * n_cells + cell)
    assert asked.cells(z * scale + [1.0, -1.0]).tolist() == wanted
    assert asked.size == 2 * (6 if starts is None else 2)
