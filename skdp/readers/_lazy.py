"""Rows that a library reads: tables, datasets and parquet files of Arrow, queries of polars."""

import sys
from functools import partial

from skdp.readers._parts import Part, PartRows, StoredFile, call_library, groups_of
from skdp.readers._raw import TableError, schema_of
from skdp.readers._rows import without_weights_of
from skdp.readers._sources import FrameRows

DATASET, FILE = "the dataset", "the ParquetFile"
SCANNER = (
    "X is a Scanner, which may be a stream that can be read only once. Pass its dataset, filtered "
    "by Dataset.filter if need be, or scanner.to_table()."
)
KINDS = (
    "a file of the dataset has a column of numbers where the dataset has none, or the other way "
    "round. Write the files with the same types."
)
FILTERED = (
    "X is a filtered dataset, and a file of it has columns of other types than the dataset, whose "
    "entries a cast may not hold. Write the files with the same types."
)
TEXT = ("CsvFileFormat", "JsonFileFormat")
CLOSED = "X is a ParquetFile that is closed. Pass its path, or open it again."


def source(X):
    """Return the rows of what a library reads, None for anything else."""
    is_polars = type(X).__module__.partition(".")[0] == "polars"
    return _query_source(X) if is_polars else _arrow_source(X)


def _arrow_source(X):
    """Return the rows of a Table, RecordBatch, Dataset or ParquetFile, None for anything else."""
    import pyarrow

    if isinstance(X, pyarrow.Table | pyarrow.RecordBatch):
        return FrameRows(X)
    if _is_a(X, "pyarrow.dataset", "Scanner"):
        raise TypeError(SCANNER)
    if _is_a(X, "pyarrow.dataset", "Dataset"):
        return call_library(DATASET, _of_dataset, X)
    if _is_a(X, "pyarrow.parquet", "ParquetFile"):
        if X.closed:
            raise TableError(CLOSED)
        return call_library(FILE, _of_file, X)
    return None


def _is_a(X, module, name):
    return module in sys.modules and isinstance(X, getattr(sys.modules[module], name))


def _of_file(X):
    groups = groups_of(X.metadata, lambda coded=None: X, FILE)
    return PartRows(X.schema_arrow.empty_table(), groups)


def _of_dataset(X):
    try:
        fragments = list(X.get_fragments())
    except ValueError:  # one that is filtered shows none
        _require_types(X)
        fragments, schemas, parts = [X], [X.schema], [_scanned(X)]
    else:
        schemas = [_own_types_of_kind(some, X.schema) for some in fragments]
        pairs = zip(fragments, schemas, strict=True)
        parts = [part for some, own in pairs for part in _of_fragment(some, own)]
    heads = [schema.empty_table() for schema in dict.fromkeys(schemas)]
    rows = PartRows(X.schema.empty_table(), parts, heads)
    rows.text = any(type(getattr(some, "format", None)).__name__ in TEXT for some in fragments)
    return rows


def _require_types(filtered):
    """Raise TableError if a file has other types than a filtered dataset, which casts its entries.

    Of files alone: entries that a cast cannot hold would end the fit of all others.
    """
    for one in getattr(filtered, "children", [filtered]):
        for path in getattr(one, "files", ()):
            file = one.format.make_fragment(path, one.filesystem)
            if _own_types_of_kind(file, filtered.schema).types != filtered.schema.types:
                raise TableError(FILTERED)


def _of_fragment(fragment, schema):
    """Return the Parts of a fragment: row groups where it is a file of the schema of all."""
    from pyarrow.dataset import ParquetFileFragment

    is_parquet = isinstance(fragment, ParquetFileFragment) and fragment.path
    if not is_parquet or not fragment.physical_schema.equals(schema):
        return [_scanned(fragment, schema=schema)]
    file = StoredFile(fragment.filesystem, fragment.path)
    return file.groups(group.id for group in fragment.row_groups)


def _own_types_of_kind(fragment, schema):
    """Return the schema of :func:`own_types`, whose columns are of the kinds of the dataset."""
    own = own_types(fragment, schema)
    if schema_of(own.empty_table()) != schema_of(schema.empty_table()):
        raise TableError(KINDS)
    return own


def own_types(fragment, schema):
    """Return a schema with the types that the columns have in a fragment.

    A cast to those of the dataset fails for entries that they cannot hold; nulls are held by all.
    """
    import pyarrow

    there = fragment.physical_schema
    own = {field.name: field.type for field in there if not pyarrow.types.is_null(field.type)}
    return pyarrow.schema([(field.name, own.get(field.name, field.type)) for field in schema])


def _scanned(X, **schema):
    return Part(X.count_rows(), partial(_batches, X, schema), DATASET)


def _batches(X, schema, batch_rows):
    """Return the batches of a dataset or a fragment, in their order and none ahead."""
    from pyarrow.dataset import ParquetFileFormat, ParquetFragmentScanOptions

    options = {"batch_size": batch_rows, "batch_readahead": 0, "fragment_readahead": 0}
    if isinstance(getattr(X, "format", None), ParquetFileFormat):
        options["fragment_scan_options"] = ParquetFragmentScanOptions(
            use_buffered_stream=True, pre_buffer=False
        )
    return X.to_batches(use_threads=False, **schema, **options)


QUERY = "the query of the LazyFrame"


def _query_source(X):
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
        super().__init__(head, [Part(n_rows, partial(_query_batches, query, n_rows), QUERY)])
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


def _query_batches(query, n_rows, batch_rows):
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
