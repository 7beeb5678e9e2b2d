"""Composition, groups and conversions against exact sums and numerical integration."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from skdp import gaussian_delta, gaussian_epsilon
from skdp.accounting import (
    advanced_composition,
    basic_composition,
    gaussian_mu,
    gaussian_to_zcdp,
    gdp_composition,
    gdp_group,
    group_delta,
    group_epsilon,
    group_privacy,
    pure_gaussian_delta,
    pure_gaussian_epsilon,
    pure_to_gdp,
    pure_to_zcdp,
    zcdp_composition,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)


def response_delta(odds, k, threshold):
    """Exact delta of k randomised responses with e^epsilon = odds at e^epsilon' = threshold."""
    p = Fraction(odds) / (1 + Fraction(odds))
    total = Fraction(0)
    for lies in range(k + 1):
        p_mass, q_mass = p ** (k - lies) * (1 - p) ** lies, (1 - p) ** (k - lies) * p**lies
        total += math.comb(k, lies) * max(0, p_mass - Fraction(threshold) * q_mass)
    return total


def test_basic_composition_sums_decimal_texts():
    assert basic_composition([(0.1, 1e-7)] * 10) == (1.0, 1e-6)
    assert basic_composition([]) == (0.0, 0.0)
    assert basic_composition([(1, 0.7), (2, 0.7)]) == (3.0, 1.0)
    epsilon, _ = basic_composition([(1 / 3, 0), (1e-20, 0)])
    assert Fraction(epsilon) >= Fraction(repr(1 / 3)) + Fraction(1, 10**20)


@pytest.mark.parametrize("k", [1, 2, 7, 30, 100])
@pytest.mark.parametrize("odds", [Fraction(21, 20), Fraction(3, 2), Fraction(4)])
def test_advanced_composition_covers_randomised_response(k, odds):
    for slack in [1e-1, 1e-3, 1e-9]:
        epsilon, delta = advanced_composition(math.log(odds), 0, k, slack)
        assert delta == slack
        threshold = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**12))
        assert response_delta(odds, k, threshold) <= slack


def test_advanced_composition_values():
    epsilon, delta = advanced_composition(0.1, 1e-8, 100, 1e-6)
    assert delta == 2e-6
    mean = 10 * (math.exp(0.1) - 1) / (math.exp(0.1) + 1)
    assert epsilon == pytest.approx(math.sqrt(2 * math.log(1e6)) + mean, rel=1e-13)
    assert advanced_composition(2, 0, 3, 1e-6)[0] == 6.0  # the plain sum is smaller


def test_advanced_composition_is_not_vacuous():
    # planted slip: the log term without its factor 2 is refuted by exact randomised response
    k, slack, odds = 400, 1e-3, Fraction(21, 20)
    epsilon = float(mp.log(mp.mpf(21) / 20))
    claim = epsilon * math.sqrt(k * math.log(1 / slack))
    assert response_delta(odds, k, Fraction(math.exp(claim))) > slack


def test_group_privacy_is_attained_by_a_chain():
    odds, delta, size = 3, Fraction(1, 1000), 5
    masses = [Fraction(0)]  # P_size(S), ..., P_0(S)
    for _ in range(size):
        masses.append(odds * masses[-1] + delta)
    for one, other in itertools.pairwise(masses):  # the chain is (log 3, delta)-DP, both ways
        for p, q in [(one, other), (other, one), (1 - one, 1 - other), (1 - other, 1 - one)]:
            assert p <= odds * q + delta
    epsilon, total = group_privacy(math.log(3), float(delta), size)
    assert epsilon == pytest.approx(size * math.log(3), rel=1e-15)
    assert masses[-1] * (1 - Fraction(1, 10**15)) <= total <= float(masses[-1]) * (1 + 1e-13)


def test_group_privacy_of_randomised_response_is_exact():
    # a group of k rows answers k times; the likelihood ratio 4^k is reached and not exceeded
    assert response_delta(4, 3, 4**3) == 0 < response_delta(4, 3, 4**3 - 1)
    epsilon, delta = group_privacy(math.log(4), 0, 3)
    assert delta == 0
    assert epsilon == pytest.approx(math.log(64), rel=1e-15)


def test_group_privacy_edges():
    assert group_privacy(0, 1e-6, 4) == (0.0, pytest.approx(4e-6, rel=1e-14))
    assert group_privacy(1, 1e-6, 1) == (1.0, 1e-6)
    assert group_privacy(1000, 1e-6, 2) == (2000.0, 1.0)
    assert group_privacy(1e6, 0, 10**6) == (1e12, 0.0)


def test_gdp_sums():
    assert gdp_composition([3, 4]) == pytest.approx(5, rel=1e-14)
    assert gdp_composition([3, 4]) > 5
    assert gdp_composition([]) == gdp_composition([0]) == 0
    assert 0.3 < gdp_group(0.1, 3) < 0.3 * (1 + 1e-14)
    assert 0.5 <= gaussian_to_zcdp(1) < 0.5 * (1 + 1e-14)
    assert zcdp_composition([0.1] * 10) == 1.0


def test_pure_to_gdp_is_the_smallest_mu_rounded_up():
    for epsilon in [1e-12, 1e-5, 0.3, 0.999999, 1, 2, 20, 700, 1e4]:
        mu = pure_to_gdp(epsilon)
        with mp.workdps(60):  # Phi(-mu / 2) = 1 / (1 + e^epsilon), in logs

            def fixed(scale, mu=mu):
                return mp.log(mp.erfc(mu * scale / (2 * mp.sqrt(2))) / 2)

            goal = -mp.mpf(epsilon) - mp.log1p(mp.exp(-epsilon))
            assert fixed(mp.mpf(1)) <= goal <= fixed(1 - mp.mpf("1e-13")), epsilon
    assert pure_to_gdp(0) < 1e-300


def test_pure_to_gdp_lies_above_the_curve_of_randomised_response():
    for epsilon in [0.1, 1, 5]:
        mu, p = pure_to_gdp(epsilon), 1 / (1 + math.exp(-epsilon))
        for other in np.linspace(0, epsilon, 41):
            response = max(0.0, p - math.exp(other) * (1 - p))
            assert gaussian_delta(1 / mu, other) >= response
        assert gaussian_delta(1 / (mu * 0.999), 0) < 2 * p - 1  # a smaller mu is refuted at 0


def test_pure_to_zcdp_bounds_every_order_of_randomised_response():
    for epsilon in [0.01, 0.5, 1, 3, 30]:
        rho, e = pure_to_zcdp(epsilon), mp.mpf(epsilon)
        assert rho < min(epsilon, epsilon**2 / 2)
        for order in map(mp.mpf, [1.0001, 1.1, 1.5, 2, 4, 32, 1000]):
            log_mean = mp.log(mp.cosh((order - mp.mpf("0.5")) * e) / mp.cosh(e / 2))
            assert log_mean / (order - 1) <= order * rho * (1 + 1e-9)
        limit = mp.log(mp.cosh((mp.mpf("0.5") + mp.mpf("1e-6")) * e) / mp.cosh(e / 2)) * 10**6
        assert float(limit) == pytest.approx(rho, rel=1e-4)  # attained as the order tends to 1


@pytest.mark.parametrize(
    ("rho", "cks"),
    [
        (0.001, 0.182895),
        (0.01, 0.621693),
        (0.1, 2.141939),
        (0.5, 5.221534),
        (1, 7.766217),
        (5, 20.551949),
    ],
)
def test_zcdp_epsilon_reference_values(rho, cks):
    epsilon = zcdp_epsilon(rho, 1e-6)
    assert epsilon == pytest.approx(cks, abs=6e-7)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1e6))
    assert epsilon > gaussian_epsilon(1 / math.sqrt(2 * rho), 1e-6)


def test_zcdp_epsilon_agrees_with_public_accountants():
    assert zcdp_epsilon(0.5, 1e-5) == pytest.approx(4.7284, abs=6e-5)


def exact_cks(rho, epsilon):
    """Minimum over a fine grid of orders, refined, in 40 digits."""
    with mp.workdps(40):
        rho, epsilon = mp.mpf(rho), mp.mpf(epsilon)

        def slope(s):
            t = mp.exp(s)
            return (1 + 2 * t) * rho - epsilon - mp.log1p(1 / t)

        low, high = mp.mpf(-80), mp.mpf(80)
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        alpha = 1 + mp.exp(high)
        power = mp.exp((alpha - 1) * (alpha * rho - epsilon))
        return power * (1 - 1 / alpha) ** alpha / (alpha - 1)


def test_zcdp_conversions_are_safe_and_tight():
    for rho, epsilon in itertools.product([1e-6, 1e-3, 0.1, 1, 30], [0.01, 0.5, 4, 60]):
        exact, delta = exact_cks(rho, epsilon), zcdp_delta(rho, epsilon)
        assert delta >= min(exact, 1)
        if exact > 1e-300:
            assert delta <= exact * (1 + mp.mpf("1e-9"))
        if 1e-300 < exact < 0.99:
            assert zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-9, abs=1e-12)


def test_zcdp_rho_is_the_largest_certified():
    for epsilon, delta in itertools.product([1e-4, 0.1, 1, 10, 1e3], [1e-300, 1e-9, 1e-6, 0.3]):
        rho = zcdp_rho(epsilon, delta)
        assert zcdp_delta(rho, epsilon) <= delta
        assert zcdp_delta(rho * (1 + 1e-9), epsilon) > delta
        assert rho < gaussian_mu(epsilon, delta) ** 2 / 2


def integrated_delta(pure_epsilon, mu, epsilon):
    """Hockey-stick divergence of (response x Gaussian) pairs by quadrature, 30 digits."""
    with mp.workdps(30):
        e, m, goal = mp.mpf(pure_epsilon), mp.mpf(mu), mp.exp(mp.mpf(epsilon))
        p = 1 / (1 + mp.exp(-e))
        total = mp.mpf(0)
        for one, two in [(p, 1 - p), (1 - p, p)]:

            def excess(x, one=one, two=two):
                gain = one * mp.npdf(x, m, 1) - goal * two * mp.npdf(x, 0, 1)
                return max(gain, mp.mpf(0))

            # the integrand is positive beyond this point only
            start = mp.log(goal * two / one) / m + m / 2
            total += mp.quad(excess, [start, start + 1, start + 4, start + 12, start + 40])
            if start < m - 12:  # the bulk lies far to the right of the start
                raise AssertionError("choose milder parameters")
        return total


@pytest.mark.slow
def test_pure_gaussian_delta_against_integration():
    for pure, mu, epsilon in itertools.product([0.2, 1, 3], [0.5, 1.3], [0, 0.3, 2.5]):
        exact = integrated_delta(pure, mu, epsilon)
        delta = pure_gaussian_delta(pure, mu, epsilon)
        assert exact * (1 - mp.mpf("1e-15")) <= delta <= exact * (1 + mp.mpf("1e-9"))


def test_pure_gaussian_ends():
    for epsilon in [0, 0.4, 2]:
        assert pure_gaussian_delta(0, 0.8, epsilon) == pytest.approx(
            gaussian_delta(1 / 0.8, epsilon), rel=1e-12
        )
        p = 1 / (1 + math.exp(-1.0))
        response = max(0.0, p - math.exp(epsilon) * (1 - p))
        assert pure_gaussian_delta(1, 0, epsilon) == pytest.approx(response, rel=1e-12, abs=1e-300)
    assert pure_gaussian_epsilon(1, 0, 1e-9) == pytest.approx(1, abs=1e-8)


def test_pure_gaussian_epsilon_inverts_and_beats_the_sum():
    for pure, mu, delta in itertools.product([0.01, 0.5, 3], [0.05, 1], [1e-9, 1e-6, 0.1]):
        epsilon = pure_gaussian_epsilon(pure, mu, delta)
        assert epsilon <= pure + gaussian_epsilon(1 / mu, delta)
        assert pure_gaussian_delta(pure, mu, epsilon) <= delta * (1 + 1e-13)
        if epsilon > 0:
            assert pure_gaussian_delta(pure, mu, epsilon * (1 - 1e-9)) > delta * (1 - 1e-12)
        rough = gaussian_epsilon(1 / gdp_composition([mu, pure_to_gdp(pure)]), delta)
        assert epsilon <= rough * (1 + 1e-12)


def supremum(mu, f, size, epsilon):
    """The largest F(q) - e^epsilon q with T capped at 1, 40 digits, by golden section in log q."""
    with mp.workdps(40):
        mu, f, goal = mp.mpf(mu), mp.mpf(f), mp.exp(mp.mpf(epsilon))

        def quantile(x):
            return -mp.sqrt(2) * mp.erfinv(1 - 2 * x)

        def value(log_q):
            x = mp.exp(log_q)
            q = x
            for _ in range(size):
                x = min(1, x + f)
                x = f + (mp.ncdf(quantile(x) + mu) if x < 1 else 1)
                x = min(1, x)
            return x - goal * q

        low, high, golden = mp.mpf(-50), mp.mpf(0), (mp.sqrt(5) - 1) / 2
        for _ in range(60):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if value(left) > value(right) else (left, high)
        return max(value((low + high) / 2), value(mp.mpf(-200)))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    ("mu", "f"), [(0.25, 1e-9), (0.25, 1e-4), (1.0, 1e-7), (0.02, 1e-12), (1.0, 0.02)]
)
def test_group_delta_is_the_supremum(mu, f, size):
    for epsilon in [0, 1.5, 6]:
        exact, delta = supremum(mu, f, size, epsilon), group_delta(mu, f, size, epsilon)
        assert exact * (1 - mp.mpf("1e-13")) <= delta <= exact * (1 + mp.mpf("1e-9"))


def test_group_delta_of_one_row_is_the_claim_or_less():
    for mu, f, epsilon in itertools.product([0.01, 0.25, 2], [1e-15, 1e-8, 1e-3], [0, 0.1, 1, 8]):
        claim = gaussian_delta(1 / mu, epsilon) + (1 + math.exp(epsilon)) * f
        assert group_delta(mu, f, 1, epsilon) <= claim * (1 + 1e-9)
    mu = gaussian_mu(1, 0.95e-6)
    f = 0.05e-6 / (1 + math.e)
    assert group_delta(mu, f, 1, 1.0) == pytest.approx(1e-6, rel=1e-9)


def test_group_delta_without_failures_is_gaussian():
    for mu, size, epsilon in itertools.product([0.01, 0.25, 1], [1, 2, 7], [0, 0.5, 5]):
        gaussian = gaussian_delta(1, epsilon, size * mu)
        assert group_delta(mu, 0, size, epsilon) == pytest.approx(gaussian, rel=1e-9)
        tiny = group_delta(mu, Fraction(1, 10**5000), size, epsilon)
        assert tiny == pytest.approx(gaussian, rel=1e-9)
        assert tiny >= gaussian * (1 - 1e-9)


def test_failures_too_small_for_a_float_still_count():
    # at epsilon = 1000 a share of delta is e^-1000 delta: zero as a float, not in the bill
    delta, epsilon = 1e-6, 1000.0
    mu = gaussian_mu(epsilon, 0.95 * delta)
    f = Fraction(5, 10**8) / (1 + Fraction(int(mp.floor(mp.exp(1000)))))
    assert float(f) == 0
    assert group_delta(mu, f, 1, epsilon) == pytest.approx(delta, rel=1e-8)
    assert group_delta(mu, float(f), 1, epsilon) < 0.951 * delta


def test_group_epsilon_inverts_group_delta():
    for mu, f, size in itertools.product([0.05, 0.3, 1.5], [0, 1e-12, 1e-8], [1, 2, 5]):
        for delta in [1e-6, 1e-3]:
            epsilon = group_epsilon(mu, f, size, delta)
            if math.isinf(epsilon):  # the failures of a group can add up to more than delta
                assert group_delta(mu, f, size, 1e6) > delta
                continue
            assert group_delta(mu, f, size, epsilon) <= delta * (1 + 1e-12)
            if epsilon > 0:
                assert group_delta(mu, f, size, epsilon * (1 - 1e-8)) > delta * (1 - 1e-12)
    assert group_epsilon(0.3, 1e-6, 1, 1e-6) == math.inf
    assert group_epsilon(0.3, np.float32(0), np.int64(2), 1e-6) > 0
    assert group_epsilon(0.3, 1e-5, 1, 0.5) == 0


def test_groups_grow():
    sizes = [group_delta(0.2, 1e-9, size, 1.0) for size in range(1, 30)]
    assert np.all(np.diff(sizes) >= 0)
    epsilons = [group_epsilon(0.2, 1e-9, size, 1e-5) for size in range(1, 8)]
    assert np.all(np.diff(epsilons) > 0)
    assert group_delta(5.0, 1e-3, 50, 0.1) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: basic_composition([(-1, 0)]), "epsilon must be a number in"),
        (lambda: basic_composition([(1, 2)]), r"delta must be a number in \[0, 1\]. Got 2"),
        (lambda: advanced_composition(1, 0, 0, 1e-6), "k must be an integer >= 1. Got 0"),
        (lambda: advanced_composition(1, 0, 2, 0), "slack must be"),
        (lambda: group_privacy(1, 0, 1.5), "size must be an integer >= 1"),
        (lambda: group_privacy(1, 0, True), "size must be an integer >= 1"),
        (lambda: gdp_composition([math.nan]), "mu must be"),
        (lambda: gaussian_to_zcdp(0), "mu must be"),
        (lambda: zcdp_delta(-1, 1), "rho must be"),
        (lambda: zcdp_epsilon(1, 0), "delta must be"),
        (lambda: zcdp_rho(1, 1), "delta must be"),
        (lambda: pure_to_gdp("a"), "epsilon must be"),
        (lambda: pure_gaussian_delta(-1, 1, 1), "pure_epsilon must be"),
        (lambda: group_delta(1, 1, 1, 1), r"failure must be a number in \[0, 1\)"),
        (lambda: group_epsilon(0, 0, 1, 0.1), "mu must be"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
