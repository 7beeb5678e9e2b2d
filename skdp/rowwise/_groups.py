"""One row of all rows of a person: a function of these rows, and of nothing else."""

import numpy as np

from skdp.utils._compat import safe_indexing
from skdp.utils._threads import quiet

__all__ = ["map_groups", "result_of"]

REAL = "fiub"


def map_groups(func, X, persons, n_features):
    """Return what ``func`` makes of the rows of each person, and the place of the first of them.

    Persons are in the order of these places; those without rows are left out.

    Notes
    -----
    **Privacy** (add or remove one person). The call for a person sees a copy of its rows, in their
    order, in memory of their own, without their places in the table and without an index. So row i
    of the result is a function of the rows of one person. Where ``func`` raises an exception, an
    exit included, or returns anything but ``n_features`` real numbers, the row is missing (NaN) and
    decides on nothing else. To remove a person removes one row and keeps the order of the others.
    """
    codes = persons.codes
    order = np.argsort(codes, kind="stable")[int((codes < 0).sum()) :]
    firsts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    parts = np.split(order, firsts[1:]) if len(order) else []
    parts.sort(key=lambda rows: rows[0])
    values = np.full((len(parts), n_features), np.nan)
    with np.errstate(all="ignore"), quiet():
        for i, rows in enumerate(parts):
            try:
                found, _ = result_of(func(_copied(X, rows)))
                if found.shape == (n_features,):
                    values[i] = found
            except KeyboardInterrupt:  # of the user
                raise
            except BaseException:  # of one person alone
                continue
    return values, np.array([rows[0] for rows in parts], dtype=np.intp)


def result_of(result):
    """Return a result as a vector of float64, and its names, None if it has none."""
    names = None
    if isinstance(result, dict):
        names, result = list(result), list(result.values())
    elif hasattr(result, "index") and hasattr(result, "to_numpy"):  # a Series
        names, result = list(result.index), result.to_numpy()
    values = np.asarray(result)
    if values.dtype.kind == "O":
        values = np.array([np.nan if v is None else float(v) for v in values.ravel()])
    if values.dtype.kind not in REAL:
        raise TypeError("text, dates and complex numbers are no numbers of a table.")
    if values.size != max(values.shape, default=1):
        raise TypeError("a table is no vector of numbers.")
    named = names is not None and all(isinstance(name, str) for name in names)
    return values.astype(np.float64).ravel(), names if named else None


def _copied(X, rows):
    part = safe_indexing(X, rows)
    if hasattr(part, "reset_index"):
        part = part.reset_index(drop=True)
        part.attrs = {}
        return part
    return part if hasattr(part, "columns") else np.array(part, order="C")
