import math
from fractions import Fraction

import pytest

from skdp.accounting import (
    Budget,
    Plan,
    Step,
    group_delta,
    mixed_budget,
    part_of,
    pure_gaussian_delta,
    zcdp_delta,
)
from skdp.base import Curator
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.mechanisms import make_entropy

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
WHOLES = [
    Budget.gaussian(1.0, 1e-6),
    Budget.zcdp(1.0, 1e-6),
    Budget.pure(1.0),
    mixed_budget(1.0, 1e-6, gaussian=HALF, pure=[HALF]),
]


def units(whole):
    return {"gdp": ["gdp"], "pure": ["pure"], "mixed": ["gdp", "pure"]}.get(
        whole.measure, ["gdp", "zcdp", "pure"]
    )


@pytest.mark.parametrize("whole", WHOLES, ids=lambda b: b.measure)
def test_parts_add_up_to_the_whole_and_never_more(whole):
    for unit in units(whole):
        parts = [part_of(whole, share, unit) for share in (HALF, THIRD, Fraction(1, 6))]
        if unit == whole.measure:
            spent = sum(p.amount for p in parts)
        else:  # rho = mu^2 / 2, and epsilon^2 / 2
            spent = sum(p.amount / 2 if unit == "gdp" else p.amount**2 / 2 for p in parts)
        assert whole.amount * (1 - Fraction(1, 10**15)) <= spent <= whole.amount
        assert sum(p.failure for p in parts) <= whole.failure


@pytest.mark.parametrize("whole", WHOLES, ids=lambda b: b.measure)
@pytest.mark.parametrize("share", [1, HALF, Fraction(1, 1000)])
def test_a_part_guarantees_what_it_says_alone(whole, share):
    for unit in units(whole):
        part = part_of(whole, Fraction(share), unit)
        epsilon, delta = float(part.epsilon), float(part.delta)
        if unit == "gdp":
            assert group_delta(part.mu, part.failure, 1, epsilon) <= delta * (1 + 1e-9)
        elif unit == "pure":
            assert part.epsilon == part.amount and delta == 0
        else:
            failed = (1 + math.exp(epsilon)) * float(part.failure)
            assert zcdp_delta(float(part.amount), epsilon) + failed <= delta * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("pure", [[HALF], [Fraction(1, 10)] * 3])
def test_a_mixed_budget_is_the_largest_that_its_curve_allows(epsilon, pure):
    gaussian = 1 - sum(pure)
    budget = mixed_budget(epsilon, 1e-6, gaussian=gaussian, pure=pure)

    def delta(amount):
        mu = math.sqrt(2 * gaussian * amount)
        return pure_gaussian_delta(sum(math.sqrt(2 * s * amount) for s in pure), mu, epsilon)

    goal = 0.95e-6
    assert (
        delta(budget.amount) <= goal * (1 + 1e-8) < delta(budget.amount * (1 + Fraction(1, 10**6)))
    )
    # the sum of the claims of its parts is a guarantee too, a weaker one
    parts = [part_of(budget, gaussian, "gdp"), *(part_of(budget, s, "pure") for s in pure)]
    assert sum(float(p.epsilon) for p in parts) > epsilon


def test_one_pure_step_beside_gaussian_ones_beats_zcdp():
    assert WHOLES[3].amount > 1.05 * WHOLES[1].amount


def test_many_pure_steps_beside_gaussian_ones_do_not_lose_to_zcdp():
    many = mixed_budget(1.0, 1e-6, gaussian=HALF, pure=[HALF / 40] * 40)
    assert WHOLES[1].amount * (1 - Fraction(1, 10**9)) < many.amount <= WHOLES[1].amount


def test_mixed_budgets_need_a_delta():
    with pytest.raises(ValueError, match="delta"):
        mixed_budget(1.0, 0.0, gaussian=HALF, pure=[HALF])


def curator(whole, *steps):
    return Curator(Plan(whole, steps), make_entropy(0))


def test_a_child_spends_in_its_own_unit_and_no_more_than_its_share():
    whole = WHOLES[3]
    steps = Step("a", "child", HALF, unit="gdp"), Step("a/noise")
    steps += (Step("b", "child", HALF, unit="pure"),)
    steps += (Step("b/noise", "laplace"),)
    parent = curator(whole, *steps)
    gaussian = parent.child("a", HALF, budget=part_of(whole, HALF, "gdp"))
    scale = gaussian.gaussian([0], sensitivity=1, share=1, label="noise").scale
    assert scale == pytest.approx(1 / math.sqrt(float(whole.amount)), rel=1e-12)  # mu^2 = 2 R / 2
    pure = parent.child("b", HALF, budget=part_of(whole, HALF, "pure"))
    scale = pure.laplace([0], sensitivity=1, share=1, label="noise").scale
    assert scale == pytest.approx(1 / math.sqrt(float(whole.amount)), rel=1e-12)
    assert parent.remaining == 0
    with pytest.raises((BudgetExceeded, PlanError)):
        parent.child("b", HALF)


def test_a_child_cannot_be_worth_more_than_its_share():
    for whole in WHOLES:
        unit = units(whole)[0]
        parent = curator(whole, Step("a", "child", HALF, unit=unit))
        with pytest.raises(PlanError, match="worth more"):
            parent.child("a", HALF, budget=part_of(whole, Fraction(3, 4), unit))
    with pytest.raises(PlanError):
        part_of(Budget.gaussian(1.0, 1e-6), HALF, "pure")


def test_a_mixed_budget_is_not_spent_directly():
    for mechanism in ("gaussian", "laplace"):
        with pytest.raises(PlanError, match="children"):
            draw = getattr(curator(WHOLES[3], Step("x", mechanism)), mechanism)
            draw([0], sensitivity=1, share=HALF, label="x")


def test_a_mixed_budget_ties_every_share_to_the_kind_it_was_made_for():
    """A Gaussian child in the place of 99/100 of pure noise has delta .043, not 1e-6."""
    part = Fraction(99, 100)
    whole = mixed_budget(1.0, 1e-6, gaussian=1 - part, pure=[part])
    steps = Step("a", "child", part, unit="pure"), Step("a/noise", times=1)
    parent = curator(whole, *steps)
    with pytest.raises(PlanError, match="another unit than planned"):
        parent.child("a", part, budget=part_of(whole, part, "gdp"))
    assert parent.remaining == 1  # nothing was paid for what was refused
    assert parent.child("a", part, budget=part_of(whole, part, "pure")).budget.measure == "pure"
    with pytest.raises(PlanError, match="made for other shares"):
        curator(whole, Step("a", "child", part, unit="gdp"), Step("a/noise"))
    for unit in (None, "mixed"):
        parent = curator(whole, Step("a", "child", part, unit=unit), Step("a/noise"))
        for budget in (None, part_of(whole, part, "gdp"), part_of(whole, part, "pure")):
            with pytest.raises(PlanError, match="another unit than planned"):
                parent.child("a", part, budget=budget)
    with pytest.raises(PlanError, match="made for other shares"):  # more, smaller pure steps
        curator(whole, Step("a", "child", part / 3, times=3, unit="pure"))
    with pytest.raises(PlanError, match="another unit"):
        parent = curator(Budget.zcdp(1.0, 1e-6), Step("a", "child"))
        parent.child("a", HALF, budget=part_of(Budget.zcdp(1.0, 1e-6), HALF, "pure"))


def test_a_mixed_budget_pays_for_a_child_of_a_child_once():
    """Both of these children together have delta 3e-5 at epsilon 1."""
    whole = mixed_budget(1.0, 1e-6, gaussian=HALF, pure=[])
    steps = Step("a", "child", HALF, unit="gdp"), Step("a/b", "child", HALF, unit="pure")
    parent = curator(whole, *steps, Step("a/b/noise", "laplace"))
    parent.child("a", HALF, budget=part_of(whole, HALF, "gdp"))
    with pytest.raises(PlanError, match="lies in another child"):
        parent.child("a/b", HALF, budget=part_of(whole, HALF, "pure"))
    assert parent.remaining == HALF


@pytest.mark.parametrize("pure", [1, 10])
def test_a_mixed_part_of_zcdp_has_any_shares(pure):
    """Ten pure steps: a sum of epsilons beyond that of zCDP, which is what pays."""
    whole = Budget.zcdp(1.0, 1e-6)
    steps = [Step("m", "child", unit="mixed"), Step("m/g", "child", HALF, unit="gdp")]
    steps += [Step(f"m/{i}", "child", HALF / pure, unit="pure") for i in range(pure)]
    steps += [Step(f"m/{i}/noise", "laplace") for i in range(pure)]
    parent = curator(whole, *steps)
    mixed = parent.child("m", 1, budget=part_of(whole, 1, "mixed"))
    mixed.child("g", HALF, budget=part_of(mixed.budget, HALF, "gdp"))
    rho = HALF * whole.amount
    for i in range(pure):
        part = part_of(mixed.budget, HALF / pure, "pure")
        noise = mixed.child(str(i), HALF / pure, budget=part)
        scale = noise.laplace([0], sensitivity=1, share=1, label="noise").scale
        rho += Fraction(1 / scale) ** 2 / 2
    assert whole.amount * (1 - Fraction(1, 10**12)) < rho <= whole.amount
    assert mixed.remaining == parent.remaining == 0
