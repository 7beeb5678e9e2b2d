"""A released covariance matrix, and what its noise may have done to it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import pinvh
from scipy.special import ndtri

__all__ = ["CLEAR", "CovarianceRelease", "correlation_of", "noise_bound", "precision_of"]

CLEAR = 2.0  # largest noise eigenvalues above which a direction counts as resolved
LOST = 2.0  # times its noise_scale that a variance must be: else it is not told from none at all
LARGEST_ROOT = 1e150  # standard deviations beyond have no variance among the floats


@dataclass
class CovarianceRelease:
    """A released covariance ``factor @ factor.T`` with ``factor = basis @ root``."""

    location: np.ndarray  # shape (d,)
    # shape (d, k): the released vectors in whose coordinates noise was added and the rows are about
    # spherical
    basis: np.ndarray
    root: np.ndarray  # shape (k, k): the released matrix of the coordinates is `root @ root.T`
    # standard deviation of the noise on the diagonal of that matrix, off it divided by sqrt(2)
    noise: float
    mean_noise: float  # standard deviation of the noise of the location, per coordinate
    # upper end of the trace of what clipping has taken from that matrix; may be infinite
    clipping: float
    rank: int  # coordinates in which the rows stand clear of the noise
    n_rows: float
    # standard deviation of the noise of the number of rows that the matrix was divided by
    count_noise: float = math.inf
    # shape (d, m): vectors in whose directions nothing was seen to vary, as long as the columns'
    # units
    dropped: np.ndarray | None = None
    # what clipping takes as a rule from the trace of that matrix: an estimate, no bound
    taken: float = 0.0

    @property
    def factor(self):
        """A factor of the covariance matrix, the roots of all variances bounded."""
        size = np.maximum(np.abs(self.basis).max(axis=1), 1e-300)[:, None]
        rows = (self.basis / size) @ self.root
        lengths = np.maximum(np.sqrt(np.square(rows).sum(axis=1)), 1e-150)[:, None]
        return rows * np.minimum(size, LARGEST_ROOT / lengths)

    @property
    def covariance(self):
        """The covariance matrix: symmetric, positive semidefinite, finite."""
        factor = self.factor
        covariance = factor @ factor.T
        return np.tril(covariance) + np.tril(covariance, -1).T

    @property
    def noise_scale(self):
        """The standard deviation of what privacy does to every entry of the covariance matrix.

        Three parts, whose squares add up. The noise: of (b_i^T M b_j + b_j^T M b_i) / 2, with M
        independent noise and b_i the rows of the basis; what was dropped counts as if it had been
        kept, as rows too few to be seen may vary there. The count: an entry is divided by it. And
        clipping, which takes a matrix ``taken`` u u^T: one of k columns loses it all, which makes
        ``taken / sqrt(k)`` of a variance, in the root mean square over columns, and entries between
        directions ``taken / k``, where u is drawn at random.
        """
        basis = self.basis
        if self.dropped is not None:
            basis = np.hstack([basis, self.dropped])
        size = np.maximum(np.abs(basis).max(axis=1), 1e-300)[:, None]
        product = (basis / size) @ (basis / size).T
        squares = np.diag(product)
        spread = np.sqrt((np.outer(squares, squares) + np.square(product)) / 2)
        size = np.minimum(size, LARGEST_ROOT)
        if not math.isfinite(self.noise + self.taken):
            return np.full(spread.shape, math.inf)
        k = basis.shape[1]
        taken = np.sqrt(np.square(product) / k + np.outer(squares, squares) / k**2) * self.taken
        scale = np.hypot(spread * self.noise, taken) * size * size.T
        count = self.count_noise / self.n_rows if math.isfinite(self.count_noise) else 0.0
        return np.hypot(scale, np.abs(self.covariance) * count)

    @property
    def lost(self):
        """Columns whose variance is not told from none at all: ndarray of bool of shape (d,)."""
        return np.diag(self.covariance) < LOST * np.diag(self.noise_scale)

    def error_bound(self, confidence=0.95, *, operator=True, relative=True, clipping=True):
        """Return a bound on the error, see :meth:`skdp.PrivateCovariance.error_bound`."""
        if not np.isfinite(self.noise):
            return np.inf
        B = self.basis
        if relative:
            B = B / np.maximum(np.abs(B).max(axis=1), 1e-300)[:, None]
        factor = B @ self.root
        if relative:
            inverse = np.linalg.pinv(factor)
            B, factor = inverse @ B, inverse @ factor
        bound = noise_bound(B, self.noise, (1 - confidence) / 2, operator=operator)
        count = float(ndtri((1 + confidence) / 2 + (1 - confidence) / 4)) * self.count_noise
        size = np.linalg.norm(factor @ factor.T, 2 if operator else "fro")
        bound += count / self.n_rows * size
        if clipping and self.clipping:
            bound += np.linalg.norm(B, 2) ** 2 * self.clipping
        return float(bound)

    @property
    def location_noise_scale(self):
        """The standard deviation of the noise of every entry of the location."""
        size = np.maximum(np.abs(self.basis).max(axis=1), 1e-300)
        lengths = np.sqrt(np.square(self.basis / size[:, None]).sum(axis=1))
        if not math.isfinite(self.mean_noise):
            return np.full(lengths.shape, math.inf)
        return lengths * np.minimum(size, LARGEST_ROOT) * self.mean_noise


def noise_bound(B, noise, failure, *, operator):
    """Return what a norm of B N B^T exceeds with at most the probability ``failure``.

    N = (M + M^T) / 2, the entries of M independent, normal, of standard deviation ``noise``.

    Notes
    -----
    Both norms are Lipschitz functions of M with constant |B|^2 ``noise``, so they exceed their mean
    by more than t such units with probability at most exp(-t^2 / 2). Means: the Frobenius norm by
    its root mean square; the operator norm by Chevet's inequality, 2 |B| |B|_F, or, for a B near a
    multiple of 1, by |B|^2 sqrt(2 k) (comparison with sqrt(2) x.g on the sphere, Sudakov and
    Fernique) for the largest eigenvalue and for minus the least.
    """
    longest = float(np.linalg.norm(B, 2))
    if operator:
        t = math.sqrt(2 * math.log(2 / failure))
        flat = longest * math.sqrt(2 * B.shape[1])
        mean = longest * min(2 * float(np.linalg.norm(B)), flat)
    else:
        t = math.sqrt(2 * math.log(1 / failure))
        gram = B.T @ B
        mean = math.sqrt((np.trace(gram) ** 2 + np.sum(gram * gram)) / 2)
    return float(noise * (mean + t * longest * longest))


def precision_of(covariance):
    """Return a generalised inverse, the inverse where there is one, at any units of the columns."""
    units = _units(covariance)
    scaled = covariance / units[:, None] / units
    with np.errstate(over="ignore"):
        precision = pinvh(scaled, check_finite=False) / units[:, None] / units
    return np.nan_to_num(precision)


def correlation_of(covariance, lost):
    """Return the correlation matrix; those of columns that are ``lost`` are NaN."""
    units = _units(covariance)
    correlation = np.clip(covariance / units[:, None] / units, -1, 1)
    correlation[lost] = correlation[:, lost] = np.nan
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _units(covariance):
    roots = np.sqrt(np.diag(covariance))
    return np.where(roots > 0, roots, 1.0)
