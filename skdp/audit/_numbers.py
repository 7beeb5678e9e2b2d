"""Parameters as numpy's numbers: narrow ones overflow without a word."""

from numbers import Integral, Real

import numpy as np

WIDE = 100  # its square overflows eight bits
APART = ("random_state", "ledger", "verbose", "n_jobs")  # enter no price


def numpy_twins(estimator):
    """Yield (what, parameters of Python's numbers, the same of numpy's).

    First all parameters in the narrowest types that hold them, then one by one in several types,
    and integers at 100 in eight bits as well. Numbers in lists, tuples and dicts count.
    """
    numbers = {
        name: value
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] not in APART and _is_number(value)
    }
    narrow = {name: _as_numpy(value, narrowest_dtype) for name, value in numbers.items()}
    yield "all parameters", {n: _as_python(v) for n, v in narrow.items()}, narrow
    for name, value in numbers.items():
        twins = [_as_numpy(value, kind) for kind in (narrowest_dtype, unsigned, wide, single)]
        if _holds_integers(value):
            twins += [_as_numpy(value, whole), _as_numpy(_filled(value), np.int8)]
        for twin in _distinct(twins):
            yield name, {name: _as_python(twin)}, {name: twin}


def narrowest_dtype(value):
    """Return the narrowest signed integer or single float near a number."""
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    if isinstance(value, Integral):
        kinds = (np.int8, np.int16, np.int32, np.int64)
        fits = (k for k in kinds if np.iinfo(k).min <= value <= np.iinfo(k).max)
        return next(fits, int)(value)
    return np.float32(value) if float(np.float32(value)) == value else np.float64(value)


def unsigned(value):
    """Return the narrowest unsigned integer, or an extended float."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        return np.longdouble(value)
    return np.min_scalar_type(int(value)).type(value) if 0 <= value < 2**64 else int(value)


def wide(value):
    """Return a number of 64 bits."""
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    integral = isinstance(value, Integral) and abs(value) < 2**63
    return np.int64(value) if integral else np.float64(value)


def single(value):
    """Return a single float for a float, else a number of 32 bits."""
    if isinstance(value, Integral):
        return np.int32(value) if abs(value) < 2**31 else wide(value)
    return np.float32(value)


def whole(value):
    """Return the narrowest integer for a float that is one."""
    return value if isinstance(value, (bool, np.bool_)) else narrowest_dtype(int(value))


def _is_number(value):
    """Whether a parameter is a number, or a container of numbers alone."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_number, value.values()))
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_number, value))
    return isinstance(value, Real)


def _holds_integers(value):
    if isinstance(value, (dict, list, tuple)):
        return all(map(_holds_integers, value.values() if isinstance(value, dict) else value))
    boolean = isinstance(value, (bool, np.bool_))
    return not boolean and float(value).is_integer()


def _filled(value):
    """Return the same structure with 100 in the place of every number."""
    return _as_numpy(value, lambda _: WIDE)


def _as_numpy(value, kind):
    """Return a number, or the numbers of a container, as ``kind`` makes them."""
    if isinstance(value, dict):
        return {key: _as_numpy(item, kind) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_numpy(item, kind) for item in value)
    with np.errstate(all="ignore"):
        return kind(value)


def _as_python(value):
    """Return numpy's numbers as those of Python that are equal to them."""
    return _as_numpy(value, _python)


def _python(x):
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    return int(x) if isinstance(x, Integral) else float(x)


def _distinct(twins):
    """Return twins without repetition of type and value."""
    return {repr(_as_numpy(twin, lambda x: (type(x), x))): twin for twin in twins}.values()
