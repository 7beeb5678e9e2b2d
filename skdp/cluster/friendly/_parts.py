"""Random parts of a table, and oracles: the centres of one part, by any means."""

import numpy as np

from skdp.mechanisms import row_norms
from skdp.readers._some_rows import takes
from skdp.utils._config import config_context, get_config
from skdp.utils._numbers import public_words
from skdp.utils._threads import one_thread, quiet

NEAR = 2.0  # radii; rows beyond are left out


def part_order(rows, coins, n_parts):
    """Give every row an independent uniform part.

    Shapes: order (n,); stops (n_parts,).

    Notes
    -----
    **Privacy** (add or remove a row; common rows keep their keys). The part of a row is
    floor(key n_parts / 2^64), a function of its key alone: neighbouring tables differ in one part,
    by one row. Its law does not matter for that. Blocks of n / n_parts rows would all change.
    """
    keys = coins.keys(0, len(rows), use="parts")
    order = np.argsort(keys, kind="stable")
    edges = [-(-(p << 64) // int(n_parts)) for p in range(1, n_parts)]  # ceil(p 2^64 / n_parts)
    stops = np.searchsorted(keys[order], np.array(edges, dtype=np.uint64))
    return order, np.append(stops, len(order))


def parts(rows, coins, n_parts, *, center, radius):
    """Yield the rows of each part: (x - center) / radius of those within 2 radii.

    Beyond the parts that are read at once 24 bytes per row are needed.
    """
    order, stops = part_order(rows, coins, n_parts)
    for block in takes(rows, np.split(order, stops[:-1])):
        yield unit_rows(block, center, radius)


def unit_rows(block, center, radius):
    """Return (x - center) / radius of the rows within 2 radii; each row by itself."""
    with np.errstate(all="ignore"):
        Z = (block - center) / radius
        return Z[row_norms(Z) <= NEAR]


def part_tuples(rows, coins, oracle, n_clusters, *, n_parts, center, radius, seed=0, n_jobs=None):
    """Ask an oracle for the centres of every part.

    Parameters
    ----------
    rows : ArrayRows
    coins : RowKeys
    oracle : callable
        ``oracle(part, n_clusters, seed)`` returns an array of shape (n_clusters, d), a function of
        its arguments. See :func:`kmeans_oracle`.
    n_clusters : int
    n_parts : int
        Public.
    center : ndarray of shape (d,)
    radius : float
        Public or released: the oracle sees (x - center) / radius of the rows within 2 radii.
    seed : int, default=0
        Public: the seeds of the parts depend on it, one for each.
    n_jobs : int, default=None
        Threads, as in scikit-learn.

    Returns
    -------
    tuples : ndarray of shape (n_parts, n_clusters, d)
        Private. NaN, a tuple without friends, for a part with fewer than 2 n_clusters rows and for
        one whose oracle failed or answered anything else than finite numbers.

    See Also
    --------
    friendly_centers, kmeans_oracle

    Notes
    -----
    **Privacy.** Add or remove a row: one tuple is replaced, that of its part. An oracle sees its
    part and a public seed. An exception is an answer like any other; warnings are dropped. Every
    worker lets BLAS and OpenMP run on one thread, so that the bits of an answer hang neither on the
    number of threads nor on what runs beside it, and has the configuration of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ArrayRows
    >>> from skdp.cluster.friendly import part_tuples
    >>> from skdp.mechanisms import RowKeys, make_entropy
    >>> def mean(part, n_clusters, seed):
    ...     return part.mean(axis=0, keepdims=True)
    ...
    >>> rows, coins = ArrayRows(np.zeros((100, 2))), RowKeys(make_entropy(0))
    >>> part_tuples(rows, coins, mean, 1, n_parts=5, center=np.zeros(2), radius=1.0).shape
    (5, 1, 2)
    """
    from joblib import Parallel, delayed
    from sklearn import get_config as sklearn_config

    configs = get_config(), sklearn_config()
    garbage = np.full((n_clusters, rows.n_features), np.nan)
    seeds = public_words(n_parts, "parts", seed) >> np.uint64(32)
    whole = parts(rows, coins, n_parts, center=center, radius=radius)
    answers = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_answer)(configs, oracle, part, n_clusters, int(own), garbage)
        for own, part in zip(seeds, whole, strict=True)
    )
    return np.stack(answers)


def _answer(configs, oracle, part, n_clusters, seed, garbage):
    import sklearn

    if len(part) < 2 * n_clusters:
        return garbage
    ours, theirs = configs
    try:
        with (
            config_context(**ours),
            sklearn.config_context(**theirs),
            np.errstate(all="ignore"),
            quiet(),
            one_thread(),
        ):
            points = np.array(oracle(part, n_clusters, seed), dtype=np.float64)
    except Exception:
        return garbage
    proper = points.shape == garbage.shape and np.isfinite(points).all()
    return points if proper else garbage


# --- oracles: the centres of one part of a table, by any means; privacy does not rest on them


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
