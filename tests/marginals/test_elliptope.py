import time
import warnings

import numpy as np
import pytest

from skdp.marginals._pairs import PairMatrix, nearest_correlation, pair_precision
from skdp.marginals._residuals import workload_layout
from tests.marginals._noisy import noisy_tree


def noisy_matrix(d, sd, seed):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(d + 1, 3))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    noise = np.triu(rng.normal(size=(d + 1, d + 1)) * sd, 1)
    return V @ V.T + noise + noise.T


def by_cvxpy(Y, weight):
    import cvxpy as cp

    N = len(Y)
    X = cp.Variable((N, N), PSD=True)
    off = np.sqrt(np.outer(weight, weight) * (1 - np.eye(N)) / 2)
    goal = cp.sum_squares(cp.multiply(off, X - Y))
    problem = cp.Problem(cp.Minimize(goal), [cp.diag(X) == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize(("d", "sd"), [(1, 2.0), (2, 1.0), (5, 0.5), (12, 0.3), (20, 0.6)])
def test_the_objective_is_that_of_an_interior_point_solver(d, sd):
    Y = noisy_matrix(d, sd, seed=d)
    weight = np.concatenate([[3.0], np.full(d, 0.5)])
    nearest = nearest_correlation(Y, weight)
    assert nearest.objective == pytest.approx(by_cvxpy(Y, weight), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sd", [0.01, 0.3, 3.0])
def test_the_certificate(seed, sd):
    Y = noisy_matrix(15, sd, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, 16)
    nearest = nearest_correlation(Y, weight)
    X = nearest.matrix
    np.testing.assert_array_equal(np.diag(X), 1.0)
    np.testing.assert_allclose(X, X.T, atol=1e-12)
    assert np.linalg.eigvalsh(X)[0] > -1e-12
    off = np.outer(weight, weight) * (1 - np.eye(16))
    assert np.sum(off * (X - Y) ** 2) / 2 == pytest.approx(nearest.objective, rel=1e-9)
    assert 0 <= nearest.gap < 1e-8 * max(nearest.objective, 1e-3)
    # Obtuse angle: no correlation matrix lies on the far side of the tangent plane.
    for other in range(20):
        E = noisy_matrix(15, 0.0, 100 + other)
        assert np.sum(off * (X - Y) * (E - X)) > -1e-6


def test_a_gap_is_not_claimed_when_the_search_is_cut_short():
    Y = noisy_matrix(30, 1.0, 0)
    short = nearest_correlation(Y, np.ones(31), max_evaluations=2)
    whole = nearest_correlation(Y, np.ones(31))
    assert short.gap > 1e-4
    assert short.objective - short.gap <= whole.objective <= short.objective


def test_a_correlation_matrix_stays():
    Y = noisy_matrix(10, 0.0, 0)
    nearest = nearest_correlation(Y, np.ones(11))
    np.testing.assert_allclose(nearest.matrix, Y, atol=1e-6)
    assert nearest.objective < 1e-12


def test_columns_may_be_constant_or_the_same():
    Y = np.ones((6, 6)) * 5
    np.testing.assert_allclose(nearest_correlation(Y, np.ones(6)).matrix, 1.0, atol=1e-9)


@pytest.mark.parametrize(("d", "seconds"), [(100, 0.5), (200, 2.0)])
def test_time(d, seconds):
    measurement, _ = noisy_tree(d, 2, 1000, 0.3, seed=0)
    pairs = PairMatrix(measurement.layout, measurement.sd)
    X, _ = pairs.moments(measurement.values)
    begin = time.process_time()
    nearest = nearest_correlation(X, pairs.precision)
    assert time.process_time() - begin < 4 * seconds  # machines differ
    assert nearest.gap < 1e-8 * nearest.objective


def test_matrix_and_residuals():
    measurement, truth = noisy_tree(7, 2, 500, 1.0, seed=1)
    pairs = PairMatrix(measurement.layout, measurement.sd)
    X, n = pairs.moments(truth)
    assert n == 500
    assert np.linalg.eigvalsh(X)[0] > -1e-9  # of real rows
    np.testing.assert_allclose(pairs.residuals(X, n), truth, atol=1e-9)


def test_precision_is_exact_where_the_noise_is_a_product():
    layout, _ = workload_layout((2,) * 6, 2)
    sd = np.concatenate([[1.0], np.full(6, 3.0), np.full(15, 7.0)])
    p = pair_precision(layout, sd)
    np.testing.assert_allclose(p[0] * p[1:], 1 / 9)
    i, j = layout.subsets[2].T + 1
    np.testing.assert_allclose(p[i] * p[j], 1 / 49)


@pytest.mark.slow
def test_five_hundred_attributes():
    measurement, _ = noisy_tree(500, 2, 1000, 1.0, seed=0)
    pairs = PairMatrix(measurement.layout, measurement.sd)
    X, _ = pairs.moments(measurement.values)
    begin = time.process_time()
    nearest = nearest_correlation(X, pairs.precision)
    assert time.process_time() - begin < 20.0
    assert nearest.gap < 1e-8 * nearest.objective
