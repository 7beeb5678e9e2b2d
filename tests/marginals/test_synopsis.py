"""Short vectors keep their inner products, always."""

from itertools import combinations
from math import exp

import numpy as np
import pytest

from skdp.marginals.published import _synopsis
from skdp.marginals.published._frank_wolfe import relaxed_projection
from skdp.marginals.published._relaxation import relaxed_body
from skdp.marginals.published._synopsis import (
    jl_dimension,
    jl_synopsis,
    public_signs,
)


def _unit(N, D, seed=0):
    V = np.random.default_rng([N, D, seed]).normal(size=(N, D))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


@pytest.mark.parametrize(("N", "gamma"), [(400, 0.5), (300, 0.7), (50, 0.9)])
def test_inner_products_stay_within_gamma(N, gamma):
    V = _unit(N, 500)
    short = jl_synopsis(V, gamma, 0.1)
    assert short.shape == (N, jl_dimension(N, gamma, 0.1))
    assert short.shape[1] < 500
    error = np.abs(short @ short.T - V @ V.T).max()
    assert 0.05 * gamma < error <= gamma
    assert np.array_equal(short, jl_synopsis(V, gamma, 0.1))


def test_the_dimension_is_the_least_of_the_theorem():
    for N, gamma, beta in [(10, 0.1, 0.01), (5050, 0.5, 0.1), (1, 0.99, 0.5)]:
        rate = gamma**2 / 4 - gamma**3 / 6
        r = jl_dimension(N, gamma, beta)
        assert 2 * N**2 * exp(-r * rate) <= beta < 2 * N**2 * exp(-(r - 1) * rate)


def test_a_projection_that_fails_is_replaced(monkeypatch):
    attempts = []

    def signs(n_rows, n_columns, attempt):
        attempts.append(attempt)
        return 0 * public_signs(1, 1, 0) if attempt < 2 else public_signs(n_rows, n_columns, 2)

    monkeypatch.setattr(
        _synopsis,
        "public_signs",
        lambda D, r, attempt: np.broadcast_to(signs(D, r, attempt), (D, r)),
    )
    V = _unit(50, 500)
    short = jl_synopsis(V, 0.9)
    assert attempts == [0, 1, 2]
    assert np.abs(short @ short.T - V @ V.T).max() <= 0.9


def test_signs_are_public_and_balanced():
    signs = public_signs(300, 100, 0)
    assert np.array_equal(signs, public_signs(300, 100, 0))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 6 / np.sqrt(signs.size)  # a fixed matrix: passes once, always
    assert np.mean(signs == public_signs(300, 100, 1)) == pytest.approx(0.5, abs=0.02)


def test_short_vectors_are_left_alone():
    V = _unit(30, 5)
    assert np.array_equal(jl_synopsis(V, 0.1), V)


def test_a_synopsis_answers_as_the_projection_does():
    sets, rng = list(combinations(range(24), 3)), np.random.default_rng(1)
    body, n = relaxed_body(sets, 24), 100
    y = 100 * rng.normal(size=len(sets))
    projection = relaxed_projection(y, sets, 24, n=n, steps=3, return_gram=True)
    squares, basis = np.linalg.eigh(projection.gram)
    V = basis * np.sqrt(np.maximum(squares, 0.0))
    assert np.allclose(V @ V.T, projection.gram, rtol=0, atol=1e-9)
    short = jl_synopsis(V, 0.8, 0.5)
    assert short.shape[1] < V.shape[1]
    answers = n * body.values_of_gram(short @ short.T)
    assert np.abs(answers - projection.values).max() <= 0.8 * n


def test_wrong_parameters_are_refused():
    for gamma, beta in [(0, 0.1), (1, 0.1), (0.5, 0), (0.5, 1)]:
        with pytest.raises(ValueError, match="must be in"):
            jl_dimension(10, gamma, beta)
    with pytest.raises(ValueError, match="at most 1"):
        jl_synopsis(np.full((3, 4), 1.0), 0.5)
