"""What kinds of estimators share: fits on tables that others opened, weights, mixed columns."""

import numpy as np

from skdp._private_part import SCHEMA, guarded, unchanged
from skdp.exceptions import PlanError
from skdp.utils._compat import fit_context
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


class MixedColumns:
    """Mixin of estimators of a target whose columns may hold text, categories and gaps."""

    _mixed = True

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


# --- what estimators have in common whose rows may count with weights


class WeightsMixin:
    """Mixin of estimators whose fit takes weights of rows, as those of scikit-learn do."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, *, groups=None):
        """Fit on private rows and release the result.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows: one table in memory, or what is read in pieces: paths of parquet
            files, a Table or Dataset of Arrow, a LazyFrame of polars, a list of batches or another
            iterable that starts anew, a collection of dask. Read, never stored.
        y : array-like of shape (n_samples,) or str, default=None
            Ignored by estimators that have no target; as private as the rows. One entry for each
            row, of the kind of memory that X is of, or in memory; or the name of a column of X,
            which is then no feature. Batches of X may also have batches of y beside them, or be
            pairs of both.
        sample_weight : array-like of shape (n_samples,) or str, default=None
            As how much of a row each row counts, in [0, 1], in memory, or the name of a column of
            X, which is then none of the features; as private as the rows. No
            row counts for more than one, so noise is that of a fit without weights, and the number
            of rows that is released is the sum of the weights. Divide larger weights by a *public*
            bound. Places and scales are found among rows that are drawn by their weights.
        groups : array-like of shape (n_samples,), default=None
            Whose row each row is: a person is all rows with equal entries, numbers, text, times or
            tuples of these; or the name of a column of X, which is then none of the features.
            With it one person, with all rows, is protected in place of one row (user guide
            "Several rows per person").

        Returns
        -------
        self : object
            Fitted estimator; ``privacy_report_`` is the bill.

        Raises
        ------
        TypeError
            For an iterator or a stream, which can be read only once, and for sparse tables.
        ValueError
            For a table of the wrong shape or type, and for infinity and weights outside of [0, 1]
            unless ``skdp.config_context(invalid_rows="ignore")``; for NaN too where rows count as a
            whole. Before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        ReleaseError
            If the private part fails; the message is constant and the budget stays spent.
        """
        return self._fit(X, y, groups, sample_weight)
