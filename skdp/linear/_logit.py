"""A private logistic regression: a few Newton steps on clipped residuals, one Gram matrix."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import chdtrc, ndtri

from skdp._public import public_words
from skdp.accounting import Step
from skdp.chunks import weighed_sum
from skdp.covariance._frame import Frame
from skdp.covariance._moments import moment_bits
from skdp.linear._coarse import COARSE, coarse_front, is_small
from skdp.linear._front import Design, find_front, front_plan, size_share, weighted_gram
from skdp.linear._probabilities import probabilities
from skdp.linear._residuals import Residuals
from skdp.location._counted import RowCount, release_count

__all__ = ["LogitRelease", "logit_plan", "private_logit"]

GRAM = 0.15  # share of the Gram matrix, of what the front leaves
GROWTH = 1.5  # of the shares from step to step
MOST_STEPS = 8
STEPS = ((0.12, 8), (0.5, 5), (1.5, 3))  # at most this noise of a step, and their number
COUNTS = 0.01, 0.1  # least and largest share of the numbers of the classes
MOST_NOISE = 0.2  # of the Gram matrix, if that leaves half of the rows whole
CLIP, LEAST_CLIP = 0.7, 0.35  # of the longest row times residual
FLATTEST = 0.03  # curvature of a class, at least; half of that without slopes at least
STRONG = 0.45, 0.9  # of the curvature without slopes, of two classes and of more: with less
# nothing tells what the steps leave to go
STIFFEST = 1e6  # penalty, beside rows of length about 1
POINTS = 512  # made-up rows that stand for those of a table
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
NOTHING = "nothing found: too few rows to tell how the columns vary"
UNLIKELY = 0.001  # probability that noise alone looks like slopes
NOISE = "no column tells the classes apart clear of the noise"
PRIOR = "too few rows for the number of columns: every row has the probabilities of all"


@dataclass(frozen=True)
class LogitRelease:
    """What is released of a logistic regression, in the coordinates of its design.

    Attributes
    ----------
    design : Design
    B : ndarray of shape (K, c)
        c = 1 for two classes; the intercepts are the last row, if there are any.
    unshrunk : ndarray of shape (K, c)
        B before its slopes were shrunk.
    noise : ndarray of shape (c, K, K)
        Covariance of the privacy noise of its columns, and of what the steps leave to go; infinite
        where nothing tells it.
    sampling : ndarray of shape (c, K, K)
        The same of the sampling error, and of what the penalty takes.
    count : RowCount
    n_steps : int
        0 if only the classes were counted.
    """

    design: Design
    B: np.ndarray
    unshrunk: np.ndarray
    noise: np.ndarray
    sampling: np.ndarray
    count: RowCount
    n_steps: int

    def slopes(self, B):
        """Return the coefficients of columns in units of the table, shape (c, d).

        0 for a column of which nothing but one number is seen: it is clipped to that.
        """
        frame, varies = self.design.frame, self.design.low < self.design.high
        return np.nan_to_num(B[: frame.dims].T @ frame.A / frame.unit) * varies

    @property
    def intercepts(self):
        """Scores of a row of zeros, shape (c,)."""
        start = self.B[-1] if self.design.fit_intercept else 0.0
        return np.nan_to_num(start - self.slopes(self.B) @ self.design.frame.center)

    def scales(self, covariance):
        """Return standard deviations of coefficients for those of the unshrunk, shape (c, d)."""
        frame, k = self.design.frame, self.design.frame.dims
        if not np.isfinite(covariance).all():
            return np.full((len(covariance), len(frame.unit)), math.inf)
        squares = [np.einsum("id,ij,jd->d", frame.A, V[:k, :k], frame.A) for V in covariance]
        return np.sqrt(np.maximum(squares, 0.0)) / frame.unit


def logit_plan(budget, *, fit_intercept=True):
    """Return the plan of :func:`private_logit`."""
    plan = front_plan(budget, fit_intercept=fit_intercept)
    steps = (
        Step("class counts", at_most=COUNTS[1]),
        Step("octaves", at_most=COARSE),
        Step("gradient", times=MOST_STEPS),
    )
    return replace(plan, steps=(*plan.steps, *steps))


def private_logit(rows, curator, *, n_classes, known, C=1.0, fit_intercept=True):
    """Release a logistic regression.

    Parameters
    ----------
    rows : Rows of n rows of length d + 1
        The last column holds the number of the class, NaN for a row that is absent.
    curator : Curator
        With the steps of :func:`logit_plan`.
    n_classes : int
        At least 2.
    known : ndarray of shape (2, d + 1)
        Public ranges of the columns, NaN where there is none.
    C : float, default=1.0
        Inverse strength of the L2 penalty.
    fit_intercept : bool, default=True

    Returns
    -------
    release : LogitRelease
    """
    count = release_count(rows, curator, share=0.01, label="row count")
    counts, class_sd = _class_counts(rows, curator, n_classes, count.n)
    d, columns = rows.n_features - 1, 1 if n_classes == 2 else n_classes
    start = _start(counts, columns) * fit_intercept
    K = d + fit_intercept
    steps = _n_steps(math.sqrt(max(columns - 1, 1)) * K / (count.n * curator.budget.mu))
    if not steps:
        curator.doubt(PRIOR)
        return _prior(d, start, fit_intercept, count)
    count = count.pooled(RowCount(float(counts.sum()), class_sd * math.sqrt(n_classes)))
    front, unknown = None, fit_intercept and np.isnan(known[:, :-1]).any()
    if not (unknown and is_small(d, count.n, curator.budget.mu)):
        front = find_front(
            rows, curator, count=count, known=known, target=False, fit_intercept=fit_intercept
        )
    if unknown and not (front and front.found):
        front = coarse_front(rows, curator, count=count)
    if not front.found:
        curator.doubt(NOTHING)
        return _prior(d, start, fit_intercept, count)
    frame = front.whitened(rows, curator, fit_intercept=fit_intercept)
    design = Design(frame, front.low, front.high, fit_intercept)
    return _fit(rows, curator, design, count, start, C, steps)


def _prior(d, start, fit_intercept, count):
    """Return a model in which every row has the probabilities of the classes in all."""
    everywhere = np.full(d, math.inf)
    frame = Frame.identity(np.zeros(d), np.ones(d))
    design = Design(frame, -everywhere, everywhere, fit_intercept)
    B = np.zeros((design.dims, len(start)))
    if fit_intercept:
        B[-1] = start
    unknown = np.full((len(start), design.dims, design.dims), math.inf)
    return LogitRelease(design, B, B, unknown, unknown, count, 0)


def _n_steps(noise):
    """Return the number of steps for their noise, about, in units of a score."""
    return next((steps for most, steps in STEPS if noise <= most), 0)


def _class_counts(rows, curator, n_classes, n):
    """Release the numbers of rows of the classes; a row is in one of them at most."""

    def statistic(start, block):
        codes = block[np.isfinite(block).all(axis=1), -1]
        return np.bincount(codes.astype(np.intp), minlength=n_classes)

    share = float(np.clip((60 / (n * curator.budget.mu)) ** 2, *COUNTS))
    counts = weighed_sum(rows, statistic)
    release = curator.gaussian(counts, sensitivity=1, share=share, label="class counts")
    return np.maximum(release.value.astype(float), release.scale), release.scale


def _start(counts, columns):
    """Return the intercepts of a model that knows nothing but the classes."""
    logs = np.log(counts / counts.sum())
    return logs[1:] - logs[0] if columns == 1 else logs - logs.mean()


def _fit(rows, curator, design, count, start, C, steps):
    n, mu = count.n, curator.budget.mu
    B = np.zeros((design.dims, len(start)))
    if design.fit_intercept:
        B[-1] = start
    share = GRAM * float(curator.remaining) - size_share(n, mu)
    weighted = weighted_gram(rows, curator, design, n=n, share=share, most_noise=MOST_NOISE)
    K, columns = B.shape
    noise = weighted.sd * math.sqrt(2 * K)
    values, V = np.linalg.eigh(weighted.gram)
    H = (V * np.maximum(values, 0.0)) @ V.T
    seen = (V * np.where(values > noise, values, 0.0)) @ V.T
    damped = H + noise * np.eye(K)
    penalty = _penalty(design, C * n)
    covariance, to_go = np.zeros((columns, K, K)), np.tile(np.eye(K), (columns, 1, 1))
    centred = np.eye(columns) - (columns > 1) / columns
    freedom = K * max(columns - 1, 1)
    flattest = np.maximum(_prior_curvature(start) / 2, FLATTEST / centred[0, 0])
    for step in range(steps):
        share = curator.remaining / Fraction(sum(GROWTH**i for i in range(steps - step)))
        bits = moment_bits(mu * math.sqrt(share), rows.unit, n)
        residuals = Residuals(design, weighted.radius, bits, B)
        real = _curvature(B, seen, design.fit_intercept)
        curvature = np.maximum(real, flattest)
        least = curvature * noise / 2
        clip = _clip(curvature, freedom, share, n, mu)
        gradient, sd = _gradient(rows, curator, residuals, clip, share=share)
        gradient, sd = gradient @ centred / n, sd / n
        B = B.copy()
        along, truly = (_along(B, seen, q, design.fit_intercept) for q in (curvature, real))
        for k in range(columns):
            P = _inverse(_floored(curvature[k] * damped + along, least[k]) + penalty)
            B[:, k] += P @ (gradient[:, k] - penalty @ B[:, k])
            rest = np.eye(K) - P @ (real[k] * H + truly + penalty)
            to_go[k] = rest @ to_go[k]
            covariance[k] = rest @ covariance[k] @ rest.T + centred[k, k] * sd**2 * (P @ P)
    shrunk = _shrunk(B, H, noise, covariance, design.fit_intercept)
    if _chance(B, covariance, design.frame.dims) > UNLIKELY:
        curator.doubt(NOISE)
    real = _curvature(B, seen, design.fit_intercept)
    along = _along(B, seen, real, design.fit_intercept)
    models = (_inverse(_floored(q * damped + along, q * noise / 2) + penalty) for q in real)
    sampling = np.array(
        [S / n + _square(S @ penalty @ b) for S, b in zip(models, B.T, strict=True)]
    )
    covariance += [_square(R @ b) for R, b in zip(to_go, B.T, strict=True)]
    if min(real / _prior_curvature(start)) < STRONG[columns > 1]:
        covariance[:] = np.inf
    return LogitRelease(design, shrunk, B, covariance, sampling, count, steps)


def _penalty(design, strength):
    """Return the matrix of the L2 penalty of the coefficients, no stiffer than tells."""
    penalty, k = np.zeros((design.dims, design.dims)), design.frame.dims
    values, V = np.linalg.eigh(design.squared_slopes())
    with np.errstate(over="ignore"):
        penalty[:k, :k] = (V * np.clip(values / strength, 0.0, STIFFEST)) @ V.T
    return penalty


def _inverse(S):
    """Return the inverse of a positive matrix, finite if it is singular."""
    values, V = np.linalg.eigh(S)
    return (V / np.maximum(values, 1e-14 * np.max(values))) @ V.T


def _clip(curvature, freedom, share, n, mu):
    """Return the length of clipped residuals times rows, in units of R, by public and released.

    No clipping where privacy noise is small beside the sampling error of the gradient, and the
    more the larger it is: noise then is what costs.
    """
    noise = math.sqrt(freedom / (float(share) * n * curvature.mean())) / mu
    return float(np.clip(CLIP / math.sqrt(noise), LEAST_CLIP, 1.0))


def _gradient(rows, curator, residuals, clip, *, share):
    """Release the gradient of the log-likelihood, clipped; return it and its noise.

    Notes
    -----
    **Privacy** (add or remove one row): the gradient moves by a matrix of integers whose
    Frobenius norm is at most ``longest``, see :class:`skdp.linear._residuals.Residuals`.
    """
    longest = math.ceil(clip * residuals.longest)

    def statistic(start, block):
        return residuals.gradient(block, longest)

    exact = weighed_sum(rows, statistic)
    release = curator.gaussian(exact, sensitivity=longest, share=share, label="gradient")
    unit = residuals.radius / 4**residuals.bits
    return release.value * unit, release.scale * unit


def _curvature(B, H, fit_intercept):
    """Return the mean curvature for every column of B, if scores are Gaussian as H tells.

    That is p (1 - p) for two classes. The matrix diag(p) - p p^T of K classes has, on vectors that
    sum to zero, about its diagonal times K / (K - 1) on its own, exactly so for equal p.
    """
    columns = B.shape[1]
    mean = B.T @ H[-1] if fit_intercept else np.zeros(columns)
    values, V = np.linalg.eigh(B.T @ H @ B - np.outer(mean, mean))
    words = public_words(POINTS * columns, "logit", columns) >> np.uint64(11)
    z = ndtri((words.astype(float) + 0.5) * 2.0**-53).reshape(POINTS, columns)
    p = probabilities(np.concatenate([z, -z]) * np.sqrt(np.maximum(values, 0.0)) @ V.T + mean)
    return (p * (1 - p)).mean(axis=0) * (columns / max(columns - 1, 1))


def _prior_curvature(start):
    """Return the curvature of a model without slopes: by Jensen's inequality no other has more."""
    prior, columns = probabilities(start[None])[0], len(start)
    return prior * (1 - prior) * (columns / max(columns - 1, 1))


def _square(vector):
    return np.outer(vector, vector)


def _along(B, H, curvature, fit_intercept):
    """Return what the curvature of two classes lacks along the scores, 0 for more classes.

    With Gaussian rows v = h + u z + w, where m + s z is the score and w does not hang on it,
    and q = p (1 - p), the mean of q v v^T is

        E[q] H + E[q (z^2 - 1)] u u^T + E[q z] (h u^T + u h^T).
    """
    if B.shape[1] > 1:
        return np.zeros_like(H)
    h = H[-1] if fit_intercept else np.zeros(len(H))
    mean = float(h @ B[:, 0])
    sd = math.sqrt(max(float(B[:, 0] @ H @ B[:, 0]) - mean**2, 0.0))
    if sd == 0:
        return np.zeros_like(H)
    u = (H @ B[:, 0] - h * mean) / sd
    p = probabilities((mean + sd * NODES)[:, None])[:, 0]
    q = WEIGHTS * p * (1 - p)
    q *= curvature[0] / q.sum()
    both = np.outer(h, u)
    return q @ (NODES**2 - 1) * np.outer(u, u) + q @ NODES * (both + both.T)


def _chance(B, covariance, k):
    """Return the probability that the noise of slopes that are 0 is as long as these."""
    pairs = zip(B[:k].T, covariance[:, :k, :k], strict=True)
    square = sum(b @ _inverse(S) @ b for b, S in pairs)
    free = max(B.shape[1] - 1, 1)
    return chdtrc(k * free, square * free / B.shape[1])


def _floored(S, least):
    """Return a symmetric matrix with eigenvalues of at least ``least``."""
    values, V = np.linalg.eigh(S)
    return (V * np.maximum(values, least)) @ V.T


def _shrunk(B, H, noise, covariance, fit_intercept):
    """Return B with slopes times the part of their scores' variance that is no privacy noise.

    This is the rule of James and Stein, once for the directions in which the rows clearly vary
    around their mean, and once for the others. The mean of the scores stays.
    """
    k = len(B) - fit_intercept
    mean = H[:k, -1] / max(H[-1, -1], 1e-300) if fit_intercept else np.zeros(k)
    around = H[:k, :k] - np.outer(mean, mean) * (H[-1, -1] if fit_intercept else 0.0)
    values, V = np.linalg.eigh(around)
    values, clear = np.maximum(values, 0.0) + noise, values > noise
    B = B.copy()
    for group in (clear, ~clear):
        U, weights = V[:, group], values[group]
        told = float(weights @ np.square(U.T @ B[:k]).sum(axis=1))
        noisy = sum(float(weights @ np.einsum("ji,jk,ki->i", U, S[:k, :k], U)) for S in covariance)
        taken = U @ (U.T @ B[:k]) * min(1.0, noisy / max(told, 1e-300))
        B[:k] -= taken
        if fit_intercept:
            B[-1] += mean @ taken
    return B
