import copy
import os
import pickle
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivateCovariance,
    PrivateGMM,
    PrivateMean,
)
from skdp.accounting import Budget, Plan, Step
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.gate._curator import Curator
from skdp.mechanisms import make_entropy

GAUSSIAN = Budget.gaussian(1.0, 1e-6)


def curator(*steps, budget=GAUSSIAN, events=()):
    return Curator(Plan(budget, steps, events), make_entropy(0))


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30))
def test_shares_never_sum_to_more_than_the_whole(shares):
    c = curator(Step("a", times=100))
    granted = Fraction(0)
    for share in shares:
        share = min(share, 1 - granted) if abs(granted + Fraction(share) - 1) < 1e-9 else share
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
    with pytest.raises(PlanError, match="gdp budget does not pay"):
        curator(Step("l", "laplace")).laplace([0], sensitivity=1, share=0.5, label="l")
    with pytest.raises(PlanError, match="pure budget does not pay"):
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


def test_what_is_afforded_has_its_price_when_it_is_paid_and_the_next_has_its_own(monkeypatch):
    shares = []

    def priced(self, label, mechanism, share, step, left, priced=Curator._priced_anew):
        shares.append(share)
        return priced(self, label, mechanism, share, step, left)

    monkeypatch.setattr(Curator, "_priced_anew", priced)
    c = curator(Step("a", "laplace", times=2), Step("b", "laplace"), budget=Budget.pure(1.0))
    for _ in range(2):
        c.afford("a", "laplace", 0.5)
        assert c.laplace([0], sensitivity=1, share=0.5, label="a").scale > 2
    assert shares == [0.5, 0.5]  # once each, although both ask the same
    for label in "ab":
        with pytest.raises((PlanError, BudgetExceeded)):
            c.afford(label, "laplace", 0.5)


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
    assert 1.9 < mixed.epsilon() < 2.0


def test_a_report_tells_equal_releases_once_and_a_finite_guarantee_for_groups():
    c = curator(Step("a", times=3), Step("b"), events=(("e", GAUSSIAN.failure),))
    for _ in range(3):
        c.gaussian([0], sensitivity=1, share=0.1, label="a")
    c.gaussian([0], sensitivity=1, share=0.1, label="b")
    report = c.close("Est")
    assert str(report).count("gaussian") == 2 and "a (3 times)" in str(report)
    assert "inf" not in str(report) and "groups of 5 rows" in str(report)


# -- numbers ------------------------------------------------------------------------------------


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
few = settings(max_examples=20, deadline=None)
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]


def scales(sensitivity, share, budget):
    """Return what the noise of every kind would be, without a word about numpy's types."""
    draws = {"gdp": ["gaussian"], "pure": ["laplace", "select"]}.get(
        budget.measure, ["gaussian", "laplace", "select"]
    )
    for draw in draws:
        c = curator(Step("a", draw), budget=budget)
        c._noisy, c._choose = (lambda value, *_: value), (lambda scores, rate: 0)
        getattr(c, draw)([0, 1], sensitivity=sensitivity, share=share, label="a")
        (charge,) = c.close("x").charges
        yield charge, charge.scale.as_integer_ratio()


BUDGETS = [GAUSSIAN, Budget.pure(Fraction(1, 3)), Budget.zcdp(1.0, 1e-6)]


@pytest.mark.cases(8)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.measure)
@pytest.mark.parametrize("kind", INTEGERS, ids=lambda kind: kind.__name__)
@few
@given(data=st.data())
def test_integers_of_every_width_have_the_price_of_pythons(budget, kind, data):
    top = int(np.iinfo(kind).max)
    x = data.draw(st.one_of(st.integers(1, top), st.integers(top - 9, top)))
    share = data.draw(st.sampled_from([1, Fraction(1, 10), 0.1]))
    expected = list(scales(x, share, budget))
    assert list(scales(kind(x), share, budget)) == expected
    assert list(scales(Fraction(kind(x)), share, budget)) == expected  # keeps numpy's numerator
    assert list(scales(x, kind(1), budget)) == list(scales(x, 1, budget))
    half = Fraction(kind(1), kind(2))
    assert list(scales(x, half, budget)) == list(scales(x, Fraction(1, 2), budget))


@pytest.mark.cases(4)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.measure)
@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.__name__)
@few
@given(x=st.floats(2.0**-9, 6e4, width=16), share=st.floats(2.0**-10, 1, width=16))
def test_floats_of_every_width_have_the_price_of_pythons(budget, kind, x, share):
    assert list(scales(kind(x), kind(share), budget)) == list(scales(x, share, budget))


@pytest.mark.parametrize(
    "wrong", [True, np.True_, "1", None, np.array(1), np.array([1.0]), 1j, np.nan, np.inf, 0, -1]
)
def test_what_is_no_positive_number_is_refused_before_anything_is_paid(wrong):
    c = curator(Step("a", times=9), Step("b", "child"))
    for sensitivity, share in ((wrong, 0.1), (1, wrong)):
        with pytest.raises((TypeError, ValueError, PlanError)):
            c.gaussian([0], sensitivity=sensitivity, share=share, label="a")
    with pytest.raises((TypeError, ValueError, PlanError)):
        c.child("b", wrong)
    if wrong != 1:  # a bool is no share, though it equals one
        with pytest.raises((TypeError, ValueError)):
            Step("a", at_most=wrong)
    assert c.remaining == 1 and c.close("x").charges == ()


@pytest.mark.parametrize("value", [[0.9999999], [np.nan], [1.0], ["1"], np.array([2**63], "u8")])
def test_only_integers_meet_noise(value):
    """0.9999999 would become 0, NaN the least integer."""
    c = curator(Step("g"), Step("l", "laplace"), Step("s", "select"), budget=BUDGETS[2])
    for draw, label in ((c.gaussian, "g"), (c.laplace, "l"), (c.select, "s")):
        with pytest.raises(TypeError, match="must be integers") as error:
            draw(value, sensitivity=1, share=0.1, label=label)
        assert "99" not in str(error.value)
    assert c.remaining == 1
    for kind in INTEGERS[:-1]:
        assert c.gaussian(kind(3), sensitivity=1, share=0.1, label="g").value.dtype == np.int64
        c = curator(Step("g"))


def test_ten_tenths_are_one_and_never_more():
    """Ten floats 0.1, above 1/10, are more than one: the last is cut to what is left."""
    c = curator(Step("a", at_most=Fraction(1, 10), times=11))
    for _ in range(10):
        release = c.gaussian([0], sensitivity=1, share=0.1, label="a")
        cost = (1 / Fraction(release.scale)) ** 2
        assert cost <= c.close("x").charges[-1].share * GAUSSIAN.amount
    assert c.remaining == 0 and sum(charge.share for charge in c.close("x").charges) == 1
    with pytest.raises(BudgetExceeded):
        c.gaussian([0], sensitivity=1, share=1e-17, label="a")


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=20))
def test_floats_that_sum_to_one_fit(weights):
    shares = [w / sum(weights) for w in weights]
    c = curator(Step("a", times=20))
    for share in shares:
        c.gaussian([0], sensitivity=1, share=share, label="a")
    total = sum(charge.share for charge in c.close("x").charges)
    assert total == 1 - c.remaining <= 1


def test_a_share_that_exceeds_the_rest_by_more_than_rounding_is_refused():
    c = curator(Step("a", times=3))
    c.gaussian([0], sensitivity=1, share=0.5, label="a")
    with pytest.raises(BudgetExceeded):
        c.gaussian([0], sensitivity=1, share=0.5 * (1 + 1e-11), label="a")
    assert c.remaining == Fraction(1, 2)


# -- what a budget pays for -----------------------------------------------------------------------


def test_a_sum_of_fits_pays_for_no_noise():
    """As if it were zCDP, (1, 1e-6) would buy noise of true epsilon 7.29."""
    approx = Budget("approx", Fraction(1), Fraction(0), Fraction(1), Fraction(1, 10**6))
    for draw in ("gaussian", "laplace", "select"):
        c = curator(Step("a", draw), budget=approx)
        with pytest.raises(PlanError, match="approx budget does not pay"):
            getattr(c, draw)([0], sensitivity=1, share=1, label="a")
        assert c.remaining == 1
    with pytest.raises(PlanError, match="does not pay"):
        curator(Step("a", "child"), budget=approx).child("a", 1)
    with pytest.raises(PlanError, match="no room for a triangle release"):
        curator(Step("a"))._pay("a", "triangle", 1)


# -- one budget, one Curator ----------------------------------------------------------------------


def test_a_curator_has_no_copies():
    c = curator(Step("sub", "child"), Step("sub/a"))
    child = c.child("sub", 1)
    for one in (c, child):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="spend the same budget again"):
                make(one)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_cannot_spend():
    c = curator(Step("a", times=2), events=(("e", GAUSSIAN.failure),))
    pid = os.fork()
    if pid == 0:
        refused = 0
        for use in (lambda: c.gaussian([0], sensitivity=1, share=0.1, label="a"),
                    lambda: c.fails("e")):  # fmt: skip
            try:
                use()
            except PlanError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


def test_threads_get_what_there_is_and_no_more():
    whole = curator(Step("a", times=10**6), Step("sub", "child"), Step("sub/a", times=10**6))
    for c, label in ((whole.child("sub", Fraction(1, 2)), "a"), (whole, "a")):
        granted, start, left = [], threading.Barrier(6), c.remaining

        def work(c=c, label=label, granted=granted, start=start, share=left / 50):
            start.wait()
            while True:
                try:
                    c.gaussian([0], sensitivity=1, share=share, label=label)
                    granted.append(1)
                except BudgetExceeded:
                    return

        threads = [threading.Thread(target=work) for _ in range(6)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        [t.start() for t in threads]
        [t.join() for t in threads]
        sys.setswitchinterval(interval)
        assert len(granted) == 50 and c.remaining == 0
    report = whole.close("x")
    assert len(report.charges) == 100 and sum(charge.share for charge in report.charges) == 1


def test_two_children_share_the_releases_that_were_planned_for_one():
    c = curator(Step("sub", "child", Fraction(1, 2), times=2), Step("sub/a", times=2))
    first, second = c.child("sub", 0.25), c.child("sub", 0.25)
    first.gaussian([0], sensitivity=1, share=0.1, label="a")
    second.gaussian([0], sensitivity=1, share=0.1, label="a")
    for child in (first, second):
        with pytest.raises(PlanError, match="left"):
            child.gaussian([0], sensitivity=1, share=0.1, label="a")


def test_a_child_reports_its_own_decisions_and_assumptions():
    steps = Step("sub", "child"), Step("sub/a"), Step("other", "child")
    plan = Plan(GAUSSIAN, steps, (), ("sub: rows are ordered", "of the whole", "subtle: not its"))
    parent = Curator(plan, make_entropy(0))
    child = parent.child("sub", 0.5)
    parent.decide("first")
    child.decide("second")
    report = child.close("Sub")
    assert report.decisions == ("second",) and report.assumptions == ("rows are ordered",)
    whole = parent.close("Whole")
    assert whole.decisions == ("first", "second") and whole.assumptions == plan.assumptions


# -- plans ----------------------------------------------------------------------------------------


def test_plans_are_checked():
    f = GAUSSIAN.failure
    with pytest.raises(ValueError, match="more than once"):
        Plan(GAUSSIAN, (), (("e", f / 4), ("e", f / 4)))
    for p in (-f / 2, Fraction(0), np.float64(-1e-9)):
        with pytest.raises(ValueError, match="positive probabilities"):
            Plan(GAUSSIAN, (), (("e", p), ("g", f)))
    for p in (True, "1", np.nan):
        with pytest.raises((TypeError, ValueError)):
            Plan(GAUSSIAN, (), (("e", p),))
    for wrong in ({"at_most": -1}, {"times": -1}, {"times": 1.5}, {"times": True}):
        with pytest.raises((TypeError, ValueError)):
            Step("a", **wrong)
    with pytest.raises(ValueError, match="one of gaussian, laplace"):
        Step("a", "gausian")
    whole = Fraction(np.int64(2**62), np.int64(2**63 - 1))  # a third of it would wrap
    c = curator(Step("a", at_most=whole, times=np.uint8(200)))
    for _ in range(200):
        c.gaussian([0], sensitivity=1, share=Fraction(1, 1000), label="a")
    with pytest.raises(PlanError, match="no room"):
        c.gaussian([0], sensitivity=1, share=Fraction(1, 1000), label="a")


# -- small budgets --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateGMM(2, max_iter=9, epsilon=1e-5, delta=1e-9, random_state=0),
        pytest.param(PrivateGMM(2, max_iter=250, random_state=0), marks=pytest.mark.slow),
        PrivateMean(epsilon=1e-5, delta=1e-9, random_state=0),
        PrivateCovariance(epsilon=1e-4, delta=1e-9, random_state=0),
        LloydKMeans(2, radius=1.0, epsilon=1e-6, delta=0.0, random_state=0),
        FriendlyCoreKMeans(2, epsilon=1e-7, delta=1e-9, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_small_budgets_end_in_answers(estimator, rng):
    """Useless ones: no noise is too large for the integers, after the charge least of all."""
    estimator.fit(rng.normal(size=(400, 3)))
    assert estimator.privacy_report_.charges


def test_names_come_in_an_order_of_their_own():
    """The order of counts may be that of rows, or of exact counts."""
    plan = Plan(
        Budget.gaussian(8.0, 1e-6), (Step("a"),), (("b", Budget.gaussian(8.0, 1e-6).failure),)
    )
    for counts in ({"y": 1000, "x": 1001}, {"x": 1001, "y": 1000}):
        found = Curator(plan, make_entropy()).names(counts, moved=1, share=1, label="a", event="b")
        assert found == ["x", "y"]
