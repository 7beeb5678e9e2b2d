"""Whether a function of a table is one of each row by itself, bit for bit."""

import warnings

import numpy as np
from scipy import sparse

from skdp._compat import safe_indexing
from skdp._config import get_config

__all__ = ["MIXES", "PROBE_ROWS", "SAME", "as_table", "made_up_rows", "map_rows", "probe"]

PROBE_ROWS, MANY = 67, 3001
WORDS = ("a", "b", "bb", "word", "", "Zebra", "0")
MIXES, ROUNDS, SAME = "mixes rows", "same up to rounding", "same"


def _numbers(n_features):
    """Return a public table of numbers of many sizes, with NaN and infinity here and there."""
    i, j = np.ogrid[:PROBE_ROWS, :n_features]
    units = np.sin(12.9898 * (i + 1) + 78.233 * (j + 1)) * 43758.5453
    table = ((units - np.floor(units)) * 16 - 8) * 10.0 ** ((i + j) % 9 - 3)
    table[(i + 3 * j) % 11 == 5] = np.nan
    table[(i + j) % 29 == 28] = np.inf
    return table


def probe(func, X):
    """Compare what ``func`` makes of public rows together, by themselves, and in another order.

    Why bits matter: a matrix product gives a row other last bits among other rows, and rows are
    rounded to a grid before they are counted; a row whose bits depend on another row breaks the
    proof of every sensitivity after it.

    Parameters
    ----------
    func : callable
        Maps a table to a table with one row per row.
    X : array-like of shape (n, d)
        Public.

    Returns
    -------
    verdict : {"mixes rows", "same up to rounding", "same"} or None
        None if ``func`` raises an exception for these rows.
    """
    n = X.shape[0]
    order = np.resize(np.concatenate([np.arange(1, n), [0, 0]]), MANY)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = as_table(func(X), n)
            alone = [as_table(func(_take(X, [i])), 1) for i in range(n)]
            if {row.shape for row in alone} != {(1, whole.shape[1])}:
                return MIXES
            alone = np.concatenate(alone)
            parts = [as_table(func(_take(X, range(k))), k) for k in (2, 3, 5, 17)]
            moved = as_table(func(_take(X, order)), len(order))
    except Exception:
        return None
    pairs = [(alone, whole), (moved, whole[order]), *((part, whole[: len(part)]) for part in parts)]
    if all(_bits(a) == _bits(b) for a, b in pairs):
        return SAME
    return ROUNDS if all(_near(a, b) for a, b in pairs) else MIXES


def map_rows(func, X, *, together):
    """Apply ``func`` to all rows at once, or to each by itself, which makes it row-wise.

    Under ``invalid_rows="ignore"`` a row on which it fails becomes NaN, silently: in the private
    part of a fit an exception would tell that such a row is there.
    """
    n, ignore = X.shape[0], get_config()["invalid_rows"] == "ignore"
    if together or n == 0:
        try:
            return func(X)
        except Exception:
            if not ignore:
                raise
    rows = [_alone(func, _take(X, [i]), ignore) for i in range(n)]
    known = next((row for row in rows if row is not None), None)
    if known is None:
        known = func(_take(made_up_rows(X), [0]))
    width = as_table(known, 1).shape[1]
    table = [np.full((1, width), np.nan) if row is None else as_table(row, 1) for row in rows]
    return _framed(np.concatenate(table), known) if together else np.concatenate(table)


def _alone(func, row, ignore):
    try:
        found = func(row)
        as_table(found, 1)
        return found
    except Exception:
        if not ignore:
            raise
        return None


def _framed(table, known):
    """Return a frame if ``known`` is one: a row that fails must not change the type of all."""
    if not hasattr(known, "columns"):
        return table
    return type(known)({name: table[:, j] for j, name in enumerate(known.columns)})


def as_table(Z, n_rows):
    """Return a result as an array with ``n_rows`` rows."""
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
    Z = Z.reshape(-1, 1) if Z.ndim == 1 else Z
    if Z.ndim != 2 or Z.shape[0] != n_rows:
        raise ValueError(
            "a row-wise map must return a table with one row for every row that it is given. Got "
            f"{Z.ndim} dimensions{'' if Z.ndim != 2 else ' and another number of rows'}."
        )
    return Z


def _take(X, index):
    return safe_indexing(X, list(index))


def _bits(Z):
    if Z.dtype.kind == "f":
        Z = np.where(np.isnan(Z), np.nan, Z) + 0.0  # one kind of NaN, one kind of zero
    return Z.shape, Z.dtype.str, Z.tolist() if Z.dtype.kind == "O" else Z.tobytes()


def _near(a, b):
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    if a.dtype.kind != "f":
        return _bits(a) == _bits(b)
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True))


def made_up_rows(X):
    """Return public rows with the columns and the types of X: numbers of many sizes, and words."""
    numbers = _numbers(X.shape[1])
    if not hasattr(X, "columns"):
        return _as_kind(numbers, X.dtype)
    table = {name: _column(X[name], numbers[:, j]) for j, name in enumerate(X.columns)}
    return type(X)(table)


def _column(column, numbers):
    kind = getattr(column.dtype, "kind", "O")
    if kind in "fiub":
        return _as_kind(numbers, column.dtype)
    return [WORDS[int(x) % len(WORDS)] if np.isfinite(x) else None for x in numbers]


def _as_kind(numbers, dtype):
    """Return numbers of a type; integers are small and occur more than once."""
    if dtype.kind == "f":
        return numbers.astype(dtype)
    if dtype.kind in "iub":
        return (np.nan_to_num(numbers, posinf=0.0) % 7).astype(dtype)
    return numbers
