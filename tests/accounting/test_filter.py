"""Sums of reports are running totals; capacities of a ledger hold against every strategy.

The best adversary is found by dynamic programming over the log likelihood ratio L of what has been
released: whoever stops there gains ``(e^L - e^epsilon)_+``, in expectation under the table without
the row. A Gaussian fit of cost b moves L by N(-b / 2, b).
"""

import itertools
import math

import numpy as np
import pytest

from skdp import PrivacyLedger
from skdp.accounting import Budget, PrivacyReport
from skdp.accounting._report import compose_reports

STEP = 2.0**-8
L = np.arange(-10.0, 14.0, STEP)
GAUSSIAN = [Budget.gaussian(0.5, 1e-6)] + [Budget.gaussian(0.5, 1e-9)] * 4
FIXED = "for fits whose number and budgets were fixed before the first result was seen"
IN_ANY_CASE = "whatever the number and the budgets of its pure fits depended on"


def after_a_fit(value, cost):
    """Return the mean of a value function after a Gaussian fit, at every L."""
    m = int(9 * math.sqrt(cost) / STEP)
    k = np.arange(-m, m + 1) * STEP
    weight = np.exp(-((k + cost / 2) ** 2) / (2 * cost))
    mean = np.convolve(value, weight[::-1] / weight.sum(), mode="same")
    mean[-m:] = value[-m:]  # far above, the value is e^L less a constant, a martingale
    return mean


def gain(epsilon):
    return np.maximum(np.exp(L) - math.exp(epsilon), 0)


def at_the_start(value):
    return float(np.interp(0.0, L, value))


def test_whoever_stops_when_it_pays_exceeds_the_sum_of_the_reports():
    claims = [compose_reports(GAUSSIAN[:k]) for k in range(1, 6)]
    value, fixed = gain(float(claims[-1].epsilon)), gain(float(claims[-1].epsilon))
    for fit, claim in zip(GAUSSIAN[:0:-1], claims[-2::-1], strict=True):
        value = np.maximum(after_a_fit(value, float(fit.amount)), gain(float(claim.epsilon)))
        fixed = after_a_fit(fixed, float(fit.amount))
    first = float(GAUSSIAN[0].amount)
    printed = float(claims[-1].delta)
    assert at_the_start(after_a_fit(fixed, first)) < printed  # of five fits, whatever comes out
    assert 3 < at_the_start(after_a_fit(value, first)) / printed < 3.4


def test_no_strategy_exceeds_the_capacity_of_a_ledger():
    """Costs, failure events and the time to stop are chosen after every result.

    An event of probability f publishes the row, or hides that it is absent: f (e^L + e^epsilon).
    """
    ledger, units = PrivacyLedger(1.0, 1e-6), 6
    cost, failure = (float(whole) for whole in ledger._capacity)
    value = {}
    for left, events in itertools.product(range(units + 1), range(3)):
        best = gain(ledger.epsilon)
        for j in {1, 2, 5} & set(range(left + 1)):
            best = np.maximum(best, after_a_fit(value[left - j, events], j * cost / units))
        if events:
            told = value[left, events - 1] + failure / 2 * (np.exp(L) + math.exp(ledger.epsilon))
            best = np.maximum(best, told)
        value[left, events] = best
    assert 0.949 * ledger.delta < at_the_start(value[units, 0]) < 0.951 * ledger.delta
    assert 0.999 * ledger.delta < at_the_start(value[units, 2]) < 1.001 * ledger.delta


def test_no_strategy_exceeds_a_ledger_that_adds_up():
    """Fits of (j, k) sixths of epsilon and delta: randomised response that tells all at times."""
    epsilon, delta, units = 1.0, 0.05, 6
    value = {}
    for left, chances, at in itertools.product(
        range(units + 1), range(3), range(-units, units + 1)
    ):
        ratio = math.exp(epsilon * at / units)
        best = max(ratio - math.exp(epsilon), 0.0)
        for j, k in itertools.product(range(left + 1), range(chances + 1)):
            if j + k and abs(at) + j <= units:
                e, d = math.exp(epsilon * j / units), delta * k / 2
                up, down = (value[left - j, chances - k, x] for x in (at + j, at - j))
                best = max(best, d * ratio + (1 - d) * (up + e * down) / (1 + e))
        value[left, chances, at] = best
    assert delta < value[units, 2, 0] * (1 + 1e-9) and value[units, 2, 0] <= delta * (1 + 1e-9)


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (GAUSSIAN, FIXED),
        ([Budget.pure(0.1)] * 3, IN_ANY_CASE),
        ([*GAUSSIAN, Budget.pure(0.1)], FIXED),
        ([Budget.zcdp(0.5, 1e-7)] * 2, FIXED),
        ([Budget.gaussian(60.0, 1e-6)] * 2, FIXED),
    ],
    ids=["gaussian", "pure", "mixed", "zcdp", "weak"],
)
def test_a_sum_says_what_it_holds_for_right_after_its_guarantee(budgets, words):
    total = sum(PrivacyReport("Fit", budget) for budget in budgets)
    one = PrivacyReport("Fit", budgets[0])
    claim = f"(epsilon={float(total.budget.epsilon):g}, delta={float(total.budget.delta):g})"
    for text in (str(total), total._repr_html_()):
        assert text.partition(claim)[2].lstrip(" ,").startswith(words)
        assert text.count(FIXED) + text.count(IN_ANY_CASE) == 1
    guarantee = f"delta={float(total.budget.delta):.3g})"
    assert total.summary().partition(guarantee)[2].lstrip(" ,").startswith(words)
    assert total.to_dict()["condition"] == words and one.to_dict()["condition"] is None
    for text in (str(one), one._repr_html_(), one.summary()):
        assert FIXED not in text and IN_ANY_CASE not in text
