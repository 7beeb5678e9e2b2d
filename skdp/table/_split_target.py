"""A table and its target apart: a pipeline maps the table, and gives its steps the target.

The target is kept in memory, of the type that it has, since the type tells those of classes.
"""

import sys

import numpy as np

from skdp.contracts import leaves_of, target_of
from skdp.readers._raw import TableError, has_two_dimensions, library
from skdp.readers._tables import tables_of
from skdp.table._schema import BROKEN, are_batches
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

NO_COLUMN = (
    "y is text, which names a column of X, but X has no such column, or has it twice. Pass the "
    "name of a column of a frame, or y as an array with one entry for each row of X."
)
LENGTHS = "y comes in batches of other lengths than those of X. Cut both alike, or pass one array."


def split_target(X, y):
    """Return X without its target, and the target in memory."""
    if isinstance(y, str):
        return _feature_named(X, y)
    if y is None and _are_pairs(X):
        return _BatchSide(X, 0), _joined(_BatchSide(X, 1))
    if type(y).__module__.partition(".")[0] in ("dask", "dask_expr"):
        column = y.to_frame() if hasattr(y, "to_frame") else y.reshape(-1, 1)
        return X, _column(tables_of(column), 0)
    if _come_anew(y):
        lengths = [len(batch) for batch in y]
        if not _come_anew(X) or lengths != [batch.shape[0] for batch in X]:
            raise ValueError(LENGTHS)
        return X, _joined(y)
    return X, y


def final_step(step):
    """Return the last step, inside others too, that a chain hands its target to; else the last."""
    parts = leaves_of(step)
    return ([part for part in parts if target_of(part) is not None] or parts or [step])[-1]


def reads_numbers_and_gaps(step, X):
    """Return whether X is an array that a step, or the first of a chain, takes for numbers.

    Of an estimator that reads mixed tables: of frames, and of arrays with categories or text.
    """
    steps = [part for _, part in getattr(step, "steps", ()) if not isinstance(part, str | None)]
    if steps:
        return reads_numbers_and_gaps(steps[0], X)
    is_text = getattr(getattr(X, "dtype", None), "kind", "") in ("U", "T")
    is_array = not (is_text or hasattr(X, "columns"))
    mixed = getattr(step, "_mixed", False) and getattr(step, "categories", None) is None
    return is_array and mixed


def dummy_target(step, y, n_rows):
    """Return made-up targets: of the public classes of a step, else of the kind of y."""
    classes = getattr(final_step(step), "classes", None)
    if classes is None:
        kind = getattr(getattr(y, "dtype", None), "kind", "f")
        classes = ["a", "b"] if kind in "OSU" else [0.0, 1.0]
    return np.resize(np.asarray(classes), n_rows)


def _feature_named(X, name):
    tables = tables_of(X)
    head = X if tables is None else tables.head()
    names = list(getattr(head, "columns", ()))
    if names.count(name) != 1:
        raise ValueError(NO_COLUMN)
    place, rest = names.index(name), [other for other in names if other != name]
    if tables is None:
        return X[rest], X[name]
    return tables.mapped(_Columns(rest), _Columns(rest)(head)), _column(tables, place)


class _Columns:
    """Maps frames to some of their columns, by name."""

    def __init__(self, names):
        self.names = names

    def __call__(self, table):
        return table[self.names]


class _ColumnAt:
    """Maps tables to one of their columns, by its place."""

    def __init__(self, place):
        self.place = place

    def __call__(self, table):
        if hasattr(table, "columns"):
            return table[table.columns[self.place]]
        return table[:, self.place].copy()


def _column(tables, place):
    """Return one column of Tables in memory: an array, or a series."""
    take = _ColumnAt(place)
    if get_config()["invalid_rows"] == "error":
        return _joined([take(tables.head()), *tables.each(take)])
    try:
        with quiet():
            return _joined([take(tables.head()), *tables.each(take)])
    except (TableError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # of a reader, as polars panics: it may depend on an entry, or quote it
        refusal = ValueError(BROKEN)
    raise refusal


def _joined(parts):
    parts = list(parts)
    if library(parts[0]) == "pandas":
        return sys.modules["pandas"].concat(parts, ignore_index=True)
    if library(parts[0]) == "polars":
        return sys.modules["polars"].concat(parts)
    return np.concatenate([np.asarray(part) for part in parts])


class _BatchSide:
    """The tables, or the targets, of batches that are pairs, anew at every pass."""

    def __init__(self, pairs, place):
        self._pairs, self._place = pairs, place

    def __iter__(self):
        return (pair[self._place] for pair in self._pairs)


def _are_pairs(X):
    if any(hasattr(X, name) for name in ("shape", "columns", "__array__")) or isinstance(X, str):
        return False
    first = next(iter(X), None) if hasattr(X, "__iter__") and iter(X) is not X else None
    return isinstance(first, tuple) and len(first) == 2 and has_two_dimensions(first[0])


def _come_anew(batches):
    return are_batches(batches) and iter(batches) is not batches
