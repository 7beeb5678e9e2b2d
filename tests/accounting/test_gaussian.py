"""The curve and its calibration against mpmath; every check is deterministic."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from skdp import gaussian_delta, gaussian_epsilon, gaussian_sigma
from skdp.accounting import gaussian_mu
from skdp.accounting._gaussian import log_delta, log_delta_up

EPSILONS = [0, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1, 2, 5, 10, 50, 100, 500, 1000]
TAILS = [1e-300, 1e-200, 1e-100, 1e-50, 1e-30, 1e-20, 1e-14, 1e-10, 1e-8, 1e-6]
DELTAS = [*TAILS, 1e-4, 1e-2, 0.1, 0.5, 0.9, 1 - 1e-6]

TABLE = [  # epsilon, delta, sigma, classical / sigma
    (0, 1e-5, 39894.228039605536, None),
    (0.01, 1e-4, 172.57399571651, 2.517),
    (0.1, 1e-6, 36.304690426226, 1.4595),
    (0.5, 1e-5, 7.03182667559, 1.378),
    (1, 1e-5, 3.73063163482, None),
    (1, 1e-6, 4.22467888933, None),
    (1, 1e-9, 5.49526615724, None),
    (8, 1e-5, 0.60022907220, None),
    (10, 1e-10, 0.68304396723, None),
    (100, 1e-6, 0.09783722397, None),
    (1000, 1e-300, 0.04753766013, None),
]


def exact_delta(epsilon, mu, digits=450):
    with mp.workdps(digits):
        epsilon, mu, root = mp.mpf(epsilon), mp.mpf(mu), mp.sqrt(2)
        a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return (mp.erfc(a / root) - mp.exp(epsilon) * mp.erfc(b / root)) / 2


@pytest.mark.parametrize(("epsilon", "delta", "sigma", "ratio"), TABLE)
def test_reference_values(epsilon, delta, sigma, ratio):
    assert gaussian_sigma(epsilon, delta) == pytest.approx(sigma, rel=1e-9)
    if ratio is not None:
        classical = gaussian_sigma(epsilon, delta, method="classical")
        assert classical / sigma == pytest.approx(ratio, abs=6e-4)


@pytest.mark.slow
def test_no_case_of_the_audit_is_under_calibrated():
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        with mp.workdps(450):
            sigma = gaussian_sigma(epsilon, delta)
            slack = 1 - exact_delta(epsilon, 1 / mp.mpf(sigma)) / mp.mpf(delta)
            assert 0 <= slack < 1e-9, (epsilon, delta)


def test_sigma_is_the_smallest_that_will_do():
    for epsilon, delta in [(0.3, 1e-7), (1, 1e-5), (7, 0.2), (0, 0.5)]:
        smaller = gaussian_sigma(epsilon, delta) * (1 - 1e-9)
        assert exact_delta(epsilon, 1 / smaller) > delta


def test_log_delta_is_far_more_accurate_than_its_margin():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        mu = 10 ** rng.uniform(-9, 3.2)
        epsilon = mu * (rng.uniform(-min(8, mu / 2), 38) + mu / 2)
        if epsilon > 1e6:
            continue
        value, bound = log_delta(epsilon, mu), log_delta_up(epsilon, mu)
        exact = mp.log(exact_delta(epsilon, mu, 60))
        assert exact <= bound
        if exact < -1e-12:  # nearer to 0 the bound is 0 itself
            assert abs(exact - value) < 0.25 * (bound - value), (epsilon, mu)


@pytest.mark.parametrize("mu", [1e-12, 1e-3, 0.7, 5, 60])
def test_negative_epsilon_continues_the_curve(mu):
    for epsilon in [-1e-9, -0.01, -1, -7, -50]:
        # sup over thresholds x of P(x) - e^epsilon Q(x), at x = epsilon / mu + mu / 2
        exact = exact_delta(epsilon, mu, 80)
        assert log_delta(epsilon, mu) == pytest.approx(float(mp.log(exact)), rel=1e-12, abs=1e-15)


def test_monotone_in_epsilon_and_in_delta():
    for delta in [1e-12, 1e-6, 0.3]:
        mus = [gaussian_mu(epsilon, delta) for epsilon in np.geomspace(1e-6, 1e3, 450)]
        assert np.all(np.diff(mus) >= 0)
    for epsilon in [0, 0.1, 1, 30]:
        mus = [gaussian_mu(epsilon, delta) for delta in np.geomspace(1e-300, 0.999, 450)]
        assert np.all(np.diff(mus) > 0)
    deltas = [gaussian_delta(1.0, epsilon) for epsilon in np.linspace(0, 30, 450)]
    assert np.all(np.diff(deltas) < 0)


def test_round_trips_stay_on_the_safe_side():
    for epsilon, delta in itertools.product([0.01, 0.1, 1, 10, 100], [1e-200, 1e-12, 1e-6, 0.3]):
        sigma = gaussian_sigma(epsilon, delta, 3.0)
        assert delta * (1 - 2e-9) < gaussian_delta(sigma, epsilon, 3.0) <= delta
        assert epsilon * (1 - 1e-8) < gaussian_epsilon(sigma, delta, 3.0) <= epsilon


def test_inverses_never_fall_below_the_exact_curve():
    for sigma, epsilon in itertools.product([1e-2, 0.3, 1, 20, 1e4], [0, 1e-3, 0.5, 3, 40]):
        exact = exact_delta(epsilon, 1 / mp.mpf(sigma), 400)
        delta = gaussian_delta(sigma, epsilon)
        assert delta >= exact
        if exact > 1e-300:
            assert delta <= exact * (1 + mp.mpf(1e-9))
    for sigma, delta in itertools.product([0.3, 1, 20, 1e4], [1e-100, 1e-6, 0.2]):
        at = exact_delta(gaussian_epsilon(sigma, delta), 1 / mp.mpf(sigma), 400)
        assert at <= delta
        assert gaussian_epsilon(sigma, delta) == 0 or at > delta * (1 - 1e-9)


def test_known_epsilons():
    # exact curves, agreed on by three public accountants
    for mu, delta, epsilon in [
        (1, 1e-5, 4.377178),
        (1, 1e-6, 4.886554117),
        (math.sqrt(10), 1e-6, 19.423656474),
        (2, 1e-6, 10.997151),
        (10, 1e-9, 109.195597),
    ]:
        assert gaussian_epsilon(1 / mu, delta) == pytest.approx(epsilon, rel=2e-7)
    assert gaussian_epsilon(1e6, 1e-3) == 0


def test_scales_with_the_sensitivity_and_takes_any_real():
    sigma = gaussian_sigma(1, 1e-6)
    assert gaussian_sigma(1, 1e-6, 2**40) == pytest.approx(sigma * 2**40, rel=1e-14)
    assert gaussian_sigma(Fraction(1), np.float64(1e-6), np.int64(1)) == sigma
    assert gaussian_delta(1e300, 1e6) == 5e-324  # positive, hence above the exact value


def test_classical_is_never_smaller_than_analytic():
    for epsilon in [0.001, 0.03, 0.3, 0.999]:
        for delta in [1e-300, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999]:
            classical = gaussian_sigma(epsilon, delta, method="classical")
            assert classical >= gaussian_sigma(epsilon, delta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_sigma(-1, 1e-6), r"epsilon must be a number in \[0, 1e6\]. Got -1 "),
        (lambda: gaussian_sigma(math.nan, 1e-6), "Got nan instead. Pass for instance"),
        (lambda: gaussian_sigma(math.inf, 1e-6), "epsilon must be"),
        (lambda: gaussian_sigma("1", 1e-6), "Got a str instead"),
        (lambda: gaussian_sigma(True, 1e-6), "epsilon must be"),
        (lambda: gaussian_sigma(1, 0), r"delta must be a number in \(0, 1\). Got 0 instead"),
        (lambda: gaussian_sigma(1, 1), "delta must be"),
        (lambda: gaussian_sigma(1, Fraction(1, 10**400)), "delta must be"),
        (lambda: gaussian_sigma(1, 1 - Fraction(1, 10**40)), "delta must be"),
        (lambda: gaussian_sigma(1, 1e-6, 0), "sensitivity must be"),
        (lambda: gaussian_sigma(1, 1e-6, 10**400), "sensitivity must be"),
        (lambda: gaussian_sigma(0, 1e-300, 1e200), "beyond the range of floats"),
        (lambda: gaussian_sigma(1, 1e-6, method="x"), "method must be 'analytic' or"),
        (lambda: gaussian_sigma(1, 1e-6, method="classical"), "Use method='analytic'"),
        (lambda: gaussian_sigma(0, 1e-6, method="classical"), "0 < epsilon < 1 only"),
        (lambda: gaussian_epsilon(0, 1e-6), "sigma must be"),
        (lambda: gaussian_delta(1e-9, 1), "mu must be"),
        (lambda: gaussian_mu(np.array([1.0, 2.0]), 1e-6), "Got a ndarray instead"),
    ],
)
def test_refusals_name_the_parameter_and_the_way_out(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_cache_does_not_skip_validation():
    assert gaussian_mu(1, 1e-6) == gaussian_mu(1.0, 1e-6)
    with pytest.raises(ValueError, match="epsilon must be"):
        gaussian_mu(True, 1e-6)
