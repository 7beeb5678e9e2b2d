"""A released synopsis of the rows, weighted cells, and k-means on it."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.utils._threads import one_thread, quiet

__all__ = ["WeightedCells", "public_kmeans", "weighted_kmeans"]

DOUBT = 2.0  # noise sds


@dataclass(frozen=True)
class WeightedCells:
    """Released cells: ``centres`` and ``halves`` (m, p), ``weights`` > 0 and ``sds`` (m,).

    No row is counted in two of them. ``weights`` estimate the numbers of rows, ``sds`` are the
    standard deviations of their noise.
    """

    centres: np.ndarray
    halves: np.ndarray
    weights: np.ndarray
    sds: np.ndarray

    @property
    def cautious(self):
        """The same cells with weights lowered by two noise standard deviations.

        Where two clusters lie close together, a few cells of noise outweigh the gain from telling
        them apart, and would take a centre.
        """
        lower = np.maximum(self.weights - DOUBT * self.sds, self.weights / 10)
        return replace(self, weights=lower)


def weighted_kmeans(synopsis, n_clusters, *, n_init, seed, box):
    """Cluster the cells of a synopsis: post-processing.

    Shapes: box (p,); centres (n_clusters, p).
    """
    points, weights = synopsis.centres, synopsis.weights
    if not len(points):  # all is noise: spare centres around the middle
        points = np.zeros((1, len(box)))
    m = len(points)
    if m <= n_clusters:
        copies = np.arange(n_clusters)
        turn = np.cos(np.outer(copies + seed % 1000, np.sqrt(np.arange(2, 2 + len(box)))) * 7)
        shift = np.where(copies[:, None] < m, 0, 0.01 * turn * box)
        return points[copies % m] + shift, 0.0
    return public_kmeans(points, n_clusters, weights=weights, n_init=n_init, seed=seed)


def public_kmeans(points, n_clusters, *, seed, weights=None, init="k-means++", n_init=1):
    """Cluster public or released points: post-processing.

    Shapes: points (m, p); weights (m,); init (n_clusters, p); centres (n_clusters, p).
    """
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters, init=init, n_init=n_init, random_state=seed)
    with one_thread(), quiet():  # points that coincide are no worry
        model.fit(points, sample_weight=weights)
    return model.cluster_centers_, float(model.inertia_)
