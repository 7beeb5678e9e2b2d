"""The plan of a fit: everything it may release, known and charged before the first row is read."""

from dataclasses import dataclass, field
from fractions import Fraction

from skdp.accounting._budget import Budget
from skdp.accounting._parts import is_affordable
from skdp.exceptions import PlanError
from skdp.mechanisms._exact import exact
from skdp.show._report import PlanView
from skdp.utils._renamed import Renamed, keeps_old_names

__all__ = ["Plan", "Step"]

MECHANISMS = "gaussian", "laplace", "select", "matrix", "child", "repeat"


@dataclass(frozen=True)
class Step:
    """One kind of release: its label, its mechanism and the largest part it may take.

    Parameters
    ----------
    label : str
    mechanism : {"gaussian", "laplace", "select", "matrix", "child", "repeat"}
    at_most : float or Fraction, default=1
        Largest share of the budget for one such release, > 0; a float is taken exactly.
    times : int, default=1
        Largest number of such releases.
    unit : {"gdp", "zcdp", "pure"}, default=None
        Of the budget of a child. None is that of the plan; a mixed plan needs one that it names.
    of : tuple of type, default=()
        The statistics of rows that are released so: a Table refuses others. Empty: any.

    See Also
    --------
    Plan, skdp.base.Curator

    Notes
    -----
    **Privacy**: made of parameters alone; a Curator refuses releases that no step plans.

    Examples
    --------
    >>> from skdp.accounting import Step
    >>> step = Step("count", "laplace", at_most=0.25, times=2)
    >>> step.label, step.times
    ('count', 2)
    """

    label: str
    mechanism: str = "gaussian"
    at_most: float | Fraction = 1
    times: int = 1
    unit: str | None = None
    of: tuple = field(default=(), repr=False)

    def __post_init__(self):
        most, times = exact(self.at_most, name="at_most"), exact(self.times, name="times")
        if not most > 0 or times < 0 or times.denominator != 1:
            raise ValueError("a step has at_most > 0 and an integer times >= 0. Correct its plan.")
        if self.mechanism not in MECHANISMS:
            raise ValueError(
                f"the mechanism of a step must be one of {', '.join(MECHANISMS)}. Got "
                f"{self.mechanism!r}."
            )


@keeps_old_names
@dataclass(frozen=True)
class Plan(PlanView):
    """A budget and the releases that may share it; the shares of a run sum to at most one.

    Parameters
    ----------
    budget : Budget
    steps : tuple of Step
    failure_events : tuple of (str, Fraction)
        Failure events and their probabilities, which sum to at most ``budget.failure``.
    assumptions : tuple of str
        Public facts that a reader of the report must know.
    problems : tuple of str
        Why this plan cannot be carried out, with the ways out.
    privacy_unit : {"row", "group"}, default="row"
        What neighbouring tables differ in: one row, or all rows with one entry of ``groups``.

    See Also
    --------
    Budget, Step, skdp.base.Curator

    Notes
    -----
    **Privacy**: made of parameters alone, before any row is read, so it costs nothing.

    Examples
    --------
    >>> from skdp.accounting import Budget, Plan, Step
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("count", at_most=0.1), Step("sum")))
    >>> [step.label for step in plan.steps], plan.problems
    (['count', 'sum'], ())
    """

    budget: Budget
    steps: tuple
    failure_events: tuple = field(default=(), repr=False)  # may have thousands of digits
    assumptions: tuple = ()
    problems: tuple = ()
    privacy_unit: str = "row"
    events = Renamed("failure_events")
    protects = Renamed("privacy_unit")

    def __post_init__(self):
        failing = [label for label, _ in self.failure_events]
        for labels in ([step.label for step in self.steps], failing):
            if len(set(labels)) < len(labels):
                twice = sorted({label for label in labels if labels.count(label) > 1})
                raise ValueError(f"the labels of a plan must differ. Got {twice} more than once.")
        chances = [exact(p, name="a probability") for _, p in self.failure_events]
        if not all(p > 0 for p in chances):
            raise ValueError("the failure events of a plan must have positive probabilities.")
        total = sum(chances, Fraction(0))
        if total > self.budget.failure:
            raise ValueError(
                f"the failure events of a plan may have a probability of "
                f"{float(self.budget.failure):.3g} together, that of the budget. They exceed it "
                f"with {float(total):.3g}: lower them."
            )
        mixed = self.budget.measure == "mixed" and not self.problems
        if mixed and not is_affordable(self.budget, self.steps):
            raise PlanError(
                "a mixed budget was made for other shares than those of this plan: mixed_budget "
                "takes the shares of its Gaussian and of its pure children."
            )


def release_mechanism(budget):
    """Return "laplace" for a pure budget, else "gaussian": the kind of step to plan."""
    return "laplace" if budget.measure == "pure" else "gaussian"
