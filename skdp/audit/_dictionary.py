"""Rows and sizes that the code of an estimator speaks of: where it branches, its author wrote so.

As fuzzers take tokens from a program, an audit takes numbers: of parameters, and of the methods of
classes that are neither of skdp nor of scikit-learn.
"""

import math
import types
from numbers import Real

import numpy as np

from skdp.audit._fingerprint import classes_of
from skdp.audit._pairs import SENTINELS

__all__ = ["numbers_of", "sizes_of", "telling_rows"]

N_ROWS = 64
LONGEST = 150_000
MOST_BINS = 64
MOST = 200  # numbers of one estimator


def numbers_of(estimator):
    """Return the finite numbers that parameters and code of an estimator mention, a list."""
    found = {}
    for value in estimator.get_params().values():
        _collect(value, found)
    for cls in classes_of(estimator):
        if cls.__module__.partition(".")[0] != "skdp":
            for member in vars(cls).values():
                _collect_code(member, found)
    return list(found)[:MOST]


def _collect_code(member, found, depth=2):
    function = getattr(member, "__func__", getattr(member, "fget", member))
    if not isinstance(function, types.FunctionType):
        return _collect(member, found)
    codes = [function.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        _collect([c for c in code.co_consts if not isinstance(c, types.CodeType)], found)
        for name in code.co_names:
            value = function.__globals__.get(name)
            own = getattr(value, "__module__", None) == function.__module__
            if isinstance(value, types.FunctionType) and own and depth:
                _collect_code(value, found, depth - 1)
            else:
                _collect(value, found)


def _collect(value, found):
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size <= MOST:
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= MOST:
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict) and len(value) <= MOST:
        _collect([*value.keys(), *value.values()], found)
    elif isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        x = float(value) if abs(value) < 1e300 else math.inf
        if math.isfinite(x):
            found[x] = True


def sizes_of(estimator, least):
    """Return numbers of rows above ``least`` at which code may branch, the last three."""
    whole = {int(x) for x in numbers_of(estimator) if x == int(x) and least <= x <= LONGEST}
    return [n + 1 for n in sorted(whole)[-3:]]


def _edges(numbers):
    """Return the inner edges of bins that three numbers in a row may stand for: ends and number."""
    edges = []
    for low, high, k in zip(numbers, numbers[1:], numbers[2:], strict=False):
        if low < high and k == int(k) and 2 <= k <= MOST_BINS:
            for n in (int(k), int(k) + 1):
                edges += np.linspace(low, high, n)[1:-1].tolist()
    return edges[:MOST]


def telling_rows(estimator, data, draw):
    """Return rows of numbers that an estimator may treat apart, an array; None for frames."""
    if not data.is_numeric:
        return None
    known = [x for x in numbers_of(estimator) if x]
    known += _edges(known)
    values = np.array([*SENTINELS, *SENTINELS, 999.0, -99.0, *known, *known, *(-x for x in known)])
    d, rows = data.n_features, []
    for i in range(N_ROWS):
        row = data.X[draw.below(len(data))].astype(np.float64)
        if i % 4 == 0:
            row = np.full(d, draw.choice(values))
        elif i % 4 == 1:
            row[draw.below(d)] = draw.choice(values)
        else:
            row = values[draw.below(len(values), d)]
        rows.append(row)
    return np.array(rows)
