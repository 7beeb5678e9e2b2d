"""How questions and answers are written in JSON: exactly, and by a fixed registry."""

import base64
from dataclasses import fields, is_dataclass
from fractions import Fraction
from math import prod

import numpy as np

from skdp.kernel._plain import TYPES, name_of, refuse, registered

DTYPES = {"<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|i1", "|u1", "|b1"}
MOST_ENTRIES = 2**26
PLAIN = str | int | float | None


def encoded(x):
    """Return what JSON can hold of a thing, exactly: floats by repr, arrays by their bytes."""
    if is_dataclass(x) and not isinstance(x, type):
        refuse(not registered(x), f"a {type(x).__name__} is not public")
        return {
            "t": name_of(type(x)),
            "f": {f.name: encoded(getattr(x, f.name)) for f in fields(x)},
        }
    if isinstance(x, np.ndarray):
        refuse(x.dtype.str not in DTYPES, "an array of this type stays here")
        return {"a": x.dtype.str, "s": list(x.shape), "b": base64.b64encode(x.tobytes()).decode()}
    if isinstance(x, np.generic):
        return encoded(x.item())
    if isinstance(x, Fraction):
        return {"q": [hex(x.numerator), hex(x.denominator)]}
    if isinstance(x, list | tuple):
        return {"l": [encoded(one) for one in x]}
    if isinstance(x, dict):
        return {"d": [[encoded(key), encoded(value)] for key, value in x.items()]}
    refuse(not isinstance(x, PLAIN), f"a {type(x).__name__} stays here")
    return x


def decoded(x):
    """Undo :func:`encoded`; lists become tuples."""
    if not isinstance(x, dict):
        refuse(not isinstance(x, PLAIN), "another kind of JSON")
        return x
    read = READ.get(frozenset(x))
    refuse(read is None, "another kind of JSON")
    try:
        return read(*(x[key] for key in sorted(x)))
    except (TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError("another kind of JSON") from None


def _public(held, name):
    refuse(not isinstance(name, str) or name not in TYPES, "an unknown type")
    names = {f.name for f in fields(TYPES[name])}
    refuse(not isinstance(held, dict) or set(held) != names, "other fields")
    return TYPES[name](**{field: decoded(value) for field, value in held.items()})


def _array(dtype, text, shape):
    refuse(dtype not in DTYPES, "an array of another type")
    sizes = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    refuse(not sizes or prod(shape) > MOST_ENTRIES, "an array of another size")
    wanted = prod(shape) * np.dtype(dtype).itemsize
    refuse(len(text) != 4 * -(-wanted // 3), "an array of another size")
    raw = np.frombuffer(base64.b64decode(text, validate=True), dtype="|u1")
    refuse(dtype == "|b1" and bool((raw > 1).any()), "what is neither true nor false")
    return raw.view(dtype).reshape(shape).copy()


def _fraction(parts):
    numerator, denominator = (int(digits, 16) for digits in parts)
    refuse(denominator <= 0, "a fraction of nothing")
    return Fraction(numerator, denominator)


def _tuple(items):
    refuse(not isinstance(items, list), "another kind of JSON")
    return tuple(decoded(one) for one in items)


def _dict(items):
    pairs = [(decoded(key), decoded(value)) for key, value in items]
    refuse(len(dict(pairs)) < len(pairs), "a key twice")
    return dict(pairs)


READ = {  # by the keys of an object, which are handed over in their order
    frozenset("ft"): _public,
    frozenset("abs"): _array,
    frozenset("q"): _fraction,
    frozenset("l"): _tuple,
    frozenset("d"): _dict,
}
