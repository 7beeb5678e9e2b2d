import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from skdp.audit._bounds import (
    clopper_pearson,
    epsilon_between,
    epsilon_lower_bound,
    mu_between,
    mu_lower_bound,
    rho_between,
)


def binomial(runs, p):
    """The exact probabilities of 0, ..., runs hits."""
    return [math.comb(runs, k) * p**k * (1 - p) ** (runs - k) for k in range(runs + 1)]


@pytest.mark.parametrize("error", [0.05, 1e-6])
@pytest.mark.parametrize("runs", [1, 2, 7, 30])
def test_bounds_solve_the_binomial_tail_exactly(runs, error):
    for hits in range(runs + 1):
        low, high = clopper_pearson(hits, runs, error)
        if hits:
            tail = sum(binomial(runs, Fraction(float(low)))[hits:])
            assert error * (1 - 1e-6) < tail <= error
        else:
            assert low == 0
        if hits < runs:
            tail = sum(binomial(runs, Fraction(float(high)))[: hits + 1])
            assert error * (1 - 1e-6) < tail <= error
        else:
            assert high == 1


@pytest.mark.parametrize("hits", [1, 37, 500, 9998, 10_000])
@pytest.mark.parametrize("error", [0.01, 1e-9])
def test_bounds_of_many_runs(hits, error):
    low, high = clopper_pearson([hits, 10_000 - hits], 10_000, error)
    assert high[1] == pytest.approx(1 - low[0], abs=1e-8)
    with mpmath.workdps(30):
        tail = mpmath.betainc(hits, 10_001 - hits, 0, mpmath.mpf(float(low[0])), regularized=True)
        assert error * (1 - 1e-4) < tail <= error


def test_bad_counts_are_refused():
    with pytest.raises(ValueError, match="between 0 and runs"):
        clopper_pearson(5, 4, 0.01)
    with pytest.raises(ValueError, match="error must be in"):
        clopper_pearson(1, 4, 0.5)


def exactly(p):
    return p, p


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_epsilon_of_the_extreme_mechanism(epsilon, delta):
    # tells with probability delta, else randomised response: the worst (epsilon, delta) mechanism
    p = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    q = (1 - delta) / (1 + math.exp(epsilon))
    for pair in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
        assert epsilon_between(*map(exactly, pair), delta) == pytest.approx(epsilon)
    assert epsilon_between(exactly(q), exactly(q), delta) == 0


def test_mu_of_a_gaussian_half_space_is_mu():
    cuts = np.linspace(-2, 3, 11)
    for pair in ((ndtr(1.3 - cuts), ndtr(-cuts)), (ndtr(-cuts), ndtr(1.3 - cuts))):
        np.testing.assert_allclose(mu_between(*map(exactly, pair)), 1.3, rtol=1e-10)
    # whatever a failure of probability f adds to one side and takes from the other is taken back
    p, q = ndtr(1.3 - cuts) + 0.002, ndtr(-cuts) - 0.002
    np.testing.assert_allclose(mu_between(exactly(p), exactly(q), 0.002), 1.3, rtol=1e-10)
    assert mu_between((0.0, 0.001), (0.5, 1.0), 0.01) == pytest.approx(
        -math.sqrt(2) * mpmath.erfinv(2 * 0.011 - 1) + math.sqrt(2) * mpmath.erfinv(2 * 0.49 - 1)
    )


@pytest.mark.parametrize("mu", [0.2, 1.0, 4.0])
def test_rho_never_exceeds_that_of_the_gaussian_and_comes_close(mu):
    cuts = np.linspace(-6, 10, 400)
    rho = rho_between(exactly(ndtr(mu - cuts)), exactly(ndtr(-cuts)))
    assert rho.max() <= mu**2 / 2
    # 2 / pi of the divergence survive the rounding to one bit where mu is small, more elsewhere
    assert rho.max() > 0.63 * mu**2 / 2


def test_rho_against_the_definition():
    p, q = 0.4, 0.1
    orders = np.linspace(1.001, 60, 200_000)
    renyi = np.log(p**orders * q ** (1 - orders) + (1 - p) ** orders * (1 - q) ** (1 - orders))
    best = np.max(renyi / (orders - 1) / orders)
    assert 0.98 * best < rho_between(exactly(p), exactly(q)) <= best * (1 + 1e-9)


def test_intervals_are_bounded_at_their_worst_corner():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p, q = np.sort(rng.uniform(size=2)), np.sort(rng.uniform(size=2))
        inside = rng.uniform(*p, 300), rng.uniform(*q, 300)
        for bound in (
            lambda p, q: epsilon_between(p, q, 0.03),
            mu_between,
            lambda p, q: mu_between(p, q, 0.01),
            rho_between,
        ):
            assert bound(p, q) <= bound(*map(exactly, inside)).min() + 1e-9


@pytest.mark.parametrize("runs", [10, 25])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_false_alarms_are_as_rare_as_promised(runs, confidence):
    """The exact probability that a bound exceeds the truth, over all pairs of counts."""
    for p, q in ((0.7, 0.3), (0.95, 0.6), (0.5, 0.5)):
        weights = np.outer(binomial(runs, p), binomial(runs, q))
        truths = (
            epsilon_between(exactly(p), exactly(q), 0.05),
            mu_between(exactly(p), exactly(q)),
        )
        wrong = np.zeros((2, runs + 1, runs + 1), dtype=bool)
        for a in range(runs + 1):
            for b in range(runs + 1):
                counts = a, runs, b, runs
                bounds = (
                    epsilon_lower_bound(*counts, 0.05, confidence=confidence),
                    mu_lower_bound(*counts, confidence=confidence),
                )
                wrong[:, a, b] = [x > t + 1e-12 for x, t in zip(bounds, truths, strict=True)]
        assert weights[wrong.any(axis=0)].sum() <= 1 - confidence
    assert wrong.any()  # not vacuous


def test_counts_give_the_bounds_of_their_intervals():
    intervals = (clopper_pearson(k, 1000, 2.5e-4) for k in (700, 200))
    expected = epsilon_between(*intervals, 0.01)
    assert epsilon_lower_bound(700, 1000, 200, 1000, 0.01) == pytest.approx(float(expected))
    assert epsilon_lower_bound(0, 100, 0, 100) == 0
    assert mu_lower_bound(0, 100, 100, 100) > 2
