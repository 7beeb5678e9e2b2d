"""Public parameters with one number per column."""

import numpy as np

__all__ = ["column_vector"]


def column_vector(name, value, n_features, *, positive=False):
    """Return a public parameter as a vector of finite floats with one entry per column.

    Parameters
    ----------
    name : str
        Of the parameter.
    value : float, array-like of shape (n_features,) or None
    n_features : int
    positive : bool, default=False

    Returns
    -------
    vector : ndarray of shape (n_features,) or None
    """
    if value is None:
        return None
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers only. Got: {error}.") from error
    if vector.shape not in ((), (n_features,)) or not np.isfinite(vector).all():
        raise ValueError(
            f"{name} must be a finite number or have shape ({n_features},), one finite number per "
            f"column of X. Got shape {vector.shape} with {np.count_nonzero(~np.isfinite(vector))} "
            "entries that are not finite."
        )
    if positive and not ((vector >= 2.0**-800) & (vector <= 2.0**800)).all():
        raise ValueError(
            f"{name} must be positive in every column, in [2**-800, 2**800]. Leave it out to have "
            "it found privately."
        )
    return np.broadcast_to(vector, (n_features,))
