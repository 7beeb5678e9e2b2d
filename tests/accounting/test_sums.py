"""Sums of reports claim what is proved of all fits together; a report as text and frame."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from skdp import PrivateCount, PrivateLinearRegression, PrivateMean
from skdp.accounting import Budget, PrivacyReport
from skdp.accounting import pure_gaussian_delta as curve
from skdp.accounting._report import compose_reports

GAUSSIAN, PURE = Budget.gaussian(1.0, 1e-6), Budget.pure(0.3)
ZCDP = Budget.zcdp(0.5, 1e-7)
X = np.random.default_rng(0).normal(size=(3000, 2))


def gaussian_delta(epsilon, mu):
    """Return the curve of N(mu, 1) against N(0, 1)."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def report(budget):
    return PrivacyReport("Est", budget)


def test_gaussian_fits_claim_their_exact_sum():
    total = sum([report(GAUSSIAN)] * 4)
    assert total.budget.measure == "gdp" and total.budget.delta == 4 * GAUSSIAN.delta
    epsilon = float(total.budget.epsilon)
    assert epsilon < 2.3 and f"claim             (epsilon={epsilon:g}, delta=4e-06)" in str(total)
    assert total.epsilon() == pytest.approx(epsilon, abs=1e-12)
    assert total.to_dict()["epsilon"] == epsilon
    failing = (1 + math.exp(epsilon)) * float(total.budget.failure)
    at = gaussian_delta(epsilon, 2 * GAUSSIAN.mu) + failing
    assert 0.9999 * 4e-6 < at <= 4e-6 * (1 + 1e-9)


def test_pure_fits_join_by_the_curve_of_the_pair():
    total = compose_reports([GAUSSIAN, GAUSSIAN, PURE])
    epsilon = float(total.epsilon)
    failing = (1 + math.exp(epsilon)) * float(2 * GAUSSIAN.failure)
    assert curve(0.3, math.sqrt(2) * GAUSSIAN.mu, epsilon) + failing <= 2e-6
    assert epsilon < float(compose_reports([GAUSSIAN] * 2).epsilon) + 0.3
    assert total.measure == "approx" and total.delta == 2 * GAUSSIAN.delta
    assert compose_reports([PURE, PURE]) == Budget.pure(0.6)


def test_no_order_and_no_bracket_changes_a_sum():
    budgets = [GAUSSIAN, PURE, ZCDP, Budget.gaussian(0.5, 1e-7)]
    totals = {sum(map(report, order)).budget for order in itertools.permutations(budgets)}
    a, b, c, d = map(report, budgets)
    assert totals == {((a + b) + (c + d)).budget} == {compose_reports(budgets)}
    assert (a + b).fits == (GAUSSIAN, PURE)


@pytest.mark.parametrize("many", [1, 3, 40])
def test_a_sum_never_claims_more_than_all_epsilons(many):
    for budgets in ([GAUSSIAN] * many, [Budget.gaussian(9.0, 1e-6), PURE] * many, [ZCDP] * many):
        total = compose_reports(budgets)
        assert total.epsilon <= sum(b.epsilon for b in budgets)
        assert total.delta == sum((b.delta for b in budgets), Fraction(0))


# -- for people who are no statisticians ---------------------------------------------------------


def test_the_summary_of_a_good_fit():
    text = PrivateMean(delta=1e-6).fit(X).privacy_report_.summary()
    assert "\n" not in text and text.startswith("Protected is everybody who is one row")
    tv = gaussian_delta(0.0, GAUSSIAN.mu) + 2 * float(GAUSSIAN.failure)
    assert f"at most {math.ceil(500 * (1 + tv)) / 10:g} % of the time" in text
    assert "(epsilon=1, delta=1e-06)" in text and "row count" in text and "final sum" in text
    assert "Not released were the rows" in text and "accuracy is low" not in text


def test_the_summary_says_what_is_worth_little_and_who_is_not_protected():
    few = PrivateMean().fit(X[:4]).privacy_report_.summary()
    assert "The accuracy is low here: nothing found: too few rows" in few
    weak = PrivateMean(epsilon=60.0).fit(X).privacy_report_.summary()
    assert weak.startswith("Nobody is protected well") and "epsilon=60" in weak
    seeded = PrivateMean(random_state=0)
    with pytest.warns(UserWarning, match="NOT private"):
        seeded.fit(X)
    assert seeded.privacy_report_.summary().startswith("Nobody is protected: the noise")
    line = PrivateLinearRegression().fit(X, X[:, 0]).privacy_report_.summary()
    assert "The features of a row and its target are protected alike." in line


def test_a_pure_guess_is_that_of_randomised_response():
    pure = PrivateCount(epsilon=1.0, delta=0.0).fit(X).privacy_report_
    best = math.e / (1 + math.e)
    assert f"at most {math.ceil(1000 * best) / 10:g} % of the time" in pure.summary()
    assert "one answer with noise: row count" in pure.summary()


def test_the_frame_of_a_report():
    report = PrivateMean().fit(X).privacy_report_
    frame = report.to_frame()
    assert list(frame["release"]) == [charge.label for charge in report.charges]
    assert frame["share"].sum() == pytest.approx(float(sum(c.share for c in report.charges)))
    assert np.allclose(frame["noise"], frame["scale"] / frame["sensitivity"])
    assert PrivacyReport("Est", PURE).to_frame().empty
