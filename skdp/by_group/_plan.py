"""What groups cost: one fit, a selection of their names, and how many a person counts in."""

from dataclasses import replace
from fractions import Fraction

from sklearn.base import clone

from skdp.accounting import Budget, Plan, Step, mixed_budget, part_of
from skdp.contracts import Rows
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import PlanError
from skdp.gate._accountant import BudgetAllocation
from skdp.kernel._parts import PersonsWithMore

CAPS = 1, 2, 3, 4, 6, 8, 12, 16, 24, 32  # a bisection asks for four of them at most
MOST_LEVELS = CAPS[-1]
COUNTS = 5  # one of all persons, and the bisection
COUNTS_SHARE = Fraction(1, 20)
LEVEL_COUNTS = Step(
    "levels per group", at_most=COUNTS_SHARE / COUNTS, times=COUNTS, of=(PersonsWithMore,)
)
FEW = 0.05  # of the persons may have more levels than count
CLEAR = 2.0  # noise scales: fewer persons are not told from none
SAID = "groups: a person counts in levels_per_group_ levels, as many as 95 % of the persons have"

GROUPS, LEVELS, NAMES = "groups", "levels", "names"  # labels of steps
LEVELS_SHARE = Fraction(1, 10)
GAUSSIAN = ("gdp", "zcdp")
ONE = (
    "groups: fits on disjoint rows. A row is in one group at most, so that all of them together "
    "cost what one costs (parallel composition); a row whose key is no level is in none"
)
PERSONS = (
    "groups: a person counts in {most}, by all of its rows there, so that {cost}; which these are "
    "its own rows decide"
)
ONE_LEVEL = ("one level at most", "all of them together cost what one costs (parallel composition)")
SOME_LEVELS = ("{n} levels at most", "{n} fits are paid for (group composition)")
MIXED = (
    "levels_per_group must be 1 where the fit of a level mixes Gaussian and pure releases: the "
    "price of several is not known. Set delta > 0 in all steps, or levels_per_group=1."
)
NO_COUNTS = (
    'levels_per_group="auto" counts persons with Gaussian noise. Pass an int, such as '
    "levels_per_group=1, or set delta > 0 in all steps."
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


def enough_levels(table, levels):
    """Release a number of levels that few persons have more of.

    Notes
    -----
    **Privacy** (add or remove one person): each count moves by one; which one is asked depends on
    the answers before.
    """
    if not levels:
        return 1
    persons = table.persons_by_levels(levels)
    told = persons.ask(PersonsWithMore(), LEVEL_COUNTS)
    few = max(FEW * float(told.value[0]), CLEAR * told.scale)
    low, high = 0, len(CAPS) - 1
    while low < high:
        middle = (low + high) // 2
        more = persons.ask(PersonsWithMore(CAPS[middle]), LEVEL_COUNTS)
        low, high = (low, middle) if more.value[0] <= few else (middle + 1, high)
    table.decide(SAID)
    return min(CAPS[low], len(levels))


# --- what groups cost: one fit, and the selection of their names if these are not public


def allocate_budget(group_by):
    """Return a clone of the estimator with a grant for the part of the budget of the groups."""
    if not isinstance(group_by.estimator, PrivateEstimator):
        raise TypeError(NO_ESTIMATOR)
    bought = group_by.levels is None or group_by.levels_per_group == "auto"
    inner = clone(group_by.estimator)
    composition = "gaussian" if bought else getattr(group_by.ledger, "composition", None)
    delta = {"delta": group_by.delta} if getattr(inner, "delta", 0) else {}
    grant = BudgetAllocation(GROUPS, Rows(), composition, whole=True)
    return inner.set_params(ledger=grant, epsilon=group_by.epsilon, **delta)


def share_of_groups(group_by, *, grouped=False):
    """Return the share of the budget that is left for the fits of levels."""
    share = Fraction(1) if group_by.levels is not None else 1 - LEVELS_SHARE
    auto = grouped and group_by.levels_per_group == "auto"
    return share - COUNTS_SHARE if auto else share


def planned(group_by, *, grouped=False, most=None):
    """Return the plan of all groups, and the estimator of one.

    A person counts in ``most`` levels at most, by default those that the parameter names.
    """
    inner = allocate_budget(group_by)
    grant = inner.ledger
    plan = _plan_of(inner, grouped)
    unit, auto = plan.budget.measure, grouped and group_by.levels_per_group == "auto"
    most = (1 if auto or not grouped else group_by.levels_per_group) if most is None else most
    share = share_of_groups(group_by, grouped=grouped)
    steps, events, own, problems = [], [], None, list(plan.problems)
    if group_by.levels is not None:
        budget = group_by._budget(lambda epsilon, delta: plan.budget)
    else:
        if not group_by.delta > 0:
            raise PlanError(NO_DELTA)
        own = unit
        budget = group_by._budget(lambda epsilon, delta: _total(epsilon, delta, unit, share, most))
        names = part_of(budget, LEVELS_SHARE, "gdp")
        steps += [Step(LEVELS, "child", LEVELS_SHARE, unit="gdp"), Step(f"{LEVELS}/{NAMES}")]
        events += [(f"{LEVELS}/{NAMES}", names.failure)]
    if unit == "mixed" and (most > 1 or auto):
        problems.append(MIXED)
    elif auto and budget.measure not in GAUSSIAN:
        problems.append(NO_COUNTS)
    steps += [LEVEL_COUNTS] if auto else []
    each = share / most
    part = budget if each == 1 else part_of(budget, each, unit)
    grant.set_budget(part, share)
    plan = _plan_of(inner.set_params(epsilon=float(part.epsilon)), grouped)
    seeded = getattr(inner, "random_state", None) is not None
    notes = [_said(grouped, most, auto), *(f"{GROUPS}: {text}" for text in plan.assumptions)]
    if seeded:
        notes.append("the random_state of the estimator is not used; the groups have their own")
    steps = (
        *steps,
        Step(GROUPS, "child", share if auto else each, MOST_LEVELS if auto else most, unit=own),
        *(replace(step, label=f"{GROUPS}/{step.label}") for step in plan.steps),
    )
    events = (*events, *((f"{GROUPS}/{name}", most * p) for name, p in plan.failure_events))
    privacy_unit = "group" if grouped else "row"
    whole = Plan(budget, steps, events, tuple(notes), tuple(problems), privacy_unit=privacy_unit)
    return whole, inner


def _plan_of(inner, grouped):
    return inner._grouped_plan() if grouped else inner.plan()


def _said(grouped, most, auto):
    """Return what a reader must know of how groups share a budget."""
    if not grouped:
        return ONE
    n = "levels_per_group_" if auto else most
    where, cost = ONE_LEVEL if most == 1 and not auto else SOME_LEVELS
    return PERSONS.format(most=where.format(n=n), cost=cost.format(n=n))


def _total(epsilon, delta, unit, share, most):
    """Return the budget of a Gaussian selection and of groups of some unit."""
    if unit == "gdp":
        return Budget.gaussian(epsilon, delta)
    if unit == "pure":
        pure = [share / most] * most
        return mixed_budget(epsilon, delta, gaussian=LEVELS_SHARE, pure=pure)
    return Budget.zcdp(epsilon, delta)
