"""Cells, losses and sizes at their ends, in exact numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._friends import SparseRing
from skdp.kernel._histograms import Cells, HistogramCounts
from skdp.kernel._lattice import LocatedBall
from skdp.kernel._mixtures import FirstWeight, MixtureFrame, MixtureMoments, log_density
from skdp.kernel._residual_sums import PairDistances
from skdp.kernel._statistic import Shape
from skdp.kernel.applied._likeness import RingLikeness
from skdp.kernel.applied._scores import LossColumn
from skdp.readers import ArrayRows


def fits(question, shape):
    try:
        question.check(shape)
    except ValueError:
        return False
    return True


def test_losses():
    block = np.array([[1.0, 0.0, 3.0, 3.0], [5.0, 2.0, 9.0, 2.0], [0.0, 1.0, 2.0, 4.0]])
    told = {
        "residual": [2, -3, 4],
        "absolute": [2, 3, 4],
        "squared": [4, 9, 16],
        "pinball": [0.5, 2.25, 1],
        "target": [2.75, 1.75, 3.75],
        "target squared": [2.75**2, 1.75**2, 3.75**2],
        "covered": [1, 1, 0],
    }
    for what, values in told.items():
        assert LossColumn(what, 0.25)(block)[:, 0].tolist() == values
    assert LossColumn("covered")(block[:, [0, 2, 2, 1]])[:, 0].tolist() == [0, 0, 0]


def test_likeness_of_differences():
    differences = np.array([[1.0, 1.0], [0.0, -2.0], [0.0, 0.0], [np.inf, 1.0], [1.0, 0.5]])
    with np.errstate(invalid="ignore"):
        first, second = RingLikeness().counted(differences)
    assert np.repeat(np.arange(32), first).tolist() == [7, 8, 11, 31]
    assert np.repeat(np.arange(32), second).tolist() == [7, 9, 31, 31]


def test_the_number_of_cells():
    many, more = np.arange(2.0**12), np.arange(2.0**12 + 1)
    for values, levels, ok in [
        ((np.zeros(1),), (True,), True),
        ((np.zeros(1),), (False,), False),
        ((many, many), (True, True), True),
        ((more, more), (False, False), True),
        ((more, many), (True, True), False),
    ]:
        assert fits(Cells(tuple(range(len(values))), values, levels), Shape(2)) == ok
    both = Cells((0, 1), (np.arange(2.0), np.arange(3.0)), (True, True))
    assert both.places(np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]])).tolist() == [5, 3, 1]
    for sides, n, ok in [
        ("together", 2**24, True),
        ("apart", 2**23, True),
        ("apart", 2**23 + 1, False),
        ("in line", 2**23, True),
        ("in line", 2**23 + 1, False),
    ]:
        asked = ColumnBins(np.zeros(1), np.ones(1), LogBins(n - 2, 0, 1), sides)
        assert fits(asked, Shape(1)) == ok
    starts = np.arange(2)
    assert fits(
        ColumnBins(np.zeros(1), np.ones(1), LogBins(2**24 - 2, 0, 1), "apart", starts), Shape(1)
    )
    for n, ok in ((2**23, True), (2**23 + 1, False)):
        assert fits(SparseRing((0, 1), 1, LogBins(n - 2, 0, 1)), Shape(2, "sample")) == ok


@pytest.mark.parametrize(("pure", "law"), [(True, "laplace"), (False, "gaussian")])
def test_persons_are_weighed_for_the_noise_that_is_drawn(monkeypatch, pure, law):
    told, X = [], np.zeros((3, 1))
    monkeypatch.setattr(Cells, "weighed", lambda cells, rows, law: told.append(law) or ArrayRows(X))
    asked = HistogramCounts((0,), (np.zeros(1),), (True,), 0, pure)
    assert asked.over(SimpleNamespace(unit=2)).tolist() == [3] and told == [law]


@pytest.mark.parametrize("law", [np.ones(1), np.ones((2, 2)), np.array([1, 0])])
def test_shares_are_vectors_of_numbers(law):
    half = np.array([0.5, 0.5])
    PairDistances(9.0, (half, half)).check(Shape(2))
    with pytest.raises(ValueError, match="vectors of shares"):
        PairDistances(9.0, (half, law)).check(Shape(2))


def test_mixtures():
    frame = MixtureFrame("diag", np.ones(5), np.zeros((5, 1)), np.ones((5, 1)))
    assert log_density(frame, np.zeros((1, 1))).tolist() == [math.floor(64 * math.log(5)) / 64]
    ball = LocatedBall(9.0, 1.0, np.zeros(1), 1.0, 1.0)
    asked = MixtureMoments(ball, frame, 3.0, FirstWeight(0.01, 0.03), 5)
    assert (asked.number, asked.vector, asked.squared_l2) == (1, 1, 2**10 * (1 + 2**2 + 2**10))
