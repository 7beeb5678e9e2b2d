"""The plan of a fit: everything it may release, known and charged before the first row is read."""

from dataclasses import dataclass
from fractions import Fraction

from skdp._render import plan_html, plan_text
from skdp.accounting._budget import Budget

__all__ = ["Plan", "Step"]


@dataclass(frozen=True)
class Step:
    """One kind of release: its label, its mechanism and the largest part it may take.

    Parameters
    ----------
    label : str
    mechanism : {"gaussian", "laplace", "select", "matrix", "child"}
    at_most : float or Fraction, default=1
        Largest share of the budget for one such release; a float is taken exactly.
    times : int, default=1
        Largest number of such releases.
    """

    label: str
    mechanism: str = "gaussian"
    at_most: float | Fraction = 1
    times: int = 1


@dataclass(frozen=True)
class Plan:
    """A budget and the releases that may share it; the shares of a run sum to at most one.

    Parameters
    ----------
    budget : Budget
    steps : tuple of Step
    events : tuple of (str, Fraction)
        Failure events and their probabilities, which sum to at most ``budget.failure``.
    assumptions : tuple of str
        Public facts that a reader of the report must know.
    problems : tuple of str
        Why this plan cannot be carried out, with the ways out.
    """

    budget: Budget
    steps: tuple
    events: tuple = ()
    assumptions: tuple = ()
    problems: tuple = ()

    def __post_init__(self):
        labels = [step.label for step in self.steps]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"the labels of a plan must be distinct. Got {twice} more than once.")
        total = sum((p for _, p in self.events), Fraction(0))
        if total > self.budget.failure:
            raise ValueError(
                f"the failure events of a plan may have a probability of "
                f"{float(self.budget.failure):.3g} together, that of the budget. They exceed it "
                f"with {float(total):.3g}: lower them."
            )

    def __str__(self):
        return plan_text(self)

    def _repr_html_(self):
        return plan_html(self)
