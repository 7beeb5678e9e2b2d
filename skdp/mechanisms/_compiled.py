"""Compiled loops over rows, where they were built: the same integers as those of numpy, sooner."""

import os
import warnings

import numpy as np

try:
    from skdp.mechanisms import _loops as loops
except ImportError:  # no compiler, or no floats of 64 bits: numpy does the work
    loops = None
VERSION = 8  # of the arguments of the loops
OTHER = "compiled loops, built from other sources, are not called. Run pip install -e . again."
if os.environ.get("SKDP_COMPILED") == "0":
    loops = None
if loops is not None and getattr(loops, "VERSION", 1) != VERSION:
    warnings.warn(OTHER, RuntimeWarning, stacklevel=2)
    loops = None


COPIED = 2**16  # of a part that is copied, if it has another type or order


def plain(x, dtype=np.float64):
    """Return an array row by row, a copy where it has another type, order or alignment."""
    return x if is_plain(x, dtype) else np.require(x, dtype=dtype, requirements=["C", "A"])


def is_plain(x, dtype=np.float64):
    """Return whether loops can read an array as it is: to ask numpy takes longer than they do."""
    here = isinstance(x, np.ndarray) and x.dtype == dtype and x.dtype.isnative
    return here and x.flags.c_contiguous and x.flags.aligned


def plain_parts(X):
    """Yield slices and the rows in them as :func:`plain` arrays: all at once if they are."""
    if is_plain(X):
        yield slice(0, len(X)), X
        return
    step = max(1, COPIED // X.shape[1])
    for start in range(0, len(X), step):
        part = slice(start, min(start + step, len(X)))
        yield part, plain(X[part])
