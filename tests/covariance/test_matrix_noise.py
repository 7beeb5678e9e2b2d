import math

import numpy as np
import pytest
from scipy.integrate import quad

from skdp.covariance._matrix_noise import (
    average_distance,
    noise_delta,
    noise_renyi,
    safe_distance,
    smallest_noise,
)


def _distance(A, B):
    values = np.linalg.eigvals(np.linalg.solve(A, B)).real
    return max(values.max(), 1 / values.min()) - 1


def test_averages_of_friends_are_as_close_as_claimed(rng):
    """Random and extreme matrices within the distance of friends of friends of one another."""
    worst = 0.0
    for _ in range(3000):
        n, d, gamma = int(rng.integers(2, 6)), int(rng.integers(1, 4)), float(rng.uniform(0.1, 2))
        g = (1 + gamma) ** 2
        if rng.random() < 0.5:  # commuting: the common ones and one other at the same end
            others, one, two = [np.eye(d)] * (n - 1), np.eye(d), np.diag(g ** rng.integers(0, 2, d))
        else:
            Q = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n + 1)]
            made = [q @ np.diag(g ** rng.uniform(-0.5, 0.5, d)) @ q.T for q in Q]
            others, (one, two) = made[:-2], made[-2:]
        both = [sum([*others, last]) / n for last in (one, two)]
        alone = sum(others) / (n - 1)
        moved = max(_distance(*both), _distance(alone, both[0]), _distance(alone, both[1]))
        worst = max(worst, moved / average_distance(gamma, n))
    assert 0.999 < worst <= 1


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
