"""How questions and answers are written in JSON: exactly, and by a fixed registry."""

import base64
from dataclasses import fields, is_dataclass
from fractions import Fraction

import numpy as np

from skdp.kernel._statistic import TYPES, refuse, registered

__all__ = ["decoded", "encoded"]

DTYPES = {"<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|i1", "|u1", "|b1"}
MOST_ENTRIES = 2**26


def encoded(x):
    """Return what JSON can hold of a thing, exactly: floats by repr, arrays by their bytes."""
    if is_dataclass(x) and not isinstance(x, type):
        refuse(not registered(x), f"a {type(x).__name__} is not public")
        return {
            "t": type(x).__name__,
            "f": {f.name: encoded(getattr(x, f.name)) for f in fields(x)},
        }
    if isinstance(x, np.ndarray):
        refuse(x.dtype.str not in DTYPES, "an array of this type stays here")
        x = np.ascontiguousarray(x).view(np.ndarray)
        return {"a": x.dtype.str, "s": list(x.shape), "b": base64.b64encode(x.tobytes()).decode()}
    if isinstance(x, np.generic):
        return encoded(x.item())
    if isinstance(x, Fraction):
        return {"q": [str(x.numerator), str(x.denominator)]}
    if isinstance(x, list | tuple):
        return {"l": [encoded(one) for one in x]}
    if isinstance(x, dict):
        return {"d": [[encoded(key), encoded(value)] for key, value in x.items()]}
    refuse(not isinstance(x, str | int | float | None), f"a {type(x).__name__} stays here")
    return x


def decoded(x):
    """Undo :func:`encoded`; lists become tuples. Raises ValueError for what is not registered."""
    if not isinstance(x, dict):
        refuse(not isinstance(x, str | int | float | None), "another kind of JSON")
        return x
    if "t" in x:
        cls = TYPES.get(x["t"])
        names = {f.name for f in fields(cls)} if cls else set()
        refuse(cls is None or set(x["f"]) != names, "an unknown type or field")
        return cls(**{name: decoded(value) for name, value in x["f"].items()})
    if "a" in x:
        n = np.prod(x["s"], dtype=float)
        refuse(x["a"] not in DTYPES or n > MOST_ENTRIES, "an array of another type or size")
        raw = base64.b64decode(x["b"], validate=True)
        return np.frombuffer(raw, dtype=x["a"]).reshape(x["s"]).copy()
    if "q" in x:
        return Fraction(int(x["q"][0]), int(x["q"][1]))
    if "l" in x:
        return tuple(decoded(one) for one in x["l"])
    return {decoded(key): decoded(value) for key, value in x["d"]}
