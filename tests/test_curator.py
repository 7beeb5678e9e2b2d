from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp._curator import Curator
from skdp.accounting import Budget, Plan, Step
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.mechanisms import make_entropy

GAUSSIAN = Budget.gaussian(1.0, 1e-6)


def curator(*steps, budget=GAUSSIAN, events=()):
    return Curator(Plan(budget, steps, events), make_entropy(0))


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30))
def test_shares_never_sum_to_more_than_the_whole(shares):
    c = curator(Step("a", times=100))
    granted = Fraction(0)
    for share in shares:
        if granted + Fraction(share) > 1:
            with pytest.raises(BudgetExceeded):
                c.gaussian([0], sensitivity=1, share=share, label="a")
        else:
            c.gaussian([0], sensitivity=1, share=share, label="a")
            granted += Fraction(share)
    assert c.remaining == 1 - granted
    if c.remaining > 0:
        c.gaussian([0], sensitivity=1, share=c.remaining, label="a")
    assert sum(charge.share for charge in c.close("x").charges) <= 1


@given(st.floats(1e-6, 1.0), st.fractions(Fraction(1, 1000), 10**6))
def test_noise_is_never_smaller_than_the_share_pays_for(share, sensitivity):
    release = curator(Step("a")).gaussian([0], sensitivity=sensitivity, share=share, label="a")
    # (sensitivity / sigma)^2 <= share * mu^2, in exact arithmetic
    cost = (sensitivity / Fraction(release.scale)) ** 2
    assert cost <= Fraction(share) * GAUSSIAN.amount
    assert cost > Fraction(share) * GAUSSIAN.amount * (1 - Fraction(1, 10**12))


def test_laplace_and_choice_cost_what_they_should():
    pure = curator(Step("l", "laplace"), Step("s", "select"), budget=Budget.pure(0.5))
    release = pure.laplace([3], sensitivity=2, share=Fraction(1, 2), label="l")
    assert release.law == "laplace" and release.scale == pytest.approx(2 / 0.25, rel=1e-12)
    assert pure.select([0, 10**6, 0], sensitivity=1, share=Fraction(1, 2), label="s") == 1
    mixed = curator(
        Step("g"), Step("l", "laplace"), Step("s", "select"), budget=Budget.zcdp(1.0, 1e-6)
    )
    third = Fraction(1, 3)
    rho = float(mixed.budget.amount / 3)
    g = mixed.gaussian([0], sensitivity=1, share=third, label="g")
    assert g.scale == pytest.approx((1 / (2 * rho)) ** 0.5)
    b = mixed.laplace([0], sensitivity=1, share=third, label="l")
    assert b.scale == pytest.approx(1 / (2 * rho) ** 0.5)  # epsilon^2 / 2 = rho
    mixed.select([0, 1], sensitivity=1, share=third, label="s")
    rate = 1 / mixed.close("x").charges[-1].scale
    assert rate == pytest.approx((8 * rho) ** 0.5 / 2)  # epsilon^2 / 8 = rho, rate = epsilon / 2


def test_units_do_not_mix():
    with pytest.raises(PlanError, match="GDP budget"):
        curator(Step("l", "laplace")).laplace([0], sensitivity=1, share=0.5, label="l")
    with pytest.raises(PlanError, match="pure guarantee"):
        pure = curator(Step("g"), budget=Budget.pure(1.0))
        pure.gaussian([0], sensitivity=1, share=0.5, label="g")


def test_only_planned_releases():
    c = curator(Step("a", at_most=Fraction(1, 10)), Step("b", "laplace"))
    for label, share in (("c", 0.1), ("b", 0.1), ("a", 0.2), ("a", 0.0), ("a", -0.1)):
        with pytest.raises(PlanError, match="no room"):
            c.gaussian([0], sensitivity=1, share=share, label=label)
    c.gaussian([0], sensitivity=1, share=Fraction(1, 10), label="a")
    with pytest.raises(PlanError, match="no room"):
        c.gaussian([0], sensitivity=1, share=0.1, label="a")


def test_failure_events_are_declared_once_and_fit_the_budget():
    f = GAUSSIAN.failure
    c = curator(events=(("e", f / 2),))
    assert c.fails("e") == pytest.approx(np.log(float(f / 2)), rel=1e-8)
    with pytest.raises(PlanError, match="no failure event"):
        c.fails("e")
    with pytest.raises(ValueError, match="exceed"):
        Plan(GAUSSIAN, (), (("e", f), ("g", f / 1000)))


def test_a_child_spends_its_part_and_keeps_its_parents_books():
    c = curator(
        Step("sub", "child", at_most=Fraction(1, 4)),
        Step("sub/a", times=2),
        Step("b"),
        events=(("sub/e", GAUSSIAN.failure / 3),),
    )
    child = c.child("sub", Fraction(1, 4))
    assert c.remaining == Fraction(3, 4)
    half = child.gaussian([0], sensitivity=1, share=Fraction(1, 2), label="a")
    assert half.scale == pytest.approx(1 / (GAUSSIAN.mu * np.sqrt(1 / 8)))
    with pytest.raises(BudgetExceeded):
        child.gaussian([0], sensitivity=1, share=Fraction(3, 4), label="a")
    child.fails("e")
    with pytest.raises(PlanError):
        c.fails("sub/e")
    child.decide("constant text")
    report = c.close("x")
    assert [(charge.label, charge.share) for charge in report.charges] == [
        ("sub/a", Fraction(1, 8))
    ]
    assert report.decisions == ("constant text",)


def test_report_states_its_guarantee():
    report = curator(Step("a")).close("Est")
    assert report.delta(1.0) <= 1e-6
    assert report.delta(1.0) > 0.999e-6
    assert report.epsilon() == pytest.approx(1.0, abs=1e-6)
    assert 1.9 < report.epsilon(group_size=2) < 2.3
    assert report.seeded and "not private" in str(report) and "NONE" in report._repr_html_()
    twice = report + report
    assert twice.budget.amount == 2 * GAUSSIAN.amount
    assert twice.epsilon(2e-6) < 2
    assert sum([report, report]).budget == twice.budget
    mixed = report + Curator(Plan(Budget.pure(1.0), ()), make_entropy(0)).close("P")
    assert mixed.delta(2.0) == pytest.approx(1e-6) and mixed.delta(1.9) == 1.0
    assert mixed.epsilon() == 2.0


def test_a_report_tells_equal_releases_once_and_a_finite_guarantee_for_groups():
    c = curator(Step("a", times=3), Step("b"), events=(("e", GAUSSIAN.failure),))
    for _ in range(3):
        c.gaussian([0], sensitivity=1, share=0.1, label="a")
    c.gaussian([0], sensitivity=1, share=0.1, label="b")
    report = c.close("Est")
    assert str(report).count("gaussian") == 2 and "a (3 times)" in str(report)
    assert "inf" not in str(report) and "groups of 5 rows" in str(report)
