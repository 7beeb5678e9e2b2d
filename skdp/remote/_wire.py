"""What crosses between an analyst and the holder of rows: JSON of public and released values."""

import re
from fractions import Fraction

import numpy as np

from skdp.accounting import Budget, PrivacyReport, Step
from skdp.accounting._report import Charge
from skdp.kernel._codec import decoded, encoded
from skdp.kernel._parts import Parts
from skdp.kernel._plain import refuse
from skdp.kernel._statistic import Shape
from skdp.kernel._table import Table
from skdp.readers._persons import NoisyUnitCount
from skdp.utils._warnings import Doubt

__all__ = ["heard", "sent"]

TEXTS = re.compile(r"[<>|](O|U\d{1,6})")  # types of arrays of text
PLAIN = str | int | float | bool | None
RECORDS = {cls.__name__: cls for cls in (Budget, Charge, NoisyUnitCount, PrivacyReport, Shape)}


def sent(x, number):
    """Return what JSON can hold of a value; ``number(thing)`` is that of a Table or of Parts."""
    if isinstance(x, Table | Parts):
        return number(x)
    if isinstance(x, Step):  # the holder has the plan: a label is enough, and a share
        return {"step": [x.label, sent(x.at_most, number)]}
    if isinstance(x, Doubt):
        return {"doubt": [x.said, encoded(x.mask), list(x.path)]}
    if type(x).__name__ in RECORDS and RECORDS[type(x).__name__] is type(x):
        values = x if isinstance(x, tuple) else [getattr(x, n) for n in x.__dataclass_fields__]
        return {"record": type(x).__name__, "values": [sent(v, number) for v in values]}
    if isinstance(x, Fraction):  # failure probabilities have thousands of digits
        return {"exact": [hex(x.numerator), hex(x.denominator)]}
    if isinstance(x, np.ndarray) and x.dtype.kind in "OU":  # names of columns, labels of classes
        return {"texts": [x.dtype.str, list(x.shape), [sent(one, None) for one in x.ravel()]]}
    if isinstance(x, list | tuple):
        return {"list": [sent(one, number) for one in x]}
    if isinstance(x, dict):
        return {"dict": [[sent(k, number), sent(v, number)] for k, v in x.items()]}
    return encoded(x)


def heard(x, thing):
    """Undo :func:`sent`; ``thing(request)`` is the Table or the Parts of a number."""
    if not isinstance(x, dict):
        return decoded(x)
    if "number" in x:
        return thing(x)
    if "step" in x:
        label, most = (heard(v, thing) for v in x["step"])
        return Step(label, at_most=most)
    if "doubt" in x:
        said, mask, path = x["doubt"]
        return Doubt(said, decoded(mask), tuple(path))
    if "record" in x:
        refuse(x["record"] not in RECORDS, "an unknown record")
        return RECORDS[x["record"]](*(heard(v, thing) for v in x["values"]))
    if "exact" in x:
        numerator, denominator = (int(digits, 16) for digits in x["exact"])
        refuse(denominator <= 0, "a fraction of nothing")
        return Fraction(numerator, denominator)
    if "texts" in x:
        dtype, shape, items = x["texts"]
        refuse(not TEXTS.fullmatch(str(dtype)), "an array of another type")
        items = [heard(one, thing) for one in items]
        refuse(not all(isinstance(one, PLAIN) for one in items), "an array of other things")
        told = np.empty(len(items), dtype=dtype)
        told[:] = items
        return told.reshape(shape).copy()
    if "list" in x:
        return tuple(heard(one, thing) for one in x["list"])
    if "dict" in x:
        return {heard(k, thing): heard(v, thing) for k, v in x["dict"]}
    return decoded(x)
