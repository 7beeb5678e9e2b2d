"""Oracles: the centres of one part of a table, by any means; privacy does not rest on them."""

import numpy as np


def kmeans_oracle(part, n_clusters, seed, *, n_init=10):
    """Return the centres of k-means++ and Lloyd, the best of several starts.

    Parameters
    ----------
    part : ndarray of shape (m, d)
    n_clusters : int
    seed : int
        In [0, 2^32).
    n_init : int, default=10

    Returns
    -------
    centers : ndarray of shape (n_clusters, d)

    See Also
    --------
    pca_oracle, part_tuples

    Notes
    -----
    **Privacy**: none: the answer is as private as the part. :func:`friendly_centers` releases what
    most parts agree on.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.cluster.friendly import kmeans_oracle
    >>> part = np.array([[0.0], [0.2], [9.0], [9.2]])
    >>> sorted(kmeans_oracle(part, 2, seed=0).ravel().round(2).tolist())
    [0.1, 9.1]
    """
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(part).cluster_centers_


def pca_oracle(part, n_clusters, seed, *, n_init=10):
    """Return the means of a Gaussian mixture: k-means in the span of k singular vectors.

    The part is centred and projected on its ``n_clusters`` leading right singular vectors;
    k-means there gives labels, labels give means of whole rows, and one step of Lloyd follows.

    Parameters and result are those of :func:`kmeans_oracle`. A class without rows gives NaN.

    Parameters
    ----------
    part, n_clusters, seed, n_init
        As for :func:`kmeans_oracle`.

    Returns
    -------
    centers : ndarray of shape (n_clusters, d)

    See Also
    --------
    kmeans_oracle, skdp.PrivateGMM

    Notes
    -----
    **Privacy**: none: the answer is as private as the part. :func:`friendly_centers` releases what
    most parts agree on.

    References
    ----------
    .. [1] Achlioptas, McSherry. "On spectral learning of mixtures of distributions". COLT 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.cluster.friendly import pca_oracle
    >>> part = np.array([[0.0, 0.0], [0.2, 0.0], [9.0, 0.0], [9.2, 0.0]])
    >>> sorted(pca_oracle(part, 2, seed=0)[:, 0].round(2).tolist())
    [0.1, 9.1]
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin
    from sklearn.utils.extmath import randomized_svd

    whole = part - part.mean(axis=0)
    width = min(n_clusters, *part.shape)
    if width < part.shape[1]:
        _, _, directions = randomized_svd(whole, width, random_state=seed)
        labels = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(whole @ directions.T)
    else:
        labels = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(whole)
    means = _class_means(whole, labels.labels_, n_clusters)
    labels = pairwise_distances_argmin(whole, means)
    return _class_means(whole, labels, n_clusters) + part.mean(axis=0)


def _class_means(rows, labels, n_classes):
    members = labels == np.arange(n_classes)[:, None]
    return (members @ rows) / members.sum(axis=1)[:, None]
