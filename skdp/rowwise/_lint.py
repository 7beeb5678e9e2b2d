"""A trial of functions of rows on made-up rows: it finds habits, and proves nothing."""

import numpy as np

from skdp.rowwise._dummy_rows import N_TAME
from skdp.rowwise._form import as_table
from skdp.utils._compat import safe_indexing
from skdp.utils._threads import quiet

__all__ = ["MIXES", "SAME", "detect_row_mixing"]

MANY = 3001
MIXES, ROUNDS, SAME = "mixes rows", "same up to rounding", "same"


def detect_row_mixing(func, X):
    """Compare what ``func`` makes of public rows together, by themselves, and in another order.

    The first rows alone as well, which are finite: NaN can hide what a function does.

    Bits matter: a matrix product gives a row other last bits among other rows, and rows are
    rounded to a grid before they are counted; a row whose bits depend on another row breaks the
    proof of every sensitivity after it.
    """
    verdicts = [_probe(func, X), _probe(func, _take(X, range(min(N_TAME, X.shape[0]))))]
    return next((v for v in (MIXES, None, ROUNDS) if v in verdicts), SAME)


def _probe(func, X):
    n = X.shape[0]
    order = np.resize(np.concatenate([np.arange(1, n), [0, 0]]), MANY)
    try:
        with np.errstate(all="ignore"), quiet():
            whole = as_table(func(_take(X, range(n))), n)
            alone = [as_table(func(_take(X, [i])), 1) for i in range(n)]
            if {row.shape for row in alone} != {(1, whole.shape[1])}:
                return MIXES
            alone = np.concatenate(alone)
            parts = [as_table(func(_take(X, range(k))), k) for k in (2, 3, 5, 17) if k <= n]
            moved = as_table(func(_take(X, order)), len(order))
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException:
        return None
    pairs = [(alone, whole), (moved, whole[order]), *((part, whole[: len(part)]) for part in parts)]
    if all(_same(a, b) for a, b in pairs):
        return SAME
    return ROUNDS if all(_near(a, b) for a, b in pairs) else MIXES


def _take(X, index):
    return safe_indexing(X, [int(i) for i in index])


def _same(a, b):
    if a.dtype.kind == "O" or a.dtype.kind != b.dtype.kind:
        return _equal_entries(a, b)
    if a.dtype.kind == "f":
        a, b = (np.where(np.isnan(Z), np.nan, Z) + 0.0 for Z in (a, b))  # one NaN, one zero
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _near(a, b):
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return a.dtype.kind in "fiub" and b.dtype.kind in "fiub" and np.array_equal(a, b)
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True))


def _equal_entries(a, b):
    """Compare objects; one that does not equal itself, as NaN, is like any other such."""
    return a.shape == b.shape and all(
        _missing(x) and _missing(y) if _missing(x) or _missing(y) else x == y
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    )


def _missing(x):
    return x is None or (x == x) is not True
