"""A released mixture in units of the table, as scikit-learn names its parameters."""

import numpy as np
from scipy.linalg import solve_triangular

__all__ = ["as_mixture", "parameters"]

FLATTEST = 1e-10  # smallest eigenvalue of a covariance, of its largest
LEAST, MOST = 1e-150, 1e150  # radii whose squares are floats
SMALLEST_SD, LARGEST_SD = 1e-153, 100.0  # in units of the table; of the radius


def parameters(mixture, located):
    """Return ``weights_``, ``means_``, ``covariances_``, ``precisions_`` and their roots, a dict.

    Covariances are symmetric and positive definite, and everything is finite. Standard deviations
    beyond 1e150, or below 1e-150, saturate: no float holds their squares.
    """
    kind, radius = mixture.kind, min(max(located.radius, LEAST), MOST)
    shape = _matrices if mixture.roots.ndim == 3 else _variances
    covariances, precisions, roots = shape(mixture.roots, radius)
    pick = {"tied": (0,), "spherical": (slice(None), 0)}.get(kind, ())
    return {
        "weights_": mixture.weights,
        "means_": located.inside(located.to_data(mixture.means)),
        "covariances_": covariances[pick],
        "precisions_": precisions[pick],
        "precisions_cholesky_": roots[pick],
    }


def _matrices(roots, radius):
    values, vectors = np.linalg.eigh(roots @ roots.transpose(0, 2, 1))
    least, most = (SMALLEST_SD / radius) ** 2, LARGEST_SD**2
    values = np.clip(values, np.clip(FLATTEST * values[:, -1:], least, most), most)
    covariances = (vectors * values[:, None]) @ vectors.transpose(0, 2, 1)
    eye = np.eye(roots.shape[1])
    lower = np.linalg.cholesky((covariances + covariances.transpose(0, 2, 1)) / 2)
    inverse = np.stack([solve_triangular(root, eye, lower=True).T for root in lower])
    covariances = lower @ lower.transpose(0, 2, 1) * radius**2
    inverse /= radius
    return covariances, _finite(inverse @ inverse.transpose(0, 2, 1)), inverse


def _variances(roots, radius):
    sds = np.maximum(np.minimum(roots, LARGEST_SD) * radius, SMALLEST_SD)
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
