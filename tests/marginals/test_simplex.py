import warnings

import numpy as np
import pytest

from skdp.marginals._postprocess import Domain, Polytope
from skdp.marginals._residuals import workload_layout
from skdp.scales._column_noise import onto_simplex
from tests.marginals._noisy import loss, noisy_tree, values_of


@pytest.mark.parametrize("levels", [(2, 2, 2), (2, 3, 4, 5), (7,), (4, 2, 3)])
def test_maps_are_those_of_the_residuals(levels):
    rng = np.random.default_rng(0)
    for k in range(1, len(levels) + 1):
        domain = Domain(workload_layout(levels, k)[0])
        table = rng.random(levels)
        values = domain.residuals(table)
        np.testing.assert_allclose(values, values_of(domain.layout, table), atol=1e-12)
        other = rng.normal(size=values.size)
        inner = domain.adjoint(other) @ table.ravel()
        assert other @ values == pytest.approx(inner, rel=1e-12)


def test_simplex_points_satisfy_the_optimality_conditions():
    rng = np.random.default_rng(1)
    for size in (1, 2, 5, 40):
        points = rng.normal(size=(20, size)) * 3
        p = onto_simplex(points, 2.5)
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(axis=1), 2.5)
        for row, answer in zip(points, p, strict=True):
            moved = (row - answer)[answer > 0]
            assert np.ptp(moved) < 1e-9  # one multiplier
            assert np.all(row[answer == 0] <= moved[0] + 1e-9)


def test_objective_is_that_of_an_interior_point_solver():
    import cvxpy as cp

    measurement, _ = noisy_tree(5, 2, 300, 0.2, seed=2)
    domain, n = Domain(measurement.layout), 300
    weight = measurement.layout.spread(1 / measurement.sd**2) * n**2
    target = measurement.values / n
    p, objective, gap = domain.nearest(target, weight, tol=1e-7)
    maps = np.stack([domain.residuals(row) for row in np.eye(32)], axis=1)
    q = cp.Variable(32, nonneg=True)
    goal = cp.sum_squares(cp.multiply(np.sqrt(weight[1:] / 2), (maps @ q - target)[1:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = cp.Problem(cp.Minimize(goal), [cp.sum(q) == 1]).solve(solver=cp.CLARABEL)
    assert objective == pytest.approx(best, rel=1e-6)
    assert -1e-9 <= gap <= 1e-6 * objective
    assert p.min() >= 0 and p.sum() == pytest.approx(1)


def test_the_gap_is_honest():
    measurement, _ = noisy_tree(8, 2, 300, 0.1, seed=3)
    domain, n = Domain(measurement.layout), 300
    weight, target = measurement.layout.spread(1 / measurement.sd**2), measurement.values / n
    _, rough, gap = domain.nearest(target, weight, max_steps=10)
    _, fine, _ = domain.nearest(target, weight, tol=1e-8)
    assert gap > 0
    assert rough - gap <= fine <= rough


def test_the_truth_stays():
    measurement, truth = noisy_tree(6, 3, 400, 1.0, seed=4, levels=(2, 3, 2, 4, 2, 3))
    rule = Polytope(measurement)
    np.testing.assert_allclose(rule(truth), truth, atol=0.5)
    assert rule.joint.shape == (2, 3, 2, 4, 2, 3)
    assert rule.joint.min() >= 0 and rule.joint.sum() == pytest.approx(400)


# Private-PGM of the mbi package: .0759 and .01145 (mirror descent, all pairs, d = 10, n = 1e3).
@pytest.mark.parametrize(("epsilon", "pgm"), [(0.1, 0.0759), (1.0, 0.01145)])
def test_errors_at_ten_attributes(epsilon, pgm):
    errors = []
    for seed in range(20):
        measurement, truth = noisy_tree(10, 2, 1000, epsilon, seed)
        cells = 4 * len(measurement.layout.subsets[2])
        errors.append(loss(measurement, Polytope(measurement)(measurement.values), truth) / cells)
    # The trees are others: they move the mean by about 4 %.
    assert np.sqrt(np.mean(errors)) / 1000 < 1.12 * pgm
