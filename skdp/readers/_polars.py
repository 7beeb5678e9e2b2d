"""Rows of queries of polars."""

from functools import partial

from skdp.readers._parts import Part, PartRows, call_library
from skdp.readers._rows import without_weights_of

QUERY = "the query of the LazyFrame"


def source(X):
    """Return the rows of a LazyFrame, None for anything else.

    Notes
    -----
    A query is carried out once to count its rows, and again at every pass, by the engine of polars
    that streams: it must give the same rows in the same order each time. Nor may it fail for single
    entries, as text that is cast does (pass ``strict=False``): whether a fit ends would tell of
    them.
    """
    import polars

    if not isinstance(X, polars.LazyFrame):
        return None
    head = call_library(QUERY, _head, X)
    n_rows = call_library(QUERY, _collect, X.select(polars.len())).item()
    return QueryRows(X, head, n_rows)


class QueryRows(PartRows):
    """The rows of a query."""

    def __init__(self, query, head, n_rows):
        super().__init__(head, [Part(n_rows, partial(_batches, query, n_rows), QUERY)])
        self._query = query

    def later(self, function, made=None):
        """Return what a function makes of the rows, a query of floats or integers."""
        made = _frame(without_weights_of(function, self.n_features) if made is None else made)
        return self._query.map_batches(
            partial(_mapped, function, self.decode, made), schema=made.schema, streamable=True
        )


def _mapped(function, decode, made, batch):
    if not len(batch):
        return made
    return _frame(function(decode(batch))).cast(dict(made.schema))


def _frame(results):
    """Return an array, or a frame, as a DataFrame of polars."""
    import polars

    if isinstance(results, polars.DataFrame):
        return results
    if hasattr(results, "columns"):
        return polars.from_pandas(results)
    columns = results.T if results.ndim > 1 else [results]
    return polars.DataFrame({f"column_{j}": column for j, column in enumerate(columns)})


def _head(query):
    return query.collect_schema().to_frame()


def _batches(query, n_rows, batch_rows):
    if _streams(query):
        return query.collect_batches(
            chunk_size=batch_rows, maintain_order=True, lazy=True, engine="streaming"
        )
    starts = range(0, n_rows + 1, batch_rows)  # one row beyond the end, if it has grown
    return (_collect(query.slice(start, batch_rows)) for start in starts)


def _collect(query):
    return query.collect(engine="streaming") if _streams(query) else query.collect()


def _streams(query):
    return hasattr(query, "collect_batches")  # polars 1.34
