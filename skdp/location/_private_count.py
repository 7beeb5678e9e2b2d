"""PrivateCount, the estimator."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Plan, Step
from skdp.denoising._vector import fitted_law
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import ResultsMixin
from skdp.kernel._sums import Count
from skdp.readers._raw import has_two_dimensions, library, schema_of
from skdp.readers._sources import source_of
from skdp.readers._tables import columns_of, is_in_memory, tables_of
from skdp.scales._column_noise import (
    ColumnNoise,
    check_strength,
    column_budget,
    noise_quantile,
    with_law,
)
from skdp.utils._numbers import stores_parameters

ROW_COUNT = Step("row count", of=(Count,))


class PrivateCount(ResultsMixin, PrivateEstimator):
    """Number of rows under differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
        That is less noise.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        Not used: with ``groups`` these are counted, not their rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    count_ : int
        The released number of rows, not negative; with ``groups`` that of groups. Rows with NaN or
        infinity in a column of numbers, or without a date, are not counted. Columns of a frame that
        hold neither, as text, categories and objects, are not read.
    noise_scale_ : float
        Standard deviation of the privacy noise.
    rows_per_group_ : int
        With ``groups`` only: as how many rows a group counts at most; 1 if all groups count alike.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateSum : Sums of columns.
    skdp.PrivateHistogram : Numbers of rows cell by cell.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, which moves
    the number by 1: whether a row counts is a function of its numbers and dates alone. Not private:
    the number of columns, their names and types.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> bool(abs(PrivateCount().fit(np.zeros((5000, 1))).count_ - 5000) < 50)
    True
    """

    _parameter_constraints: dict = PrivateEstimator._row_constraints

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(column_budget)
        return Plan(budget, with_law(budget, ROW_COUNT))

    def _read(self, X, y):
        source = None if is_in_memory(X) else source_of(X)
        head = X if source is None else source.head()
        if library(head) == "numpy" or not has_two_dimensions(head):
            return super()._read(X, y)
        readable = schema_of(head).readable
        if all(readable):
            return super()._read(X, y)
        rows = super()._read(_of_columns(X, np.flatnonzero(readable).tolist()), y)
        validate_data(self, head, skip_check_array=True)  # sets the names of all columns
        return rows

    def _check_public(self, n_features):
        check_strength(self._budget(column_budget), 1)

    def _release(self, table):
        noise = ColumnNoise(table.budget)
        release = table.ask(Count(), ROW_COUNT, share=table.remaining)
        return {
            "count_": max(int(release.value[0]), 0),
            "noise_scale_": float(noise.deviation(release.scale)),
        }

    def interval(self, confidence=0.95):
        """Return an interval for the number of these rows.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which it covers; the law of the noise is known exactly.

        Returns
        -------
        lower, upper : float
            Not negative.
        """
        check_is_fitted(self)
        half = noise_quantile(confidence, fitted_law(self)) * self.noise_scale_ + 0.5
        return max(self.count_ - half, 0.0), self.count_ + half


def _of_columns(X, places):
    """Return some columns of a frame, in memory or in pieces; of none as many rows of zeros."""
    tables = tables_of(X)
    if tables is None:
        return columns_of(X, places) if places else _zeros(X)
    return tables.columns(places) if places else tables.mapped(_zeros, _zeros(tables.head()))


def _zeros(table):
    return np.zeros((table.shape[0], 1))
