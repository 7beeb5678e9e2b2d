"""Rows become bounded integer vectors, each by an arithmetic that sees that row alone."""

import math
from functools import cached_property

import numpy as np

from skdp.mechanisms import _compiled
from skdp.mechanisms._norms import (
    as_table,
    blocks,
    check_bits,
    polar,
    positive,
    rows_per_block,
    vector,
)

EXACT = 2.0**53  # integers of float64 are exact below
SHRINK = 1 - 2.0**-40  # outweighs every rounding of a norm and of a product


def ball_rows(X, *, center, radius, bits, scale=None):
    """Map every row to an integer vector of Euclidean norm at most 2^bits.

    Parameters
    ----------
    X : array of shape (n, d)
        Real numbers of at most 64 bits (integers beyond 2^53 are rounded).
    center : float or array of shape (d,)
        Finite.
    radius : float, > 0
        Length, in units of `scale`, that becomes 2^bits.
    bits : int, in [1, 26]
        Fineness of the grid. Rows longer than 2^(26.5 - bits) radii take a slower path.
    scale : array of shape (d,), > 0, default=None
        Unit of each column, None for 1.

    Returns
    -------
    rows : ndarray of shape (n, d)
        Integers stored as float64: (x - center) / scale * 2^bits / radius, brought back to the
        ball along its direction if longer, rounded towards zero; less than 2 sqrt(d) + 1 grid
        units from that vector. A row that holds NaN or infinity is the zero vector.

    Raises
    ------
    TypeError, ValueError
        From public facts only: shape, dtype and parameters.

    See Also
    --------
    ball_sum, box_rows, row_norms

    Notes
    -----
    **Privacy.** Every step is elementwise or a sum of the squares of one row that is either
    exact, hence free of order, or added in an order fixed by d: the result is a function of the
    row, whatever the other rows, blocks, threads or memory layout.

    Norm: sums of integer squares are exact in float64 below 2^53 in any order, and as rounding is
    monotone a sum of 2^53 or more cannot be rounded below 2^53, so that comparing with
    4^bits <= 2^52 is exact. A longer row q is multiplied by t < (1 - 2^-41) 2^bits / |q|,
    rounded towards zero, and compared again.

    Error: projection to the ball is a contraction, so that rounding before and after it
    adds less than sqrt(d) each.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ball_rows
    >>> ball_rows(np.array([[0.5, 0.0], [3.0, 4.0]]), center=0.0, radius=1.0, bits=10).tolist()
    [[512.0, 0.0], [614.0, 819.0]]
    """
    X = as_table(X)
    shape = rows_per_block(X), X.shape[1]
    ball = Ball(*shape, center=center, radius=radius, bits=bits, scale=scale)
    rows = np.empty(X.shape)
    for part in blocks(X):
        ball.map(X[part], out=rows[part])
    return rows


def box_rows(X, *, low, high, bits):
    """Map every row to an integer vector with entries in [-2^bits, 2^bits].

    Parameters
    ----------
    X : array of shape (n, d)
    low, high : float or array of shape (d,)
        Edges of the box, low < high.
    bits : int, in [1, 26]

    Returns
    -------
    rows : ndarray of shape (n, d)
        Integers stored as float64; 0 is the middle of the box, +-2^bits its edges, rounded
        towards zero. A row that holds NaN or infinity is the zero vector.

    See Also
    --------
    ball_rows

    Notes
    -----
    **Privacy.** Elementwise, hence a function of the row. The symmetric grid makes adding or
    removing a row move column sums by at most half of the width of the box.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import box_rows
    >>> box_rows(np.array([[0.0], [7.5], [99.0]]), low=0.0, high=10.0, bits=3).tolist()
    [[-8.0], [4.0], [8.0]]
    """
    X = as_table(X)
    low, high = (vector(v, X.shape[1], n) for v, n in ((low, "low"), (high, "high")))
    with np.errstate(all="ignore"):
        middle, half = low / 2 + high / 2, high / 2 - low / 2
    if not np.all(half > 0):
        raise ValueError("low must be below high in every column. Widen the columns where not.")
    top = 2.0 ** check_bits(bits)
    rows = np.empty(X.shape)
    with np.errstate(all="ignore"):
        for part in blocks(X):
            y, block = rows[part], X[part]
            np.subtract(block, middle, out=y, dtype=np.float64)
            y /= half
            np.clip(y, -1, 1, out=y)
            y *= top
            np.trunc(y, out=y)
            y[~np.isfinite(block).all(axis=1)] = 0
    return rows


class Ball:
    """The map of `ball_rows`, prepared once for blocks of at most `rows` rows of d columns."""

    def __init__(self, rows, d, *, center, radius, bits, scale=None):
        if not (math.isfinite(radius) and radius > 0):
            raise ValueError(f"radius must be positive and finite. Got {radius!r} instead.")
        self.bits, self.radius = check_bits(bits), float(radius)
        self.center = vector(center, d, "center")
        self.scale = None if scale is None else positive(scale, d)
        with np.errstate(all="ignore"):
            gain = np.float64(2.0**self.bits) / self.radius / (1 if scale is None else self.scale)
        normal = (gain >= np.finfo(float).tiny) & (gain < np.inf)
        gain = np.where(normal, gain, np.nan)  # NaN sends every row the careful way
        gain = np.require(np.broadcast_to(gain, (d,)), requirements=["C", "A"])
        self._rows, self.gain = rows, gain

    @cached_property
    def _tiles(self):
        gain = self.gain[:1, None] if self.scale is None else np.tile(self.gain, (self._rows, 1))
        return np.tile(self.center, (self._rows, 1)), gain

    def map(self, block, out):
        """Write the integer vectors of `block` to `out`, C-contiguous of the same shape."""
        m = len(block)
        if _compiled.loops is not None:
            return self._map_compiled(block, out)
        center, gain = self._tiles
        with np.errstate(all="ignore"):
            np.subtract(block, center[:m], out=out, dtype=np.float64)
            out *= gain[:m]
            np.trunc(out, out=out)
            squares = np.einsum("ij,ij->i", out, out)  # exact wherever below 2^53
            lengths = np.sqrt(squares)
            outside = np.flatnonzero(~(squares <= self.top_and_longest[0]))
            if outside.size:
                self._bring_back(block, out, squares, lengths, outside)
        return lengths

    def _map_compiled(self, block, out):
        lengths, far = np.empty(len(block)), np.empty(len(block), dtype=np.int64)
        for part, x in _compiled.plain_parts(block):
            rows, long = out[part], lengths[part]
            n = _compiled.loops.ball_rows(
                x, self.center, self.gain, rows, long, far, *self.top_and_longest
            )
            if n:
                rows[far[:n]], long[far[:n]] = self.careful(x[far[:n]])
        return lengths

    @property
    def top_and_longest(self):
        """The square of the radius on the grid, and how long rows that are brought back become."""
        return 4.0**self.bits, SHRINK * 2.0**self.bits

    def _bring_back(self, block, out, squares, lengths, outside):
        most = 2 * outside.size > len(block)
        rows = slice(None) if most else outside  # to work in place beats a gather
        (top, longest), q = self.top_and_longest, out[rows]
        q *= np.where(squares[rows] <= top, 1, longest / lengths[rows])[:, None]
        np.trunc(q, out=q)
        if not most:
            out[rows] = q
        far = np.flatnonzero(~(squares < EXACT))
        if far.size:
            out[far], lengths[far] = self.careful(block[far])
        out[~(np.einsum("ij,ij->i", out, out) <= top)] = 0

    @np.errstate(all="ignore")
    def careful(self, x):
        """Return the integer vectors of rows of any length, certified, and lengths on the grid."""
        v, size, exponent = polar(x, self.center, self.scale)
        fraction, e = math.frexp(self.radius)
        units = np.ldexp(1 / fraction, self.bits - e + exponent)  # 2^bits 2^exponent / radius
        q = np.trunc(v * np.minimum(units, SHRINK * 2.0**self.bits / size)[:, None])
        # Rows that are not finite end here; SHRINK leaves no others.
        q[~(np.einsum("ij,ij->i", q, q) <= 4.0**self.bits)] = 0
        return q, np.where(size == 0, 0, size * units)


N_MAX = 2**32  # public bound on the number of rows


def ball_sum(X, *, center, radius, bits, scale=None, drop=None, block_rows=None, n_max=N_MAX):
    """Sum the rows of :func:`ball_rows` exactly.

    Parameters
    ----------
    X, center, radius, bits, scale
        As in :func:`ball_rows`.
    drop : float, > 0, default=None
        Rows longer than drop * radius contribute nothing; None keeps all.
    block_rows : int, default=None
        Rows worked on together; changes speed alone.
    n_max : int, default=2**32
        Public bound on the rows of all calls whose totals are added, n_max * 2^bits <= 2^62.

    Returns
    -------
    total : ndarray of shape (d,), int64
    kept : int
        Number of rows that were finite and not dropped.

    See Also
    --------
    ball_rows, clipped_sum, gram_sum

    Notes
    -----
    **Privacy.** Every row is mapped, and kept or dropped, by itself; integers are added without
    rounding (at most 2^53 in float64 inside a block, at most 2^62 in int64). Adding or removing a
    row moves the total by its vector, of Euclidean norm at most 2^bits exactly, and `kept` by
    at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import ball_sum
    >>> total, kept = ball_sum(np.full((10, 2), 0.5), center=0.0, radius=1.0, bits=10)
    >>> total.tolist(), int(kept)
    ([5120, 5120], 10)
    """
    X = as_table(X)
    step = _step(X, check_bits(bits), n_max, block_rows or rows_per_block(X))
    ball = Ball(step, X.shape[1], center=center, radius=radius, bits=bits, scale=scale)
    if drop is not None and not drop > 0:
        raise ValueError(f"drop must be positive or None. Got {drop!r} instead.")
    longest = np.inf if drop is None else float(drop) * 2.0**bits
    if _compiled.loops is not None:
        return _compiled_sum(X, ball, longest)
    total, kept = np.zeros(X.shape[1], dtype=np.int64), 0
    work = np.empty((step, X.shape[1]))
    for part in blocks(X, step):
        rows = work[: part.stop - part.start]
        stay = ball.map(X[part], out=rows) <= longest
        count = int(np.count_nonzero(stay))
        if count < len(rows):
            rows[~stay] = 0
        kept += count
        total += (np.ones(len(rows)) @ rows).astype(np.int64)
    return total, kept


def _compiled_sum(X, ball, longest):
    """Return what :func:`ball_sum` returns: the few rows that are far are mapped by numpy."""
    total, kept = np.zeros(X.shape[1], dtype=np.int64), 0
    for _, x in _compiled.plain_parts(X):
        far = np.empty(len(x), dtype=np.int64)
        n, stay = _compiled.loops.ball_sum(
            x, ball.center, ball.gain, total, far, *ball.top_and_longest, longest
        )
        kept += stay
        if n:
            q, lengths = ball.careful(x[far[:n]])
            stay = lengths <= longest
            kept += np.count_nonzero(stay)
            total += q[stay].sum(axis=0).astype(np.int64)
    return total, kept


def gram_sum(X, *, center, radius, bits, scale=None, n_max=N_MAX):
    """Sum the outer products of the rows of :func:`ball_rows` exactly.

    Parameters
    ----------
    X, center, radius, bits, scale
        As in :func:`ball_rows`.
    n_max : int, default=2**32
        Public bound on the rows of all calls whose totals are added, n_max * 4^bits <= 2^62:
        15 bits at the default, 20 bits at 2^22 rows.

    Returns
    -------
    gram : ndarray of shape (d, d), int64
        Symmetric, sum of q q^T.

    See Also
    --------
    ball_sum, ball_rows

    Notes
    -----
    **Privacy.** Adding or removing a row moves the Gram matrix by q q^T, of Frobenius norm
    |q|^2 <= 4^bits. A block of 2^53 / 4^bits rows keeps every partial sum below 2^53, so BLAS adds
    without rounding in whatever order it likes.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import gram_sum
    >>> gram_sum(np.array([[1.0, 0.0], [0.0, 0.5]]), center=0.0, radius=1.0, bits=3).tolist()
    [[64, 0], [0, 16]]
    """
    X = as_table(X)
    d = X.shape[1]
    step = _step(X, 2 * check_bits(bits), n_max, max(rows_per_block(X), 2 * d))
    ball = Ball(step, d, center=center, radius=radius, bits=bits, scale=scale)
    gram = np.zeros((d, d), dtype=np.int64)
    work = np.empty((step, d))
    for part in blocks(X, step):
        rows = work[: part.stop - part.start]
        ball.map(X[part], out=rows)
        gram += (rows.T @ rows).astype(np.int64)
    return gram


def _step(X, bits, n_max, rows):
    """Return at most `rows`, and so few that a block of entries up to 2^bits has an exact sum."""
    n_max = int(n_max)  # numpy's integers wrap
    if not n_max * 2**bits <= 2**62:
        raise ValueError(
            f"sums of {n_max=} rows of up to 2^{bits} do not fit into 64 bits. "
            "Lower bits, or n_max if a smaller public bound on the rows holds."
        )
    if len(X) > n_max:
        raise ValueError(f"the table has more than the public bound of {n_max} rows. Raise n_max.")
    return max(1, min(int(rows), len(X), int(EXACT) >> bits))
