"""Several steps of a fit, and what is nearly Gaussian: the prices of theorems 5 and 6."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from skdp import PrivateMean, PrivateSearchCV
from skdp.accounting import Budget, PrivacyLedger, gaussian_delta, group_epsilon, pure_to_gdp
from skdp.accounting._budget import (
    _corners,
    compose_basic,
    gaussian_price,
    lines_of,
)


def _mpf(q):
    return mpmath.mpf(q.numerator) / q.denominator


def _nearly(q, mu, f):
    """The largest P(S) of nearly Gaussian laws where Q(S) = q."""
    return np.minimum(1, f + ndtr(ndtri(np.minimum(1, q + f)) + mu))


@pytest.mark.parametrize("mu", [0.001, 0.25, 2.0])
@pytest.mark.parametrize("failure", [1e-12, 1e-7, 1e-3])
@pytest.mark.parametrize("steps", [2, 3, 10])
def test_several_steps_are_nearly_gaussian_with_k_mu_and_k_f(mu, failure, steps):
    q = np.concatenate([[0.0], np.geomspace(1e-14, 1, 400), np.linspace(0, 1, 1000)])
    chain = q
    for _ in range(steps):
        chain = _nearly(chain, mu, failure)
    assert (chain <= _nearly(q, steps * mu, steps * failure) + 1e-13).all()
    if mu == 0.001 and failure == 1e-3:  # and with no less than that
        assert (chain > _nearly(q, steps * mu, 0.99 * steps * failure) + 1e-13).any()


def test_epsilons_and_deltas_of_several_steps():
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    assert compose_basic(epsilon, delta, 1) == (epsilon, delta)
    for steps in (2, 7):
        whole, total = compose_basic(epsilon, delta, steps)
        with mpmath.workdps(40):
            exact = _mpf(delta) * sum(mpmath.e ** (j * mpmath.mpf("0.5")) for j in range(steps))
            assert whole == steps * epsilon and exact <= _mpf(total) < exact * (1 + 1e-9)
    assert compose_basic(epsilon, Fraction(0), 5) == (Fraction(5, 2), 0)


def _above(lines, mu, failure):
    """Return whether P <= f + h(Q + f) for all Q, of laws on the border of all lines."""
    q = np.concatenate([[0.0], np.geomspace(1e-16, 0.5, 20000)])
    p = np.ones_like(q)
    for epsilon, delta in lines:
        p = np.minimum(p, math.exp(epsilon) * q + delta)
        p = np.minimum(p, 1 - math.exp(-epsilon) * (1 - delta - q))
    left = q <= 1 - p
    q, p = q[left], p[left]
    return (p <= _nearly(q, mu, failure)).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_one_line_is_nearly_a_pure_guarantee(epsilon):
    """Dwork, Rothblum and Vadhan 2010: within delta / (1 + e^epsilon) of a pure one."""
    delta, mu = 1e-9, pure_to_gdp(epsilon)
    whole, failure = (
        Fraction(mu * (1 + 1e-5)) ** 2,
        Fraction(delta) / Fraction(1 + math.exp(epsilon)),
    )
    amount, part = gaussian_price([(epsilon, delta)], whole, failure)
    assert mu**2 * (1 - 1e-4) <= amount <= whole and part == failure * amount / whole
    assert _above([(epsilon, delta)], math.sqrt(amount) * (1 + 1e-6), float(part))
    assert gaussian_price([(epsilon, delta)], whole, failure / 10**9) is None
    assert gaussian_price([(epsilon, delta)], whole * Fraction(99, 100), failure) is None
    assert gaussian_price([(800.0, delta)], whole, failure) is None


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-9, 0.1])
def test_corners_in_floats_are_no_nearer_than_exact_ones(epsilon, delta):
    """Of one line and its mirror: (0, delta), and where both are p = 1 - q."""
    q, p = _corners([(epsilon, delta)])
    with mpmath.workdps(60):
        exact = (1 - mpmath.mpf(delta)) / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        assert len(q) == len(p) == 2 and q[0] == 0 and delta <= p[0]
        assert q[1] <= exact and p[1] >= 1 - exact


def _search(epsilon, delta, **parameters):
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, epsilon=epsilon, delta=delta)
    return search.set_params(**parameters).plan().budget


@pytest.mark.parametrize("law", ["geometric", "logarithmic", "poisson"])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [pytest.param(0.3, 1e-8, marks=pytest.mark.slow), (1.0, 1e-7)]
)
def test_a_search_is_nearly_gaussian(law, epsilon, delta):
    budget, ledger = _search(epsilon, delta, n_trials=law), PrivacyLedger(3.0, 1e-5)
    amount, failure = ledger.price(budget)
    mu, f, lines = math.sqrt(amount), float(failure), lines_of(budget)
    assert _above(lines, mu * (1 + 1e-6), f) and not _above(lines, mu * 0.99, f)
    alone = Budget("approx", budget.epsilon, budget.failure, budget.epsilon, budget.delta)
    if epsilon == 1.0:  # its curve tells more than its claim
        with pytest.raises(ValueError, match="composition='basic'"):
            ledger.price(alone)
    # what a line and the price say of all of it together: no less than the claim of the search
    total = gaussian_delta(1 / mu, epsilon) + (1 + math.exp(epsilon)) * f
    assert total > delta


def test_the_curve_of_a_search_goes_through_its_claim():
    budget = _search(1.0, 1e-6)
    assert len(budget.curve) > 10
    for epsilon, delta in budget.curve:
        assert (epsilon >= 1.0) <= (delta <= 1e-6 * (1 + 1e-3)) and 0 < delta < 1


def test_other_units_have_their_curves():
    for budget in (Budget.zcdp(0.5, 1e-8),):
        ledger = PrivacyLedger(3.0, 1e-6)
        amount, failure = ledger.price(budget)
        mu = math.sqrt(amount)
        assert _above(lines_of(budget), mu * (1 + 1e-6), float(failure))
        assert 2 * budget.amount < amount < 6 * budget.amount  # a Gaussian of its rho costs 2 rho
        two = lines_of(budget, 2)
        assert two[0][0] == 2 * lines_of(budget)[0][0] and two[0][1] > 2 * lines_of(budget)[0][1]


def test_a_row_of_a_group_is_two_steps_of_the_total():
    """The account of rows of fits with groups alone: no better and little worse than theorem 3."""
    ledger = PrivacyLedger(epsilon={"row": 4.0, "group": 2.0}, delta=1e-6)
    for _ in range(4):
        ledger.charge(ledger.admit(Budget.gaussian(0.4, 1e-7)), "fit", unit="group")
    row, group = ledger.spent("row"), ledger.spent("group")
    assert row.amount == 4 * group.amount and row.failure == 2 * group.failure
    exact = group_epsilon(group.mu, group.failure, 2, 1e-6)
    assert exact * (1 - 1e-9) <= row.epsilon <= exact * 1.01
