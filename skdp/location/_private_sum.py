"""PrivateSum, the estimator."""

import math

import numpy as np

from skdp.accounting import Plan, Step
from skdp.columns._pair import bounded_sums
from skdp.denoising._vector import VectorMixin
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._weights_mixin import WeightsMixin
from skdp.kernel._bounded import BoundedSums
from skdp.location._bounded_moments import check_bounds
from skdp.location._public import bounds_vectors
from skdp.scales._column_noise import column_budget, with_law
from skdp.table._groups import GroupRule
from skdp.utils._numbers import stores_parameters

SUMS = Step("sums", of=(BoundedSums,))


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
