"""Public parameters as Python's own numbers, one for each column, and public choices."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from hashlib import shake_128
from inspect import signature
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from skdp.utils._compat import Interval, InvalidParameterError
from skdp.utils._renamed import KeepsOldNames

Init = TypeVar("Init", bound=Callable[..., Any])

AMOUNTS = ("epsilon", "delta", "split", "param_distributions")  # a third of a budget is a third
# may hold entries of a table
LEVELS = ("bins", "categories", "classes", "domain", "param_distributions")

NARROW = (np.float16, np.float32)

NOT_PAIRS = "Not a pair for every column: pass ([low, low, ...], [high, high, ...])."


def stores_parameters(declared: Init) -> Init:
    """Return an ``__init__`` that stores every declared parameter under its name, and no more.

    scikit-learn asks this of estimators. Type checkers see the declaration.
    """
    _, *defaults = signature(declared).parameters.values()
    defaults = {one.name: one.default for one in defaults}

    @wraps(declared)
    def __init__(self, *args, **named):
        declared(self, *args, **named)  # raises what Python raises of wrong arguments
        given = dict(zip(defaults, args, strict=False)) | named
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    return __init__


class PlainNumbers(KeepsOldNames):
    """Mixin of everything with parameters: keeps them as Python's own numbers.

    Notes
    -----
    **Privacy.** Parameters enter sensitivities. A numpy integer has a width, beyond which products
    wrap silently, and stays one in every sum, product and Fraction that it enters; a narrow float
    rounds. Python's integers do neither, so a proof may speak of integers. Every parameter, by
    ``__init__``, by ``set_params`` and out of a pickle, passes here and nowhere else.
    """

    def __setattr__(self, name, value):
        if not name.endswith("_"):
            value = _parameter(name, value)
            allowed = getattr(type(self), "_parameter_constraints", {}).get(name, ())
            if type(value) is bool and any(_is_numeric(kind) for kind in allowed):
                value = int(value)
        super().__setattr__(name, value)

    def _validate_params(self):
        """Check parameters as scikit-learn does; a message shows a table by its type."""
        told = None
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            told = str(error)
        if told is None:
            return
        name = told.split("'")[1]
        told = re.sub(r"'skdp\.[\w.]*\.(\w+)'", r"'skdp.\1'", told)
        value = getattr(self, name, None)
        if hasattr(value, "shape") or isinstance(value, list | tuple | dict):
            told = told.split(" Got ")[0] + f" Got {describe_parameter(value)}."
        hint = _hint(name, value)
        raise InvalidParameterError(f"{told} {hint}".rstrip())

    def __setstate__(self, state):
        super().__setstate__(state)
        for name, value in [*vars(self).items()]:
            setattr(self, name, value)


def _hint(name, value):
    """Return the way out of a frequent mistake, or nothing."""
    if name == "ledger" and isinstance(value, str):
        return "Open the file first: PrivacyLedger.open(path), or PrivacyLedger(path, epsilon=...)."
    if name == "q" and isinstance(value, int | float) and 1 < value <= 100:
        return f"q is a part: {value:g} % is {value / 100:g}."
    if name in AMOUNTS and isinstance(value, str):
        return "Pass a number, without quotes."
    return ""


def plain(value, *, levels=False, exact=True):
    """Return a number as a Python bool, int, float or Fraction, anything else as it is."""
    if isinstance(value, dict):
        entries = {key: plain(item, levels=levels, exact=exact) for key, item in value.items()}
        return value if _same_objects(value.values(), entries.values()) else entries
    if isinstance(value, list | tuple):
        entries = [plain(item, levels=levels, exact=exact) for item in value]
        if _same_objects(value, entries):
            return value
        if isinstance(value, list):
            return entries
        return value._make(entries) if hasattr(value, "_make") else tuple(entries)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if levels and isinstance(value, NARROW):
        return value
    if not levels:
        value = _from_date(value)
    value = _scalar(value)
    return value if exact or not isinstance(value, Fraction) else _nearest_float(value)


def _from_date(value):
    """Return a date or a duration, or an array of them, as columns of them are read: microseconds.

    Dates count from the start of 1970, UTC; NaN for NaT.
    """
    is_date, is_length = hasattr(value, "toordinal"), hasattr(value, "total_seconds")
    if (is_date or is_length) and value != value:  # NaT of pandas
        return math.nan
    if is_date:
        zone = getattr(value, "tzinfo", None)
        value = value if zone is None else value.replace(tzinfo=None) - value.utcoffset()
        value = np.datetime64(value)
    elif is_length:
        value = np.timedelta64(value)
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind not in ("m", "M") or not isinstance(value, np.ndarray | np.generic):
        return value
    numbers = value.astype(f"{kind}8[us]").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(value), np.nan, numbers)[()]


def describe_parameter(value):
    """Return what a message shows of a parameter: a number or a text, of all else its type alone.

    A table or a column that was passed in its place would show entries of rows.
    """
    alone = value is None or isinstance(value, str | Real | np.generic)
    return repr(value) if alone else f"an object of type {type(value).__name__}"


def plain_fields(record, *names):
    """Replace fields of a frozen dataclass by Python's own numbers."""
    for name in names:
        object.__setattr__(record, name, _parameter(name, getattr(record, name)))


def _parameter(name, value):
    return plain(value, levels=name in LEVELS, exact=name in AMOUNTS)


def _is_numeric(constraint):
    return isinstance(constraint, Interval) or constraint in (Integral, Real, "random_state")


def _same_objects(old, new):
    return all(a is b for a, b in zip(old, new, strict=True))


def _scalar(value):
    if type(value) in (bool, int, float) or isinstance(value, np.timedelta64):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.floating):
        return float(np.format_float_scientific(value, unique=True, trim="-"))
    if isinstance(value, Rational):
        return _plain_fraction(value)
    return value


def _plain_fraction(value):
    terms = value.numerator, value.denominator
    if type(value) is Fraction and all(type(term) is int for term in terms):
        return value
    return Fraction(*map(int, terms))


def _nearest_float(fraction):
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


# --- public randomness: choices that need not be secret and must not depend on the rows


def public_seed(random_state):
    """Return the seed of public choices for a ``random_state`` parameter, 0 for None."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def public_words(n, *key):
    """Return n words, an array of uint64: a function of ``key``, numbers and texts, alone."""
    text = repr(plain(key)).encode()  # of Python's numbers: those of numpy show their type
    return np.frombuffer(shake_128(text).digest(8 * int(n)), dtype=np.uint64)


# --- public parameters with one number per column


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
