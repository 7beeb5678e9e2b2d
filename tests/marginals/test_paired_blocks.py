import itertools
import warnings

import numpy as np
import pytest

from skdp.marginals._cones import CellBlocks, MomentBlock, PairedBlocks, nearest_in_cones
from skdp.marginals._postprocess import Cones
from skdp.marginals._residuals import workload_layout
from tests.marginals._noisy import loss, noisy_tree, values_of


def blocks_of(kind):
    if kind == "paired":
        return PairedBlocks(workload_layout((2,) * 5, 3)[0]), (2,) * 5, 3
    levels = (2, 3, 4, 3)
    layout, _ = workload_layout(levels, 2)
    if kind == "moments":
        return MomentBlock(layout), levels, 2
    groups = [sets for shape, sets, _ in layout.groups if len(shape) == 2]
    return CellBlocks(layout, groups), levels, 2


@pytest.mark.parametrize("kind", ["paired", "moments", "cells"])
def test_adjoint_and_gram(kind):
    block, levels, k = blocks_of(kind)
    size = int(workload_layout(levels, k)[0].starts[-1])
    A = np.stack([block.forward(unit).ravel() for unit in np.eye(size)], axis=1)
    gram = A.T @ A
    np.testing.assert_allclose(np.diag(gram)[1:], block.gram[1:], rtol=1e-12)
    inner = gram[1:, 1:] - np.diag(np.diag(gram)[1:])
    np.testing.assert_allclose(inner, 0, atol=1e-10)
    rng = np.random.default_rng(0)
    image = block.forward(rng.normal(size=size))
    np.testing.assert_allclose(A.T @ image.ravel(), block.adjoint(image), atol=1e-9)


@pytest.mark.parametrize("kind", ["paired", "moments", "cells"])
def test_every_distribution_is_in_the_cones(kind):
    block, levels, k = blocks_of(kind)
    layout, rng = workload_layout(levels, k)[0], np.random.default_rng(1)
    for _ in range(5):
        joint = rng.dirichlet(np.full(np.prod(levels), 0.05)).reshape(levels)
        image = block.forward(values_of(layout, joint))
        np.testing.assert_allclose(block.onto(image), image, atol=1e-9)


def test_paired_blocks_are_localised_moments():
    block, _, _ = blocks_of("paired")
    x = np.array(list(itertools.product((1, -1), repeat=5)))
    p = np.random.default_rng(2).dirichlet(np.ones(32))
    layout, _ = workload_layout((2,) * 5, 3)
    values = values_of(layout, p.reshape((2,) * 5))
    for i, sign in itertools.product(range(5), (0, 1)):
        v = np.column_stack([np.ones(32), np.delete(x, i, axis=1)])
        wanted = (v * (p * (1 + (1 - 2 * sign) * x[:, i]))[:, None]).T @ v
        np.testing.assert_allclose(block.forward(values)[sign, i], wanted, atol=1e-12)


def test_one_hot_moments_are_semidefinite_with_the_block():
    levels = (3, 4)
    layout, _ = workload_layout(levels, 2)
    block, rng = MomentBlock(layout), np.random.default_rng(3)
    for _ in range(20):
        table = rng.normal(size=levels) * 0.08 + 1 / 12
        table /= table.sum()
        M = np.zeros((8, 8))
        M[0, 0], M[0, 1:4], M[0, 4:] = 1, table.sum(axis=1), table.sum(axis=0)
        M[1:4, 1:4], M[4:, 4:] = np.diag(table.sum(axis=1)), np.diag(table.sum(axis=0))
        M[1:4, 4:] = table
        codes = np.linalg.eigvalsh(np.triu(M) + np.triu(M, 1).T)[0]
        ours = np.linalg.eigvalsh(block.forward(values_of(layout, table)))[0]
        assert (codes > -1e-12) == (ours > -1e-12)


def test_the_answer_is_that_of_an_interior_point_solver():
    import cvxpy as cp

    measurement, _ = noisy_tree(4, 3, 300, 0.2, seed=0)
    layout, n = measurement.layout, 300
    y = measurement.values / n
    y[0] = 1.0
    block, weight = PairedBlocks(layout), layout.spread(measurement.weights)
    x = nearest_in_cones(y, weight, [block], tol=1e-9, max_steps=5000)
    z = cp.Variable(len(y))
    A = np.stack([block.forward(unit).reshape(8, 16) for unit in np.eye(len(y))], axis=2)
    semidefinite = [cp.reshape(part @ z, (4, 4), order="C") >> 0 for part in A]
    goal = cp.sum_squares(cp.multiply(np.sqrt(weight), z - y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = cp.Problem(cp.Minimize(goal), [z[0] == 1, *semidefinite]).solve(cp.CLARABEL)
    assert best > 1e-3
    assert weight @ (x - y) ** 2 == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(("d", "n", "epsilon"), [(8, 1000, 0.1), (12, 1000, 1.0), (12, 50000, 1.0)])
def test_never_worse_than_raw(d, n, epsilon):
    for seed in range(3):
        measurement, truth = noisy_tree(d, 3, n, epsilon, seed)
        after = loss(measurement, Cones(measurement)(measurement.values), truth)
        assert after <= 1.001 * loss(measurement, measurement.values, truth)


def test_cells_are_not_negative_on_request():
    measurement, truth = noisy_tree(5, 2, 300, 0.3, seed=1, levels=(2, 3, 4, 3, 2))
    rule = Cones(measurement, nonnegative=True)
    values = rule(measurement.values)
    assert rule.cells.forward(np.append(1.0, values[1:] / values[0]))[:].min() > -1e-9
    assert loss(measurement, values, truth) < loss(measurement, measurement.values, truth)


def test_a_truth_in_the_cones_stays():
    measurement, truth = noisy_tree(8, 3, 5000, 1.0, seed=2)
    np.testing.assert_allclose(Cones(measurement)(truth), truth, atol=0.01 * 5000)


@pytest.mark.slow
def test_fifty_attributes():
    measurement, truth = noisy_tree(50, 3, 10**4, 0.1, seed=0)
    after = loss(measurement, Cones(measurement)(measurement.values), truth)
    assert after <= 0.15 * loss(measurement, measurement.values, truth)
