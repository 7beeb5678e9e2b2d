"""What a ledger answers before anything is charged."""

import pytest

from skdp import PrivacyLedger, PrivateCount, PrivateMean, PrivateMedian, make_private_pipeline
from skdp.accounting import Budget
from skdp.exceptions import BudgetExceeded

GAUSSIAN = {"epsilon": 1.0, "delta": 1e-5}
KINDS = {
    "gaussian": lambda: PrivacyLedger(**GAUSSIAN),
    "groups": lambda: PrivacyLedger(**GAUSSIAN, unit="group"),
    "basic": lambda: PrivacyLedger(1.0, 1e-5, composition="basic"),
    "both": lambda: PrivacyLedger({"row": 1.0, "group": 4.0}, 1e-5, rows_per_group=3),
}


def charged(ledger, share, unit):
    budget = Budget.gaussian(share.epsilon, share.delta)
    ledger.charge(ledger.admit(budget), "fit", unit=unit)


@pytest.mark.parametrize("n", [1, 3, 50])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spent", [False, True])
def test_so_many_fits_are_granted_and_none_more(kind, n, spent):
    ledger = KINDS[kind]()
    unit = "group" if kind == "groups" else "row"
    if spent:
        charged(ledger, ledger.shares(3, unit), unit)
    share = ledger.shares(n, unit)
    for _ in range(n):
        charged(ledger, share, unit)
    assert ledger.remaining(unit if kind == "both" else None).fraction < 0.02 or kind == "both"
    with pytest.raises(BudgetExceeded):
        charged(ledger, share, unit)


def test_gaussian_fits_add_up_in_squares():
    one, many = (KINDS["gaussian"]().shares(n).epsilon for n in (1, 100))
    assert one == pytest.approx(1.0, rel=1e-6) and 10 < one / many < 13
    assert KINDS["basic"]().shares(100) == pytest.approx((0.01, 1e-7))


def test_a_plan_says_what_charges_would():
    fits = [PrivateMean(epsilon=0.5), PrivateMedian(epsilon=0.5), PrivateCount(epsilon=0.9)]
    for kind in ("gaussian", "groups"):
        ledger = KINDS[kind]()
        plan = ledger.plan(fits)
        assert [fit.granted for fit in plan.fits] == [True, True, False] and not plan.granted
        assert "REFUSED" in str(plan) and "PrivateMedian" in str(plan)
        assert len(ledger.entries()) == 1
        for fit, planned in zip(fits, plan.fits, strict=True):
            given = type(fit)(epsilon=fit.epsilon, ledger=ledger)
            budget = (given._grouped_plan() if kind == "groups" else given.plan()).budget
            try:
                ledger.charge(budget, "fit", unit=plan.unit)
            except BudgetExceeded:
                assert not planned.granted and planned.reason
            else:
                assert planned.granted
                assert ledger.remaining().fraction == pytest.approx(planned.left)
    assert KINDS["gaussian"]().plan([make_private_pipeline(PrivateMean(), epsilon=0.2)]).granted
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="number of fits"):
            ledger.shares(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_says_who_is_protected_and_what_was_done(kind):
    ledger = KINDS[kind]()
    unit = "group" if kind == "groups" else "row"
    text = ledger.summary()
    assert ("owns rows" in text) == (unit == "group") and "73.2 %" in text
    assert "0 fits were granted" in text
    charged(ledger.noted("first look"), ledger.shares(2, unit), unit)
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(50.0), "PrivateCount", unit=unit)
    text = ledger.summary()
    assert "one fit was granted" in text and "one fit was refused" in text
