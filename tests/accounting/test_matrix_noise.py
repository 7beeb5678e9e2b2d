import math

import numpy as np
import pytest
from scipy.integrate import quad

from skdp.accounting import pure_to_gdp
from skdp.accounting._matrix_noise import (
    gdp_to_pure,
    noise_delta,
    noise_renyi,
    smallest_noise,
)
from tests.accounting._literature import safe_distance


def test_the_divergence_is_that_of_its_integral():
    for s, eta, alpha in ((0.1, 0.3, 2.0), (0.5, 0.2, 1.5), (0.05, 1.0, 9.0)):
        values = []
        for ratio in (1 + s, 1 / (1 + s)):
            for v1, v2 in ((ratio, 1.0), (1.0, ratio)):
                m1, m2 = math.sqrt(v1), math.sqrt(v2)

                def law(x, m, v, eta=eta):
                    return -((x - m) ** 2) / (2 * eta**2 * v) - math.log(eta * math.sqrt(v))

                def f(x, m1=m1, m2=m2, v1=v1, v2=v2, alpha=alpha, law=law):
                    exponent = alpha * law(x, m1, v1) + (1 - alpha) * law(x, m2, v2)
                    return math.exp(exponent) / math.sqrt(2 * math.pi)

                values.append(math.log(quad(f, -30, 30, limit=500, points=[m1])[0]) / (alpha - 1))
        exact = max(values)
        assert noise_renyi(alpha, distance=s, eta=eta, d=1) == pytest.approx(exact, rel=1e-6)


def test_the_ends_of_the_interval_are_the_worst(rng):
    for _ in range(200):
        s, eta, d = rng.uniform(0.01, 0.9), rng.uniform(0.01, 2), int(rng.integers(1, 30))
        alphas = 1 + np.geomspace(1e-4, 0.99, 20) / s
        whole = noise_renyi(alphas, distance=s, eta=eta, d=d)
        inner = noise_renyi(alphas, distance=s * rng.random(), eta=eta, d=d)
        assert np.all(inner <= whole * (1 + 1e-9))
    assert noise_renyi(1 + 1.01 / s, distance=s, eta=eta, d=d) == math.inf


def test_the_closed_bound_agrees_and_is_far_looser():
    for d in (1, 5, 20):
        for epsilon in (0.1, 1.0, 5.0):
            for delta in (1e-6, 1e-9):
                eta = 0.3 / math.sqrt(d)
                safe = safe_distance(epsilon, delta, eta=eta, d=d)
                assert noise_delta(epsilon, distance=safe, eta=eta, d=d) <= delta
                assert noise_delta(epsilon, distance=5 * safe, eta=eta, d=d) <= delta


def test_the_smallest_noise_just_suffices():
    for d, distance in ((2, 0.02), (10, 0.005)):
        eta = smallest_noise(1.0, math.log(1e-8), distance=distance, d=d, largest=1.0)
        assert noise_delta(1.0, distance=distance, eta=eta, d=d) <= 1e-8
        assert noise_delta(1.0, distance=distance, eta=0.98 * eta, d=d) > 1e-8
    assert smallest_noise(0.1, math.log(1e-8), distance=0.5, d=5, largest=1.0) is None
    assert smallest_noise(1.0, math.log(1e-8), distance=2.0, d=5, largest=1.0) is None


def test_epsilon_of_a_cost():
    for mu in (1e-6, 0.01, 0.5, 3.0, 12.0):
        epsilon = gdp_to_pure(mu)
        assert pure_to_gdp(epsilon) <= mu < pure_to_gdp(epsilon * (1 + 1e-12)) * (1 + 1e-9)


def test_delta_holds_for_one_column():
    """(1 + eta Z)^2 S at S = 1 and S = 1 + s: hockey-stick divergences by integration."""
    eta, s, epsilon = 0.3, 0.05, 0.4
    delta = noise_delta(epsilon, distance=s, eta=eta, d=1)

    def density(b, scale):  # of |1 + eta Z| scale, which B determines
        return sum(
            math.exp(-((sign * b / scale - 1) ** 2) / (2 * eta * eta)) for sign in (1, -1)
        ) / (eta * scale * math.sqrt(2 * math.pi))

    grid, root = np.linspace(0, 4, 40001), math.sqrt(1 + s)
    p, q = (np.array([density(b, scale) for b in grid]) for scale in (1.0, root))
    divergences = [
        np.maximum(one - math.exp(epsilon) * two, 0).sum() * grid[1]
        for one, two in ((p, q), (q, p))
    ]
    assert delta / 30 < max(divergences) <= delta
