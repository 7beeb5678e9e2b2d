"""What the fits of a search cost: how many train on any one row, and their composition."""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

import numpy as np
from sklearn import model_selection as splitters
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from skdp.accounting import group_epsilon, group_privacy
from skdp.mechanisms._exact import sqrt_up
from skdp.utils._renamed import Renamed

__all__ = [
    "Total",
    "composed",
    "composed_epsilon",
    "composed_guarantee",
    "fits_with_a_row",
    "most_expensive",
    "plan_budget",
    "private_steps",
]

PARTITIONS = (
    splitters.KFold,
    splitters.StratifiedKFold,
    splitters.GroupKFold,
    splitters.StratifiedGroupKFold,
    splitters.LeaveOneOut,
    splitters.LeaveOneGroupOut,
)
REPEATED = (splitters.RepeatedKFold, splitters.RepeatedStratifiedKFold)


@dataclass(frozen=True)
class Total:
    """What fits cost together: every number is a sum by itself.

    It is no Budget: amounts and failures add up by one rule, epsilons and deltas by another, and
    neither follows from the other.
    """

    measure: str
    amount: Fraction
    failure: Fraction
    epsilon: Fraction
    delta: Fraction

    unit = Renamed("measure")

    @property
    def mu(self):
        """The GDP parameter sqrt(amount), rounded up (measure "gdp" only)."""
        return sqrt_up(self.amount)


def private_steps(estimator):
    """Return the parts of an estimator that have a plan, and the names of those that have none."""
    if hasattr(estimator, "plan"):
        return [estimator], []
    if isinstance(estimator, Pipeline):
        parts = estimator.steps
    elif isinstance(estimator, FeatureUnion):
        parts = estimator.transformer_list
    elif isinstance(estimator, ColumnTransformer):
        parts = [*(part[:2] for part in estimator.transformers), ("rest", estimator.remainder)]
    else:
        if any(hasattr(value, "plan") for value in _parameters(estimator).values()):
            raise ValueError(
                f"{type(estimator).__name__} holds private estimators and may fit them any number "
                "of times: their cost is not known. Search over them directly, or in a Pipeline, "
                "FeatureUnion or ColumnTransformer."
            )
        return [], [type(estimator).__name__]
    pairs = [
        private_steps(part) for _, part in parts if not (part is None or isinstance(part, str))
    ]
    return [x for found, _ in pairs for x in found], [x for _, rest in pairs for x in rest]


def _parameters(estimator):
    return estimator.get_params() if hasattr(estimator, "get_params") else {}


def fits_with_a_row(cv, n_splits):
    """Return the largest number of training sets of a candidate that hold the same row."""
    if isinstance(cv, REPEATED):
        return n_splits - cv.n_repeats
    tests_all = isinstance(cv, splitters.PredefinedSplit) and np.all(cv.test_fold >= 0)
    if cv is None or isinstance(cv, (Integral, *PARTITIONS)) or tests_all:
        return n_splits - 1
    return n_splits


def plan_budget(plan):
    """Return the budget of a plan, with no more failure probability than its events have."""
    return plan.budget.with_failure(sum((p for _, p in plan.failure_events), Fraction(0)))


def composed(budgets):
    """Return the sum of (budget, times) pairs, as one Total.

    If all are Gaussian, mu^2 and failure probabilities add up (user guide "Accounting", theorem 1);
    otherwise epsilons and deltas do.
    """

    def total(name):
        return sum((times * getattr(budget, name) for budget, times in budgets), Fraction(0))

    units = {budget.measure for budget, _ in budgets}
    epsilon, delta = total("epsilon"), total("delta")
    if units <= {"gdp"}:
        return Total("gdp", total("amount"), total("failure"), epsilon, delta)
    return Total("pure" if units == {"pure"} else "approx", epsilon, Fraction(0), epsilon, delta)


def most_expensive(budgets):
    """Return a Total that costs no less than any of these, in whatever way they are added up."""
    epsilon, delta = (max(getattr(b, name) for b in budgets) for name in ("epsilon", "delta"))
    if {budget.measure for budget in budgets} == {"gdp"}:
        amount, failure = (max(getattr(b, x) for b in budgets) for x in ("amount", "failure"))
        return Total("gdp", amount, failure, epsilon, delta)
    return Total("pure" if delta == 0 else "approx", epsilon, Fraction(0), epsilon, delta)


def composed_epsilon(budget, delta=None, group_size=1):
    """Return the smallest epsilon of a sum at ``delta``, by both ways of adding up; inf if none."""
    delta = float(budget.delta) if delta is None else delta
    whole, summed = float(budget.epsilon), float(budget.delta)
    epsilon, needed = group_privacy(whole, min(1.0, summed), group_size)
    found = epsilon if needed <= delta else math.inf
    if budget.measure == "gdp" and 0 < delta < 1:
        found = min(found, group_epsilon(budget.mu, budget.failure, group_size, delta))
    return found if delta < 1 else math.inf


def composed_guarantee(budget, group_size=1):
    """Return (epsilon, delta), at the first delta that admits a finite epsilon."""
    claimed = float(budget.delta)
    for delta in (claimed, 10 * claimed, 100 * claimed, 1000 * claimed):
        epsilon = composed_epsilon(budget, delta, group_size)
        if math.isfinite(epsilon):
            return epsilon, delta
    return math.inf, delta
