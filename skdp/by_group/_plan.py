"""What groups cost: one fit, and the selection of their names if these are not public."""

from dataclasses import replace
from fractions import Fraction

from sklearn.base import clone

from skdp.accounting import Budget, Plan, Step, mixed_budget, part_of
from skdp.contracts._kinds import Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import PlanError
from skdp.gate._budget_allocation import BudgetAllocation

__all__ = ["GROUPS", "LEVELS", "NAMES", "allocate_budget", "planned"]

GROUPS, LEVELS, NAMES = "groups", "levels", "names"  # labels of steps
LEVELS_SHARE = Fraction(1, 10)
ONE = (
    "groups: fits on disjoint rows. A row is in one group at most, so that all of them together "
    "cost what one costs (parallel composition); a row whose key is no level is in none"
)
NO_ESTIMATOR = (
    "the estimator of a PrivateGroupBy must be one of skdp, or a PrivatePipeline of them. Got "
    "another: pass an instance, not a class, and of an estimator of your own one that is built on "
    "skdp.base."
)
NO_DELTA = (
    "with delta=0 levels must be given: to find them privately is to publish what occurs, which "
    "may fail and so needs a delta. Pass them, or a delta well below 1 / (number of rows)."
)


def allocate_budget(group_by):
    """Return a clone of the estimator with a grant for the part of the budget of the groups."""
    if not isinstance(group_by.estimator, PrivateEstimator):
        raise TypeError(NO_ESTIMATOR)
    bought = group_by.levels is None
    inner = clone(group_by.estimator)
    composition = "gaussian" if bought else getattr(group_by.ledger, "composition", None)
    delta = {"delta": group_by.delta} if getattr(inner, "delta", 0) else {}
    grant = BudgetAllocation(GROUPS, Rows(), composition, whole=True)
    return inner.set_params(ledger=grant, epsilon=group_by.epsilon, **delta)


def planned(group_by):
    """Return the plan of all groups, and the estimator of one."""
    inner = allocate_budget(group_by)
    grant = inner.ledger
    plan = inner.plan()
    unit = plan.budget.measure
    if group_by.levels is not None:
        budget = group_by._budget(lambda epsilon, delta: plan.budget)
        part, share, steps, events = budget, Fraction(1), (), ()
        own = None
    else:
        if not group_by.delta > 0:
            raise PlanError(NO_DELTA)
        share, own = 1 - LEVELS_SHARE, unit
        budget = group_by._budget(lambda epsilon, delta: _total(epsilon, delta, unit))
        part = part_of(budget, share, unit)
        names = part_of(budget, LEVELS_SHARE, "gdp")
        steps = Step(LEVELS, "child", LEVELS_SHARE, unit="gdp"), Step(f"{LEVELS}/{NAMES}")
        events = ((f"{LEVELS}/{NAMES}", names.failure),)
    grant.set_budget(part, share)
    plan = inner.set_params(epsilon=float(part.epsilon)).plan()
    seeded = getattr(inner, "random_state", None) is not None
    notes = [ONE, *(f"{GROUPS}: {text}" for text in plan.assumptions)]
    if seeded:
        notes.append("the random_state of the estimator is not used; the groups have their own")
    steps = (
        *steps,
        Step(GROUPS, "child", at_most=share, unit=own),
        *(replace(step, label=f"{GROUPS}/{step.label}") for step in plan.steps),
    )
    events = (*events, *((f"{GROUPS}/{name}", p) for name, p in plan.events))
    whole = Plan(budget, steps, events, tuple(notes), plan.problems)
    return whole, inner


def _total(epsilon, delta, unit):
    """Return the budget of a Gaussian selection and of groups of some unit."""
    if unit == "gdp":
        return Budget.gaussian(epsilon, delta)
    if unit == "pure":
        pure = [1 - LEVELS_SHARE]
        return mixed_budget(epsilon, delta, gaussian=LEVELS_SHARE, pure=pure)
    return Budget.zcdp(epsilon, delta)
