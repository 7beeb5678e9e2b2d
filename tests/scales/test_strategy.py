"""Strategies of linear measurements: their error, and that no other is much better."""

import numpy as np
import pytest

from skdp.columns._ranks import GAIN, GAP, excess_strategy, least_error_strategy

DECILES = tuple(np.arange(1, 10) / 10)
TESTS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def excess(parts):
    parts = np.array(parts)[:, None]
    return (np.arange(len(parts) + 1) <= np.arange(len(parts))[:, None]) - parts


def error(C, questions):
    """Return the mean squared error of questions of cells for noise that hides one row."""
    length = np.square(C).sum(axis=0).max()
    return length * np.trace(questions @ np.linalg.pinv(C.T @ C) @ questions.T) / len(questions)


@pytest.mark.parametrize("parts", [DECILES, TESTS, tuple(np.repeat(TESTS, 2)), (0.5,), (1e-9, 0.5)])
def test_ranks_are_told_better_than_by_a_histogram(parts):
    C, questions = excess_strategy(parts).astype(float), excess(parts)
    assert np.linalg.norm(C, axis=0).max() <= GAIN * 1.01
    assert np.isfinite(C).all() and error(C, questions) <= error(np.eye(len(parts) + 1), questions)


def test_half_the_error_of_a_histogram_for_nine_quantiles():
    told = error(excess_strategy(TESTS).astype(float), excess(TESTS))
    assert told < 0.72 * error(np.eye(10), excess(TESTS)) and abs(np.sqrt(told) - 1.17) < 0.02


def test_no_strategy_is_better():
    """Every C has ``tr G (C^T C)^-1 >= (tr S)^2 / sum v``, for whatever weights v of cells."""
    questions = np.tril(np.ones((12, 12)))
    gram = questions.T @ questions
    own = 12 * error(least_error_strategy(gram, 2**16).astype(float), questions)
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = rng.normal(size=(12, 12)) * rng.exponential(size=(12, 1)) + 3 * np.eye(12)
        assert 12 * error(other, questions) >= own / (1 + GAP)


def test_without_cuts_all_rows_are_counted():
    assert excess_strategy(()).tolist() == [[GAIN]]
