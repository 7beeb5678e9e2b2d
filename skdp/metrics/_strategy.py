"""The grid of scores, and linear measurements of its cells from which prefix sums are least off."""

from functools import lru_cache

import numpy as np
from scipy.special import expit

from skdp.kernel.applied._scores import GAIN, prefix_matrix

__all__ = ["GAIN", "LOGIT_END", "finer_edges", "logit_edges", "prefix_strategy"]

LOGIT_END = 10.0  # scores beyond these logits share a bin on either side
SMALLEST = 1e-300  # scores below stay in one bin


def logit_edges(n_bins):
    """Return edges of bins of probabilities: equal steps of the logit, 0.5 an edge if n is even.

    A bin on either side is for scores that are no probabilities.
    """
    inner = expit(np.linspace(-LOGIT_END, LOGIT_END, n_bins - 1))
    return np.concatenate([[-1.0, 0.0], inner, [np.nextafter(1.0, 2.0), 2.0]])


def finer_edges(edges, masses):
    """Return edges of twice as many bins: those with many rows are cut into equal parts.

    Returns
    -------
    edges : ndarray of shape (2 bins + 1,)
    of : ndarray of shape (2 bins,)
        The old bin that each is a part of.
    """
    bins = len(masses)
    masses = np.maximum(masses, 0.0) / max(np.maximum(masses, 0.0).sum(), 1e-300)
    parts = 1 + np.floor(bins * masses).astype(int)
    parts[np.argmax(masses)] += 2 * bins - parts.sum()
    of = np.repeat(np.arange(bins), parts)
    first = np.cumsum(parts) - parts
    at = (np.arange(2 * bins) - first[of]) / parts[of]
    low, high = edges[of], edges[of + 1]
    cuts = low * (1 - at) + high * at
    by_log = (at > 0) & (low == 0.0)  # of the bins at the ends equal steps of the logarithm
    cuts[by_log] = high[by_log] * (SMALLEST / high[by_log]) ** (1 - at[by_log])
    by_log = (at > 0) & (low < 1) & (high > 1)
    rest = 1 - low[by_log]
    nearest = np.maximum(parts[of][by_log] / 8, 1) * 2.0**-53  # edges differ as floats
    cuts[by_log] = 1 - rest * (nearest / rest) ** at[by_log]
    return np.append(cuts, edges[-1]), of


@lru_cache(maxsize=8)
def prefix_strategy(n):
    """Return the integer matrix C, to which a row of bin b adds column b, and its inverse.

    All prefix sums together are nearly least off.
    """
    C = prefix_matrix(n)
    return C, np.linalg.inv(C.astype(float))
