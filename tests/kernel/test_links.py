"""What a row adds to a gradient is an integer vector of bounded length."""

import math

import numpy as np
import pytest

from skdp.kernel._cells import Block
from skdp.kernel._terms import (
    END,
    ONE,
    STEP,
    Calibration,
    Clipped,
    HalfCircle,
    Logistic,
    Softmax,
    TermScores,
)
from skdp.kernel._terms import FAR as FAR_OFF

FAR = 2**40


def split(link, scores, target):
    """Return gradients and curvatures of a row."""
    both = link.residuals(scores, target)
    assert both.dtype == np.int64
    return np.split(both, 2)


def squares(link, scores, target):
    """Return how much a row adds, squared: exact below 2^53."""
    return np.square(link.residuals(scores, target)).sum(axis=0)


def test_residuals_of_two_classes_are_within_the_sensitivity_and_reach_it():
    scores = np.append(np.arange(-END - 5, END + 6), [-FAR, FAR])[None]  # every entry of the table
    p = 1 / (1 + np.exp(-np.clip(scores * STEP, -16, 16)))
    longest = []
    for label in (0, 1):
        target = np.full(scores.shape[1], label)
        residuals, curvatures = split(Logistic, scores, target)
        assert np.abs(residuals / ONE - (label - p)).max() <= 2**-15
        assert np.abs(curvatures / ONE - Logistic.gain * p * (1 - p)).max() <= 3e-4
        longest.append(squares(Logistic, scores, target))
    longest = np.array(longest)
    assert longest.max() == Logistic.squared_l2
    near = np.abs(scores[0] * STEP) < 1  # r = .618 is as long, but for what rounding leaves
    assert longest[:, near].max() > Logistic.squared_l2 * (1 - 1e-4)


@pytest.mark.parametrize("n_classes", [3, 4, 10, 200])
def test_residuals_of_many_classes_are_within_the_sensitivity_and_reach_it(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = rng.integers(-2 * END, 2 * END, size=(n_classes, 4000))
    scores[:, :1000] //= 1000
    scores[:, 1000:2000] = 0
    target = rng.integers(n_classes, size=4000)
    target[2000:3000] = scores[:, 2000:3000].argmin(axis=0)
    scores[:, -1], target[-1] = np.arange(n_classes) == 1, 0
    scores[:, -1] *= FAR
    link = Softmax(n_classes)
    longest = squares(link, scores, target).max()
    assert 2 * ONE**2 * (1 - n_classes * 2.0**-15) < longest <= 2 * ONE**2 <= link.squared_l2
    others = split(link, scores, target)[0].sum(axis=0)
    assert others.min() >= 0 and others.max() <= n_classes  # what rounding down leaves


def test_probabilities_of_many_classes_are_those_of_a_softmax():
    rng = np.random.default_rng(0)
    scores = rng.integers(-3 * 2**10, 3 * 2**10, size=(4, 500))
    residuals, curvatures = split(Softmax(4), scores, np.zeros(500, dtype=int))
    p = -residuals / ONE
    p[0] += 1
    parts = np.exp(scores * STEP)
    assert np.abs(p - parts / parts.sum(axis=0)).max() < 2e-4
    assert np.abs(curvatures / ONE - 2 * p * (1 - p)).max() < 2e-4


def test_clipped_residuals_are_within_the_radius():
    link = Clipped(100)
    target = np.array([-FAR, -100, 7, 101, FAR])
    assert link.residuals(np.zeros((1, 5), dtype=np.int64), target).tolist() == [
        [-100, -100, 7, 100, 100]
    ]
    assert link.squared_l2 == 100**2 and math.log2(link.one) == 16


@pytest.mark.parametrize("radius", [1, 2, 5, 1000, 2**25 + 1, 2**26 - 1, 2**26])
def test_clipped_residuals_and_counts_lie_on_half_a_circle_or_inside(radius):
    rng, link = np.random.default_rng(0), HalfCircle(radius)
    few = np.arange(min(radius, 2000) + 1)
    legs = np.array([math.isqrt(radius**2 - h * h) for h in few.tolist()])  # roots near integers
    target = np.concatenate([few, radius - few, legs, legs + 1, [FAR, -FAR, radius, -radius]])
    target = np.append(target, rng.integers(-radius, radius + 1, size=5000))
    r, h = split(link, np.zeros((1, len(target)), dtype=np.int64), target)
    for one, other in zip(r[0].tolist(), h[0].tolist(), strict=True):
        assert other == math.isqrt(radius**2 - one * one)
    longest = squares(link, np.zeros((1, len(target)), dtype=np.int64), target)
    assert longest.max() == radius**2 == link.squared_l2  # at zero, and where a residual is clipped
    assert h[0][np.abs(target) >= radius].max() == 0


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("slope", [True, False])
def test_a_row_moves_a_calibration_by_no_more_than_declared(n_classes, slope):
    link = Logistic() if n_classes == 2 else Softmax(n_classes)
    rng = np.random.default_rng(n_classes)
    table = rng.integers(-3 * FAR_OFF, 3 * FAR_OFF, size=(link.outputs, 400))
    table[:, :200] //= 16
    table[0, -1], table[1:, -1] = -END, END
    start = rng.integers(-300, 300, size=(link.outputs, 1))
    question = Calibration(TermScores(start, (table,)), link, start, slope)
    most = 0
    for label in (0, n_classes - 1):
        block = Block(np.arange(400)[None], np.full(400, label))
        for total in question.contributions(block).reshape(400, -1):
            most = max(most, sum(int(x) ** 2 for x in total))
    assert 0.99 * question.squared_l2 < most <= question.squared_l2
