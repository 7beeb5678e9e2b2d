"""PrivatePCA, the estimator."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from skdp.accounting import Budget
from skdp.contracts import Contract, Rows
from skdp.covariance._engine import covariance_plan, private_covariance
from skdp.covariance._private_covariance import rule_of_matrix
from skdp.covariance._release import bounded_covariance, bounded_plan, checked_bounds
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._plain import public, refuse
from skdp.kernel._statistic import RowMap
from skdp.table._batched import MeanScoreMixin, apply_batched, transforms_pieces
from skdp.table._schema import later_rows
from skdp.utils._compat import Interval, RealNotInt
from skdp.utils._numbers import bounds_vectors, stores_parameters

ROWS = 8192  # per block of a product


@transforms_pieces
class PrivatePCA(
    MeanScoreMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator
):
    """Principal components of a table under differential privacy, without bounds on the data.

    They are those of the covariance matrix of :class:`PrivateCovariance`: post-processing.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None, default=None
        Number of components; or the least number that explains more than this part of the
        released variance; or None for all.
    whiten : bool, default=False
        Whether ``transform`` divides the components by their standard deviations.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    bounds : (low, high), default=None
        Public bounds of the entries, as for :class:`PrivateCovariance`. Must not be computed from
        X.
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
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions of decreasing variance; the largest entry of each is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Released variances along the components.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their parts of the released total variance.
    singular_values_ : ndarray of shape (n_components,)
        Square roots of the variances times the released number of rows less one.
    mean_ : ndarray of shape (n_features,)
        The released centre.
    noise_variance_ : float
        Mean released variance along the directions left out.
    n_components_ : int
        Number of components.
    resolved_rank_ : int
        Number of directions that stand clear of the noise of the covariance matrix.
    n_rows_ : float
        Released number of rows.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivateCovariance : The matrix itself, with the law of its noise.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, as
    :class:`PrivateCovariance`. Not private: ``transform`` and ``score`` of private rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.covariance import PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 1)) @ [[3.0, 4.0]] + 0.1 * rng.normal(size=(20000, 2))
    >>> pca = PrivatePCA(n_components=1, epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(np.abs(pca.components_ - [[0.6, 0.8]]).max() < 0.02)
    True
    """

    _weighs_groups = True
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
        "whiten": ["boolean"],
        "bounds": ["array-like", tuple, None],
    }

    @stores_parameters
    def __init__(
        self,
        n_components=None,
        *,
        whiten=False,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        return covariance_plan(budget) if self.bounds is None else bounded_plan(budget)

    def _check_public(self, n_features):
        checked_bounds(self.bounds, n_features)
        if isinstance(self.n_components, Integral) and self.n_components > n_features:
            raise ValueError(
                f"n_components={self.n_components!r} must be between 0 and "
                f"n_features={n_features}. Ask for fewer components."
            )

    def _group_rule(self, n_features):
        return rule_of_matrix(n_features)

    def _release(self, table):
        if self.bounds is None:
            release = private_covariance(table)
        else:
            low, high = bounds_vectors(self.bounds, table.n_features)
            release = bounded_covariance(table, low=low, high=high)
        components, variances = principal_axes(release.factor)
        total = float(variances.sum())
        ratios = variances / total if total > 0 else np.zeros_like(variances)
        k = self._chosen(ratios)
        return {
            "components_": components[:k],
            "explained_variance_": variances[:k],
            "explained_variance_ratio_": ratios[:k],
            "singular_values_": np.sqrt(variances[:k] * max(release.n_rows - 1, 1)),
            "mean_": release.location,
            "noise_variance_": float(variances[k:].mean()) if k < len(variances) else 0.0,
            "n_components_": k,
            "resolved_rank_": release.rank,
            "n_rows_": release.n_rows,
        }

    def _chosen(self, ratios):
        if self.n_components is None:
            return len(ratios)
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        enough = np.cumsum(ratios) > self.n_components
        return int(np.argmax(enough)) + 1 if enough.any() else len(ratios)

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def transform(self, X):
        """Project rows on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            A local view of the rows: as private as X itself.
        """
        return self._row_map().of(later_rows(self, X))

    def _row_map(self):
        """Return what :meth:`transform` makes of a row as plain data."""
        lengths = self._lengths() if self.whiten else np.ones(len(self.components_))
        return Projected(self.mean_, self.components_, lengths)

    def inverse_transform(self, X):
        """Return the rows whose projections are given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        components = self.components_
        if self.whiten:
            components = components * self._lengths()[:, None]
        return (X @ components + self.mean_).astype(X.dtype, copy=False)

    def get_covariance(self):
        """Return the covariance of the components with isotropic noise in all other directions.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (self.components_.T * above) @ self.components_
        covariance[np.diag_indices(len(covariance))] += self.noise_variance_
        return covariance

    def get_precision(self):
        """Return the inverse of :meth:`get_covariance`, generalised if that is singular.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
        """
        return np.linalg.pinv(self.get_covariance(), hermitian=True)

    @apply_batched
    def score_samples(self, X):
        """Return the log-likelihood of each row under the Gaussian model of the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        ll : ndarray of shape (n_samples,)
            A local view of the rows: as private as X itself.
        """
        gaps = later_rows(self, X) - self.mean_
        precision = self.get_precision()
        sign, logdet = np.linalg.slogdet(precision)
        logdet = logdet if sign > 0 else -np.inf
        squares = np.sum(gaps * (gaps @ precision), axis=1)
        return (logdet - len(precision) * np.log(2 * np.pi) - squares) / 2

    def _lengths(self):
        """Return the standard deviations of the components, 1 where there is no variance."""
        return np.sqrt(np.where(self.explained_variance_ > 0, self.explained_variance_, 1.0))

    def __skdp_contract__(self):
        """Return what this step reads and yields: rows, by a row-wise map that was released."""
        return Contract((Rows,), yields=lambda kind: Rows(), spends=True, weight=0.5)


@public
@dataclass(frozen=True)
class Projected(RowMap):
    """Products of rows, less an ``offset``, with ``axes``, over their ``lengths``."""

    offset: np.ndarray
    axes: np.ndarray
    lengths: np.ndarray

    def check(self, shape):
        """Raise ValueError for fields that do not fit the Shape."""
        super().check(shape)
        d, k = (shape.n_features,), np.shape(self.lengths)
        fits = np.shape(self.offset) == d and np.shape(self.axes) == k + d and len(k) == 1
        refuse(shape.kind != "unread" or not fits, "axes of these columns")

    def over(self, rows):
        """Return the view of rows."""
        return rows.numbers_mapped(self.of)

    def of(self, X):
        """Return what the map makes of an array."""
        products = row_products(X, self.offset, self.axes) / self.lengths
        return products.astype(X.dtype, copy=False)


def row_products(X, origin, components):
    """Return ``(X - origin) @ components.T``, every row by itself to the last bit.

    A matrix product of BLAS gives a row other last bits among other rows, which would break the
    sensitivities of what follows; sums of elementwise products do not.

    Shapes: origin (d,); components (k, d); products (n, k).
    """
    products = np.zeros((len(X), len(components)))
    for start in range(0, len(X), ROWS):
        block = (X[start : start + ROWS] - origin).T.copy()
        part = products[start : start + ROWS]
        for column, weights in zip(block, components.T, strict=True):
            part += column[:, None] * weights
    return products


def principal_axes(factor):
    """Return orthonormal axes and variances of ``factor @ factor.T``, largest first.

    Shapes: factor (d, k); axes (d, d); variances (d,).
    """
    U, lengths, _ = np.linalg.svd(factor, full_matrices=True)
    axes = U.T
    largest = axes[np.arange(len(axes)), np.argmax(np.abs(axes), axis=1)]
    axes = axes * np.where(largest < 0, -1.0, 1.0)[:, None]
    variances = np.zeros(len(axes))
    variances[: len(lengths)] = np.square(lengths)
    return axes, variances
