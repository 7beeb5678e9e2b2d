"""Exact integer sums of bounded rows."""

import numpy as np

from skdp.mechanisms import _compiled
from skdp.mechanisms._rows import EXACT, Ball
from skdp.mechanisms._tables import as_table, blocks, check_bits, rows_per_block

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
