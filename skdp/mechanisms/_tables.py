"""Tables of rows and the parameters that go with their columns: public facts, checked once."""

import numpy as np

CELLS = 2**16  # cells of a block: with its tiled centre it stays in the second-level cache
MAX_BITS = 26  # the squared norm of a row in the ball, 4^26, is exact in float64


def as_table(X):
    """Return X as a two-dimensional numeric array, without a copy."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub" or X.dtype.itemsize > 8:
        raise TypeError(
            f"rows must be real numbers of at most 64 bits. Got dtype {X.dtype}: use float64."
        )
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"rows must form a table of shape (n, d), d >= 1. Got {X.ndim} dimension(s): reshape."
        )
    return X


def rows_per_block(X):
    """Return how many rows of X make a block."""
    return max(1, min(len(X), CELLS // X.shape[1]))


def blocks(X, rows=None):
    """Yield the slices of consecutive rows that are worked on together."""
    step = rows or rows_per_block(X)
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))


def check_bits(bits, most=MAX_BITS):
    """Return `bits` if it is an integer in [1, most]."""
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 1 <= bits <= most:
        raise ValueError(f"bits must be an integer in [1, {most}]. Got {bits!r} instead.")
    return int(bits)


def vector(value, d, name):
    value = np.asarray(value, dtype=np.float64)
    if value.shape not in ((), (d,)):
        raise ValueError(f"{name} must be a number or have shape ({d},). Got shape {value.shape}.")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite.")
    return np.require(np.broadcast_to(value, (d,)), requirements=["C", "A"])


def positive(scale, d):
    scale = vector(scale, d, "scale")
    if not (scale > 0).all():
        raise ValueError("scale must be positive in every column.")
    return scale
