"""What stands in the place of a step's ledger inside a pipeline: its part of one budget."""

from fractions import Fraction

import numpy as np

from skdp._compat import safe_indexing
from skdp.chunks._some_rows import without as without_rows
from skdp.chunks._tables import Tables
from skdp.exceptions import PlanError

__all__ = ["Grant", "without"]


class Grant:
    """A part of the budget of a pipeline, given to one step.

    It is the ``ledger`` parameter of that step while the pipeline plans and fits, so that copies
    of the step, which containers of scikit-learn make, hold the same grant.

    Parameters
    ----------
    label : str
        Of the step, in the plan of the pipeline.
    given : Kind
        What the step before it hands on.
    composition : {"gaussian", "basic"} or None, default="gaussian"
        Of the ledger that the step shares, as of :class:`skdp.accounting.PrivacyLedger`: Gaussian
        beside other steps, that of the pipeline's ledger for a step that spends alone, None if the
        pipeline has none either.

    Attributes
    ----------
    certificate : skdp.friendly.LocalCore or None
        The core of a filter before the step, with what is proved of it. Private.
    absent : ndarray of shape (n_samples,), bool or None
        Rows outside a core, which are none to this step, whatever the steps between make of them.
        Private.
    persons : skdp.chunks._persons.Persons or None
        Whose row each row of the table is, in a fit with groups. Private.
    plan : Plan or None
        Of the step, where whoever lends the grant has made it; it is the same for all that he
        lends.
    empty : bool
        Whether the rows handed on are made up, because the table has none. Private.
    """

    def __init__(self, label, given, composition="gaussian"):
        self.label = label
        self.given = given
        self.composition = composition
        self.certificate = self.plan = self._budget = self._curator = None
        self.absent, self.empty, self._persons = None, False, None
        self._share = Fraction(0)

    def admit(self, budget):
        """Return the budget of this step: of the unit that it asks for, of the amount granted."""
        if self._budget is None:
            return budget
        granted = self._budget.unit
        if budget.unit != granted:
            raise PlanError(
                f"{self.label!r} was granted a {granted} budget and asks for {budget.unit}: its "
                "plan must not depend on the amount."
            )
        return self._budget

    def set_budget(self, budget, share):
        """Fix what :meth:`admit` returns, and its share of the pipeline's budget."""
        self._budget, self._share = budget, share

    @property
    def granted(self):
        """The budget of the step and its share, by name."""
        return {"budget": self._budget, "share": self._share}

    def set_curator(self, curator):
        """Let :meth:`open` give children of this Curator out; None closes the grant."""
        self._curator = curator

    @property
    def persons(self):
        return self._persons.some(slice(0, 0)) if self._persons and self.empty else self._persons

    def set_persons(self, persons):
        """Fix whose row each row is, None in a fit that protects rows."""
        self._persons = persons

    def present(self, X):
        """Return the rows of X that are rows of the table, with NaN in those that are absent."""
        if isinstance(X, Tables):
            return X if self.absent is None else without(X, self.absent)
        if not hasattr(X, "shape"):
            return X
        X = safe_indexing(X, slice(0, 0)) if self.empty else X
        return X if self.absent is None else without(X, self.absent)

    def open(self):
        """Return the Curator of this step, once."""
        if self._curator is None:
            raise PlanError(
                f"the grant of {self.label!r} is not open: the step was fitted outside its "
                "pipeline. Fit the pipeline, or set the ledger of the step to None."
            )
        curator = self._curator.child(self.label, self._share, budget=self._budget)
        curator.step = self.label
        return curator

    def lent(self, curator):
        """Return a grant like this one that opens a Curator which has been made for it."""
        grant = Grant(self.label, self.given, self.composition)
        grant.set_budget(self._budget, self._share)
        grant.set_curator(_Made(curator))
        grant.plan = self.plan
        return grant

    def __copy__(self, memo=None):
        return self

    __deepcopy__ = __sklearn_clone__ = __copy__


class _Made:
    """Gives a Curator in the place of a child."""

    def __init__(self, curator):
        self._curator = curator

    def child(self, label, share, *, budget):
        return self._curator


def without(X, absent):
    """Return a table of numbers with NaN in the rows that are absent."""
    if isinstance(X, Tables):
        tables = X.mapped(_as_floats, _as_floats(X.head()))
        return tables.without(absent)
    return without_rows(X, absent)


def _as_floats(table):
    return without(table, np.zeros(len(table), dtype=bool))
