"""Shrinking a noisy symmetric matrix by the known law of its noise: the least unbiased risk."""

import numpy as np

__all__ = ["denoised", "denoisers", "floored"]

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
