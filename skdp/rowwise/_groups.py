"""One row of all rows of a person: a function of these rows, and of nothing else."""

import math
import sys
from dataclasses import replace
from io import BytesIO

import numpy as np

from skdp.utils._compat import safe_indexing
from skdp.utils._threads import quiet

REAL = "fiub"
LEAST = 2**12  # rows that are looked through together
CHANGED = "the table has another length than the persons of its rows."


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


def map_groups_in_pieces(func, pieces, persons, n_features, *, most):
    """Return what :func:`map_groups` returns of a table whose pieces ``pieces()`` yields.

    Its items are a number of rows and a table of them. Rows wait in memory for the last of their
    person: hardly more than ``most`` of them, or of one person. Where more would, the table is read
    again, for some of the persons each time.

    Notes
    -----
    **Privacy** (add or remove one person): :func:`map_groups` is given all rows of a person at
    once, in their order, so its result for a person, and its proof, are those for a table in
    memory. Which persons are read together, and how often the table is read, shows in time alone.
    """
    numbers, firsts, sizes = _in_order(persons.codes)
    there = np.flatnonzero(numbers >= 0)
    last = np.empty(len(firsts), dtype=np.intp)
    last[numbers[there]] = there  # the last one stays
    gone = np.bincount(last, weights=sizes, minlength=len(numbers))
    waiting = np.cumsum(numbers >= 0) - np.cumsum(gone)
    readings = max(1, math.ceil(waiting.max(initial=0) / most))
    values = np.full((len(firsts), n_features), np.nan)

    def settle(tables, places, end):
        table, places = _stacked(tables), np.concatenate(places)
        ready = last[numbers[places]] < end
        of_ready = replace(persons, codes=np.where(ready, numbers[places], -1))
        found, own = map_groups(func, table, of_ready, n_features)
        values[numbers[places[own]]] = found
        rest = np.flatnonzero(~ready)
        return [safe_indexing(table, rest)], [places[rest]]

    for reading in range(readings):
        tables, places, start, fresh = [], [], 0, 0
        for n, table in pieces():
            own = numbers[start : start + n]
            here = np.flatnonzero((own >= 0) & (own % readings == reading))
            tables.append(safe_indexing(table, here))
            places.append(start + here)
            start, fresh = start + n, fresh + len(here)
            if fresh >= max(LEAST, len(places[0])):  # no more is copied than has been read
                (tables, places), fresh = settle(tables, places, start), 0
        if start != len(numbers):
            raise ValueError(CHANGED)
        if tables:
            settle(tables, places, start)
    return values, firsts


def _in_order(codes):
    """Return persons of rows by the order of their first ones, -1 of none, these, and sizes."""
    there = np.flatnonzero(codes >= 0)
    _, firsts, own, sizes = np.unique(
        codes[there], return_index=True, return_inverse=True, return_counts=True
    )
    order, numbers = np.argsort(firsts), np.full(len(codes), -1, dtype=np.intp)
    numbers[there] = np.argsort(order)[own.reshape(-1)]
    return numbers, there[firsts[order]], sizes[order]


def _stacked(tables):
    """Return tables of the same columns and types as one."""
    if hasattr(tables[0], "iloc"):
        return sys.modules["pandas"].concat(tables, ignore_index=True)
    if hasattr(tables[0], "columns"):
        return sys.modules["polars"].concat(tables)
    return np.concatenate(tables)


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
    return anew(part) if hasattr(part, "columns") else np.array(part, order="C")


def anew(part):
    """Return a frame of polars that has nothing but values: no flag that other rows decide.

    A column of one value is known to be sorted, which ``arg_max`` and others show, until another
    person has another value; and a slice tells the number of its first row. Objects of Python stay
    where they are.
    """
    stream, polars = BytesIO(), sys.modules["polars"]
    if polars.Object in part.dtypes:
        return part[list(range(len(part)))]
    part.write_ipc_stream(stream)
    stream.seek(0)
    return polars.read_ipc_stream(stream)
