import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import kstest

from skdp.mechanisms import _noise, make_entropy
from skdp.mechanisms._noise import fine_gaussian, noisy_factor

LOG_P = math.log(4e-9)


def _fractions(S):
    return np.array([[Fraction(float(x)) for x in row] for row in S], dtype=object)


def test_fine_gaussians_are_normal_down_to_their_low_bits():
    """p-values of a fixed seed; a correct sampler is below 1e-3 for one seed in a thousand each."""
    bits = 100
    draws = fine_gaussian((100, 100), bits, make_entropy(3)).ravel()
    values = np.array([x / (1 << 47 + bits) for x in draws])
    assert kstest(values, "norm").pvalue > 1e-3
    for low in (20, 60, 93, 115):  # a slice of bits of a smooth law is uniform
        u = np.array([(abs(x) >> low) % 2**16 for x in draws]) / 2.0**16
        assert kstest(u, "uniform").pvalue > 1e-3
    assert all(x % 2 for x in draws)  # the middle of a cell


def test_points_of_a_cell_follow_the_normal_density(monkeypatch):
    """In the coarse cells of a small grid the slope of the density shows; exact acceptance."""
    rates = []
    monkeypatch.setattr(
        _noise, "_bernoulli_exp", lambda gamma, entropy: rates.append(gamma) or True
    )
    for cell in (0, 1, 5 * 2**46):
        point = _noise._within(cell, 64, make_entropy(7))
        g, inner = Fraction(point, 2 ** (47 + 64)), Fraction(max(2 * cell - 1, 0), 2**47)
        assert abs(g - Fraction(cell, 2**46)) < Fraction(1, 2**47)
        assert rates[-1] == (g * g - inner * inner) / 2


@pytest.mark.parametrize(
    "d, eta, power", [(1, 0.5, 0), (3, 0.25, -900), (8, 1e-3, 0), (8, 1.0, 880)]
)
def test_the_factor_is_that_of_real_numbers(d, eta, power, rng, monkeypatch):
    """Bit for bit, against elimination with 500 digits, condition numbers up to 1e12."""
    drawn = []

    def remembered(size, bits, entropy):
        G = fine_gaussian(size, bits, entropy)
        drawn.append((G, bits))
        return G

    monkeypatch.setattr(_noise, "fine_gaussian", remembered)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.logspace(0, 6, d)
    S = np.tril(Q @ Q.T) + np.tril(Q @ Q.T, -1).T
    units = 2.0 ** rng.integers(-15, 15, size=d)
    S = np.ldexp(S * units[:, None] * units, power)
    C = noisy_factor(_fractions(S), eta, LOG_P, make_entropy(d))
    (G, bits) = drawn[0]
    with mpmath.workdps(500):
        X = mpmath.eye(d) + mpmath.mpf(eta) * mpmath.matrix(
            [[mpmath.mpf(int(g)) / mpmath.mpf(2) ** (47 + bits) for g in row] for row in G]
        )
        W = mpmath.cholesky(mpmath.matrix(S.tolist())) * X
        expected = mpmath.cholesky(W * W.T)
        assert C.tolist() == [[float(expected[i, j]) for j in range(d)] for i in range(d)]


def test_the_noise_is_multiplicative(rng):
    """E B = (1 + eta^2 d) S, in whitened coordinates; 400 draws, four standard errors."""
    d, eta = 3, 0.2
    L = np.tril(rng.normal(size=(d, d))) + 3 * np.eye(d)
    S = L @ L.T
    inverse, entropy = np.linalg.inv(np.linalg.cholesky(S)), make_entropy(1)
    W = [inverse @ noisy_factor(_fractions(S), eta, LOG_P, entropy) for _ in range(400)]
    B = np.array([w @ w.T for w in W])
    gap = (B.mean(axis=0) - (1 + eta**2 * d) * np.eye(d)) / (B.std(axis=0) / 20)
    assert np.abs(gap).max() < 4
    assert np.abs(B[:, 0, 1].std() / (math.sqrt(2) * eta) - 1) < 0.2


def test_arguments_beyond_the_proof_are_refused():
    S, entropy = _fractions(np.eye(2)), make_entropy(0)
    for eta, log_p in ((2.0, LOG_P), (2.0**-40, LOG_P), (0.1, -300.0)):
        with pytest.raises(ValueError, match="noisy_factor"):
            noisy_factor(S, eta, log_p, entropy)
