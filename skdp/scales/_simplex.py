"""Noisy counts that become counts: none negative, with a given sum."""

import numpy as np

__all__ = ["onto_simplex"]


def onto_simplex(points, total=1.0):
    """Return the nearest points of the simplex: nonnegative, with a given sum along the last axis.

    It subtracts the number t with ``sum (x - t)_+ = total``: of the entries in falling order the
    first k stay positive, k the last at which the k-th is above ``(sum of the first k - total) /
    k``. An entry of minus infinity becomes 0. There may be a sum for each of the points.
    """
    falling = -np.sort(-points, axis=-1)
    sums = np.cumsum(np.where(np.isfinite(falling), falling, 0.0), axis=-1)
    means = (sums - np.asarray(total)[..., None]) / np.arange(1, points.shape[-1] + 1)
    last = np.sum(falling > means, axis=-1, keepdims=True) - 1
    return np.maximum(points - np.take_along_axis(means, np.maximum(last, 0), -1), 0.0)
