"""Public numbers as Python's own: integers without a width, floats of 64 bits.

Numbers of NumPy keep their width in sums and products: ``np.int8(100) ** 2`` is 16. Comparisons do
so as well: a bound is rounded to float16 before ``np.float16(x) <= bound``. What a proof computes
with has passed one of these, or :func:`skdp.mechanisms._exact.exact`.
"""

import operator
from contextlib import suppress
from numbers import Real

import numpy as np


def whole(value):
    """Return a public integer as an int; TypeError for anything else."""
    if not isinstance(value, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(value)
    raise TypeError(f"a public integer was expected. Got {type(value).__name__}.")


def real(value):
    """Return a public number as a float; TypeError for what is no real number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"a public number was expected. Got {type(value).__name__}.")
    return float(value)
