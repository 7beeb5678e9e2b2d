"""Public ranges of the target and of the features."""

from skdp.additive._place import Place
from skdp.location._public import range_vectors

__all__ = ["column_ranges", "target_place"]


def target_place(target_range):
    """Return the Place that public bounds of the target tell, None for None.

    Raises
    ------
    ValueError
    """
    ends = range_vectors("target_range", target_range, 1)
    if ends is None:
        return None
    (low,), (high,) = ends
    return Place(float(low / 2 + high / 2), float(high / 2 - low / 2), 1.0)


def column_ranges(feature_range, n_features):
    """Return a public pair (low, high) for each feature, None for None.

    Raises
    ------
    ValueError
    """
    ends = range_vectors("feature_range", feature_range, n_features)
    return None if ends is None else list(zip(*(end.tolist() for end in ends), strict=True))
