"""Methods of rows, for tables of any kind and size: what they return is as private as the rows."""

from functools import partial, wraps

from skdp.table._batched import fitted_alone, lazy_result, tables_for

__all__ = ["by_tables"]


def by_tables(method):
    """Let a method of the rows of a table map the pieces of a source, each when it is read."""

    @wraps(method)
    def mapped(self, X):
        tables = tables_for(self, X)
        if tables is None:
            return method(self, X)
        return lazy_result(tables, partial(method, fitted_alone(self)))

    return mapped
