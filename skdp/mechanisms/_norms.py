"""Tables of rows, checked once, and exact norms of finite rows."""

import numpy as np

from skdp.mechanisms import _compiled

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


TINY = 2.0**-900  # sums of squares above it lost nothing to underflow


def finite_rows(X):
    """Return for every row of ``X`` whether it holds neither NaN nor infinity, shape (n,).

    Parameters
    ----------
    X : ndarray of shape (n, d)

    Returns
    -------
    finite : ndarray of bool of shape (n,)

    See Also
    --------
    count_rows, row_norms

    Notes
    -----
    **Privacy**: a function of each row by itself; the answer is private.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import finite_rows
    >>> finite_rows(np.array([[1.0, 2.0], [np.nan, 0.0]])).tolist()
    [True, False]
    """
    if _compiled.loops is not None and X.dtype.kind == "f" and X.dtype.itemsize <= 8 and X.shape[1]:
        finite = np.empty(len(X), dtype=bool)
        for part, x in _compiled.plain_parts(X):
            _compiled.loops.finite_rows(x, finite[part], x.shape[1])
        return finite
    finite = np.isfinite(X)
    return np.ones(len(X), dtype=bool) if finite.all() else finite.all(axis=1)


def row_norms(X, *, center=None, scale=None):
    """Euclidean norm of every row of (X - center) / scale.

    Parameters
    ----------
    X : array of shape (n, d)
    center : float or array of shape (d,), default=None
        Finite, None for 0.
    scale : array of shape (d,), > 0, default=None
        Unit of each column, None for 1.

    Returns
    -------
    norms : ndarray of shape (n,)
        Relative error below 1e-13 (of the rounded difference, over all normal floats); infinity
        where the norm exceeds the largest float, NaN for a row that holds NaN or infinity.

    See Also
    --------
    ball_rows, finite_rows

    Notes
    -----
    **Privacy.** Every norm is a function of its row alone: squares are added in an order fixed
    by d, and rows whose squares leave the range of floats are rescaled by a power of two.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import row_norms
    >>> row_norms(np.array([[3.0, 4.0], [0.0, np.inf]])).tolist()
    [5.0, nan]
    """
    X = as_table(X)
    center = vector(0.0 if center is None else center, X.shape[1], "center")
    scale = None if scale is None else positive(scale, X.shape[1])
    norms = np.empty(len(X))
    if _compiled.loops is not None:
        units, rare = np.empty(0) if scale is None else scale, np.empty(len(X), dtype=np.int64)
        for part, x in _compiled.plain_parts(X):
            norm = norms[part]
            n = _compiled.loops.norms(x, center, units, norm, rare, TINY)
            _of_rare(x, center, scale, rare[:n], norm)
        return norms
    tile = np.tile(center, (rows_per_block(X), 1))
    work = np.empty(tile.shape)
    with np.errstate(all="ignore"):
        for part in blocks(X):
            block, norm = X[part], norms[part]
            y = np.subtract(block, tile[: len(block)], out=work[: len(block)], dtype=np.float64)
            if scale is not None:
                y /= scale
            square = fold(np.multiply(y, y, out=y))
            np.sqrt(square, out=norm)
            _of_rare(
                block, center, scale, np.flatnonzero(~((square > TINY) & (square < np.inf))), norm
            )
    return norms


@np.errstate(all="ignore")
def _of_rare(block, center, scale, rare, norm):
    """Write the lengths of rare rows, whose squares are no ordinary numbers, to `norm`."""
    if rare.size and (rare := rare[(block[rare] != center).any(axis=1)]).size:
        _, size, exponent = polar(block[rare], center, scale)
        norm[rare] = np.ldexp(size, exponent)


def polar(x, center, scale):
    """Return v, |v|, e with (x - center) / scale = v 2^e and max |v_j| in [1/2, 2)."""
    x = x.astype(np.float64)
    y = x - center
    wide = np.isinf(y)
    fraction, e = np.frexp(np.where(wide, x / 2 - center / 2, y))
    e = e + wide
    if scale is not None:
        unit, shift = np.frexp(scale)
        fraction, e = fraction / unit, e - shift
    e = np.where(fraction == 0, -9999, e)
    top = e.max(axis=1)
    v = np.ldexp(fraction, e - top[:, None])
    finite = np.isfinite(x).all(axis=1)
    v[~finite] = 0
    size = np.where(finite, np.sqrt(fold(v * v)), np.nan)
    return v, size, top


def products(rows, b):
    """Return for every row the products of its entries with those of b, added up by `fold`."""
    if _compiled.loops is None:
        return fold(rows * b)
    total = np.empty(len(rows))
    _compiled.loops.products(_compiled.plain(rows), _compiled.plain(b), total)
    return total


def fold(squares):
    """Add the columns in an order that depends on their number alone; overwrites its input."""
    width = squares.shape[1]
    while width > 16:
        half = width // 2
        squares[:, :half] += squares[:, width - half : width]
        width -= half
    total = squares[:, 0].copy()
    for j in range(1, width):
        total += squares[:, j]
    return total
