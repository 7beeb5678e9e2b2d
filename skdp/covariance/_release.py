"""A released covariance matrix, and what its noise may have done to it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import pinvh
from scipy.special import ndtri

from skdp.accounting import Plan, Step
from skdp.kernel._sums import BallProducts, BallTotal, BoxProducts
from skdp.mechanisms import box_rows
from skdp.utils._numbers import bounds_vectors

FLOOR = 1e-3  # least eigenvalue, in units of the largest: no direction is answered with zero
LEVELS = 32


def denoised(C, sd):
    """Return the best of several shrunk versions of C, by Stein's unbiased risk estimate.

    Shapes: C (k, k); shrunk (k, k).

    Notes
    -----
    Post-processing. In an orthonormal basis of the symmetric matrices (Frobenius norm) the noise
    has the same standard deviation in all k (k + 1) / 2 coordinates, so that for any F
    the risk of F(C) is estimated without bias by |F - C|^2 - K sd^2 + 2 sd^2 div F.
    """
    if not sd > 0 or len(C) < 2:
        return C
    return min(denoisers(C, sd), key=lambda candidate: candidate[1])[0]


def denoisers(C, sd):
    """Yield (shrunk matrix, estimated risk): none, to a multiple of 1, to the diagonal, spectral.

    With g = tr C / k, a spectral candidate is F = g 1 + h(C - g 1) for a function h of eigenvalues
    with divergence ``sum h'(l_i) + sum_(i<j) (h(l_i) - h(l_j)) / (l_i - l_j)``; the trace itself
    is not shrunk: div F = 1 + div h - mean h'. h is a soft threshold. The other two are James and
    Stein's positive part estimators with the k (k + 1) / 2 - 1 and k (k - 1) / 2 coordinates in
    which they shrink.
    """
    k = len(C)
    K, variance = k * (k + 1) / 2, sd * sd
    yield C, K * variance
    diagonal, mean = np.diag(np.diag(C)), np.trace(C) / k * np.eye(k)
    for target, shrunk in ((mean, K - 1), (diagonal, K - k)):
        if shrunk > 2:
            yield _james_stein(C, target, shrunk, variance, K)
    values, V = np.linalg.eigh(C)
    gaps = values - values.mean()
    for t in np.abs(gaps).max() * np.linspace(0, 1, LEVELS + 1)[1:]:
        h = np.sign(gaps) * np.maximum(np.abs(gaps) - t, 0)
        slope = (np.abs(gaps) > t).astype(float)
        risk = np.sum((h - gaps) ** 2) - K * variance
        risk += 2 * variance * (1 + _divergence(gaps, h, slope) - slope.mean())
        yield (V * (values.mean() + h)) @ V.T, float(risk)


def _james_stein(C, target, dims, variance, K):
    gap = C - target
    size = float(np.sum(gap * gap))
    if size <= (dims - 2) * variance:
        return target, size - dims * variance + (K - dims) * variance
    keep = 1 - (dims - 2) * variance / size
    return target + keep * gap, K * variance - ((dims - 2) * variance) ** 2 / size


def _divergence(values, h, slope):
    i, j = np.triu_indices(len(values), 1)
    gap = values[i] - values[j]
    close = np.abs(gap) < 1e-9 * np.abs(values).max()
    quotient = (h[i] - h[j]) / np.where(close, 1.0, gap)
    return slope.sum() + np.sum(np.where(close, (slope[i] + slope[j]) / 2, quotient))


def floored(C):
    """Return a factor F such that F F^T is C with small and negative eigenvalues raised."""
    values, V = np.linalg.eigh(C)
    values = np.maximum(values, max(float(values[-1]), 0.0) * FLOOR)
    return V * np.sqrt(values)


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


MOMENTS = Step("moments", of=(BoxProducts,))
FEW = "the number of rows does not exceed its noise. Use a larger epsilon or more rows"
DROWNED = (
    "no direction exceeds the noise: too few rows for bounds so wide. Use a larger epsilon, "
    "more rows or narrower bounds"
)


def bounded_plan(budget):
    """Return the plan of :func:`bounded_covariance`."""
    return Plan(budget, (MOMENTS,))


def checked_bounds(bounds, n_features):
    """Raise ValueError for public bounds that make no box."""
    ends = bounds_vectors(bounds, n_features)
    if ends is not None:
        box_rows(np.zeros((1, n_features)), low=ends[0], high=ends[1], bits=1)


def bounded_covariance(table, *, low, high, assume_centered=False, denoise=True):
    """Release the covariance matrix of rows clipped to a public box, with the whole budget.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._sums.BoxProducts`; the rest is post-processing.

    With the mean m = sum y / n, the covariance is T W T^T / n for W = sum of (1, y)(1, y)^T and
    T = (-m, I); for another m it is too large by the square of the gap. So its noise is
    T N T^T / n, N that of W, and T, in units of the table, is the basis of the release.
    """
    d = len(low)
    heads = 2.0**32 if table.heads is None else table.heads.n
    told = table.ask(BoxProducts(low, high, heads), MOMENTS, share=table.remaining)
    W = np.zeros((d + 1, d + 1))
    W[np.triu_indices(d + 1)] = told.real
    W = np.triu(W) + np.triu(W, 1).T
    sd, n_told = told.sd, float(W[0, 0])
    n = max(n_told, 4 * sd, 2.0)
    if n_told < 4 * sd:
        table.doubt(FEW)
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    mean = np.zeros(d) if assume_centered else np.clip(W[0, 1:] / n, -1, 1)
    first = middle / half if assume_centered else -mean
    T = np.column_stack([first, np.eye(d)])
    W[0, 0] = n
    C = T @ W @ T.T / n
    noise = math.sqrt(2) * sd / n
    gram = T @ T.T
    most = math.sqrt(2 * d) * noise * float(np.linalg.norm(gram, 2))
    values = np.linalg.eigvalsh(C)
    rank = int(np.count_nonzero(values > CLEAR * most))
    if not rank:
        table.doubt(DROWNED)
    root = np.zeros((d + 1, d + 1))
    root[1:, 1:] = floored(denoised(C, noise) if denoise else C)
    return CovarianceRelease(
        location=np.zeros(d) if assume_centered else middle + half * mean,
        basis=half[:, None] * T,
        root=root,
        noise=noise,
        mean_noise=0.0 if assume_centered else sd / n,
        clipping=0.0,
        rank=rank,
        n_rows=n,
        count_noise=sd,
    )


@dataclass(frozen=True)
class Moments:
    """Released moments of clipped rows, in units of the frame."""

    gram: np.ndarray  # shape (k, k): noise: sd on the diagonal, sd / sqrt(2) off it
    gram_sd: float
    total: np.ndarray  # shape (k,)
    total_sd: float

    def covariance(self, n):
        """Return the covariance matrix for n rows, and their mean."""
        mean = self.total / n
        C = self.gram / n
        if mean @ mean > np.trace(C) / 2:  # drowned in noise: no mean is better
            return C, np.zeros_like(mean)
        return C - np.outer(mean, mean), mean

    def noise(self, n):
        """Return the standard deviation of the noise on the diagonal of the covariance."""
        return self.gram_sd / n

    def largest_noise(self, n):
        """Return what the eigenvalues of the noise rarely exceed."""
        return self.noise(n) * math.sqrt(2 * len(self.gram))


def release_moments(rows, frame, *, radius, share, sum_share, steps):
    """Release the Gram matrix and the sum of rows in a frame, clipped to a ball.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._sums.BallProducts` and ``BallTotal``.
    """
    grid = {"radius": radius, "n": rows.n, "least": min(float(s) for s in (share, sum_share) if s)}
    asked = [(BallProducts(**grid), share, steps[0].label)]
    if sum_share:
        asked.append((BallTotal(**grid), sum_share, steps[1].label))
    gram, *totals = rows.table.map(frame).ask_all(*asked)
    unit = radius / 2**gram.bits
    total, total_sd = (totals[0].real, totals[0].sd) if totals else (np.zeros(frame.dims), 0.0)
    return Moments((gram.real + gram.real.T) / 2, gram.scale * unit * unit, total, total_sd)
