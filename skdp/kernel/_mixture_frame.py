"""A released mixture, and the coordinates in which its components are standard normal."""

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from skdp.kernel._lattice import BITS, UNIT
from skdp.kernel._statistic import public, refuse

__all__ = ["MixtureFrame", "lower_root", "seen_frames"]

KINDS = "full", "tied", "diag", "spherical"
LONGEST = 2.0**29  # of integer vectors whose products with lattice points are exact
FLATTEST = 1e-13  # smallest eigenvalue of a covariance of columns of variance one


def lower_root(C):
    """Return lower triangular roots of covariances (c, d, d), made positive where floats fail."""
    try:
        return np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        C = np.nan_to_num(C)
        scale = np.sqrt(np.maximum(np.einsum("kii->ki", C), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(C / scale[:, :, None] / scale[:, None])
        values = np.maximum(values, FLATTEST)
        upper = np.linalg.qr((vectors * np.sqrt(values)[:, None]).transpose(0, 2, 1), mode="r")
        signs = np.where(np.einsum("kii->ki", upper) < 0, -1.0, 1.0)
        return scale[:, :, None] * (upper * signs[:, :, None]).transpose(0, 2, 1)


@public
class MixtureFrame:
    """Components ``N(means_k, roots_k roots_k^T)`` in units of the located ball."""

    kind: str  # {"full", "tied", "diag", "spherical"}
    weights: np.ndarray  # (k,): positive
    means: np.ndarray  # (k, d)
    # lower triangular of shape (k, d, d), (1, d, d) for "tied"; positive of shape (k, d) for "diag"
    # and "spherical"
    roots: np.ndarray

    @np.errstate(all="ignore")
    def check(self, n_features):
        k = len(self.weights)
        refuse(self.kind not in KINDS or not k, "a kind of covariances, and components")
        refuse(self.weights.shape != (k,) or self.means.shape != (k, n_features), "means of rows")
        matrices = self.kind in ("full", "tied")
        size = (1 if self.kind == "tied" else k, *[n_features] * (1 + matrices))
        refuse(self.roots.shape != size, "roots of covariances of rows")
        diagonal = np.einsum("kii->ki", self.roots) if matrices else self.roots
        refuse(not (self.weights > 0).all() or not (diagonal > 0).all(), "weights, positive roots")
        refuse(not np.isfinite(self.roots).all(), "roots of moderate size")
        if matrices:
            integer = np.where(np.isfinite(self._maps[0]), self._maps[0], 0.0)  # else no row counts
            refuse((np.square(integer).sum(axis=1) > LONGEST**2).any(), "roots with exact maps")

    @property
    def log_weights(self):
        """Logarithms of weight over root of the determinant, up to a constant, shape (k,)."""
        diagonal = np.einsum("kii->ki", self.roots) if self.roots.ndim == 3 else self.roots
        return np.log(self.weights) - np.log(diagonal).sum(axis=1)

    def seen_from(self, center, radius):
        """Return the same mixture in units of another ball, given in units of this one."""
        return replace(self, means=(self.means - center) / radius, roots=self.roots / radius)

    @cached_property
    def _maps(self):
        """Integer matrices (c, d, d), units (c, d) and images of the means (k, d)."""
        eye = np.eye(self.means.shape[1])
        inverse = np.stack([solve_triangular(root, eye, lower=True) for root in self.roots])
        unit = np.sqrt(np.square(inverse).sum(axis=2)) * 2.0 ** (BITS - 52)
        integer = np.rint(inverse / unit[:, :, None]).transpose(0, 2, 1)
        unit = unit / UNIT
        images = ((self.means * UNIT)[:, None] @ integer)[:, 0] * unit
        return integer, unit, images

    def whitened(self, Q):
        """Yield for every component the lattice vectors in its frame, a column each: (d, m).

        **Privacy**: a function of each row. The product is one of integers with partial sums of at
        most ``2^24 (2^28 + sqrt(d))`` (:class:`skdp.kernel._lattice.Lattice`), so BLAS does not
        round; the rest is elementwise.
        """
        if self.roots.ndim == 2:
            columns = np.ascontiguousarray(Q.T)
            for mean, root in zip(self.means, self.roots, strict=True):
                Y = columns - (mean * UNIT)[:, None]
                Y *= (1 / (root * UNIT))[:, None]
                yield Y
            return
        integer, unit, images = self._maps
        if self.kind == "tied":
            Y = integer[0].T @ Q.T
            Y *= unit[0][:, None]
            for image in images:
                yield Y - image[:, None]
            return
        for matrix, step, image in zip(integer, unit, images, strict=True):
            Y = matrix.T @ Q.T
            Y *= step[:, None]
            Y -= image[:, None]
            yield Y


def seen_frames(frame, located):
    """Return a mixture as it is seen from every place, a list."""
    return [frame.seen_from(*located.view(p)) for p in range(len(located.balls))]
