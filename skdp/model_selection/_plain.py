"""Whether a search is made of public names and plain parameters, or holds code of a user."""

import numpy as np

import skdp
from skdp.estimator._estimator import PrivateEstimator

__all__ = ["is_plain"]

PLAIN = bool, int, float, str, type(None)
OWN = "random_state", "ledger"  # of the fit


def is_plain(x):
    """Return whether an estimator, or a parameter, holds no code of a user."""
    if type(x) in PLAIN or (type(x) is np.ndarray and x.dtype.kind in "biuf"):
        return True
    if type(x) in (list, tuple):
        return all(map(is_plain, x))
    if type(x) is dict:
        return all(type(key) is str for key in x) and all(map(is_plain, x.values()))
    if not isinstance(x, PrivateEstimator) or getattr(skdp, type(x).__name__, None) is not type(x):
        return False
    return all(is_plain(v) for k, v in x.get_params(deep=False).items() if k not in OWN)
