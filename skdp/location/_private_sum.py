"""PrivateCount and PrivateSum, the estimators."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Plan, Step
from skdp.columns._pair import bounded_sums
from skdp.denoising._vector import VectorMixin, fitted_law
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import WeightsMixin
from skdp.estimator._results import ResultsMixin
from skdp.kernel._bounded import BoundedSums
from skdp.kernel._sums import Count
from skdp.location._bounded_moments import check_bounds
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
from skdp.table._groups import GroupRule
from skdp.utils._numbers import bounds_vectors, stores_parameters

ROW_COUNT = Step("row count", of=(Count,))

SUMS = Step("sums", of=(BoundedSums,))


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


class PrivateSum(WeightsMixin, VectorMixin, PrivateEstimator):
    """Sums of columns between public bounds under differential privacy.

    The noise has the size of the largest entry that the bounds allow. A mean is not told by a sum
    and a count so well as by :class:`PrivateMean` with the same bounds.

    Parameters
    ----------
    bounds : tuple (low, high)
        Public: numbers, or one per column, that the entries lie between; others are clipped to
        them. Must not be computed from X.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 is pure differential privacy, by Laplace noise.
        For up to about five columns that is less noise.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        A public number of rows, for fits with ``groups``: a group with more rows counts as so many
        of them, all with less weight. 1 counts all groups alike, the largest size all rows. "auto"
        finds a number privately that balances noise and the rows that lose weight; with ``delta=0``
        it is 1. Not used without ``groups``.
        The sum is one of rows: a group with more of them adds so many times the mean of its rows.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    sum_ : ndarray of shape (n_features,)
        The released sums. Always finite. With ``groups`` those of rows that count as
        ``rows_per_group_`` allows.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise in ``sum_``.
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
    PrivateMean : Means, which need no bounds and are better with them.
    PrivateCount : The number of rows.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. Proof: ``skdp.columns._pair.bounded_sums``. Not private: bounds that were
    chosen by looking at the data.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateSum
    >>> hours = np.random.default_rng(0).integers(0, 60, size=(5000, 1))
    >>> total = PrivateSum(bounds=(0, 60)).fit(hours)
    >>> bool(abs(total.sum_[0] - hours.sum()) < 2000)
    True
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "bounds": ["array-like"],
    }
    _vector = "sum_"
    _weighs_groups = _gaps = True

    def _group_rule(self, n_features):
        return GroupRule(noise=0.6 * math.sqrt(n_features), least=10.0)

    @stores_parameters
    def __init__(
        self,
        bounds,
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
        return Plan(budget, with_law(budget, SUMS))

    def _check_public(self, n_features):
        check_bounds(self.bounds, self._budget(column_budget), n_features)

    def _release(self, table):
        low, high = bounds_vectors(self.bounds, table.n_features)
        sums, scale, law = bounded_sums(
            table, low=low, high=high, share=table.remaining, label=SUMS.label
        )
        noise = scale * (math.sqrt(2) if law == "laplace" else 1)
        return {"sum_": np.nan_to_num(sums * table.cap), "noise_scale_": noise * table.cap}

    def interval(self, confidence=0.95, *, simultaneous=False):
        """Return intervals for the sums of these rows clipped to the bounds, column by column.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers; the law of the noise is known exactly.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.

        Returns
        -------
        lower, upper : ndarrays of shape (n_features,)
        """
        half = self._half_width(confidence, simultaneous)
        return self.sum_ - half, self.sum_ + half
