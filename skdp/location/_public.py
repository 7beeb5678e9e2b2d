"""Public parameters with one number per column."""

import numpy as np

NOT_PAIRS = "Not a pair for every column: pass ([low, low, ...], [high, high, ...])."


def column_vector(name, value, n_features, *, positive=False):
    """Return a public parameter as a vector of finite floats with one entry per column."""
    if value is None:
        return None
    try:
        if np.asarray(value).dtype.kind in "USmM":
            raise TypeError("text or dates")
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only. Got: {error}.") from error
    if vector.shape not in ((), (n_features,)):
        raise ValueError(
            f"{name} must be a number or have shape ({n_features},), one number per column of X. "
            f"Got shape {vector.shape}."
        )
    if not np.isfinite(vector).all():
        raise ValueError(
            f"{name} must be finite in every column. Got {np.count_nonzero(~np.isfinite(vector))} "
            "entries that are not."
        )
    if positive and not ((vector >= 2.0**-800) & (vector <= 2.0**800)).all():
        raise ValueError(
            f"{name} must be positive in every column, in [2**-800, 2**800]. Leave it out to have "
            "it found privately."
        )
    return np.broadcast_to(vector, (n_features,))


def bounds_vectors(bounds, n_features):
    """Return public bounds as two vectors of finite floats, the lower below the upper."""
    if bounds is None:
        return None
    if isinstance(bounds, dict):
        raise ValueError(
            "bounds must be a pair (low, high), each a number or one number per column of X. Got a "
            "dict: pass ([low, low, ...], [high, high, ...]) in the order of the columns."
        )
    try:
        low, high = () if isinstance(bounds, (set, frozenset)) else bounds
    except (TypeError, ValueError):
        raise ValueError(
            "bounds must be a pair (low, high), each a number or one number per column of X. Got "
            f"something that is no pair. {NOT_PAIRS}"
        ) from None
    low, high = (
        column_vector(f"bounds[{i}]", end, n_features) for i, end in enumerate((low, high))
    )
    if low is None or high is None:
        raise ValueError(
            "bounds must be a pair (low, high) of numbers, both of them known. Got None for one. "
            "Leave bounds out to have the entries found privately."
        )
    if not np.all((low < high) & (high / 2 - low / 2 < 2.0**1000)):
        raise ValueError(
            "bounds must be a pair (low, high) with low below high in every column, and less than "
            f"2**1000 apart. {NOT_PAIRS} Leave bounds out to have the entries found privately."
        )
    return low, high


def range_vectors(name, ends, n_features):
    """Return a public range of features, or of a target, as :func:`bounds_vectors` does."""
    try:
        return bounds_vectors(ends, n_features)
    except ValueError as error:
        told = str(error).replace("bounds", name)
    if name == "target_range":
        told = (
            "target_range must be a pair (low, high) of finite numbers with low below high, and "
            "less than 2**1000 apart. Leave it out to have the place of y found privately."
        )
    raise ValueError(told)


def known_ranges(feature_range, target_range, n_features):
    """Return public ranges as an array of shape (2, n_features + 1), NaN where there is none."""
    known = np.full((2, n_features + 1), np.nan)
    for name, ends, columns in (
        ("feature_range", feature_range, slice(None, -1)),
        ("target_range", target_range, slice(-1, None)),
    ):
        if ends is not None:
            known[:, columns] = range_vectors(name, ends, known[0, columns].size)
    return known


def column_ranges(feature_range, n_features):
    """Return a public pair (low, high) for each feature, None for None."""
    ends = range_vectors("feature_range", feature_range, n_features)
    return None if ends is None else list(zip(*(end.tolist() for end in ends), strict=True))


def accuracy_of(mean, n_features):
    """Return what the noise of a PrivateMean balances: a name, or weights of columns."""
    told = mean.accuracy
    if not isinstance(told, str):
        told = column_vector("accuracy", told, n_features, positive=True)
    elif told == "alike":
        return told
    known = mean.bounds, mean.center, mean.radius, mean.diameter
    searched = isinstance(mean.scale, str) and mean.scale == "auto" and not mean.trim
    if mean.method != "auto" or not searched or any(one is not None for one in known):
        raise ValueError(
            "accuracy shapes the noise by scales that are found privately, and something given "
            "saves or skips this search. Leave out bounds, center, radius, diameter, scale, trim "
            "and method, or accuracy."
        )
    return told
