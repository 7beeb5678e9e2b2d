"""What a row adds to a gradient is an integer vector of bounded length."""

import math

import numpy as np
import pytest

from skdp.additive._links import END, ONE, STEP, Clipped, Logistic, Softmax

FAR = 2**40


def test_residuals_of_two_classes_are_within_the_sensitivity_and_reach_it():
    scores = np.concatenate([np.arange(-END - 5, END + 6, 7), [-FAR, FAR]])[None]
    for label in (0, 1):
        residuals = Logistic.residuals(scores, np.full(scores.shape[1], label))
        assert residuals.dtype == np.int64 and np.abs(residuals).max() <= Logistic.sensitivity
        p = 1 / (1 + np.exp(-np.clip(scores * STEP, -16, 16)))
        assert np.abs(residuals / ONE - (label - p)).max() <= 2**-15
    assert Logistic.residuals(np.array([[-FAR]]), np.array([1]))[0, 0] == Logistic.sensitivity


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
    residuals = link.residuals(scores, target)
    squares = np.square(residuals).sum(axis=0)
    assert squares.max() <= 2 * ONE**2 <= link.sensitivity**2
    assert squares.max() > 2 * ONE**2 * (1 - 1e-4) * (n_classes < 100)
    others = residuals.sum(axis=0)
    assert others.min() >= 0 and others.max() <= n_classes  # what rounding down leaves


def test_probabilities_of_many_classes_are_those_of_a_softmax():
    rng = np.random.default_rng(0)
    scores = rng.integers(-3 * 2**10, 3 * 2**10, size=(4, 500))
    p = -Softmax(4).residuals(scores, np.zeros(500, dtype=int)) / ONE
    p[0] += 1
    parts = np.exp(scores * STEP)
    assert np.abs(p - parts / parts.sum(axis=0)).max() < 2e-4


def test_clipped_residuals_are_within_the_radius():
    link = Clipped(100)
    target = np.array([-FAR, -100, 7, 101, FAR])
    assert link.residuals(np.zeros((1, 5), dtype=np.int64), target).tolist() == [
        [-100, -100, 7, 100, 100]
    ]
    assert link.sensitivity == 100 and math.log2(link.one) == 16
