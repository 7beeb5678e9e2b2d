"""A budget cannot claim what its amount and its failure probability do not prove."""

import copy
import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from skdp import PrivateCount, PrivateMean
from skdp.accounting import Budget, mixed_budget, part_of
from skdp.accounting._report import compose_reports

HONEST = [
    make(e, d)
    for e in (1e-5, 0.1, 1.0, 9.0, 800.0, 1e6)
    for d in (1e-300, 1e-6, 0.9)
    for make in (Budget.gaussian, Budget.zcdp)
    if e >= 0.1 or d > 0.1 or make is Budget.zcdp
]
FORGED = [
    {"amount": Fraction(100)},
    {"amount": Budget.gaussian(0.1, 1e-6).amount * (1 + Fraction(1, 10**6))},
    {"amount": Fraction(10) ** 400},
    {"failure": Fraction(1, 10**6)},
    {"failure": Budget.gaussian(0.1, 1e-6).failure * (1 + Fraction(1, 10**6))},
    {"epsilon": Fraction(1, 20)},
    {"delta": Fraction(99, 10**8)},
    {"delta": Fraction(0)},
    {"measure": "zcdp"},
    {"measure": "pure", "amount": Fraction(2, 10)},
    {"measure": "approx", "amount": Fraction(1, 10), "failure": Fraction(1, 10**6)},
    {"measure": "mixed", "failure": Fraction(3, 10**8)},
    {"curve": ((0.0, 0.0),)},
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_a_budget_cannot_contradict_itself(forged):
    budget = Budget.gaussian(0.1, 1e-6)
    with pytest.raises(ValueError, match="does not follow"):
        replace(budget, **forged)
    for name, value in forged.items():
        object.__setattr__(budget, name, value)
    for copied in (copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))):
        with pytest.raises(ValueError, match="does not follow"):
            copied(budget)


def test_what_the_library_makes_of_a_budget_keeps_its_claim():
    for budget in HONEST:
        assert pickle.loads(pickle.dumps(budget)) == copy.deepcopy(budget) == budget
        for share in (Fraction(1), Fraction(1, 3), Fraction(1, 10**12)):
            replace(budget, amount=budget.amount * share)
            budget.with_failure(budget.failure * share)
        replace(budget, failure=budget.failure * Fraction(1, 7), delta=budget.delta * 2)
    some = [b for b in HONEST if b.delta == Fraction(1, 10**6) and b.epsilon < 10]
    for budget in some:
        for unit in ("zcdp", "mixed", "gdp", "pure") if budget.measure == "zcdp" else ("gdp",):
            for share in (Fraction(1), Fraction(99, 100), Fraction(1, 3), Fraction(1, 10**4)):
                part_of(budget, share, unit)
    mixed = mixed_budget(1.0, 1e-6, gaussian=Fraction(1, 2), pure=[Fraction(1, 4)] * 2)
    for unit, share in itertools.product(("gdp", "pure"), (Fraction(1, 2), Fraction(1, 9))):
        part_of(mixed, share, unit)
    for many in range(1, 40, 6):  # where amounts prove less than adding up, a sum has no amount
        sums = {e: compose_reports([Budget.gaussian(e, 1e-6)] * many) for e in (0.2, 9.0)}
        assert sums[0.2].measure == "gdp" and sums[9.0].epsilon <= 9 * many
    assert sums[9.0].measure == "approx" and sums[9.0].epsilon == 9 * many


def test_reports_and_plans_of_huge_budgets_have_a_repr():
    model = PrivateCount(epsilon=8e5)
    report = model.fit(np.zeros((5, 1))).privacy_report_
    assert "epsilon=800000" in repr(report) and "epsilon=800000" in repr(
        PrivateMean(epsilon=8e5).plan()
    )
