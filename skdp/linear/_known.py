"""Public ranges of the features and of the target."""

import numpy as np

from skdp.location._public import range_vectors

__all__ = ["known_ranges"]


def known_ranges(feature_range, target_range, n_features):
    """Return public ranges as an array of shape (2, n_features + 1), NaN where there is none.

    Parameters
    ----------
    feature_range : (low, high) or None
        Each a number, or an array-like of shape (n_features,).
    target_range : (low, high) of numbers, or None
    n_features : int

    Raises
    ------
    ValueError
    """
    known = np.full((2, n_features + 1), np.nan)
    for name, ends, columns in (
        ("feature_range", feature_range, slice(None, -1)),
        ("target_range", target_range, slice(-1, None)),
    ):
        if ends is not None:
            known[:, columns] = range_vectors(name, ends, known[0, columns].size)
    return known
