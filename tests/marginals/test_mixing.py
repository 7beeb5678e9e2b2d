"""Linear maximisation over the elliptope: the optimum is between the value and the bound."""

from itertools import product

import numpy as np
import pytest

from skdp.marginals._mixing import bilinear_maximum, dual_bound, linear_maximum, unit_rows
from skdp.marginals._sdp import bilinear_maximum_by_cvxpy


def _symmetric(rng, N):
    C = rng.normal(size=(N, N))
    return C + C.T


@pytest.mark.parametrize("N", [1, 2, 3, 5, 8, 12])
def test_mixing_and_cvxpy_agree_and_their_bounds_hold(N):
    for seed in range(3):
        C = _symmetric(np.random.default_rng([N, seed]), N)
        fast, exact = linear_maximum(C), linear_maximum(C, "cvxpy")
        scale = np.abs(C).sum()
        assert fast.value == pytest.approx(exact.value, abs=1e-5 * scale)
        for one in (fast, exact):
            assert max(fast.value, exact.value) <= one.bound + 1e-14 * scale
            assert one.bound <= one.value + 1e-3 * scale
            assert np.linalg.norm(one.vectors, axis=1) == pytest.approx(1)
            assert np.sum(C * (one.vectors @ one.vectors.T)) == pytest.approx(one.value)


def test_signs_are_feasible():
    rng = np.random.default_rng(1)
    x = np.array(list(product([-1, 1], repeat=8)))
    for _ in range(10):
        C = _symmetric(rng, 8)
        assert np.einsum("ki,ij,kj->k", x, C, x).max() <= linear_maximum(C).bound


def test_any_multipliers_give_a_bound():
    rng = np.random.default_rng(2)
    C = _symmetric(rng, 7)
    value = linear_maximum(C).value
    for scale in (0, 1, 10, 1000):
        assert dual_bound(C, scale * rng.normal(size=7)) >= value


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (6, 6), (12, 4), (4, 12)])
def test_blocks_agree_with_whole_matrices(shape):
    rng = np.random.default_rng(shape)
    for _ in range(5):
        A = rng.normal(size=shape)
        top = bilinear_maximum(A, tol=1e-12)
        U, V = top.vectors
        p, q = shape
        whole = np.block([[np.zeros((p, p)), A], [A.T, np.zeros((q, q))]]) / 2
        reference = linear_maximum(whole)
        assert np.sum(A * (U @ V.T)) == pytest.approx(top.value)
        assert top.value <= reference.bound
        assert reference.value <= top.bound
        assert top.bound == pytest.approx(top.value, rel=1e-3)
        U, V = bilinear_maximum_by_cvxpy(A)
        assert np.sum(A * (U @ V.T)) == pytest.approx(top.value, rel=1e-5)


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
    assert linear_maximum(np.zeros((3, 3))).value == 0


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


@pytest.mark.parametrize("C", [np.zeros((2, 3)), np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(4)])
def test_only_symmetric_matrices(C):
    with pytest.raises(ValueError, match="symmetric"):
        linear_maximum(C)
    with pytest.raises(ValueError, match="'mixing' or 'cvxpy'"):
        linear_maximum(np.eye(2), "simplex")
