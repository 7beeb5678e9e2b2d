"""Integers of rows that count with weights, and what one person adds to them at most."""

import numpy as np

UNITS = "integers of rows that count with different weights do not mix."
PRODUCTS = {"multiply", "floor_divide", "left_shift", "matmul"}  # with public integers
SUMS = {"add", "subtract", "negative", "absolute", "minimum", "maximum"}
NO_SUMS = {
    *("argmax", "argmin", "argsort", "bincount", "convolve", "correlate", "cumprod", "digitize"),
    *("dot", "einsum", "inner", "kron", "nonzero", "outer", "prod", "searchsorted", "tensordot"),
    *("trapezoid", "unique", "vdot"),
}


class Weighed(np.ndarray):
    """Exact integers that one person, with all rows, moves by ``unit`` times what a row does.

    The unit stays with what is cut, reshaped and added up, and with what is multiplied by public
    integers; integers of another unit do not mix. Products of two such integers, and whatever else
    a person may move by more, have none. A :class:`skdp.base.Curator` of a fit with groups takes
    nothing without a unit.
    """

    unit = None

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        units = {x.unit for x in inputs if isinstance(x, Weighed)}
        units |= {x.unit for x in out or () if isinstance(x, Weighed)}
        if len(units) > 1:
            raise TypeError(UNITS)
        plain = [x.view(np.ndarray) if isinstance(x, Weighed) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(np.asarray(x) for x in out)
        result = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            return out[0]
        n_weighed = sum(isinstance(x, Weighed) for x in inputs)
        keeps = ufunc.__name__ in SUMS
        keeps |= ufunc.__name__ in PRODUCTS and method == "__call__" and n_weighed == 1
        if not (keeps and units and isinstance(result, np.ndarray | np.generic)):
            return result
        return weighed(result, *units)

    def __array_function__(self, function, types, args, kwargs):
        result = super().__array_function__(function, types, args, kwargs)
        units = {x.unit for x in _all([*args, *kwargs.values()]) if isinstance(x, Weighed)}
        if len(units) > 1:
            raise TypeError(UNITS)
        if not isinstance(result, np.ndarray):
            return result
        if function.__name__ in NO_SUMS or result.dtype.kind not in "iu":
            return np.asarray(result)
        return weighed(result, *units)


def weighed(value, unit):
    """Return integers as :class:`Weighed`."""
    array = np.asarray(value).view(Weighed)
    array.unit = unit
    return array


def of_persons(value):
    """Return integers made of one row of each person: of ``readers.representatives_of(rows)``."""
    return weighed(value, 1)


def unit_of(value):
    """Return the unit of integers, or of all in a list; None for those that have no weights."""
    units = {getattr(x, "unit", None) for x in (value if isinstance(value, list) else [value])}
    if len(units) > 1:
        raise TypeError(UNITS)
    return units.pop() if units else None


def _all(values):
    for value in values:
        if isinstance(value, list | tuple):
            yield from _all(value)
        else:
            yield value
