"""A released mixture in units of the table, as scikit-learn names its parameters."""

import numpy as np
from scipy.linalg import solve_triangular

from skdp.cluster._synopsis import inside, to_data

__all__ = ["as_mixture", "floors", "parameters"]

FLATTEST = 1e-10  # smallest eigenvalue of a covariance, of its largest
LEAST, MOST = 1e-150, 1e146  # lengths whose squares are floats
SMALLEST_SD, LARGEST_SD = 1e-153, 1e6  # in units of the table; of the radius
BELOW = 64  # part of reg_covar that is the smallest variance while EM runs
THINNEST = 2.0**-20  # of the radius: lattice points are not told apart below


def _lengths(located, units):
    """Return the length of a radius in every column of the table, shape (d,)."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(located.radius * units, LEAST, MOST)


def floors(located, units, reg_covar):
    """Return the smallest variances of the columns while EM runs, in squared radii, shape (d,).

    They lie well below ``reg_covar``, which is added at the end.
    """
    with np.errstate(over="ignore"):
        least = np.sqrt(reg_covar / BELOW) / _lengths(located, units)
    return np.square(np.clip(least, THINNEST, 1.0))


def parameters(mixture, located, units, reg_covar):
    """Return ``weights_``, ``means_``, ``covariances_``, ``precisions_`` and their roots.

    A dict.
    """
    kind, lengths = mixture.kind, _lengths(located, units)
    added = np.minimum(np.sqrt(reg_covar) / lengths, MOST)  # in units of the radius
    shape = _matrices if mixture.roots.ndim == 3 else _variances
    covariances, precisions, roots = shape(mixture.roots, lengths, np.square(added))
    pick = {"tied": (0,), "spherical": (slice(None), 0)}.get(kind, ())
    with np.errstate(over="ignore"):
        means = np.nan_to_num(inside(located, to_data(located, mixture.means)) * units)
    return {
        "weights_": mixture.weights,
        "means_": means,
        "covariances_": covariances[pick],
        "precisions_": precisions[pick],
        "precisions_cholesky_": roots[pick],
    }


def _matrices(roots, lengths, added):
    values, vectors = np.linalg.eigh(roots @ roots.transpose(0, 2, 1))
    most = np.minimum(values[:, -1:], LARGEST_SD**2)
    values = np.clip(values, np.maximum(FLATTEST * most, np.square(LEAST / lengths.min())), most)
    matrices = (vectors * values[:, None]) @ vectors.transpose(0, 2, 1)
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    scale = np.sqrt(np.einsum("kii->ki", matrices) + added)  # columns of variance one
    alike = matrices / (scale[:, :, None] * scale[:, None])
    np.einsum("kii->ki", alike)[:] = 1.0
    lower = np.linalg.cholesky(alike)
    inverse = np.stack([solve_triangular(root, np.eye(len(root)), lower=True).T for root in lower])
    scale = np.maximum(scale * lengths, SMALLEST_SD)
    lower = lower * scale[:, :, None]
    with np.errstate(over="ignore"):
        inverse = _finite(inverse / scale[:, :, None])
        precisions = inverse @ inverse.transpose(0, 2, 1)
    return lower @ lower.transpose(0, 2, 1), _finite(precisions), inverse


def _variances(roots, lengths, added):
    sds = np.hypot(np.minimum(roots, LARGEST_SD), np.sqrt(added)) * lengths
    sds = np.clip(sds, SMALLEST_SD, MOST * LARGEST_SD)
    return np.square(sds), _finite(1 / np.square(sds)), 1 / sds


def _finite(x):
    return np.nan_to_num(x)


def as_mixture(estimator, origin):
    """Return a scikit-learn mixture with the released parameters, seen from ``origin``."""
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(
        estimator.n_components,
        covariance_type=estimator.covariance_type,
        random_state=estimator.random_state,
    )
    names = ("weights_", "covariances_", "precisions_", "precisions_cholesky_")
    vars(mixture).update(
        {name: getattr(estimator, name) for name in names},
        means_=estimator.means_ - origin,
        n_features_in_=estimator.means_.shape[1],
    )
    return mixture
