"""Tables in pieces, whose rows are mapped by steps before they are read as numbers."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skdp.readers._raw import (
    Schema,
    TableError,
    library,
    numbers,
    readable,
    refuse_masked,
    schema_of,
)
from skdp.readers._rows import Source
from skdp.readers._some_rows import SomeRows, TableBlock
from skdp.readers._sources import source_of

TYPES = (
    "a piece of the table has other columns than the first, or columns of other types, which would "
    "decide on what a step makes of them: give all pieces the same names and types, for instance "
    "float64 for all numbers."
)
PANDAS = (
    "steps are given tables of Arrow as frames of pandas. Install it with `pip install pandas`, or "
    "pass batches of arrays."
)


class Tables(Source):
    """Rows of a source that maps make of its pieces, without those that are left out.

    Notes
    -----
    Nothing is kept of what the maps make: they are part of ``decode``, and are applied where the
    rows are, anew at every pass. Rows that are left out have NaN in place of all numbers.

    **Privacy**: a row is a function of the same row of the source, so neighbours stay neighbours.
    Which rows are left out is private, and is laid beside the blocks.
    """

    def __init__(self, source, maps, head):
        schema = schema_of(head)
        super().__init__(len(schema), n_rows=source.n_rows)
        self.names, self.decode = schema.names, FloatEncoder(schema)
        self._source, self._maps, self._head, self._absent = source, maps, head, None

    def head(self):
        """Return a table of no rows."""
        return self._head

    def mapped(self, function, head):
        """Return these rows after one more map, which makes ``head`` of no rows."""
        tables = Tables(self._source, (*self._maps, function), head)
        tables._absent = self._absent
        return tables

    @property
    def absent(self):
        """Which rows are left out, an array of bool, or None. Private."""
        return self._absent

    def without(self, absent):
        """Return these rows without those where ``absent``, an array of bool, is True."""
        tables = self.decoded_by(self.decode)
        tables._absent = absent if self._absent is None else absent | self._absent
        return tables

    def only(self, places):
        """Return the rows at some places, rising numbers of rows, numbered anew."""
        tables = Tables(SomeRows(self._source, places), self._maps, self._head)
        tables._absent = None if self._absent is None else self._absent[places]
        return tables

    def columns(self, places):
        """Return some columns, by their places, which are chosen before any other is converted."""
        head = columns_of(self._head, places)
        if len(self._maps) > 1:
            return self.mapped(partial(columns_of, places=places), head)
        source, chosen = self._source.columns(places), ()  # as tables_of makes them
        if source is None:
            source, chosen = self._source, (partial(columns_of, places=places),)
        tables = Tables(source, (*chosen, partial(_same_types, types_of(head))), head)
        tables._absent = self._absent
        return tables

    def as_stored(self):
        """Return these rows without a conversion: of Arrow as they come, text coded or not.

        Where steps map them, and where a type means another thing to pandas than to Arrow, they are
        given as they are.
        """
        head = self._source.head()
        if len(self._maps) > 1 or library(head) != "pyarrow" or not _means_the_same(head):
            return self
        tables = Tables(self._source, (partial(_as_checked, *self._maps),), self._head)
        tables._absent = self._absent
        return tables

    def each(self, function, beside=None):
        """Return ``function(table)`` of every block, a list."""
        tables = self.decoded_by(TableBlock)
        return tables.map_merge(partial(_each, function), list.__add__, beside) or []

    def pieces(self):
        """Yield (number of rows, table)."""
        for n, raw in self._source.pieces():
            yield n, _mapped(self._maps, raw)

    def blocks(self):
        """Yield (number of the first row, block of rows)."""
        for start, block in self._read().blocks():
            yield start, self._present(start, block)

    def _present(self, start, block):
        if self._absent is None:
            return block
        return _left_out(self._absent[start : start + len(block)], block)

    def later(self, function, made=None):
        """Return what a function makes of the tables, see :meth:`Source.later`."""
        return self._read().later(function, made)

    def as_they_are(self):
        """Return these rows as tables, which are not read as numbers."""
        return self.decoded_by(_itself)

    def look(self, *, entries, first=None):
        """Read the table once before a fit, see :meth:`Source.look`; what is asked is asked later.

        A step that leaves out rows may come between.
        """
        source = self._read() if entries else self.as_they_are()._read()
        seen = source.look(entries=entries)
        self._source, self.n_rows = source, source.n_rows  # it has been counted
        return seen

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""
        source, absent = self._read(), self._absent
        if absent is None:
            return source.map_merge(statistic, merge, beside)

        def laid(start, stop):
            others = () if beside is None else (beside(start, stop),)
            return absent[start:stop], others

        return source.map_merge(partial(_of_present, statistic), merge, laid)

    def _read(self):
        """Return the source, whose pieces are mapped when they are decoded."""
        source = self._source.decoded_by(DecodedTable(self._maps, self.decode))
        source.finite = False  # a map may leave something out
        return source


def tables_of(X):
    """Return the Tables of what comes in pieces, None for arrays and frames in memory."""
    refuse_masked(X)
    if isinstance(X, Tables) or is_in_memory(X):
        return X if isinstance(X, Tables) else None
    source = source_of(X)
    if source is None:
        return None
    head = as_table(source.head())
    types = types_of(head)
    for other in source.heads_of_pieces():  # a row of another type would end a fit after the charge
        _same_types(types, other)
    return Tables(source, (partial(_same_types, types),), head)


def is_in_memory(X):
    """Return whether X is an array, or a frame of pandas or polars."""
    if isinstance(X, np.ndarray):
        return not isinstance(X, np.memmap)
    return library(X) in ("pandas", "polars") and hasattr(X, "shape")


def columns_of(table, places):
    """Return some columns of a table of any kind, by their places."""
    kind, places = library(table), list(places)
    if kind == "pyarrow":
        return table.select(places)
    if kind == "pandas":
        return table.iloc[:, places]
    return table[[table.columns[j] for j in places]] if kind == "polars" else table[:, places]


def types_of(table):
    """Return names and types of the columns of a table, and their number."""
    if library(table) == "numpy":
        return table.dtype, table.shape[1]
    return library(table), tuple(table.columns), tuple(table.dtypes)


def _same_types(types, raw):
    """Return a piece as a table, if it is one of these types."""
    table = as_table(raw)
    if types_of(table) != types:
        raise TableError(TYPES)
    return table


def _means_the_same(head):
    """Return whether columns of Arrow are all of text, truth values, or common numbers."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_boolean)
    tests += (types.is_integer, types.is_float32, types.is_float64)
    return all(any(test(kind) for test in tests) for kind in _plain_types(head.schema))


def _as_checked(check, raw):
    """Return a piece of Arrow as it is, if no rows of it pass a check."""
    check(raw.slice(0, 0))
    return raw


def as_table(raw):
    """Return a piece as an array or frame; one of Arrow by its types alone, whatever is missing."""
    if library(raw) != "pyarrow":
        return raw
    try:
        return _pandas(raw)
    except ImportError:
        failure = ImportError(PANDAS)
    except Exception:  # which may quote entries
        failure = TableError(TYPES)
    raise failure


def _pandas(raw):
    import pandas
    import pyarrow

    plain = zip(raw.schema.names, _plain_types(raw.schema), strict=True)
    raw = raw.cast(pyarrow.schema(plain))
    whole = list(map(readable, raw.columns))
    apart = {j: _entries(column) for j, column in enumerate(whole) if not _is_held(column)}
    for j in apart:
        whole[j] = pyarrow.nulls(raw.num_rows, raw.schema.types[j])
    kinds = {f"{u}int{b}": f"{u[:1].upper()}Int{b}" for u in ("", "u") for b in (8, 16, 32, 64)}
    nullable = {**kinds, "bool": "boolean"}  # else a column with a gap is one of floats
    frame = raw.from_arrays(whole, schema=raw.schema).to_pandas(
        types_mapper=lambda kind: (
            pandas.api.types.pandas_dtype(nullable[str(kind)]) if str(kind) in nullable else None
        ),
        ignore_metadata=True,
    )
    for j, entries in apart.items():
        frame.isetitem(j, entries)
    return frame


def _is_held(column):
    """Return whether pandas makes each entry of a column of Arrow by itself, and all can be."""
    from pyarrow import types

    if types.is_nested(column.type):
        return False
    dated = types.is_date(column.type) or types.is_time(column.type)
    return not dated or _made(column, "to_pandas") is not None


def _entries(column):
    """Return the entries of a column of Arrow, each made by itself; None if that fails.

    A gap in the list of one row would make floats of the whole numbers in the lists of all, and a
    date beyond the year 9999 would end the fit of all.
    """
    from pyarrow import array, types

    nested = types.is_nested(column.type)
    method, options = ("to_numpy", {"zero_copy_only": False}) if nested else ("to_pandas", {})
    entries = np.empty(len(column), dtype=object)
    for i in range(len(column)):
        alone = column.slice(i, 1).filter(array([True]))  # without the entries of maps beside it
        made = _made(alone, method, **options)
        entries[i] = None if made is None else next(iter(made))
    return entries


def _made(column, method, **options):
    """Return what a method makes of a column, None if it fails."""
    try:
        return getattr(column, method)(**options)
    except Exception:  # of an entry, which it may quote
        return None


def _plain_types(schema):
    """Return types of Arrow, in place of those of coded entries that of the entries."""
    from pyarrow.types import is_dictionary

    return [field.type.value_type if is_dictionary(field.type) else field.type for field in schema]


def _each(function, start, block, *beside):
    return [function(block.table, *beside)]


def _itself(table):
    return table


def _mapped(maps, raw):
    for function in maps:
        raw = function(raw)
    return raw


@dataclass(frozen=True)
class FloatEncoder:
    """Makes floats of tables of a schema, see :func:`skdp.readers._raw.numbers`."""

    schema: Schema

    def __call__(self, raw):
        return numbers(self.schema, raw)


@dataclass(frozen=True)
class DecodedTable:
    """Makes of a piece what a decoder makes of what maps make of it; equal if all of these are."""

    maps: tuple
    decode: object

    def __call__(self, raw):
        return self.decode(_mapped(self.maps, raw))


def _of_present(statistic, start, block, laid):
    absent, others = laid
    return statistic(start, _left_out(absent, block), *others)


def _left_out(absent, block):
    """Return a copy of a block with NaN in the rows that are absent."""
    if not isinstance(block, np.ndarray):
        return block.without(absent)
    block = np.array(block, dtype=np.float64)
    block[absent] = np.nan
    return block
