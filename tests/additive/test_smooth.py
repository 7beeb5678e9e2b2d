"""Smoothing brings noisy cells closer to what they are, and noise alone to nearly zero."""

import numpy as np
import pytest

from skdp.additive._rules import TermPrior, posterior

COUNTS = np.append(np.full(24, 100.0), 5.0)


def _mean(prior, values, variances):
    return prior.means([values], [variances])[0]


def _errors(truth, sd, *, ordered, n=40):
    rng = np.random.default_rng(0)
    prior = TermPrior(COUNTS, ordered=ordered)
    noisy = truth + sd * rng.normal(size=(n, len(truth)))
    smoothed = [_mean(prior, values, np.full(len(truth), sd**2)) for values in noisy]
    return np.mean(np.square(smoothed - truth)), np.mean(np.square(noisy - truth))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("sd", [0.01, 0.3, 1.0, 5.0])
def test_the_error_is_smaller_on_average(ordered, sd):
    truth = np.append(np.sin(np.arange(24) / 4), 0.0)
    smoothed, noisy = _errors(truth, sd, ordered=ordered)
    assert smoothed < 1.02 * noisy
    if sd >= 1:
        assert smoothed < 0.5 * noisy
    if ordered and 0.1 < sd < 2:
        assert smoothed < 0.7 * _errors(truth, sd, ordered=False)[0]


def test_noise_alone_becomes_nearly_nothing():
    smoothed, noisy = _errors(np.zeros(25), 1.0, ordered=True)
    assert smoothed < 0.1 * noisy


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_few_cells_and_noise_of_any_size_are_finite(n):
    for scale in (1e-9, 1.0, 1e9):
        for ordered in (True, False):
            prior = TermPrior(np.arange(n) + 1e-3, ordered=ordered)
            found = _mean(prior, scale * np.arange(n), np.full(n, scale))
            assert found.shape == (n,) and np.isfinite(found).all()
            assert prior.moves.shape == (1,) and 0 <= prior.moves[0] <= n


def test_a_jump_stays():
    truth = np.append(np.repeat([-2.0, 2.0], 12), 0.0)
    found = _mean(TermPrior(COUNTS, ordered=True), truth, np.full(25, 0.01))
    assert np.abs(found - truth).max() < 0.2


def test_missing_entries_have_no_neighbours():
    values = np.append(np.full(24, 2.0), 0.0)
    variances = np.append(np.full(24, 0.1), 10.0)
    found = _mean(TermPrior(COUNTS, ordered=True), values, variances)
    assert abs(found[-1]) < 1e-9 < abs(found[0] - 2) < 0.1


@pytest.mark.parametrize("ordered", [True, False])
def test_moves_are_what_less_noise_takes_from_the_variance_of_the_posterior(ordered):
    at = np.arange(12) / 12
    shape = np.exp(-np.abs(at[:, None] - at) / 0.3) if ordered else np.eye(12)

    def left(variance):
        return np.trace(shape - shape @ np.linalg.solve(shape + variance * np.eye(12), shape))

    moves = posterior(np.sin(at), np.full(12, 0.5), [shape], np.ones(1))[2]
    assert np.isclose(moves, (left(0.5 + 1e-5) - left(0.5 - 1e-5)) / 2e-5, rtol=1e-6)
