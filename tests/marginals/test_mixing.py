"""Linear maximisation over unit vectors: the optimum is between the value and the bound."""

from itertools import product

import numpy as np
import pytest

from skdp.marginals.published._relaxation import (
    bilinear_maximum,
    bilinear_maximum_by_cvxpy,
    unit_rows,
)


def _feasible(A, vectors):
    """Return the value of unit vectors."""
    U, V = vectors
    assert all(np.linalg.norm(W, axis=1) == pytest.approx(1) for W in vectors)
    return np.sum(A * (U @ V.T))


def test_signs_are_feasible():
    rng = np.random.default_rng(1)
    z = np.array(list(product([-1, 1], repeat=8)))
    for _ in range(10):
        A = rng.normal(size=(8, 8))
        assert np.abs(A @ z.T).sum(axis=0).max() <= bilinear_maximum(A).bound


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (6, 6), (12, 4), (4, 12)])
def test_mixing_and_cvxpy_agree_and_the_bound_holds(shape):
    rng = np.random.default_rng(shape)
    for _ in range(5):
        A = rng.normal(size=shape)
        top, exact = bilinear_maximum(A, tol=1e-12), _feasible(A, bilinear_maximum_by_cvxpy(A))
        assert _feasible(A, top.vectors) == pytest.approx(top.value)
        assert top.value == pytest.approx(exact, rel=1e-5)
        assert max(top.value, exact) <= top.bound == pytest.approx(top.value, rel=1e-3)


def test_the_bound_holds_for_inexact_maxima():
    rng = np.random.default_rng(3)
    for _ in range(20):
        A = rng.normal(size=(20, 20)) * 10.0 ** rng.uniform(-150, 150)
        hasty, best = bilinear_maximum(A, tol=0.5), bilinear_maximum(A, tol=1e-10)
        assert hasty.value <= best.value * (1 + 1e-9)
        assert best.value <= hasty.bound


def test_rows_and_columns_of_zeros():
    A = np.zeros((5, 4))
    assert bilinear_maximum(A).value == bilinear_maximum(A).bound == 0
    A[1, 2], A[3, 0] = 2.0, -3.0
    top = bilinear_maximum(A)
    assert top.value == pytest.approx(5)
    assert 5 <= top.bound < 5 + 1e-6
    assert np.linalg.norm(top.vectors[0], axis=1) == pytest.approx(1)


def test_a_start_saves_sweeps_and_changes_no_optimum():
    A = np.random.default_rng(4).normal(size=(30, 20))
    cold = bilinear_maximum(A, tol=1e-12)
    warm = bilinear_maximum(A, start=cold.vectors[1], tol=1e-12)
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    assert bilinear_maximum(A, tol=1e-12).value == cold.value


def test_unit_rows_are_public_and_in_general_position():
    V = unit_rows(40, 10)
    assert np.array_equal(V, unit_rows(40, 10))
    assert np.linalg.norm(V, axis=1) == pytest.approx(1)
    assert np.linalg.svd(V, compute_uv=False)[-1] > 0.5
