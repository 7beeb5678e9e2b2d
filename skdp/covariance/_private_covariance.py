"""PrivateCovariance, the estimator."""

from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget
from skdp.covariance._engine import covariance_plan, private_covariance
from skdp.covariance._release import (
    CovarianceRelease,
    bounded_covariance,
    bounded_plan,
    checked_bounds,
    correlation_of,
    precision_of,
)
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import annex
from skdp.scales._column_noise import check_confidence
from skdp.table._batched import apply_batched, mean_of_pieces
from skdp.table._groups import GroupRule
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import bounds_vectors, stores_parameters
from skdp.utils._renamed import Renamed

SIGNAL = 200.0  # persons times mu, for each column
MOST = (
    10.0  # error bound: beyond, of real tables one in five loses half a variance; below, one in 20
)
LOST = (
    "the variance does not exceed the noise: correlations are NaN. Leave columns out that are "
    "nearly constant, pass bounds, or use a larger epsilon"
)
WIDE = (
    "error_bound() is above 10: variances may be many times larger. Take logarithms of columns "
    "with long tails, pass bounds, or use a larger epsilon"
)

DENOISE = (
    "denoise: free post-processing; of several shrunk matrices, and the released one, that of the "
    "least unbiased risk; assumes nothing"
)


def rule_of_matrix(n_features):
    """Return the GroupRule of a covariance matrix."""
    return GroupRule(noise=3.0 * n_features, least=SIGNAL * n_features)


class PrivateCovariance(PrivateEstimator, EmpiricalCovariance):
    """Covariance matrix of a table under differential privacy, without bounds on the data.

    Columns may have any units and any correlations: scales of the columns come from random
    differences, small Gram matrices tell in which directions the rows vary little, and after these
    have been scaled up one final Gram matrix of clipped rows takes most of the budget. Constant,
    duplicated and dependent columns are found and left out of the noise.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    bounds : (low, high), default=None
        Public bounds of the entries, each a number or array-like of shape (n_features,): entries
        beyond are moved to them. Nothing is searched for then; one release takes the whole budget.
        Must not be computed from X. Not together with ``method="friendly"``.
    assume_centered : bool, default=False
        Whether the rows vary around zero, which saves the search for their centre.
    store_precision : bool, default=True
        Whether ``precision_`` is kept.
    shrinkage : float in [0, 1], "oas" or None, default=None
        Replace the covariance S by ``(1 - s) S + s tr(S) / d``, s public or, for ``"oas"``, chosen
        by the oracle approximating formula [2]_ from what was released.
    denoise : bool, default=True
        Shrink the released matrix, in its own coordinates, as the law of its noise suggests: free
        post-processing. This is the ``denoiser`` of a matrix, which moves eigenvalues together.
    method : {"auto", "friendly"}, default="auto"
        Where the search for directions starts. ``"auto"``: from the scales of the columns.
        ``"friendly"``: from a matrix on which random parts of the table agree, the published
        algorithm [1]_. That takes hundreds of thousands of rows and time in proportion to the
        square of the number of parts, and is never the better choice; with fewer rows, or if the
        parts do not agree, it goes on like ``"auto"``, as ``privacy_report_`` tells.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        With ``groups``: a person with more rows weighs no more than with so many, public; "auto"
        finds a number privately. Ignored without.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    covariance_ : ndarray of shape (n_features, n_features)
        The released covariance matrix, symmetric and positive semidefinite. Variances beyond 1e300
        are reported as about 1e300.
    location_ : ndarray of shape (n_features,)
        The released centre.
    precision_ : ndarray of shape (n_features, n_features) or None
        The inverse, or a generalised inverse of a singular matrix.
    correlation_ : ndarray of shape (n_features, n_features)
        The correlations of ``covariance_``. Those of a column whose variance is not twice its
        ``noise_scale_`` are not known: NaN, and ``accuracy_warnings_`` names the column.
    resolved_rank_ : int
        Number of directions that stand clear of the noise. Below the number of columns the matrix
        is singular, or the rows are too few to tell their thinnest directions from noise.
    noise_scale_ : ndarray of shape (n_features, n_features)
        Standard deviation of what privacy does to every entry of ``covariance_``, before
        ``denoise`` and ``shrinkage``: the noise, that of the number of rows, and an estimate of
        what clipping takes; infinite if nothing was found.
    location_noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the privacy noise of ``location_``.
    basis_ : ndarray of shape (n_features, k)
        Vectors in whose coordinates the noise was added; with ``bounds`` one more than there are
        columns, the first of which is what an error of the number of rows does.
    root_ : ndarray of shape (k, k)
        ``covariance_`` is, before ``shrinkage``, ``basis_ @ root_ @ root_.T @ basis_.T``.
    core_noise_scale_ : float
        Standard deviation of the noise on the diagonal of ``root_ @ root_.T``, where it is about 1.
    clipping_bias_bound_ : float
        What clipping may have taken from ``root_ @ root_.T``, at most, in any norm: an upper end
        from released counts, if beyond what is seen the rows thin out no slower than before.
        Infinite where even that bounds nothing. 0.0 with ``bounds``: it speaks of clipped entries.
    n_rows_ : float
        Released number of rows; with ``groups`` a group counts as one at most.
    n_rows_noise_scale_ : float
        Standard deviation of its noise.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivatePCA : Principal components of this matrix.
    skdp.PrivateMean : The mean alone.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. Every release is Gaussian, but for the one of ``method="friendly"`` whose
    noise is multiplicative; it is charged as the Gaussian one that reveals no less. Not private:
    ``score`` and ``mahalanobis`` of private rows, and parameters that were chosen by looking at
    the data.

    ``score``, ``mahalanobis``, ``error_norm`` and ``get_precision`` are those of scikit-learn's
    :class:`~sklearn.covariance.EmpiricalCovariance`.

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.
    .. [2] Chen, Wiesel, Eldar, Hero. "Shrinkage algorithms for MMSE covariance estimation". IEEE
       Transactions on Signal Processing 58, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.covariance import PrivateCovariance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) @ [[1.0, 2e6], [0.0, 1e6]] + [5.0, -1e9]
    >>> covariance = PrivateCovariance(epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(abs(covariance.correlation_[0, 1] - 0.894) < 0.05)
    True
    """

    _weighs_groups = property(lambda self: self.method != "friendly")
    clipping_bound_ = Renamed("clipping_bias_bound_")
    core_noise_ = Renamed("core_noise_scale_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "bounds": ["array-like", tuple, None],
        "assume_centered": ["boolean"],
        "store_precision": ["boolean"],
        "shrinkage": [Interval(Real, 0, 1, closed="both"), StrOptions({"oas"}), None],
        "denoise": ["boolean"],
        "method": [StrOptions({"auto", "friendly"})],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        assume_centered=False,
        store_precision=True,
        shrinkage=None,
        denoise=True,
        method="auto",
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        if self.bounds is not None:
            plan = bounded_plan(budget)
        else:
            plan, _ = self._road()
            plan = plan(budget, assume_centered=self.assume_centered)
        notes = (DENOISE,) if self.denoise else ()
        return replace(plan, assumptions=(*plan.assumptions, *notes))

    def _check_public(self, n_features):
        checked_bounds(self.bounds, n_features)
        if self.bounds is not None and self.method == "friendly":
            raise ValueError(
                'bounds leave nothing to search for, and method="friendly" is a search. Give '
                'bounds with method="auto", or method="friendly" without bounds.'
            )

    def _group_rule(self, n_features):
        return rule_of_matrix(n_features)

    def _road(self):
        """Return the plan and the engine of a fit without bounds."""
        if self.method != "friendly":
            return covariance_plan, private_covariance
        from skdp.covariance.published import friendly_covariance, friendly_covariance_plan

        return friendly_covariance_plan, friendly_covariance

    def _release(self, table):
        options = {"assume_centered": self.assume_centered, "denoise": self.denoise}
        given = (table,)
        if self.bounds is not None:
            engine, (low, high) = bounded_covariance, bounds_vectors(self.bounds, table.n_features)
            options |= {"low": low, "high": high}
        else:
            _, engine = self._road()
            if self.method == "friendly":
                given = annex(table)  # random parts that decide by noise of their own
        release = engine(*given, **options)
        covariance = shrunk(release.covariance, self.shrinkage, release.n_rows)
        doubt(release, table)
        return {
            "covariance_": covariance,
            "location_": release.location,
            "precision_": precision_of(covariance) if self.store_precision else None,
            "correlation_": correlation_of(covariance, release.lost),
            "resolved_rank_": release.rank,
            "noise_scale_": release.noise_scale,
            "location_noise_scale_": release.location_noise_scale,
            "basis_": release.basis,
            "root_": release.root,
            "core_noise_scale_": release.noise,
            "clipping_bias_bound_": release.clipping,
            "n_rows_": release.n_rows,
            "n_rows_noise_scale_": release.count_noise,
        }

    def get_precision(self):
        """Return the inverse of ``covariance_``, generalised if it is singular.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        return self.precision_ if self.store_precision else precision_of(self.covariance_)

    def score(self, X_test, y=None):
        """Return the mean log-likelihood of rows under the Gaussian of the released parameters.

        Parameters
        ----------
        X_test : array-like of shape (n_samples, n_features)
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        res : float
            Local: not private for the rows of X_test.
        """
        return self._score(X_test, y)

    @mean_of_pieces
    def _score(self, X, y=None):
        return super().score(X, y)

    @apply_batched
    def mahalanobis(self, X):
        """Return the squared Mahalanobis distances of rows from the released location.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        dist : ndarray of shape (n_samples,)
            A local view of the rows: as private as X itself.
        """
        return super().mahalanobis(X)

    def error_bound(self, confidence=0.95, *, norm="operator", relative=True, clipping=True):
        """Return a bound on what privacy has done to the covariance matrix of these rows.

        Of noise, the error of the number of rows, and clipping.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which the bound on the noise holds.
        norm : {"operator", "frobenius"}, default="operator"
        relative : bool, default=True
            Measure the error E by the norm of S^-1/2 E S^-1/2, S the released matrix, instead of
            the norm of E itself: then a bound b says that no variance of any combination of
            columns is off by more than b times itself, as released.
        clipping : bool, default=True
            Add ``clipping_bias_bound_``, all in one direction. That holds under the assumption
            stated there: no release can tell how far rows reach that are too few to be seen.

        Returns
        -------
        bound : float
            For the matrix before ``denoise``, which as a rule brings it closer, and ``shrinkage``.
            It does not contain sampling error. Infinite if nothing was found, or if nothing bounds
            what clipping has taken.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        if norm not in ("operator", "frobenius"):
            raise ValueError(f'norm must be "operator" or "frobenius". Got {norm!r} instead.')
        release = CovarianceRelease(  # as far as attributes tell it
            self.location_, self.basis_, self.root_, self.core_noise_scale_, 0.0,
            self.clipping_bias_bound_, self.resolved_rank_, self.n_rows_, self.n_rows_noise_scale_,
        )  # fmt: skip
        return release.error_bound(
            confidence, operator=norm == "operator", relative=relative, clipping=clipping
        )


def doubt(release, table):
    """Note columns that noise has drowned, and a matrix whose error nothing bounds."""
    if np.isfinite(release.noise):
        table.doubt(LOST, release.lost)
        if MOST < release.error_bound() < np.inf:
            table.doubt(WIDE)


def shrunk(S, shrinkage, n):
    """Return S shrunk to a multiple of the identity."""
    if shrinkage is None:
        return S
    d, mean = len(S), np.trace(S) / len(S)
    if shrinkage == "oas":
        squares, power = np.mean(np.square(S)), mean * mean  # as sklearn.covariance.oas
        gap = (n + 1.0) * (squares - power / d)
        shrinkage = 1.0 if not gap > 0 else min((squares + power) / gap, 1.0)
    S = (1 - shrinkage) * S
    S[np.diag_indices(d)] += shrinkage * mean
    return S
