"""What estimators have in common whose rows may count with weights."""

from skdp.utils._compat import fit_context


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
