"""Fits on tables that something else has opened: a larger fit, or a holder in another process."""

import numpy as np

from skdp._private_part import SCHEMA, guarded, unchanged
from skdp.exceptions import PlanError
from skdp.utils._warnings import warn_low_accuracy

HOLDERS_LEDGER = (
    "the holder keeps the ledger of a remote table. Fit with ledger=None; table.remaining shows "
    "what is left."
)


class FitsElsewhere:
    """Mixin of estimators that are given a Table in place of rows."""

    def _check_weights(self):
        """Raise ValueError where the fit takes no weights of rows."""

    def _fit_within(self, view):
        """Fit on a Table of a larger fit, which reads it in the way of this estimator."""
        view = self.ledger.paid(view)
        try:
            return self._fit_on(*view.read(self.ledger.label), view)
        finally:
            view.forget()

    def _fit_on(self, table, told, books):
        """Fit on a Table that was read in the way of this estimator; ``told`` is public of it."""
        for name in [name for name in told if name in SCHEMA]:
            value = told.pop(name)
            setattr(self, name, np.array(value, dtype=object) if name == SCHEMA[1] else value)
        with unchanged(self), self._threads():
            released = guarded(self._ask, table)
        for name, value in (released | told).items():
            setattr(self, name, value)
        self._report(books)
        self._doubt_numbers(books)
        self._report(books)
        return self

    def _fit_elsewhere(self, X, y, groups, sample_weight):
        """Fit on a table of a holder, who charges for it: see :mod:`skdp.remote`."""
        if self.ledger is not None:
            raise ValueError(HOLDERS_LEDGER)
        try:
            self.set_params(ledger=X.__skdp_ledger__())
            plan = self._plan_elsewhere(X.privacy_unit == "group", sample_weight is not None)
            if plan.problems:
                raise PlanError("\n".join(["this fit cannot be carried out:", *plan.problems]))
            with X.__skdp_opened__(self, y, groups, sample_weight) as (table, told, books):
                self._fit_on(table, told, books)
        finally:
            self.set_params(ledger=None)
        warn_low_accuracy(self)
        return self

    def _plan_elsewhere(self, grouped, weighted):
        """Return the plan of a fit on a table of a holder."""
        if weighted:
            self._check_weights()
        if grouped:
            return self._grouped_plan()
        return self._weighted_plan() if weighted else self.plan()

    def _rehearse_within(self, view):
        """Raise what a fit on a Table of a larger fit would raise before it is asked."""
        self._validate_params()
        self.ledger.paid(view).read(self.ledger.label)
