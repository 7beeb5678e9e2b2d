"""Estimators as JSON: the public name of a class, and its parameters."""

import inspect
from functools import cache

from skdp.denoising._base import Denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import PlanError
from skdp.kernel._plain import refuse, registered
from skdp.kernel._statistic import RowMap
from skdp.marginals._levels import Bins

__all__ = ["as_json", "estimator_of", "refuse_annex", "refuse_long"]

OF_ROWS = {  # where rows decide about themselves, or statistics are functions of many together
    *("FriendlyCoreFilter", "SensitivityPreprocessor", "GaussianMechanism", "LaplaceMechanism"),
    *("PrivateMinMax", "PrivateMinMaxScaler", "PrivateTrimmedMean"),
}
LONG = (
    "questions of {} on so many columns may be longer than the {} bytes that a request may have. "
    "Ask for less at once, or the holder for a larger [limits] body"
)
BESIDE = 2**14  # bytes of a request beside its arrays, and the numbers of its columns
HELD = {"random_state", "ledger", "n_jobs", "verbose", "callbacks"}  # decided by each side alone
ANNEX = (
    "{} needs the rows themselves, not answers about them, so it cannot fit a table of a holder. "
    "Ask the holder to run it"
)
FOREIGN = (
    "{} is no estimator of skdp with plain parameters: a holder knows those alone, and runs no "
    "function of an analyst"
)


@cache
def classes():  # imported late: skdp imports all of its rooms by name
    """Return the public estimators, and the denoisers of what they release, by name."""
    import skdp
    import skdp.metrics
    import skdp.stats

    rooms = [(room, name) for room in (skdp, skdp.metrics, skdp.stats) for name in room.__all__]
    found = {name: getattr(room, name) for room, name in rooms}
    return {name: cls for name, cls in found.items() if _is_private(cls)}


def _is_private(cls):
    return inspect.isclass(cls) and issubclass(cls, PrivateEstimator | Denoiser)


def as_json(x):
    """Return an estimator, or a parameter, as :func:`skdp.remote._wire.sent` can write it."""
    if isinstance(x, PrivateEstimator | Denoiser):
        name = type(x).__name__
        if classes().get(name) is not type(x):
            raise TypeError(FOREIGN.format(name))
        given, held = x.get_params(deep=False).items(), _held(type(x))
        return {"estimator": name, "with": {k: as_json(v) for k, v in given if k not in held}}
    if isinstance(x, list | tuple):
        return {"list" if isinstance(x, list) else "tuple": [as_json(one) for one in x]}
    if isinstance(x, dict):
        return {"dict": [(as_json(key), as_json(value)) for key, value in x.items()]}
    if isinstance(x, Bins):
        return {"bins": [[float(edge) for edge in x.edges], bool(x.missing)]}
    if callable(x) or (hasattr(x, "get_params") and not isinstance(x, RowMap)):
        raise TypeError(FOREIGN.format(getattr(x, "__name__", type(x).__name__)))
    if x is ... or isinstance(x, slice):
        return {"ellipsis": []} if x is ... else {"slice": [x.start, x.stop, x.step]}
    return {"value": x}


def estimator_of(told):
    """Return what :func:`as_json` has told of, with parameters that the holder decides unset."""
    refuse(not isinstance(told, dict) or not told, "no estimator")
    if "estimator" in told:
        cls = classes().get(told["estimator"])
        refuse(cls is None or set(told) != {"estimator", "with"}, "an unknown estimator")
        given = {name: estimator_of(value) for name, value in told["with"].items()}
        names = set(inspect.signature(cls).parameters) - _held(cls)
        refuse(not set(given) <= names, "an estimator with other parameters")
        return cls(**given)
    (kind, held), *more = told.items()
    refuse(bool(more), "no parameter")
    if kind == "dict":
        return {estimator_of(key): estimator_of(value) for key, value in held}
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(estimator_of(one) for one in held)
    if kind in ("ellipsis", "slice", "bins"):
        return {"ellipsis": lambda *_: ..., "slice": slice, "bins": Bins}[kind](*held)
    refuse(kind != "value", "no parameter")
    plain = isinstance(held, str | int | float | None) or hasattr(held, "dtype") or registered(held)
    refuse(not (plain or type(held).__name__ == "Fraction"), "no parameter")
    return held


def _held(cls):
    return HELD if issubclass(cls, PrivateEstimator) else set()  # a denoiser draws no noise


def refuse_annex(estimator):
    """Raise TypeError for an estimator, or a part of one, that needs the rows themselves."""
    for one in _parts_of(estimator):
        if _takes_rows(one):
            raise TypeError(ANNEX.format(f"{type(one).__name__}, with these parameters,"))
        for _, step in getattr(one, "steps", ())[:-1]:
            if isinstance(step, PrivateEstimator) and not _is_map(step):
                raise TypeError(ANNEX.format(f"{type(step).__name__} before another step"))


def refuse_long(estimator, n_columns, most):
    """Raise PlanError if a request may be longer than ``most`` bytes: by parameters alone."""
    for one in _parts_of(estimator):
        longest = one._longest(n_columns) if hasattr(one, "_longest") else 0
        if longest and longest * 4 / 3 + BESIDE > most:  # arrays are written in base 64
            raise PlanError(LONG.format(type(one).__name__, most))


def _parts_of(estimator):
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return [one for one in parts if isinstance(one, PrivateEstimator)]


def _takes_rows(one):
    """Return whether a fit asks for rows: by its class, or by parameters that name an annex."""
    by_class = len(inspect.signature(one._release).parameters) > 1 or type(one).__name__ in OF_ROWS
    chosen = getattr(one, "method", None) in ("friendly", "bounded")
    chosen = chosen or getattr(one, "sensitivity", None) is not None
    return by_class or chosen or getattr(one, "_needs_rows", False)


def _is_map(step):
    """Return whether what follows a step reads a view that plain data name, or released values."""
    return hasattr(step, "_row_map") or hasattr(step, "released_vector")
