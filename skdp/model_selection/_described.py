"""A search as plain data: registered names of estimators, and their parameters."""

import numpy as np

import skdp
from skdp.estimator._estimator import PrivateEstimator

__all__ = ["described", "made"]

PLAIN = bool, int, float, str, type(None)
OWN = "random_state", "ledger"  # of the fit: they stay with it


class _NotPlain(Exception):
    pass


def described(estimator):
    """Return plain data of which :func:`made` makes an estimator; None where code of a user is."""
    try:
        return _told(estimator)
    except _NotPlain:
        return None


def made(told):
    """Return the estimator of public names that plain data describe."""
    if not isinstance(told, dict):
        return told
    if "list" in told:
        return [made(one) for one in told["list"]]
    if "tuple" in told:
        return tuple(made(one) for one in told["tuple"])
    if "dict" in told:
        return {key: made(value) for key, value in told["dict"].items()}
    cls = _class(told["name"])
    if cls is None:
        raise ValueError("an unknown estimator.")
    return cls(**{key: made(value) for key, value in told["parameters"].items()})


def _told(x):
    if type(x) in PLAIN or (type(x) is np.ndarray and x.dtype.kind in "biuf"):
        return x
    if type(x) in (list, tuple):
        return {type(x).__name__: [_told(one) for one in x]}
    if type(x) is dict and all(type(key) is str for key in x):
        return {"dict": {key: _told(value) for key, value in x.items()}}
    name = type(x).__name__
    if _class(name) is not type(x):
        raise _NotPlain
    given = {key: value for key, value in x.get_params(deep=False).items() if key not in OWN}
    return {"name": name, "parameters": {key: _told(value) for key, value in given.items()}}


def _class(name):
    """Return the private estimator that skdp knows by a name, or None."""
    cls = getattr(skdp, name) if isinstance(name, str) and name in skdp.__all__ else None
    return cls if isinstance(cls, type) and issubclass(cls, PrivateEstimator) else None
