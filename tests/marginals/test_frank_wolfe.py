"""The relaxed body, the projection on it with its certificate, and Theorem 4.5 as an inequality."""

import sys
from itertools import combinations, permutations, product
from math import comb, factorial, pi, sqrt

import numpy as np
import pytest

from skdp.marginals.published._frank_wolfe import (
    GROTHENDIECK,
    average_error_bound,
    relaxed_projection,
    steps_for,
    width_bound,
)
from skdp.marginals.published._relaxation import bilinear_maximum, projection_by_cvxpy, relaxed_body


def _sets(d, k):
    return list(combinations(range(d), k))


def _parities(X, sets):
    return np.stack([X[:, list(s)].prod(axis=1) for s in sets], axis=1).astype(float)


def _chain(rng, n, d):
    """Return rows of signs; each attribute repeats the one before it in 70 % of the rows."""
    X = rng.choice([-1, 1], size=(n, d))
    for j in range(1, d):
        X[:, j] = np.where(rng.random(n) < 0.7, X[:, j - 1], X[:, j])
    return X


def _signs(A):
    """Return max of <A, y z^T> over signs, by trying all z."""
    z = np.array(list(product([-1, 1], repeat=A.shape[1])))
    return np.abs(A @ z.T).sum(axis=0).max()


def _objective(v, y, p):
    return 0.5 * float(p @ (v - y) ** 2)


@pytest.mark.parametrize(("d", "k"), [(3, 1), (4, 2), (4, 3), (5, 3), (4, 4)])
def test_every_row_is_in_the_body(d, k):
    """No coordinate exceeds 1, so <chi(x), v> reaches m exactly where v = chi(x)."""
    body = relaxed_body(_sets(d, k), d)
    for x in product([-1, 1], repeat=d):
        chi = _parities(np.array([x]), _sets(d, k))[0]
        for sign in (1, -1):
            top = bilinear_maximum(body.matrix(sign * chi), tol=1e-14)
            assert top.value == pytest.approx(len(chi), rel=1e-6)
            assert body.values(*top.vectors) == pytest.approx(sign * chi, abs=1e-2)


@pytest.mark.parametrize(("d", "k"), [(4, 2), (6, 2), (4, 3), (5, 3), (4, 4), (5, 4)])
def test_bodies_contain_one_another_and_grothendieck_holds(d, k):
    rng, body = np.random.default_rng([1, d, k]), relaxed_body(_sets(d, k), d)
    rows = _parities(np.array(list(product([-1, 1], repeat=d))), _sets(d, k))
    for _ in range(10):
        c = rng.normal(size=rows.shape[1])
        A = body.matrix(c)
        K, L0, L = np.abs(rows @ c).max(), _signs(A), bilinear_maximum(A)
        assert K <= L0 * (1 + 1e-12)
        assert L.bound >= L0
        assert L.value <= GROTHENDIECK * L0


def test_grothendieck_ratio_of_the_chsh_matrix():
    A = np.array([[1.0, 1.0], [1.0, -1.0]])
    assert bilinear_maximum(A, tol=1e-14).value / _signs(A) == pytest.approx(sqrt(2), abs=1e-6)
    assert pi / (2 * np.arcsinh(1)) == pytest.approx(GROTHENDIECK)
    assert GROTHENDIECK < 1.783


@pytest.mark.parametrize(("d", "k"), [(5, 2), (4, 3), (5, 3), (4, 4)])
def test_sets_serve_as_well_as_the_tuples_of_the_paper(d, k):
    rng, sets = np.random.default_rng([2, d, k]), _sets(d, k)
    body, left = relaxed_body(sets, d), (k + 1) // 2
    for _ in range(5):
        c, tuples = rng.normal(size=len(sets)), np.zeros((d,) * k)
        for s, weight in zip(sets, c, strict=True):
            for order in permutations(s):
                tuples[order] = weight / factorial(k)
        paper = bilinear_maximum(tuples.reshape(d**left, -1), tol=1e-12)
        assert paper.value == pytest.approx(
            bilinear_maximum(body.matrix(c), tol=1e-12).value, rel=1e-5
        )
    assert body.shape == (comb(d, left), comb(d, k - left))


def test_matrix_and_values_are_adjoint():
    rng, body = np.random.default_rng(3), relaxed_body(_sets(6, 3), 6)
    c, U, V = rng.normal(size=20), rng.normal(size=(15, 4)), rng.normal(size=(6, 4))
    assert c @ body.values(U, V) == pytest.approx(np.sum(body.matrix(c) * (U @ V.T)))


@pytest.mark.parametrize(("d", "k", "n"), [(6, 2, 20), (5, 3, 10), (8, 2, 50), (5, 4, 5)])
def test_the_gap_of_every_step_covers_its_distance_from_the_optimum(d, k, n):
    rng, sets = np.random.default_rng([4, d, k]), _sets(d, k)
    p = rng.dirichlet(np.ones(len(sets)))
    y = _parities(_chain(rng, n, d), sets).sum(axis=0) + 3 * n * rng.normal(size=len(sets))
    best = projection_by_cvxpy(y, relaxed_body(sets, d), n=n, weights=p)
    least = _objective(best, y, p)
    assert least > 0.1 * n**2
    for steps in (1, 2, 3, 5, 8, 20, 200):
        projection = relaxed_projection(y, sets, d, n=n, weights=p, steps=steps)
        excess = _objective(projection.values, y, p) - least
        assert -1e-5 * least <= excess <= projection.gap + 1e-5 * least
        assert projection.gap == projection.gaps.min()
        assert projection.gap <= 4 * (2 * n) ** 2 / (steps + 2) * (1 + 1e-3)
        # f is strongly convex: |P^1/2 (v - best)|^2 <= gap
        assert p @ (projection.values - best) ** 2 <= projection.gap + 1e-4 * least
    assert excess < 0.05 * least


def test_both_oracles_lead_to_the_same_projection():
    rng, sets = np.random.default_rng(5), _sets(6, 3)
    y = 20 * rng.normal(size=len(sets))
    one = relaxed_projection(y, sets, 6, n=5, steps=25)
    two = relaxed_projection(y, sets, 6, n=5, steps=25, solver="cvxpy")
    distance = np.mean((one.values - two.values) ** 2)
    assert distance <= (sqrt(one.gap) + sqrt(two.gap)) ** 2
    assert max(one.gap, two.gap) < 4


@pytest.mark.parametrize(("d", "k", "n"), [(12, 2, 100), (8, 3, 100), (6, 4, 50)])
def test_theorem_4_5_run_by_run_and_in_the_mean(d, k, n):
    """(1) holds for every draw; (2) follows in the mean.

    Errors are below half of the bound in every cell, and their mean over 20 runs has a standard
    deviation below a tenth of it: a false alarm is more than five standard deviations away.
    """
    rng, sets, c = np.random.default_rng([6, d, k]), _sets(d, k), 4.0
    m, width = len(sets), width_bound(d, k)
    errors = []
    for _ in range(20):
        exact = _parities(_chain(rng, n, d), sets).sum(axis=0)
        noise = c * sqrt(m) * rng.normal(size=m)
        projection = relaxed_projection(exact + noise, sets, d, n=n, steps=40)
        wrong = projection.values - exact
        assert np.mean(wrong**2) <= np.mean(noise * wrong) + projection.gap * (1 + 1e-12)
        errors.append(np.mean(wrong**2) - projection.gap)
    assert np.mean(errors) <= average_error_bound(n, c, width)


@pytest.mark.parametrize(("d", "k"), [(6, 2), (15, 2), (6, 3), (9, 3), (6, 4), (5, 1)])
def test_the_mean_width_is_below_its_bound(d, k):
    """The width is 1-Lipschitz in the Gaussian vector: the mean of 40 draws has sd <= .16."""
    rng, body = np.random.default_rng([7, d, k]), relaxed_body(_sets(d, k), d)
    p = rng.dirichlet(np.ones(comb(d, k)))
    draws = [
        bilinear_maximum(body.matrix(np.sqrt(p) * rng.normal(size=p.size)), tol=1e-4).bound
        for _ in range(40)
    ]
    assert np.mean(draws) < width_bound(d, k) - 0.8  # five standard deviations below
    assert np.mean(draws) > 0.15 * width_bound(d, k)


def test_planned_steps_bring_the_gap_below_the_noise():
    rng, sets, n, c = np.random.default_rng(8), _sets(10, 2), 50, 4.0
    width = width_bound(10, 2)
    steps = steps_for(n, c, width)
    assert 4 * (2 * n) ** 2 / (steps + 2) <= n * c * width < 4 * (2 * n) ** 2 / (steps + 1)
    y = c * sqrt(45) * rng.normal(size=45)
    projection = relaxed_projection(y, sets, 10, n=n, steps=steps)
    assert projection.gap <= n * c * width
    assert average_error_bound(n, c, width, gap=7.0) == pytest.approx(n * c * width + 7)


def test_queries_of_weight_zero_are_answered_from_the_others():
    """x_0 x_1 and x_1 x_2 never change sign, so x_0 x_2 does not either; it was not measured."""
    sets, weights = _sets(3, 2), np.array([1.0, 0.0, 1.0])
    answers = [
        relaxed_projection([50, y, 50], sets, 3, n=50, weights=weights, steps=5).values
        for y in (-1e9, 0.0, 1e9)
    ]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[1], answers[2])
    assert answers[0][[0, 2]] == pytest.approx(50, rel=1e-3)
    assert abs(answers[0][1]) <= 50


def test_the_matrix_is_feasible_and_holds_the_answers():
    rng, sets, body = np.random.default_rng(9), _sets(6, 3), relaxed_body(_sets(6, 3), 6)
    y = 30 * rng.normal(size=20)
    projection = relaxed_projection(y, sets, 6, n=20, steps=15, return_gram=True)
    assert np.diag(projection.gram) == pytest.approx(1)
    assert np.linalg.eigvalsh(projection.gram)[0] > -1e-12
    assert 20 * body.values_of_gram(projection.gram) == pytest.approx(projection.values)


def test_points_inside_stay_and_no_noise_is_no_trouble():
    sets = _sets(5, 2)
    assert not relaxed_projection(np.zeros(10), sets, 5, n=10).values.any()
    inside = relaxed_projection(np.full(10, 5.0), sets, 5, n=1000, steps=500)
    assert inside.values == pytest.approx(5, abs=0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sets": []},
        {"sets": [(0, 1), (1, 2), (0, 3)]},
        {"sets": [(0, 0), (1, 2), (0, 2)]},
        {"y": [1.0, 2.0]},
        {"weights": [0, 0, 0]},
        {"weights": [1, 1, -1]},
        {"weights": [1, 1, np.nan]},
        {"n": 0},
        {"steps": 0},
        {"solver": "simplex"},
    ],
)
def test_wrong_parameters_are_refused(wrong):
    right = {"y": [1.0, 2.0, 3.0], "sets": _sets(3, 2), "d": 3, "n": 10}
    with pytest.raises(ValueError, match=r"need|must"):
        relaxed_projection(**(right | wrong))


def test_the_exact_solver_names_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[published\]'.*solver='mixing'"):
        relaxed_projection([5.0, 6.0, 7.0], [(0, 1), (0, 2), (1, 2)], 3, n=9, solver="cvxpy")
