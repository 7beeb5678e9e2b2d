"""What estimators with released cluster centres have in common: scikit-learn's manners."""

import math

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._private_part import Local
from skdp.estimator._mixins import WeightsMixin
from skdp.kernel._plain import public
from skdp.kernel._statistic import Rule
from skdp.mechanisms import finite_rows
from skdp.readers._calendar import Dated
from skdp.table._batched import apply_batched, sum_of_pieces, transforms_pieces
from skdp.table._groups import GroupRule, rows_alone
from skdp.table._schema import numbers_of_dates
from skdp.utils._threads import one_blas_thread

SIGNAL = 190.0  # persons of a cluster times mu: below, some tables lose clusters


class LocalLabels(Local):
    """The labels of the training rows, for their owner."""

    def __init__(self, labels):
        self.labels = labels

    @classmethod
    def of(cls, table, centers):
        """Label every row by its nearest centre, rows that are not finite by -1."""
        return table.local(NearestCenter(centers), cls)


@public
class NearestCenter(Rule):
    """The nearest of ``centers`` (k, d) in the units of the table, for labels that stay local."""

    centers: np.ndarray

    def __call__(self, block):
        """Return the nearest centre of every row, -1 for rows that are not finite."""
        return _labels(block, self.centers)


def rule_of_clusters(n_clusters, n_features):
    """Return the GroupRule of centres: a cluster needs 190 noise standard deviations of persons."""
    noise = 2.2 * math.sqrt(n_features) * n_clusters
    return GroupRule(noise=noise, least=SIGNAL * n_clusters)


def _labels(block, centers):
    from sklearn.metrics import pairwise_distances_argmin

    labels = np.full(len(block), -1, dtype=np.int32)
    finite = finite_rows(block)
    if finite.any():
        with one_blas_thread:
            labels[finite] = pairwise_distances_argmin(*_centred(block[finite], centers))
    return labels


def _centred(X, centers):
    """Return rows and centres seen from the mean centre: |x|^2 - 2xc + |c|^2 would cancel.

    What the type of the rows does not hold becomes a quarter of its largest number: no row makes
    the comparison fail.
    """
    origin, most = (centers / len(centers)).sum(axis=0), np.finfo(X.dtype).max / 4
    with np.errstate(over="ignore"):
        seen = (np.clip(np.nan_to_num(points - origin), -most, most) for points in (X, centers))
        return tuple(points.astype(X.dtype, copy=False) for points in seen)


def public_centers(name, centers, shape):
    """Return a public parameter as finite floats of a shape."""
    try:
        array = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only. Got: {error}.") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(
            f"{name} must have shape {shape} and finite entries. Got shape {array.shape} with "
            f"{np.count_nonzero(~np.isfinite(array))} entries that are not finite."
        )
    return array


@transforms_pieces
class CentersMixin(WeightsMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """Methods that compare rows with ``cluster_centers_``.

    Their results are local: as private as the rows that are passed.
    """

    cluster_centers_ = Dated()

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _rows(self, X):
        check_is_fitted(self)
        options = {"dtype": [np.float64, np.float32], "accept_large_sparse": False}
        return validate_data(self, numbers_of_dates(X), reset=False, **options)

    @apply_batched
    def predict(self, X):
        """Return the number of the nearest centre for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        from sklearn.metrics import pairwise_distances_argmin

        X, centers = self._centred(X)
        return pairwise_distances_argmin(X, centers).astype(np.int32)

    def fit_predict(self, X, y=None, *, groups=None, **weights):
        """Fit, then tell the nearest centre of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
            Present for API consistency by convention.
        groups : array-like of shape (n_samples,), default=None
            As for :meth:`fit`.
        **weights : None
            As for :meth:`fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
            Not private: a label tells about its row. Keep them where the rows are.
        """
        X, told = rows_alone(X, {"groups": groups, **weights})
        return self.fit(X, **told).predict(X)

    def transform(self, X):
        """Return the distances of every row to all centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A table as in ``fit``. What is read in pieces is mapped in pieces, when asked for.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        from sklearn.metrics import pairwise_distances

        return pairwise_distances(*self._centred(X))

    @sum_of_pieces
    def score(self, X, y=None):
        """Return minus the sum of squared distances of the rows to their nearest centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        score : float
            Not private for the rows of X.
        """
        from sklearn.metrics import pairwise_distances_argmin_min

        _, distances = pairwise_distances_argmin_min(*self._centred(X))
        return -float(np.square(distances).sum())

    def _centred(self, X):
        return _centred(self._rows(X), vars(self)["cluster_centers_"])

    @property
    def labels_(self):
        """The nearest centre of every training row: local, only with ``store_labels=True``."""
        check_is_fitted(self)
        local = getattr(self, "_labels", None)
        if local is None:
            raise AttributeError(
                f"{type(self).__name__} keeps no labels: they are private. Call predict(X) where "
                "the rows are, or fit with store_labels=True; a pickle or a copy has none."
            )
        return local.labels
