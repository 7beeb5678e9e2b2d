"""Methods of rows, for tables of any kind and size: what they return is as private as the rows."""

from functools import partial, wraps

import numpy as np

from skdp.table._batched import fitted_alone, lazy_result, tables_for

__all__ = ["by_tables", "in_memory"]


def by_tables(method):
    """Let a method of the rows of a table map the pieces of a source, each when it is read."""

    @wraps(method)
    def mapped(self, X):
        tables = tables_for(self, X)
        if tables is None:
            return method(self, X)
        return lazy_result(tables, partial(method, fitted_alone(self)))

    return mapped


def in_memory(values):
    """Return what a method has made of rows, or a target, as one array."""
    if hasattr(values, "compute"):
        values = values.compute()
    if hasattr(values, "__array__"):
        return np.asarray(values)
    pieces = [np.asarray(piece) for piece in values]
    return np.concatenate(pieces) if pieces and pieces[0].ndim else np.asarray(values)
