"""Statistics of one subject say what their docstrings define, row by row."""

import numpy as np
import pytest

from skdp.covariance._run import identity_frame
from skdp.kernel._coordinates import Design
from skdp.kernel._sampled import Sample
from skdp.kernel.applied._hazards import CURVATURE, HazardStep
from skdp.kernel.applied._likeness import RingLikeness
from skdp.kernel.applied._scores import (
    GAIN,
    PARTS,
    ConfusionCells,
    LossColumn,
    OfLevel,
    PrefixCells,
    ScoreCells,
    ScoreMoments,
    ScoreProducts,
    Scores,
    prefix_matrix,
)

RNG = np.random.default_rng(0)
NONE = np.nan, np.inf, -np.inf


def test_hazard_steps_are_gradients_and_second_derivatives():
    free = np.array([[-np.inf, -np.inf], [np.inf, np.inf]])
    design, b = Design(identity_frame(np.zeros(2), np.ones(2)), free, False), np.array([0.8, -0.5])
    times, hazard = np.array([0.0, 1.0, 3.0]), np.array([0.1, 0.4, 0.6])
    asked = HazardStep(design, 4.0, b[:, None], times, hazard, 100.0, bits=15)
    V = RNG.uniform(-1.5, 1.5, size=(200, 2))
    time, event = RNG.uniform(-0.5, 4.0, size=200), np.arange(200) % 2.0
    m = np.interp(time, times, hazard) * np.exp(V @ b)
    assert (m > 1).any() and ((m < 1) & (event == 1) & (time > 3)).any()
    e = event * (m < 1) * (time <= 3) - np.minimum(m, 1)
    wrong = [[0.1, 0.1, 1.0, other] for other in (-1.0, 2.0, *NONE)]
    wrong += [[*np.where(np.arange(3) == j, np.nan, 0.5), 1.0] for j in range(3)]
    told = asked.total(np.vstack([np.column_stack([V, time, event]), wrong]))
    gradient, curvature = told[:, 0] * asked.step, told[:, 1:] * (16 / np.sqrt(CURVATURE)) / 4.0**15
    np.testing.assert_allclose(gradient, V.T @ e, atol=0.05)
    np.testing.assert_allclose(curvature, V.T @ (np.minimum(m, 1)[:, None] * V), atol=0.05)
    far = np.array([[40.0, 0.0, 1.0, 0.0]])  # of ten radii: a hundredth of the weight
    assert asked.total(far)[0, 0] * asked.step == pytest.approx(-0.4, abs=1e-3)


def test_scores_are_measured_between_the_ends_of_their_bins():
    edges = np.array([[0.0, 1.0, 3.0], [-2.0, -1.0, 1.0]])
    left, right = RNG.integers(-99, 99, size=(2, 2, 3, 2, 2))
    asked = ScoreCells(edges, (1, 2), left, right)
    x = np.array([[0.0, -2.0], [0.5, 1.0], [1.0, -1.0], [2.5, -1.75], [-9.0, 0.0], [9.0, 9.0]])
    bins, parts = (
        [[0, 0], [0, 1], [1, 1], [1, 0], [0, 1], [1, 1]],
        PARTS * np.array([[0, 0], [0.5, 1], [0, 0], [0.75, 0.25], [0, 0.5], [1, 1]]),
    )
    codes = np.array([0, 1, 2, 1, 2, 1])
    block = np.column_stack([x, codes])
    for row, at, part, code in zip(block, bins, parts, codes, strict=True):
        wanted = [
            (PARTS - u) * left[j, :, int(code == asked.positives[j]), b]
            + u * right[j, :, int(code == asked.positives[j]), b]
            for j, (b, u) in enumerate(zip(at, part, strict=True))
        ]
        np.testing.assert_array_equal(asked.total(row[None]), np.concatenate(wanted))
    for none in NONE:
        assert not asked.total(np.array([[0.5, 0.5, none], [none, 0.5, 0.0]])).any()
    assert not asked.total(np.array([[0.5, 0.5, -1.0]])).any()


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_prefix_matrices_are_roots_with_columns_of_one_length(n):
    matrix = prefix_matrix(n)
    assert np.abs(np.sqrt(np.square(matrix).sum(axis=0)) - GAIN).max() < np.sqrt(n)
    root = matrix / np.diag(matrix)
    np.testing.assert_allclose(root @ root, np.tri(n), atol=1e-3)
    for first in range(n):
        np.testing.assert_array_equal(prefix_matrix(n, range(first, n)), matrix[:, first:])
    with pytest.raises(ValueError, match="read-only"):
        matrix[0] = 1  # it is kept for the next question


def test_prefixes_are_of_the_cells_of_a_class():
    edges = np.array([[0.0, 1.0, 2.0, 3.0], [0.0, 0.1, 0.2, 1.0]])
    asked = PrefixCells((1, 0), edges, (2, 0))
    block = np.array([[0.15, 0.5, 0], [0.05, 2.5, 2], [0.9, 9.0, 2], [np.nan, 1, 2], [0.1, 1, -1]])
    counts = np.zeros((4, 3), dtype=int)  # (others, positives) of column 1, then of column 0
    counts[0, 0], counts[1, 2], counts[3, 1], counts[2, 0], counts[2, 2] = 1, 2, 1, 1, 1
    wanted = counts @ prefix_matrix(3).T
    np.testing.assert_array_equal(asked.total(block), wanted.ravel())


def test_confusions_are_of_the_largest_score():
    block = np.array(
        [[0.1, 0.9, 0], [0.9, 0.1, 0], [0.5, 0.5, 1], [-3, -2, 1], [np.nan, 0, 0], [0, 0, 2]]
    )
    assert ConfusionCells(2).total(block).tolist() == [1, 1, 1, 1]
    assert ConfusionCells(2).cells(block)[-2:].tolist() == [-1, -1]


def test_levels_are_codes():
    codes = np.array([0.0, 1.0, 2.0, 3.0, -1.0, 0.5, *NONE])
    block = np.column_stack([0 * np.nan_to_num(codes), codes])
    assert OfLevel(1, 3)(block).tolist() == [0, 1, 2, -1, -1, -1, -1, -1, -1]
    block[1, 0] = np.inf
    assert OfLevel(1, 3)(block)[1] == -1


LINE = Scores((np.array([0.0, 2.0, 3.0]),) * 2, (np.array([-1.0, 0.0, 1.0]),) * 2)


def test_sums_of_scores_by_group():
    asked = ScoreMoments(LINE, 3, bits=10)
    x = np.array([[0.0, 2.0], [1.0, 2.5], [9.0, -9.0], [2.0, 2.0]])
    t = np.array([[-1, 0], [-0.5, 0.5], [1, -1], [0, 0]]) * 1024
    wanted = np.zeros((3, 5), dtype=int)
    for row, g in zip(t, (0, 2, 0, 2), strict=True):
        wanted[g] += np.concatenate([row, row * row / 1024 - 1024, [asked.constant]]).astype(int)
    block = np.column_stack([x, [0, 2, 0, 2]])
    none = np.array([[0.0, 0.0, g] for g in (-1, 3, 0.5, *NONE)] + [[np.nan, 0.0, 0.0]])
    np.testing.assert_array_equal(asked.total(np.vstack([block, none])), wanted)
    assert asked.constant == round(0.3 * 2**0.25 * 1024)


def test_products_of_scores():
    asked = ScoreProducts(LINE, bits=20)
    x = np.array([[1.0, 2.5], [0.0, 3.0], [np.inf, 1.0], [2.0, 0.0]])
    t, u = np.array([[-0.5, 0.5], [-1, 1], [0, -1]]).T
    weights = 2.0**20 * np.sqrt([0.7, 0.1, 0.1, 0.3, 0.3, 0.1])
    wanted = weights[:, None] * [t * u, t, u, 1 - t * t, 1 - u * u, np.ones(3)]
    np.testing.assert_array_equal(asked.total(x), np.rint(wanted).sum(axis=1))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_likeness_of_columns_by_its_definition(d):
    rows = RNG.normal(size=(40, d)) * [1.0, 100.0, 1e-3, 1.0, 7.0, 7.0][:d]
    rows[3] = rows[4]  # a difference of zeros
    rows[7] = np.inf
    wanted = np.zeros((2, 32), dtype=int)
    with np.errstate(all="ignore"):
        for D in np.abs(np.diff(np.vstack([rows[-1:], rows]), axis=0)):
            square = np.mean(D * D)
            if not np.isfinite(square):
                continue
            middle = np.sort(D)[(d - 1) // 2] * np.sort(D)[d // 2]
            for found, ratio in zip(wanted, (np.mean(D) ** 2, middle), strict=True):
                part = ratio / square if square else 0.0
                lower = 2.0 ** ((7 - np.arange(31)) / 4)  # ends of all cells but the last
                found[np.argmax(np.append(part >= lower * (1 - 1e-12), True))] += 1
        told = RingLikeness().total(Sample(rows, np.arange(40, dtype=np.uint64), 1.0, 40.0))
    np.testing.assert_array_equal(told, wanted)
    assert wanted.sum() == 2 * 38


LOSSES = {
    "residual": [1.0, -3.0, 1e300],
    "absolute": [1.0, 3.0, 1e300],
    "squared": [1.0, 9.0, 1e300],
    "pinball": [0.25, 2.25, 2.5e299],
    "target": [1.75, -1.25, 1e300],
    "target squared": [1.75**2, 1.25**2, 1e300],
    "covered": [1.0, 0.0, 0.0],
}


@pytest.mark.parametrize(("what", "wanted"), LOSSES.items())
def test_losses_by_their_definition(what, wanted):
    block = np.array([[1.0, 0.0, 2.0, 2.0], [2.0, 0.0, 9.0, -1.0], [-1e308, 0.0, 1.0, 1e308]])
    none = [np.where(np.arange(4) == j, x, 1.0) for j, x in zip((0, 1, 3), NONE, strict=True)]
    told = LossColumn(what, 0.25)(np.vstack([block, none]))[:, 0]
    np.testing.assert_allclose(told[:3], wanted)
    assert np.isnan(told[3:]).all()
    if what == "covered":
        ends = np.array([[0.0, 2.0, 9.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
        assert LossColumn(what)(ends).tolist() == [[1], [1]]
