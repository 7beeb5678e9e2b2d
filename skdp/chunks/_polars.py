"""Rows of queries of polars."""

from functools import partial

from skdp.chunks._parts import Part, PartRows, told

__all__ = ["source"]

QUERY = "the query of the LazyFrame"


def source(X):
    """Return the rows of a LazyFrame, None for anything else.

    Notes
    -----
    A query is carried out once to count its rows, and again at every pass, by the engine of polars
    that streams: it must give the same rows in the same order each time.
    """
    import polars

    if not isinstance(X, polars.LazyFrame):
        return None
    head = told(QUERY, _head, X)
    n_rows = told(QUERY, _collect, X.select(polars.len())).item()
    return PartRows(head, [Part(n_rows, partial(_batches, X, n_rows), QUERY)])


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
