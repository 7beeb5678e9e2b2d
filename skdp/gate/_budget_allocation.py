"""What stands in the place of a step's ledger inside a larger fit: its part of one budget."""

from fractions import Fraction

from skdp.exceptions import PlanError


class BudgetAllocation:
    """A part of the budget of a larger fit, given to one step.

    It is the ``ledger`` parameter of that step while the larger fit plans and runs, so that copies
    of the step, which containers of scikit-learn make, hold the same grant.
    """

    def __init__(self, label, given, composition="gaussian", *, whole=False):
        self.label, self.given, self.composition, self._whole = label, given, composition, whole
        self.certificate = self.absent = self._budget = None
        self._share = Fraction(0)

    def admit(self, budget):
        """Return the budget of this step: of the unit that it asks for, of the amount granted."""
        if self._budget is None:
            return budget
        granted = self._budget.measure
        if budget.measure != granted:
            raise PlanError(
                f"{self.label!r} was granted a {granted} budget and asks for {budget.measure}: its "
                "plan must not depend on the amount."
            )
        return self._budget

    def set_budget(self, budget, share):
        """Fix what :meth:`admit` returns, and its share of the budget of the larger fit."""
        self._budget, self._share = budget, share

    @property
    def granted(self):
        """The budget of the step and its share, by name."""
        return {"budget": self._budget, "share": self._share}

    def paid(self, view):
        """Return a Table of the larger fit as one that this part of its budget pays."""
        return view if self._whole else view.child(self.label, self._share, budget=self._budget)

    def refuse(self):
        """Raise PlanError for a step that is fitted on rows of another fit."""
        raise PlanError(
            f"the grant of {self.label!r} is not open: the step was fitted outside its "
            "pipeline. Fit the pipeline, or set the ledger of the step to None."
        )

    def __copy__(self, memo=None):
        return self

    __deepcopy__ = __sklearn_clone__ = __copy__
